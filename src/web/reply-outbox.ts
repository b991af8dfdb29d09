/** A person's replies, sent through the leader tab and kept until their outcome is known; sent again by a new leader. */
import type { Outgoing } from "../subscriber/announcer.ts";
import type { LeaderConnection } from "./leader-connection.ts";
import type { TabMessage } from "./tabs.ts";

type Settle = (taken: boolean | undefined) => void;

export class ReplyOutbox {
  readonly #tab: string;
  readonly #leader: () => LeaderConnection | undefined;
  readonly #post: (message: TabMessage) => void;
  readonly #waiting = new Map<string, { readonly message: Outgoing; readonly settle: Settle }>();
  #count = 0;

  constructor(tab: string, leader: () => LeaderConnection | undefined, post: (message: TabMessage) => void) {
    this.#tab = tab;
    this.#leader = leader;
    this.#post = post;
  }

  /** Resolves with what became of it: true if the agent accepted it, undefined where nobody can tell. */
  send(message: Outgoing): Promise<boolean | undefined> {
    return new Promise((settle) => {
      const id = `${this.#tab} ${++this.#count}`;
      this.#waiting.set(id, { message, settle });
      this.#dispatch(id, message, false);
    });
  }

  /** There is a new leader: what the last one was given may have been lost with it. */
  again(): void {
    for (const [id, { message }] of this.#waiting) this.#dispatch(id, message, true);
  }

  /** Called in the leader tab. */
  forward(id: string, message: Outgoing, again: boolean): void {
    this.#leader()
      ?.send(message)
      .then(
        // Sent twice, a no may only mean that the first one counted: the agent's events tell.
        (taken) => this.#done(id, again && taken === false ? undefined : taken),
        () => this.#done(id, undefined),
      );
  }

  settle(id: string, taken: boolean | undefined): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.settle(taken);
  }

  #dispatch(id: string, message: Outgoing, again: boolean): void {
    if (this.#leader()) this.forward(id, message, again);
    else this.#post({ do: "send", id, message, again });
  }

  #done(id: string, taken: boolean | undefined): void {
    if (this.#waiting.has(id)) this.settle(id, taken);
    else this.#post({ do: "sent", id, taken });
  }
}
