/** Looking into a log without writing to it, while another process may be doing just that. */
import { join } from "node:path";
import type { Fact, LogEntry, LogIdentity } from "../../hub/store.ts";
import { EarshotError } from "../../protocol/errors.ts";
import { type FilePort, nodeFiles } from "./file-port.ts";
import { IDENTITY, readIdentity } from "./identity.ts";
import type { Ledger } from "./ledger.ts";
import { readEntries } from "./reading.ts";
import { recover, scanInto, segmentNames } from "./recover.ts";
import { decodeRecords, segmentNumber } from "./segment.ts";

/** Options of `readLog`. */
export interface LogReadingOptions {
  readonly directory: string;
  readonly files?: FilePort;
}

/** The log as it was at one moment, until it is refreshed. */
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
  /** Takes in what was written since. */
  refresh(): Promise<void>;
}

/** A file may be removed by retention while it is looked for; then everything is read anew. */
const ATTEMPTS = 5;

/** Reads a log without writing to it, also while another process writes. */
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
  if (!identity) throw noLog(directory);
  const { ledger, torn } = await recover(directory, files);
  return {
    identity: { epoch: identity.epoch, key: identity.key },
    get sessions() {
      const sessions = new Set(ledger.segments.flatMap((segment) => [...segment.sessions]));
      return [...sessions].map((session_id) => ({ session_id, open: ledger.open.has(session_id) }));
    },
    get last() {
      return ledger.last;
    },
    torn_bytes: torn?.bytes ?? 0,
    read: (from = 1, session_id) => readEntries({ directory, files, ledger, from, session_id }),
    facts: (kind) => ledger.facts(kind),
    refresh: () => readOn(directory, files, ledger),
  };
}

/** The end of the file that was the last one, then those that were begun since. */
async function readOn(directory: string, files: FilePort, ledger: Ledger): Promise<void> {
  const names = await segmentNames(directory, files);
  const last = ledger.segments.at(-1);
  if (last && names.includes(last.name)) {
    const { name, header, size: from } = last;
    const bytes = await files.read(
      join(directory, name),
      from,
      (await files.stat(join(directory, name))).size,
    );
    for (const { batch, at, end } of decodeRecords(bytes, { name, version: header.version, growing: true })) {
      ledger.take(last, batch, from + at);
      last.size = from + end;
    }
  }
  for (const name of names) {
    if (segmentNumber(name)! > ledger.next) throw movedOn(directory);
    if (segmentNumber(name) === ledger.next && name !== ledger.segments.at(-1)?.name)
      scanInto(ledger, await files.read(join(directory, name)), name, 0);
  }
}

const nothingThere = (directory: string, files: FilePort): Promise<boolean> =>
  files.stat(join(directory, IDENTITY)).then(
    () => false,
    () => true,
  );

const noLog = (directory: string): EarshotError =>
  new EarshotError(
    "log_missing",
    `There is no log in ${directory}. Name the directory an agent was served with: earshot serve --data DIR.`,
  );

const movedOn = (directory: string): EarshotError =>
  new EarshotError(
    "log_moved_on",
    `The log in ${directory} has removed what comes next here. Begin again to see what it still holds.`,
  );

const explain = (error: unknown, directory: string): unknown =>
  ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "") ? noLog(directory) : error;
