/** Reads a log without writing to it, while another process may be writing. */
import { join } from "node:path";
import type { Fact, LogEntry, LogIdentity } from "../../hub/store.ts";
import { EarshotError } from "../../protocol/errors.ts";
import { type FilePort, nodeFiles } from "./file-port.ts";
import { type LogIndex, readEntries, recover, scanInto, segmentNames } from "./log-index.ts";
import { decodeRecords, segmentNumber } from "./segment.ts";
import { IDENTITY, readIdentity } from "./store.ts";

/** Options of `readLog`. */
export interface LogReadingOptions {
  readonly directory: string;
  readonly files?: FilePort;
}

/** A snapshot of the log, until it is refreshed. */
export interface LogReading {
  readonly identity: LogIdentity;
  /** Every session in the log, and whether it is open. */
  readonly sessions: readonly { readonly session_id: string; readonly open: boolean }[];
  /** The newest entry; 0 if there is none. */
  readonly last: number;
  /** Bytes of a write that is in progress or was never finished. */
  readonly tornBytes: number;
  read(from?: number, session_id?: string): AsyncIterable<LogEntry>;
  facts(kind: string): readonly Fact[];
  /** Reads what was written since. */
  refresh(): Promise<void>;
}

/** Retention may remove a file while it is read; then everything is read again. */
const ATTEMPTS = 5;

/** Reads a log without writing to it, also while another process writes. */
export async function readLog({ directory, files = nodeFiles }: LogReadingOptions): Promise<LogReading> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await openReading(directory, files);
    } catch (error) {
      const vanished = (error as NodeJS.ErrnoException).code === "ENOENT";
      if (!vanished || attempt === ATTEMPTS || (await isMissing(directory, files)))
        throw explain(error, directory);
    }
  }
}

async function openReading(directory: string, files: FilePort): Promise<LogReading> {
  const identity = await readIdentity(directory, files);
  if (!identity) throw noLog(directory);
  const { index, torn } = await recover(directory, files);
  return {
    identity: { epoch: identity.epoch, key: identity.key },
    get sessions() {
      const sessions = new Set(index.segments.flatMap((segment) => [...segment.sessions]));
      return [...sessions].map((session_id) => ({ session_id, open: index.open.has(session_id) }));
    },
    get last() {
      return index.last;
    },
    tornBytes: torn?.bytes ?? 0,
    read: (from = 1, session_id) => readEntries({ directory, files, index, from, session_id }),
    facts: (kind) => index.facts(kind),
    refresh: () => readMore(directory, files, index),
  };
}

/** Reads the end of the file that was the last one, then the files started since. */
async function readMore(directory: string, files: FilePort, index: LogIndex): Promise<void> {
  const names = await segmentNames(directory, files);
  const last = index.segments.at(-1);
  if (last && names.includes(last.name)) {
    const { name, header, size: from } = last;
    const bytes = await files.read(
      join(directory, name),
      from,
      (await files.stat(join(directory, name))).size,
    );
    for (const { batch, at, end } of decodeRecords(bytes, { name, version: header.version, growing: true })) {
      index.add(last, batch, from + at);
      last.size = from + end;
    }
  }
  for (const name of names) {
    if (segmentNumber(name)! > index.next) throw compacted(directory);
    if (segmentNumber(name) === index.next && name !== index.segments.at(-1)?.name)
      scanInto(index, await files.read(join(directory, name)), name, 0);
  }
}

const isMissing = (directory: string, files: FilePort): Promise<boolean> =>
  files.stat(join(directory, IDENTITY)).then(
    () => false,
    () => true,
  );

const noLog = (directory: string): EarshotError =>
  new EarshotError(
    "log_missing",
    `There is no log in ${directory}. Name the directory an agent was served with: earshot serve --data DIR.`,
  );

const compacted = (directory: string): EarshotError =>
  new EarshotError(
    "log_moved_on",
    `The log in ${directory} no longer has the entries that come next. Start again to read what it still has.`,
  );

const explain = (error: unknown, directory: string): unknown =>
  ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "") ? noLog(directory) : error;
