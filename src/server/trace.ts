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
