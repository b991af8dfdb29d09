/**
 * Logs and metrics (SEC-16, SEC-17): what happened, by ids and codes. Tokens and credentials are removed from every text
 * and control characters are escaped. A listener's name and needs are never logged or counted (A16).
 */
import { createHmac, randomBytes } from "node:crypto";
import type { HubObserver } from "../protocol/hub-port.ts";
import type { Principal } from "../protocol/principal.ts";
import type { ConnectionObserver } from "../transports/server-connection.ts";

/** How important a log entry is. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** One structured log entry of the server. */
export interface LogEntry {
  /** RFC 3339. */
  readonly at: string;
  readonly level: LogLevel;
  /** What happened, as a stable word. */
  readonly event: string;
  /** For people. */
  readonly message?: string;
  readonly [field: string]: unknown;
}

/** Receives structured log entries, e.g. to hand them to a logging library. */
export type LogSink = (entry: LogEntry) => void;

export interface Logger {
  (level: LogLevel, event: string, fields?: Readonly<Record<string, unknown>>): void;
  /** A pseudonym, valid for this run only: using assistive technology is private. */
  who(principal: Principal): string;
}

const SECRETS: readonly [RegExp, string][] = [
  [/\brpl_[A-Za-z0-9_-]+/g, "rpl_[redacted]"],
  [/\beyJ[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]*){1,4}/g, "[redacted]"],
  [/\b(bearer|basic)\s+[^\s,;"']+/gi, "$1 [redacted]"],
  [/\b(ticket|token|access_token|earshot_\d{1,5})=[^\s&;"']+/gi, "$1=[redacted]"],
  // Our ids have a prefix, so hex digits without one are a secret.
  [/\b[0-9a-f]{32,}\b/gi, "[redacted]"],
];
const SECRET_KEY =
  /token|secret|password|authorization|cookie|ticket|signed_manifest|capabilities|subscriber_/i;
/** Control characters, and those that reorder or break lines on a screen. */
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const MAX_LENGTH = 1_000;
const MAX_DEPTH = 4;

export function redact(text: string): string {
  // Cut twice: the first cut may leave half a secret that the patterns miss, and the second removes it.
  let clean = text.slice(0, 2 * MAX_LENGTH);
  for (const [pattern, replacement] of SECRETS) clean = clean.replace(pattern, replacement);
  if (text.length > MAX_LENGTH) clean = `${clean.slice(0, MAX_LENGTH - 128)}…`;
  return clean.replace(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function clean(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return typeof value === "function" ? undefined : value;
  if (depth >= MAX_DEPTH) return "…";
  if (value instanceof Error) {
    return clean(
      { name: value.name, code: (value as { code?: unknown }).code, message: value.message },
      depth,
    );
  }
  if (Array.isArray(value)) return value.slice(0, 32).map((item) => clean(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .slice(0, 64)
      // A trace id has 32 hex digits too, but must stay searchable.
      .map(([key, item]) => [
        key,
        key === "trace_id" ? item : SECRET_KEY.test(key) ? "[redacted]" : clean(item, depth + 1),
      ]),
  );
}

export function createLogger(sink: LogSink = warnings): Logger {
  const key = randomBytes(16);
  const log = (level: LogLevel, event: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    try {
      sink({ at: new Date().toISOString(), level, event, ...(clean(fields) as object) });
    } catch {
      // A failing log must not stop the server.
    }
  };
  return Object.assign(log, {
    who: ({ id }: Principal) => createHmac("sha256", key).update(id).digest("hex").slice(0, 12),
  });
}

const warned = new Set<string>();

/** The default sink: prints warnings and errors, each event once. */
function warnings({ level, event, message }: LogEntry): void {
  if ((level !== "warn" && level !== "error") || message === undefined || warned.has(event)) return;
  warned.add(event);
  process.emitWarning(message, { code: `EARSHOT_${event.toUpperCase()}` });
}

/**
 * W3C trace context in `correlation_id` (ENV-27), AAEP's one field for external correlation: events and messages carry
 * a traceparent there, and log entries its trace id.
 */
export interface TraceContext {
  readonly traceId: string;
  readonly parentId: string;
  readonly sampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,200})?$/;

/** Parses a traceparent; undefined for any other correlation id. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const found = TRACEPARENT.exec(text ?? "");
  if (!found) return undefined;
  const [, version, traceId, parentId, flags, rest] = found as unknown as [
    string,
    string,
    string,
    string,
    string,
    string?,
  ];
  // Version ff is invalid, version 00 has no further fields, and ids of zeros mean that there is none.
  if (version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId)) return undefined;
  return { traceId, parentId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** For a traceparent header or a `correlation_id`. */
export const formatTraceparent = ({ traceId, parentId, sampled }: TraceContext): string =>
  `00-${traceId}-${parentId}-${sampled ? "01" : "00"}`;

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
