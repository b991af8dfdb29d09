/** A listener in the agent's own process: the same messages as text, through the same hub, without a wire. */
import { closeReason } from "../../protocol/close-reasons.ts";
import type { ResumePoint } from "../../protocol/extension.ts";
import type { HubPort, Incoming, Peer } from "../../protocol/hub-port.ts";
import type { Principal } from "../../protocol/principal.ts";
import type {
  OtherMessage,
  SubscriptionAccepted,
  SubscriptionRejected,
  SubscriptionRequest,
} from "../../protocol/types.ts";
import { type ConnectionEvents, withResume } from "../client-connection.ts";
import { createNumbering, reorder, type SequenceState } from "../sequence.ts";

type Answer = SubscriptionAccepted | SubscriptionRejected;

interface MemoryOptions {
  /**
   * How each message crosses, where a microtask will not do: a queue of your own, say. Messages may overtake each other
   * on it, so events are numbered and put in order again (TRN-04).
   */
  readonly carry?: (job: () => void) => void;
  /** Calls back once after so many milliseconds, unless cancelled. */
  readonly after?: (ms: number, callback: () => void) => () => void;
}

function later(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}

/** Fills the subscriber's transport port. Text crosses in a microtask, so that neither side runs inside the other. */
export function createMemoryClient(
  hub: HubPort,
  principal: Principal,
  { carry, after = later }: MemoryOptions = {},
) {
  /** Numbers outlive a line, as the subscription does. */
  let numbers:
    | { readonly of: string; number: ReturnType<typeof createNumbering>; places: SequenceState }
    | undefined;
  return {
    name: "memory",
    async open(request: SubscriptionRequest, resume: ResumePoint | undefined, heard: ConnectionEvents) {
      const { answer, subscription: line } = hub.subscribe(
        withResume(request, resume) as SubscriptionRequest,
        principal,
        "memory",
      );
      if (!line) return { answer: answer as Answer, send: async () => ({ taken: false }), close() {} };
      let open = true;
      const cross = (job: () => void) => (carry ?? queueMicrotask)(() => open && job());
      if (numbers?.of !== line.id)
        numbers = {
          of: line.id,
          number: createNumbering(),
          places: { next: new Map(), missed: new Map() },
        };
      const ends: ConnectionEvents = {
        message: heard.message,
        closed(reason) {
          open = false;
          line.disconnect(peer);
          heard.closed(reason);
        },
      };
      const events = carry ? reorder(ends, numbers.places, after) : ends;
      const bare: Peer = {
        send: ({ json }) => void cross(() => events.message(json, true)),
        tell: (message) => cross(() => events.message(JSON.stringify(message), false)),
        close: (code) =>
          cross(() => {
            const { reconnect, sentence } = closeReason(code);
            events.closed({ code, reconnect, message: sentence });
          }),
      };
      const peer = carry ? numbers.number(bare) : bare;
      // The listener holds its end before the first event comes.
      queueMicrotask(() => line.connect(peer));
      return {
        answer: answer as Answer,
        async send(message: OtherMessage) {
          const handled = await hub.handle(message as Incoming, principal, line);
          return "answer" in handled
            ? { taken: handled.answer.type === "subscription.accepted", answer: handled.answer as Answer }
            : { taken: handled.taken };
        },
        close: () => {
          open = false;
          line.disconnect(peer);
        },
      };
    },
  };
}
