/** Where the shown events come from: the agent of this page, or a remote agent. For recordings see replay.ts. */

import type { AgentEvent, Capabilities, SubscriptionAccepted } from "../src/protocol/index.ts";
import { type ClientTransport, Subscriber, transportFor } from "../src/subscriber/index.ts";
import { messageOf } from "./credential.ts";
import type { Dashboard } from "./dashboard.ts";
import type { ListenerKind } from "./listeners.ts";
import { readMessage } from "./messages.ts";

export interface Source {
  /** Requests other capabilities for one column; resolves to the negotiated ones. */
  renegotiate(column: number, capabilities: Capabilities): Promise<Capabilities>;
  stop(): void;
}

/** Advances the speech preview while no events arrive. Returns a function that stops it. */
function keepPumping(dashboard: Dashboard): () => void {
  const timer = setInterval(() => {
    const now = Date.now();
    const due = dashboard.wakeAt(now);
    if (due !== undefined && due <= now) dashboard.pump(now);
  }, 250);
  return () => clearInterval(timer);
}

const RETRY_HINT = "Reload this page. If the agent was restarted, open the address it shows now.";
/** Raw messages kept until their event is delivered. */
const MAX_PENDING_TEXTS = 1_000;

/** Raw messages, matched to the events parsed from them; both arrive in the same order. */
class RawTexts {
  #waiting: string[] = [];

  add(text: string): void {
    this.#waiting.push(text);
    if (this.#waiting.length > MAX_PENDING_TEXTS) this.#waiting.shift();
  }

  of({ event_id }: AgentEvent): string | undefined {
    return this.#take((text) => text.includes(`"${event_id}"`));
  }
  /** The oldest one left. */
  next(): string {
    return this.#take(() => true) ?? "";
  }

  #take(matches: (text: string) => boolean): string | undefined {
    const at = this.#waiting.findIndex(matches);
    if (at < 0) return undefined;
    return this.#waiting.splice(0, at + 1).at(-1);
  }
}

const recordTexts = (transport: ClientTransport, texts: RawTexts): ClientTransport => ({
  name: transport.name,
  open: (request, resume, events) =>
    transport.open(request, resume, {
      ...events,
      message: (text, cursor) => {
        texts.add(text);
        events.message(text, cursor);
      },
    }),
});

interface LiveHooks {
  /** Called with the agent's name once connected. */
  agent(name: string): void;
}

/** The agent of this page: four subscriptions, each on its own WebSocket, which the HTTP connection limit does not affect. */
export function openLocalAgent(
  dashboard: Dashboard,
  address: string,
  kinds: readonly ListenerKind[],
  hooks: LiveHooks,
): Source {
  const subscribers: (Subscriber | undefined)[] = [];
  let stopped = false;

  const open = async (kind: ListenerKind, index: number): Promise<void> => {
    const column = dashboard.columns[index]!;
    column.state("Connecting.");
    const texts = new RawTexts();
    try {
      const transport = recordTexts(await transportFor(address), texts);
      const subscriber = new Subscriber(transport, {
        ...kind.capabilities,
        subscriber_id: "earshot-inspector",
        subscriber_name: `Inspector: ${kind.name}`,
      });
      subscribers[index] = subscriber;
      subscriber.on("connection", ({ state, message }) => {
        if (state === "connected") column.terms(subscriber.accepted.honored_capabilities);
        column.state(state === "connected" ? "" : `The connection was lost. Retrying. ${message}`);
      });
      subscriber.on("closed", ({ message }) => stopped || column.state(`Ended: ${message} ${RETRY_HINT}`));
      subscriber.on("event", (event) =>
        dashboard.add(index, { at: Date.now(), text: texts.of(event) ?? JSON.stringify(event), event }),
      );
      subscriber.on("violation", () =>
        dashboard.add(index, { at: Date.now(), text: texts.next(), event: undefined }),
      );
      await subscriber.connect();
      if (stopped) return void subscriber.close();
      const { agent_name, agent_id } = subscriber.accepted.producer;
      hooks.agent(agent_name ?? agent_id);
    } catch (error) {
      if (!stopped) column.state(`Not connected: ${(error as Error).message} ${RETRY_HINT}`);
    }
  };
  kinds.forEach((kind, index) => void open(kind, index));
  const stopPumping = keepPumping(dashboard);

  return {
    async renegotiate(index, capabilities) {
      const subscriber = subscribers[index];
      if (!subscriber) throw new Error("This listener is not connected.");
      return (await subscriber.renegotiate(capabilities)).honored_capabilities;
    },
    stop() {
      stopped = true;
      stopPumping();
      for (const subscriber of subscribers) void subscriber?.close();
    },
  };
}

export interface RemoteAgent {
  readonly address: string;
  readonly token: string;
  readonly headers: Readonly<Record<string, string>>;
}

type ProxyMessage =
  | { readonly kind: "accepted"; readonly value: SubscriptionAccepted }
  /** An AAEP message as received. */
  | { readonly kind: "message"; readonly value: string }
  | { readonly kind: "line"; readonly value: { readonly state: string; readonly message: string } }
  | { readonly kind: "closed"; readonly value: string };

/** Parses the server-sent events of Earshot's own server: one `data: ` line of JSON each. */
async function* messagesIn(body: ReadableStream<Uint8Array>): AsyncGenerator<ProxyMessage> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = parts.pop()!;
    for (const part of parts) if (part.startsWith("data: ")) yield JSON.parse(part.slice(6)) as ProxyMessage;
  }
}

/** Another agent, through the server of this page: the page itself may connect to its own origin only. */
export async function openRemoteAgent(
  dashboard: Dashboard,
  { address, token, headers }: RemoteAgent,
  kinds: readonly ListenerKind[],
): Promise<{ readonly source: Source; readonly agent: string }> {
  const aborts: AbortController[] = [];

  /** Resolves to the handshake; what follows goes to the dashboard. */
  const open = async (index: number, capabilities: Capabilities): Promise<SubscriptionAccepted> => {
    aborts[index]?.abort();
    const abort = new AbortController();
    aborts[index] = abort;
    const answer = await fetch("/inspector/listen", {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ address, token, capabilities }),
      signal: abort.signal,
    });
    if (!answer.ok || !answer.body) throw new Error(await messageOf(answer));
    const messages = messagesIn(answer.body);
    const first = (await messages.next()).value as ProxyMessage | undefined;
    if (first?.kind !== "accepted") throw new Error("The connection ended at once.");
    dashboard.columns[index]!.terms(first.value.honored_capabilities);
    dashboard.columns[index]!.state("");
    void follow(index, messages, abort.signal);
    return first.value;
  };

  const follow = async (
    index: number,
    messages: AsyncGenerator<ProxyMessage>,
    signal: AbortSignal,
  ): Promise<void> => {
    const column = dashboard.columns[index]!;
    try {
      for await (const { kind, value } of messages) {
        if (kind === "message") {
          const { event, issues } = readMessage(value);
          dashboard.add(index, { at: Date.now(), text: value, event, issues });
        } else if (kind === "line")
          column.state(
            value.state === "connected" ? "" : `The connection was lost. Retrying. ${value.message}`,
          );
        else if (kind === "closed") column.state(`Ended: ${value}`);
      }
    } catch {
      if (!signal.aborted) column.state("Ended: the server of this page does not respond.");
    }
  };

  const requested = kinds.map(({ capabilities }) => capabilities);
  const stop = () => {
    for (const abort of aborts) abort.abort();
  };
  let agent: string;
  try {
    const accepted = await Promise.all(requested.map((capabilities, index) => open(index, capabilities)));
    const { agent_name, agent_id } = accepted[0]!.producer;
    agent = agent_name ?? agent_id;
  } catch (error) {
    stop();
    throw error;
  }
  const stopPumping = keepPumping(dashboard);
  return {
    agent,
    source: {
      // A new connection with the new capabilities; open questions are sent again.
      async renegotiate(index, capabilities) {
        requested[index] = { ...requested[index], ...capabilities };
        return (await open(index, requested[index]!)).honored_capabilities;
      },
      stop() {
        stopPumping();
        stop();
      },
    },
  };
}
