/** A person's answers on their way to the agent, through whichever tab holds the line, until it is known what came of them. */
import type { Outgoing } from "../subscriber/announcer.ts";
import type { LeaderConnection } from "./leader-connection.ts";
import type { Shared } from "./shared.ts";

type Settle = (taken: boolean | undefined) => void;

export class Outbox {
  readonly #tab: string;
  readonly #line: () => LeaderConnection | undefined;
  readonly #post: (message: Shared) => void;
  readonly #waiting = new Map<string, { readonly message: Outgoing; readonly settle: Settle }>();
  #count = 0;

  constructor(tab: string, line: () => LeaderConnection | undefined, post: (message: Shared) => void) {
    this.#tab = tab;
    this.#line = line;
    this.#post = post;
  }

  add(message: Outgoing, settle: Settle): void {
    const id = `${this.#tab} ${++this.#count}`;
    this.#waiting.set(id, { message, settle });
    if (this.#line()) this.forward(id, message, false);
    else this.#post({ do: "send", id, message, again: false });
  }

  /** Another tab holds the line now; what it was last told may have gone down with the one before. */
  again(): void {
    for (const [id, { message }] of this.#waiting) {
      if (this.#line()) this.forward(id, message, true);
      else this.#post({ do: "send", id, message, again: true });
    }
  }

  /** By the tab that holds the line. */
  forward(id: string, message: Outgoing, again: boolean): void {
    this.#line()
      ?.send(message)
      .then(
        // Sent twice, a no may only mean that the first one was taken: then the agent's own word counts.
        (taken) => this.#done(id, again && taken === false ? undefined : taken),
        () => this.#done(id, undefined),
      );
  }

  settle(id: string, taken: boolean | undefined): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.settle(taken);
  }

  #done(id: string, taken: boolean | undefined): void {
    if (this.#waiting.has(id)) this.settle(id, taken);
    else this.#post({ do: "sent", id, taken });
  }
}
