/**
 * W3C trace context through `correlation_id` (ENV-27): AAEP has one field for links to traces outside it, so a
 * traceparent travels there, in events as in messages, and log entries carry its trace id.
 */
export interface TraceContext {
  readonly trace_id: string;
  readonly parent_id: string;
  readonly sampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,200})?$/;

/** The context a traceparent holds; undefined for anything else, such as a correlation id of another kind. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const found = TRACEPARENT.exec(text ?? "");
  if (!found) return undefined;
  const [, version, trace_id, parent_id, flags, rest] = found as unknown as [
    string,
    string,
    string,
    string,
    string,
    string?,
  ];
  // Version ff is forbidden, version 00 has no more fields, and ids of zeros mean that there is none.
  if (version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  if (/^0+$/.test(trace_id) || /^0+$/.test(parent_id)) return undefined;
  return { trace_id, parent_id, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** As a header or a `correlation_id` says it. */
export const formatTraceparent = ({ trace_id, parent_id, sampled }: TraceContext): string =>
  `00-${trace_id}-${parent_id}-${sampled ? "01" : "00"}`;
