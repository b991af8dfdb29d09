/** The in-process client: the same messages as text, handed to the hub directly. Tests and `earshot/testing` use it. */
import type { ResumePoint } from "../../protocol/extension.ts";
import type { HubPort, Incoming, Peer } from "../../protocol/hub-port.ts";
import { LOCAL_USER, type Principal } from "../../protocol/principal.ts";
import type { OtherMessage, SubscriptionRequest } from "../../protocol/types.ts";
import {
  type Answer,
  type ClientConnection,
  type ClientTransport,
  type ConnectionEvents,
  closedWith,
  withResume,
} from "../client-connection.ts";
import { createNumbering, reorder, type SequenceState } from "../sequence.ts";

export interface MemoryClientOptions {
  /** The caller, as a real transport would have authenticated it; one local user by default. */
  readonly principal?: Principal;
  /**
   * Delivers each message, in a microtask by default. A queue that does not keep order may be given: events are then
   * numbered and reordered (TRN-04).
   */
  readonly schedule?: (deliver: () => void) => void;
  /** Calls back once after so many milliseconds, unless cancelled. */
  readonly after?: (ms: number, callback: () => void) => () => void;
}

export interface MemoryClient extends ClientTransport {
  /** The answer to the last request, known before `open` resolves. */
  readonly answer: Answer | undefined;
}

function afterTimeout(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}

export function createMemoryClient(hub: HubPort, options: MemoryClientOptions = {}): MemoryClient {
  const { principal = LOCAL_USER, schedule, after = afterTimeout } = options;
  let answer: Answer | undefined;
  /** Sequence numbers are kept across the connections of a subscription. */
  let sequence:
    | { readonly id: string; number: ReturnType<typeof createNumbering>; state: SequenceState }
    | undefined;

  async function open(
    request: SubscriptionRequest,
    resume: ResumePoint | undefined,
    events: ConnectionEvents,
  ): Promise<ClientConnection> {
    const subscribed = hub.subscribe(withResume(request, resume), principal, "memory");
    answer = subscribed.answer;
    const { subscription } = subscribed;
    if (!subscription) return { answer, send: async () => ({ taken: false }), close() {} };
    const { id } = subscription;
    if (sequence?.id !== id)
      sequence = { id, number: createNumbering(), state: { next: new Map(), missed: new Map() } };
    let connected = true;
    const disconnect = () => {
      connected = false;
      subscription.disconnect(peer);
    };
    const receiver: ConnectionEvents = {
      message: (text, cursor) => events.message(text, cursor),
      closed(reason) {
        disconnect();
        events.closed(reason);
      },
    };
    const ordered = schedule ? reorder(receiver, sequence.state, after) : receiver;
    // Never within the sender's call, so that neither side runs inside the other.
    const deliver = (job: () => void) => (schedule ?? queueMicrotask)(() => connected && job());
    const direct: Peer = {
      send: ({ json, cursor }) => deliver(() => ordered.message(json, cursor)) as undefined,
      tell: (message) => deliver(() => ordered.message(JSON.stringify(message), false)),
      close: (code) => deliver(() => ordered.closed(closedWith(code))),
    };
    const peer = schedule ? sequence.number(direct) : direct;
    // The subscriber has the connection before the first event arrives.
    queueMicrotask(() => connected && subscription.connect(peer));
    return {
      answer,
      async send(message: OtherMessage) {
        const handled = await hub.handle(message as Incoming, principal, subscription);
        return "answer" in handled
          ? { taken: handled.answer.type === "subscription.accepted", answer: handled.answer }
          : { taken: handled.taken };
      },
      close: disconnect,
    };
  }

  return {
    name: "memory",
    open,
    get answer() {
      return answer;
    },
  };
}
