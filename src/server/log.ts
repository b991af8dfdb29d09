/**
 * Structured log entries (SEC-16, SEC-17): what happened, by ids and codes. Tokens and credentials are removed from
 * every text and control characters are escaped. A listener's name and needs are never logged (A16).
 */
import { createHmac, randomBytes } from "node:crypto";
import type { Principal } from "../protocol/principal.ts";

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
