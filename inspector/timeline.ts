/** The main steps of a session: states, tools, questions, start and end. */
import type { AgentEvent } from "../src/protocol/index.ts";
import { neutralize } from "../src/subscriber/announcer.ts";
import { readableText, shortType } from "./messages.ts";

export interface TimelineEntry {
  readonly at: number;
  readonly session_id: string;
  readonly what: string;
  readonly detail: string;
  readonly language: string | undefined;
  readonly critical: boolean;
}

type Loose = Readonly<Record<string, unknown>>;
const named = (value: unknown): string => (typeof value === "string" ? neutralize(value).text : "unknown");

const QUESTION = /^aaep:agent\.awaiting\./;
const TERMINAL = /^aaep:agent\.session\.(?:completed|errored|cancelled)$/;

/** The question this event settles, if any. */
function settled(event: AgentEvent): { reply_token: string; outcome: string } | undefined {
  const own = event.extensions?.["earshot"] as { resolves?: Loose } | undefined;
  const { reply_token, outcome } = own?.resolves ?? {};
  return typeof reply_token === "string" ? { reply_token, outcome: named(outcome) } : undefined;
}

/** Undefined for text and progress, which the columns show. */
export function timelineEntry(event: AgentEvent): TimelineEntry | undefined {
  const fields = event as unknown as Loose;
  const { text, language } = readableText(event);
  const entry = (what: string, detail: string): TimelineEntry => ({
    at: Date.parse(event.timestamp),
    session_id: event.session_id,
    what,
    detail: detail.trim(),
    language,
    critical: event.urgency === "critical",
  });
  const type = shortType(event.type);
  if (QUESTION.test(event.type)) return entry("Question", text);
  switch (type) {
    case "session.started":
    case "session.completed":
    case "session.errored":
    case "session.cancelled":
      return entry(`Session ${type.slice("session.".length)}`, text);
    case "state.changed": {
      const answer = settled(event);
      const change = `${named(fields["from_state"])} to ${named(fields["to_state"])}.`;
      return entry(answer ? `Question ${answer.outcome.replaceAll("_", " ")}` : "State", `${change} ${text}`);
    }
    case "tool.invoked":
      return entry("Tool called", `${named(fields["tool"])}. ${text}`);
    case "tool.completed":
      return entry("Tool ended", `${named(fields["tool"])}, ${named(fields["status"])}. ${text}`);
    case "handoff.requested":
      return entry("Handed over", text);
    default:
      return undefined;
  }
}

export interface OpenQuestion {
  readonly session_id: string;
  readonly text: string;
  readonly language: string | undefined;
}

/** The open questions, as far as events show. */
export class OpenQuestions {
  readonly #open = new Map<string, OpenQuestion>();

  hear(event: AgentEvent): void {
    const token = (event as unknown as Loose)["reply_token"];
    if (QUESTION.test(event.type) && typeof token === "string") {
      const { text, language } = readableText(event);
      this.#open.set(token, { session_id: event.session_id, text, language });
    }
    const answer = settled(event);
    if (answer) this.#open.delete(answer.reply_token);
    if (!TERMINAL.test(event.type)) return;
    for (const [key, { session_id }] of this.#open)
      if (session_id === event.session_id) this.#open.delete(key);
  }

  get first(): OpenQuestion | undefined {
    return this.#open.values().next().value;
  }
  get size(): number {
    return this.#open.size;
  }
}
