/**
 * Turns what happens at the hub and on its connections into metrics and log entries. Nothing in them describes a
 * listener or their needs.
 */
import type { HubObserver } from "../protocol/hub-port.ts";
import type { ConnectionObserver } from "../transports/server-connection.ts";
import type { Logger } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { parseTraceparent } from "./trace.ts";

export type Observer = HubObserver & ConnectionObserver;

export function createObserver(log: Logger, metrics: Metrics): Observer {
  return {
    closed(_, reason) {
      metrics.count("earshot_disconnects_total", { reason });
    },
    failed(transport, error) {
      log("error", "message_failed", { message: "A message could not be handled.", transport, error });
    },
    handshake(request, { answer, subscription }, principal, transport) {
      const outcome = answer.type === "subscription.accepted" ? "accepted" : answer.reason_code;
      metrics.count("earshot_handshakes_total", { transport, outcome });
      log("info", "handshake", {
        transport,
        outcome,
        who: log.who(principal),
        subscription_id: subscription?.id,
        trace_id: parseTraceparent(request.correlation_id)?.traceId,
      });
    },
    connected(subscription_id, principal, transport, resumed) {
      metrics.count("earshot_connections_total", { transport });
      log("info", "stream_opened", { subscription_id, who: log.who(principal), resumed });
    },
    disconnected(subscription_id, principal) {
      log("info", "stream_closed", { subscription_id, who: log.who(principal) });
    },
    replied(message, principal, outcome) {
      metrics.count("earshot_replies_total", { outcome });
      log(outcome === "taken" ? "info" : "warn", outcome === "taken" ? "reply_taken" : "reply_refused", {
        type: message.type,
        who: log.who(principal),
        trace_id: parseTraceparent((message as { correlation_id?: string }).correlation_id)?.traceId,
      });
    },
    rateLimited() {
      metrics.count("earshot_refusals_total", { reason: "reply_rate" });
    },
    rightsChanged(subscription_id, principal) {
      log("info", "rights_changed", { subscription_id, who: log.who(principal) });
    },
  };
}
