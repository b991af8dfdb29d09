/** What a listener got, and the words in it. */
import { type AgentEvent, directionOf, type Issue, parse } from "../src/protocol/index.ts";
import { neutralize } from "../src/subscriber/announcer.ts";

export interface Heard {
  /** When it arrived, in wall-clock milliseconds; in a replay, when it would have. */
  readonly at: number;
  /** As it came. */
  readonly text: string;
  /** Undefined for what could not be read. */
  readonly event: AgentEvent | undefined;
  /** What is wrong with it as a message, where somebody looked already. */
  readonly issues?: readonly Issue[];
}

/** An event in a line of a recording, and what a careful agent would have written otherwise. */
export interface Read {
  /** Undefined for what is no event, or cannot be read. */
  readonly event: AgentEvent | undefined;
  readonly type: string | undefined;
  readonly issues: readonly Issue[];
}

export function readMessage(text: string): Read {
  const strict = parse(text, { mode: "strict" });
  const parsed = strict.ok ? strict : parse(text, { mode: "tolerant" });
  const issues = strict.ok ? [] : strict.issues;
  if (!parsed.ok) return { event: undefined, type: parsed.type, issues };
  const { type } = parsed.message;
  return { event: parsed.kind === "message" ? undefined : parsed.message, type, issues };
}

export interface Words {
  readonly text: string;
  readonly language: string | undefined;
  readonly direction: "ltr" | "rtl" | "auto";
}

type Loose = Readonly<Record<string, unknown>>;
const textIn = (value: unknown): string => (typeof value === "string" ? value : "");

export const shortType = (type: string): string => type.replace(/^aaep:agent\./, "");

/** In the verbosity this listener agreed on, as far as the agent has it. */
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

export function wordsOf(event: AgentEvent): Words {
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
const LONGEST_SHOWN = 2_000;

/** The message itself, with what cannot be seen written out: here nothing may hide or turn the text around. */
export function rawOf(text: string): string {
  const shown = text
    .slice(0, LONGEST_SHOWN)
    .replace(INVISIBLE, (one) => `\\u{${one.codePointAt(0)!.toString(16)}}`);
  if (text.length <= LONGEST_SHOWN) return shown;
  return `${shown} … ${text.length.toLocaleString("en")} characters in all; a recording has them.`;
}
