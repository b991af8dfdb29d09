/**
 * One connection as both ends see it, whatever carries it: text one way, text the other, and an end that says why.
 * `send` answers undefined where the text was taken at once; a promise means that the other side is slow, and that
 * nothing more should be sent before it settles (8.8). What was sent before a close is still delivered; what an abrupt
 * end cuts off is not.
 */
import type { CloseCode } from "./close-reasons.ts";

/** Anything that has its text ready: an event on its way to many has it made once. */
export interface Sendable {
  readonly json: string;
}

export interface Connection {
  /** Rejects once the connection has ended: what was sent then went nowhere. */
  send(message: Sendable): Promise<void> | undefined;
  /** Takes the messages of the other side, in order; there is one receiver, and what came before it is kept for it. */
  receive(take: (text: string) => Promise<void> | undefined): void;
  close(code: CloseCode): void;
  /** Settles once, on either side, with the reason the first to close gave. */
  readonly closed: Promise<CloseCode>;
}
