/** A message as a listener received it, and the text in it. */
import { type AgentEvent, directionOf, type Issue, parse } from "../src/protocol/index.ts";
import { neutralize } from "../src/subscriber/announcer.ts";

export interface ReceivedMessage {
  /** Arrival time in wall-clock milliseconds; in a replay, on the recording's clock. */
  readonly at: number;
  /** The message as received. */
  readonly text: string;
  /** Undefined if the message could not be parsed. */
  readonly event: AgentEvent | undefined;
  /** Schema issues, if already checked. */
  readonly issues?: readonly Issue[];
}

/** A parsed message and its schema issues. */
export interface ParsedMessage {
  /** Undefined if it is not an event, or cannot be parsed. */
  readonly event: AgentEvent | undefined;
  readonly type: string | undefined;
  readonly issues: readonly Issue[];
}

export function readMessage(text: string): ParsedMessage {
  const strict = parse(text, { mode: "strict" });
  const parsed = strict.ok ? strict : parse(text, { mode: "tolerant" });
  const issues = strict.ok ? [] : strict.issues;
  if (!parsed.ok) return { event: undefined, type: parsed.type, issues };
  const { type } = parsed.message;
  return { event: parsed.kind === "message" ? undefined : parsed.message, type, issues };
}

export interface ReadableText {
  readonly text: string;
  readonly language: string | undefined;
  readonly direction: "ltr" | "rtl" | "auto";
}

type Loose = Readonly<Record<string, unknown>>;
const textIn = (value: unknown): string => (typeof value === "string" ? value : "");

export const shortType = (type: string): string => type.replace(/^aaep:agent\./, "");

/** The main text, in the negotiated verbosity if the agent provides it. */
function contentOf(event: AgentEvent): string {
  const fields = event as unknown as Loose;
  if (typeof fields["chunk"] === "string") return fields["chunk"];
  if (typeof fields["question"] === "string") return fields["question"];
  if (typeof fields["action"] === "string")
    return [fields["action"], fields["consequence"]].map(textIn).join(" ").trim();
  const summary = fields[`summary_${event.verbosity ?? "normal"}`];
  const any = summary ?? fields["summary_normal"] ?? fields["summary_terse"] ?? fields["summary_detailed"];
  return textIn(any);
}

export function readableText(event: AgentEvent): ReadableText {
  const hints = event.localization_hints as { primary_language?: unknown } | undefined;
  const tag = (event as unknown as Loose)["language"] ?? hints?.primary_language;
  const language = typeof tag === "string" && /^[A-Za-z0-9-]{2,35}$/.test(tag) ? tag : undefined;
  return {
    text: neutralize(contentOf(event), language).text,
    language,
    direction: language === undefined ? "auto" : directionOf(language),
  };
}

const INVISIBLE = /[\p{Cf}\p{Cs}\u0080-\u009f\u2028\u2029]/gu;
const MAX_SHOWN = 2_000;

/** The raw message, with invisible and direction-changing characters escaped. */
export function rawText(text: string): string {
  const shown = text
    .slice(0, MAX_SHOWN)
    .replace(INVISIBLE, (one) => `\\u{${one.codePointAt(0)!.toString(16)}}`);
  if (text.length <= MAX_SHOWN) return shown;
  return `${shown} … ${text.length.toLocaleString("en")} characters in all; a recording has them.`;
}
