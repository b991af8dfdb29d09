/** What may go: whole segments from the front, and never what is still open. */
import type { Ledger, Segment } from "./ledger.ts";

export interface Retention {
  /** Older than this may go. */
  readonly age_ms?: number;
  /** Beyond this the oldest goes first. */
  readonly bytes?: number;
}

export interface Compaction {
  /** Files that were removed. */
  readonly removed: number;
  /** Sessions that are still open and keep the next file that was due. */
  readonly held_by: readonly string[];
}

export function removable(
  { segments, open, last }: Ledger,
  { age_ms, bytes }: Retention,
  now: number,
): { segments: Segment[]; held_by: string[] } {
  let size = segments.reduce((sum, segment) => sum + segment.size, 0);
  const going: Segment[] = [];
  for (const [i, segment] of segments.entries()) {
    const next = segments[i + 1];
    // The newest entry stays, whatever its age: without it nobody would know where the log goes on.
    if (!next || (segment.lastSeq === last && last !== 0)) break;
    // It was written to until the next one was begun.
    const old = age_ms !== undefined && next.header.created <= now - age_ms;
    if (!old && (bytes === undefined || size <= bytes)) break;
    const held_by = [...open].filter(([, first]) => first <= segment.lastSeq).map(([id]) => id);
    if (held_by.length > 0) return { segments: going, held_by };
    going.push(segment);
    size -= segment.size;
  }
  return { segments: going, held_by: [] };
}
