/** Reading entries from a place on, a stretch of a file at a time: what lies before it is not touched. */
import { join } from "node:path";
import type { LogEntry } from "../../hub/store.ts";
import type { FilePort } from "./file-port.ts";
import type { Ledger, Segment } from "./ledger.ts";
import { decodeRecords } from "./segment.ts";

interface ReadOptions {
  readonly directory: string;
  readonly files: FilePort;
  readonly ledger: Ledger;
  readonly from: number;
  /** Only segments that hold something of this session. */
  readonly session_id?: string | undefined;
  /** What is being written when reading begins is waited for. */
  readonly ready?: () => Promise<void> | undefined;
}

export async function* readEntries(options: ReadOptions): AsyncIterable<LogEntry> {
  const { directory, files, ledger, from, session_id, ready } = options;
  await ready?.();
  const { last } = ledger;
  for (const segment of [...ledger.segments]) {
    if (segment.lastSeq < from || (session_id !== undefined && !segment.sessions.has(session_id))) continue;
    for (const [start, end] of stretches(segment, from)) {
      // Retention may remove a file that is being read: what it held is gone, and the rest goes on.
      if (!ledger.segments.includes(segment)) break;
      const bytes = await files.read(join(directory, segment.name), start, end);
      const { name, header } = segment;
      for (const { batch } of decodeRecords(bytes, { name, version: header.version })) {
        for (const entry of batch.entries) {
          if (entry.seq > last) return;
          if (entry.seq >= from && (session_id === undefined || entry.event.session_id === session_id))
            yield entry;
        }
      }
    }
  }
}

function* stretches({ points, size }: Segment, from: number): Iterable<[start: number, end: number]> {
  for (const [i, { at }] of points.entries()) {
    const next = points[i + 1];
    if (!next || next.seq > from) yield [at, next?.at ?? size];
  }
}
