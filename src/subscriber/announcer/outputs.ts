/** The open texts of all sessions: what of them can be said now, and what still waits for its sentence's end. */
import type { OutputStreaming } from "../../protocol/types.ts";
import { OutputBuffer, type Ready, type SpokenBoundary } from "./output-buffer.ts";
import type { Session } from "./sessions.ts";

export interface ReadyOutput {
  readonly session: Session;
  readonly output: OutputBuffer;
  readonly ready: Ready;
  readonly content_type: string | undefined;
}

const MOST_OUTPUTS = 64;
/** A whole sentence after which nothing came for so long is not waiting for more. */
const PAUSE_MS = 1_000;

export class Outputs {
  /** Sessions with text on hold, and since when nothing was added. */
  readonly #held = new Map<Session, number>();
  /** What was left of those that had to make room. */
  #left: ReadyOutput[] = [];

  add(event: OutputStreaming, session: Session, boundary: SpokenBoundary, now: number): ReadyOutput[] {
    const { output_id = "" } = event;
    const known = session.outputs.get(output_id);
    const buffer = known && !(known.ended && output_id === "") ? known : this.#open(session, output_id);
    const left = this.#left.splice(0);
    const ready = buffer.add(event, boundary);
    if (buffer.holding && boundary !== "completion") this.#held.set(session, now);
    else this.#held.delete(session);
    return ready ? [...left, readyOf(session, buffer, ready)] : left;
  }

  /** Nobody knows this session any more: what it has not finished is said as it is, for it would be lost. */
  leave(session: Session): void {
    this.#left.push(...this.end(session));
  }

  /** Something else happens in this session: whole sentences are said before it, not after. */
  settle(session: Session): ReadyOutput[] {
    return this.#held.delete(session) ? this.#all(session, (buffer) => buffer.settled()) : [];
  }

  /** At the end also half a sentence is said, for there is no more to come (CON-25). */
  end(session: Session): ReadyOutput[] {
    this.#held.delete(session);
    return this.#all(session, (buffer) => buffer.flush());
  }

  /** Whole sentences nothing was added to for a while. */
  paused(now: number): ReadyOutput[] {
    const due = [...this.#held].filter(([, since]) => now - since >= PAUSE_MS);
    return [...this.#left.splice(0), ...due.flatMap(([session]) => this.settle(session))];
  }

  get wakeAt(): number | undefined {
    if (this.#left.length > 0) return 0;
    return this.#held.size === 0 ? undefined : Math.min(...this.#held.values()) + PAUSE_MS;
  }

  #all(session: Session, take: (buffer: OutputBuffer) => Ready | undefined): ReadyOutput[] {
    return [...session.outputs.values()].flatMap((buffer) => {
      const ready = take(buffer);
      return ready ? [readyOf(session, buffer, ready)] : [];
    });
  }

  #open(session: Session, output_id: string): OutputBuffer {
    const buffer = new OutputBuffer();
    session.outputs.delete(output_id);
    session.outputs.set(output_id, buffer);
    if (session.outputs.size <= MOST_OUTPUTS) return buffer;
    const [id, oldest] = session.outputs.entries().next().value!;
    const ready = oldest.flush();
    session.outputs.delete(id);
    if (ready) this.#left.push(readyOf(session, oldest, ready));
    return buffer;
  }
}

const readyOf = (session: Session, output: OutputBuffer, ready: Ready): ReadyOutput => ({
  session,
  output,
  ready,
  content_type: output.content_type,
});
