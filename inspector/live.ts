/** The agent of this page: four subscriptions, each on a WebSocket of its own, so that no limit of HTTP counts. */

import type { AgentEvent } from "../src/protocol/index.ts";
import { type ClientTransport, Subscriber, transportFor } from "../src/subscriber/index.ts";
import type { Board } from "./board.ts";
import type { ListenerKind } from "./listeners.ts";
import { keepPumping, type Source } from "./source.ts";

const AGAIN = "Reload this page; or, if the agent was started anew, open the address it shows now.";
/** Messages that came and were not yet heard, at most. */
const MOST_WAITING = 1_000;

/** Messages as they came, found again for what was made of them: both are in the same order. */
class Texts {
  #waiting: string[] = [];

  came(text: string): void {
    this.#waiting.push(text);
    if (this.#waiting.length > MOST_WAITING) this.#waiting.shift();
  }

  of({ event_id }: AgentEvent): string | undefined {
    return this.#take((text) => text.includes(`"${event_id}"`));
  }
  /** The oldest that is still there. */
  next(): string {
    return this.#take(() => true) ?? "";
  }

  #take(fits: (text: string) => boolean): string | undefined {
    const at = this.#waiting.findIndex(fits);
    if (at < 0) return undefined;
    return this.#waiting.splice(0, at + 1).at(-1);
  }
}

const tapped = (transport: ClientTransport, texts: Texts): ClientTransport => ({
  name: transport.name,
  open: (request, resume, events) =>
    transport.open(request, resume, {
      ...events,
      message: (text, cursor) => {
        texts.came(text);
        events.message(text, cursor);
      },
    }),
});

interface LiveHooks {
  /** The first connection was accepted by this agent. */
  agent(name: string): void;
}

export function openLive(
  board: Board,
  address: string,
  kinds: readonly ListenerKind[],
  hooks: LiveHooks,
): Source {
  const subscribers: (Subscriber | undefined)[] = [];
  let stopped = false;

  const open = async (kind: ListenerKind, index: number): Promise<void> => {
    const column = board.columns[index]!;
    column.state("Connecting.");
    const texts = new Texts();
    try {
      const transport = tapped(await transportFor(address), texts);
      const subscriber = new Subscriber(transport, {
        ...kind.capabilities,
        subscriber_id: "earshot-inspector",
        subscriber_name: `Inspector: ${kind.name}`,
      });
      subscribers[index] = subscriber;
      subscriber.on("connection", ({ state, message }) => {
        if (state === "connected") column.terms(subscriber.accepted.honored_capabilities);
        column.state(state === "connected" ? "" : `The line dropped. Trying again. ${message}`);
      });
      subscriber.on("closed", ({ message }) => stopped || column.state(`Ended: ${message} ${AGAIN}`));
      subscriber.on("event", (event) =>
        board.hear(index, { at: Date.now(), text: texts.of(event) ?? JSON.stringify(event), event }),
      );
      subscriber.on("violation", () =>
        board.hear(index, { at: Date.now(), text: texts.next(), event: undefined }),
      );
      await subscriber.connect();
      if (stopped) return void subscriber.close();
      const { agent_name, agent_id } = subscriber.accepted.producer;
      hooks.agent(agent_name ?? agent_id);
    } catch (error) {
      if (!stopped) column.state(`Not connected: ${(error as Error).message} ${AGAIN}`);
    }
  };
  kinds.forEach((kind, index) => void open(kind, index));
  const quiet = keepPumping(board);

  return {
    async renegotiate(index, capabilities) {
      const subscriber = subscribers[index];
      if (!subscriber) throw new Error("This listener is not connected.");
      return (await subscriber.renegotiate(capabilities)).honored_capabilities;
    },
    stop() {
      stopped = true;
      quiet();
      for (const subscriber of subscribers) void subscriber?.close();
    },
  };
}
