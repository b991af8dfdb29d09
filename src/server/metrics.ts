/**
 * Counters in the Prometheus text format. No label names a listener or its capabilities: that would reveal disability.
 * Label values come from small fixed sets, so that requests with invented paths cannot fill the memory.
 */
import type { HubObserver } from "../protocol/hub-port.ts";
import type { ConnectionObserver } from "../transports/server-connection.ts";
import { type Logger, parseTraceparent } from "./log.ts";

export interface Metrics {
  count(name: string, labels?: Readonly<Record<string, string>>): void;
  gauge(name: string, read: () => number): void;
  text(): string;
}

const HELP: Record<string, string> = {
  earshot_http_requests_total: "HTTP requests by path and status.",
  earshot_connections_total: "Streams opened, by transport.",
  earshot_disconnects_total: "Streams closed by this side, by reason.",
  earshot_handshakes_total: "Subscription requests by transport and outcome.",
  earshot_replies_total: "Replies, by outcome.",
  earshot_refusals_total: "Requests refused before they were handled, by reason.",
  earshot_subscriptions: "Current subscriptions.",
  earshot_log_next: "The next position in the log.",
  process_resident_memory_bytes: "Resident memory of this process.",
};

const PATHS = new Set(
  "/subscriptions /events /replies /messages /session /ws /metrics /healthz /readyz".split(" "),
);
const WORD = /^[a-z][a-z0-9_-]{0,31}$/;
const LABELS: Record<string, (value: string) => boolean> = {
  path: (value) => PATHS.has(value) || value.startsWith("/.well-known/aaep-"),
  status: (value) => /^[1-5]\d\d$/.test(value),
  transport: (value) => WORD.test(value),
  reason: (value) => WORD.test(value),
  outcome: (value) => WORD.test(value),
};
/** Far more than the known values can produce. */
const MAX_SERIES = 1_000;

export function createMetrics(): Metrics {
  const counters = new Map<string, number>();
  const gauges = new Map<string, () => number>();
  return {
    count(name, labels = {}) {
      const rendered = Object.entries(labels)
        .filter(([key]) => Object.hasOwn(LABELS, key))
        .map(
          ([key, value]) =>
            `${key}="${LABELS[key]!(value) && value.length <= 64 ? escaped(value) : "other"}"`,
        )
        .join(",");
      const key = rendered ? `${name}{${rendered}}` : name;
      if (counters.size >= MAX_SERIES && !counters.has(key)) return;
      counters.set(key, (counters.get(key) ?? 0) + 1);
    },
    gauge: (name, read) => void gauges.set(name, read),
    text() {
      const lines: string[] = [];
      const seen = new Set<string>();
      const line = (key: string, value: number, type: string) => {
        const name = key.split("{")[0]!;
        if (!seen.has(name)) {
          seen.add(name);
          lines.push(`# HELP ${name} ${HELP[name] ?? name}`, `# TYPE ${name} ${type}`);
        }
        lines.push(`${key} ${value}`);
      };
      for (const key of [...counters.keys()].sort()) line(key, counters.get(key)!, "counter");
      for (const [key, read] of gauges) line(key, read(), "gauge");
      return `${lines.join("\n")}\n`;
    },
  };
}

const escaped = (value: string): string => value.replaceAll(/[\\"\n\r]/g, "_");

/**
 * Turns what happens at the hub and on its connections into metrics and log entries. Nothing in them describes a
 * listener or their needs.
 */
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
