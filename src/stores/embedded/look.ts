/** Looking into a log without writing to it, while another process may be doing just that. */
import { join } from "node:path";
import type { Fact, LogEntry, LogIdentity } from "../../hub/store.ts";
import { EarshotError } from "../../protocol/errors.ts";
import { type FilePort, nodeFiles } from "./file-port.ts";
import { readIdentity } from "./identity.ts";
import { readEntries } from "./reading.ts";
import { recover, segmentNames } from "./recover.ts";

export interface LogReadingOptions {
  readonly directory: string;
  readonly files?: FilePort;
}

/** The log as it was at one moment. */
export interface LogReading {
  readonly identity: LogIdentity;
  /** Every session something is kept of, and whether it still goes on. */
  readonly sessions: readonly { readonly session_id: string; readonly open: boolean }[];
  /** The newest entry; 0 if there is none. */
  readonly last: number;
  /** Bytes of a write that is under way or was never finished. */
  readonly torn_bytes: number;
  read(from?: number, session_id?: string): AsyncIterable<LogEntry>;
  facts(kind: string): readonly Fact[];
}

/** A file may be removed by retention while it is looked for; then everything is read anew. */
const ATTEMPTS = 5;

export async function readLog({ directory, files = nodeFiles }: LogReadingOptions): Promise<LogReading> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await look(directory, files);
    } catch (error) {
      const vanished = (error as NodeJS.ErrnoException).code === "ENOENT";
      if (!vanished || attempt === ATTEMPTS || (await nothingThere(directory, files)))
        throw explain(error, directory);
    }
  }
}

async function look(directory: string, files: FilePort): Promise<LogReading> {
  const identity = await readIdentity(directory, files);
  if (!identity || (await segmentNames(directory, files)).length === 0) throw noLog(directory);
  const { ledger, torn } = await recover(directory, files);
  const sessions = new Set(ledger.segments.flatMap((segment) => [...segment.sessions]));
  return {
    identity: { epoch: identity.epoch, key: identity.key },
    sessions: [...sessions].map((session_id) => ({ session_id, open: ledger.open.has(session_id) })),
    last: ledger.last,
    torn_bytes: torn?.bytes ?? 0,
    read: (from = 1, session_id) => readEntries({ directory, files, ledger, from, session_id }),
    facts: (kind) => ledger.facts(kind),
  };
}

const nothingThere = (directory: string, files: FilePort): Promise<boolean> =>
  files.stat(join(directory, "identity.json")).then(
    () => false,
    () => true,
  );

const noLog = (directory: string): EarshotError =>
  new EarshotError(
    "log_missing",
    `There is no log in ${directory}. Name the directory an agent was served with: earshot serve --data DIR.`,
  );

const explain = (error: unknown, directory: string): unknown =>
  (error as NodeJS.ErrnoException).code === "ENOENT" ? noLog(directory) : error;
