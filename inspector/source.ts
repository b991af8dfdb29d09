/** Where what is shown comes from: the agent of this page, another one, or a recording. */
import type { AgentEvent, Capabilities } from "../src/protocol/index.ts";
import type { Board } from "./board.ts";

export interface Source {
  /** Asks for other terms for one column; gives what was agreed on. */
  renegotiate(column: number, capabilities: Capabilities): Promise<Capabilities>;
  stop(): void;
}

/** An event that just arrived; `text` is as it came, where that is known. */
export function hearNow(board: Board, column: number, event: AgentEvent, text = JSON.stringify(event)): void {
  board.hear(column, { at: Date.now(), text, event });
}

/** Lets the spoken preview go on while nothing is heard. The answer stops it. */
export function keepPumping(board: Board): () => void {
  const timer = setInterval(() => {
    const now = Date.now();
    const due = board.wakeAt(now);
    if (due !== undefined && due <= now) board.pump(now);
  }, 250);
  return () => clearInterval(timer);
}
