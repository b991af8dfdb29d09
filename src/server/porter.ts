/**
 * The porter at the hub's door, the same for every transport: a credential that has run out opens and answers nothing
 * (F18), too many wrong answers from one person are not passed on (A02), and what happens is counted and logged
 * without saying anything about the listener.
 */
import { isExpired, sameRights } from "../auth/authenticate.ts";
import type { Door, Line, Peer } from "../protocol/door.ts";
import { resumeRequest } from "../protocol/extension.ts";
import type { Principal } from "../protocol/principal.ts";
import type { SubscriptionRejected } from "../protocol/types.ts";
import type { Logger } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import type { ReplyRate } from "./reply-rate.ts";
import { parseTraceparent } from "./trace.ts";

interface PorterOptions {
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly rate: ReplyRate;
  /** As whom this principal's subscription was made, where principals come with rights that may change. */
  readonly known?: (subscription_id: string, principal: Principal) => Principal | undefined;
  /** Wall-clock milliseconds. */
  readonly now?: () => number;
}

const EXPIRED: SubscriptionRejected = {
  type: "subscription.rejected",
  reason_code: "authentication_required",
  reason_message: "The credentials have expired. Sign in again, reconnect, and send the request once more.",
};

export function keepDoor(
  door: Door,
  { metrics, log, rate, known = () => undefined, now = Date.now }: PorterOptions,
): Door {
  const inner = new WeakMap<Line, Line>();

  /**
   * A subscription keeps the rights it was made with. Somebody who comes back with others starts anew, so that what
   * was taken from them meanwhile is not heard any more.
   */
  function endIfChanged(subscription_id: string | undefined, principal: Principal): void {
    const before = subscription_id === undefined ? undefined : known(subscription_id, principal);
    if (!before || sameRights(before, principal)) return;
    log("info", "rights_changed", { subscription_id, who: log.who(principal) });
    door.handle(
      { type: "subscription.close", subscription_id: subscription_id!, reason_code: "rights_changed" },
      principal,
    );
  }

  function watched(line: Line, principal: Principal, transport: string): Line {
    const open = new Set<Peer>();
    const outer: Line = {
      id: line.id,
      connect(peer, lastEventId) {
        open.add(peer);
        metrics.count("earshot_connections_total", { transport });
        log("info", "stream_opened", {
          subscription_id: line.id,
          who: log.who(principal),
          resumed: lastEventId !== undefined,
        });
        line.connect(peer, lastEventId);
      },
      disconnect(peer) {
        if (open.delete(peer))
          log("info", "stream_closed", { subscription_id: line.id, who: log.who(principal) });
        line.disconnect(peer);
      },
    };
    inner.set(outer, line);
    return outer;
  }

  return {
    request(request, principal, transport) {
      if (isExpired(principal, now())) return { answer: EXPIRED };
      endIfChanged(resumeRequest(request.extensions)?.subscription_id, principal);
      const result = door.request(request, principal, transport);
      const outcome = result.line ? "accepted" : (result.answer as SubscriptionRejected).reason_code;
      metrics.count("earshot_handshakes_total", { transport, outcome });
      log("info", "handshake", {
        transport,
        outcome,
        who: log.who(principal),
        subscription_id: result.line?.id,
        trace_id: parseTraceparent(request.correlation_id)?.trace_id,
      });
      return result.line
        ? { answer: result.answer, line: watched(result.line, principal, transport) }
        : result;
    },
    find(subscription_id, principal) {
      endIfChanged(subscription_id, principal);
      const line = isExpired(principal, now()) ? undefined : door.find(subscription_id, principal);
      // Only over SSE is a stream opened by another call than the request.
      return line && watched(line, principal, "sse");
    },
    handle(message, principal, line) {
      // Asking for more time names a token too, so it is counted like an answer.
      const isReply = "reply_token" in message;
      const may = !isExpired(principal, now()) && (!isReply || rate.allows(principal.id));
      if (!may) return message.type === "subscription.renegotiate" ? { answer: EXPIRED } : { taken: false };
      const handled = door.handle(message, principal, line && (inner.get(line) ?? line));
      if (!isReply || !("taken" in handled)) return handled;
      if (!handled.taken) rate.refused(principal.id);
      metrics.count("earshot_replies_total", { outcome: handled.taken ? "taken" : "refused" });
      log(handled.taken ? "info" : "warn", handled.taken ? "reply_taken" : "reply_refused", {
        type: message.type,
        who: log.who(principal),
        trace_id: parseTraceparent((message as { correlation_id?: string }).correlation_id)?.trace_id,
      });
      return handled;
    },
  };
}
