/** A listener in the agent's own process: the same messages as text, through the same door, without a wire. */
import { closeReason } from "../../protocol/close-reasons.ts";
import type { Door, Incoming, Line, Peer } from "../../protocol/door.ts";
import type { Principal } from "../../protocol/principal.ts";
import type {
  OtherMessage,
  SubscriptionAccepted,
  SubscriptionRejected,
  SubscriptionRequest,
} from "../../protocol/types.ts";
import { type LineEvents, type ResumePoint, withResume } from "../line.ts";

type Answer = SubscriptionAccepted | SubscriptionRejected;

/** Fills the subscriber's transport port. Text crosses in a microtask, so that neither side runs inside the other. */
export function createMemoryClient(door: Door, principal: Principal) {
  return {
    name: "memory",
    async open(request: SubscriptionRequest, resume: ResumePoint | undefined, events: LineEvents) {
      const { answer, line } = door.request(
        withResume(request, resume) as SubscriptionRequest,
        principal,
        "memory",
      );
      if (!line) return { answer: answer as Answer, send: async () => ({ taken: false }), close() {} };
      let open = true;
      const later = (job: () => void) => queueMicrotask(() => open && job());
      const peer: Peer = {
        send: ({ json }) => void later(() => events.message(json, true)),
        tell: (message) => later(() => events.message(JSON.stringify(message), false)),
        close: (code) =>
          later(() => {
            open = false;
            const { reconnect, sentence } = closeReason(code);
            events.closed({ code, reconnect, message: sentence });
          }),
      };
      // The listener holds its end before the first event comes.
      queueMicrotask(() => (line as Line).connect(peer));
      return {
        answer: answer as Answer,
        async send(message: OtherMessage) {
          const handled = door.handle(message as Incoming, principal, line as Line);
          return "answer" in handled
            ? { taken: handled.answer.type === "subscription.accepted", answer: handled.answer as Answer }
            : { taken: handled.taken };
        },
        close: () => {
          open = false;
          (line as Line).disconnect(peer);
        },
      };
    },
  };
}
