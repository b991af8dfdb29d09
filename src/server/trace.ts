/**
 * W3C trace context through `correlation_id` (ENV-27): AAEP has one field for links to traces outside it, so a
 * traceparent travels there, in events as in messages, and log entries carry its trace id.
 */
export interface TraceContext {
  readonly traceId: string;
  readonly parentId: string;
  readonly sampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,200})?$/;

/** The context a traceparent holds; undefined for anything else, such as a correlation id of another kind. */
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
  // Version ff is forbidden, version 00 has no more fields, and ids of zeros mean that there is none.
  if (version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId)) return undefined;
  return { traceId, parentId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** As a header or a `correlation_id` says it. */
export const formatTraceparent = ({ traceId, parentId, sampled }: TraceContext): string =>
  `00-${traceId}-${parentId}-${sampled ? "01" : "00"}`;
