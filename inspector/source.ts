/** Where what is shown comes from: the agent of this page, another one, or a recording. */
import type { Capabilities } from "../src/protocol/index.ts";
import type { Board } from "./board.ts";

export interface Source {
  /** Asks for other terms for one column; gives what was agreed on. */
  renegotiate(column: number, capabilities: Capabilities): Promise<Capabilities>;
  stop(): void;
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
