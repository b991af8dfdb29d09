/** The part of the log that delivery holds in memory, marked once. Older places have aged out and are answered by a gap. */
import type { LogEntry } from "./entry.ts";
import { type Marked, SessionTrack } from "./track.ts";

const COARSEST = 4;

export class LogWindow {
  readonly tracks = new Map<string, SessionTrack>();
  /** Those of them that have not ended: whoever joins at the end need not look at the rest. */
  readonly running = new Set<SessionTrack>();
  readonly #entries: Marked[] = [];
  readonly #most: number;
  #first = 1;

  constructor(most = 100_000) {
    this.#most = most;
  }

  /** The oldest place that is still here. */
  get first(): number {
    return this.#first;
  }
  get next(): number {
    return this.#first + this.#entries.length;
  }

  append(entry: LogEntry): Marked {
    if (this.#entries.length === 0) this.#first = entry.seq;
    if (entry.seq !== this.next)
      throw new RangeError(`Log entry ${entry.seq} arrived where ${this.next} was due.`);
    const { session_id } = entry.event;
    let track = this.tracks.get(session_id);
    if (!track) {
      track = new SessionTrack(session_id);
      this.tracks.set(session_id, track);
    }
    const marked = track.mark(entry);
    this.#entries.push(marked);
    if (track.ended && marked.since[COARSEST] === 0) this.running.delete(track);
    else this.running.add(track);
    // A quarter at a time: moving the array on every append would cost more than it saves.
    if (this.#entries.length > this.#most * 1.25) this.#age(this.#entries.length - this.#most);
    return marked;
  }

  at(seq: number): Marked | undefined {
    return this.#entries[seq - this.#first];
  }

  *from(seq: number, before = this.next): Iterable<Marked> {
    for (let i = Math.max(seq, this.#first); i < before; i++) yield this.#entries[i - this.#first]!;
  }

  /** Where a cutter at this level must start reading to know every open text at this place; it may have aged out. */
  floor(seq: number, level = COARSEST): number {
    let floor = seq;
    for (const track of seq >= this.next ? this.running : this.tracks.values()) {
      const since = track.sinceAt(seq, level);
      if (since > 0 && since < floor) floor = since;
    }
    return floor;
  }

  #age(count: number): void {
    const gone = this.#entries.splice(0, count);
    this.#first += count;
    for (const { track } of gone) {
      if (track.entries.length === 0 || track.entries[0]!.entry.seq >= this.#first) continue;
      const keep = track.entries.findIndex(({ entry }) => entry.seq >= this.#first);
      const aged = track.entries.splice(0, keep < 0 ? track.entries.length : keep);
      const { since, sinceWord } = aged.at(-1)!;
      track.aged = { since, sinceWord };
      if (track.ended && track.entries.length === 0) this.tracks.delete(track.session_id);
    }
  }
}
