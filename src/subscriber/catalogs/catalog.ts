/**
 * The announcer's own sentences, one file per language. A message is a sentence with slots in braces, or one sentence per
 * plural form of the language (Intl.PluralRules).
 */
import { matchLanguage } from "../../text/language.ts";

/** A message: one sentence, or one per plural form of the language. */
export type Message = string | Readonly<Partial<Record<Intl.LDMLPluralRule, string>>>;

/** The announcer's messages in one language. */
export interface Catalog {
  /** BCP 47 tag. */
  readonly language: string;
  /** "awaiting review": no native speaker has reviewed it yet, so do not rely on it for consent. */
  readonly status: "full" | "awaiting review";
  /** Units of time, where Intl has only abbreviations. */
  readonly units?: Readonly<Record<"second" | "minute" | "hour", string>>;
  /** The word between minutes and seconds, where Intl gets it wrong. */
  readonly and?: string;
  readonly messages: Readonly<Record<MessageKey, Message>>;
}

/** All message keys. For the English sentences see en.ts. */
export const MESSAGE_KEYS = [
  "named",
  "task",
  "started",
  "completed",
  "completed_bare",
  "errored",
  "cancelled_user",
  "cancelled_producer",
  "cancelled_timeout",
  "cancelled_system",
  "hint",
  "error_transient",
  "error_permanent",
  "error_requires_user",
  "result",
  "partial",
  "took",
  "state_idle",
  "state_thinking",
  "state_calling_tool",
  "state_writing_output",
  "state_awaiting_input",
  "state_deciding",
  "state_handing_off",
  "state_other",
  "step",
  "time_to_go",
  "tool_started",
  "tool_finished",
  "tool_failed",
  "tool_late",
  "irreversible",
  "risk_medium",
  "risk_high",
  "handoff_human",
  "handoff_specialist_agent",
  "handoff_escalation_queue",
  "unknown",
  "unknown_bare",
  "ask",
  "ask_clarification",
  "consequence",
  "answer_yes_no",
  "answer_two_steps",
  "answer_refuse_only",
  "answer_freetext",
  "answer_numeric",
  "answer_choice",
  "choices",
  "choice",
  "silence_reject",
  "silence_accept",
  "silence_answer",
  "silence_nothing",
  "read_back",
  "param",
  "param_hidden",
  "quoted",
  "still_quoted",
  "no_params",
  "confirm_now",
  "changed",
  "not_heard_yet",
  "not_an_answer",
  "no_question",
  "accepted",
  "rejected",
  "answered",
  "not_taken",
  "not_sure_taken",
  "settled_accepted",
  "settled_rejected",
  "settled_answered",
  "settled_timed_out",
  "settled_withdrawn",
  "settled_disconnected",
  "settled_ended",
  "settled",
  "time_left",
  "more_time",
  "no_more_time",
  "another_question",
  "questions_waiting",
  "too_many_questions",
  "auto_accepted",
  "auto_rejected",
  "mixed_scripts",
  "hidden_text",
  "still_working",
  "still_working_on",
  "done_and_not",
  "done",
  "not_done",
  "paused",
  "while_paused",
  "nothing_meanwhile",
  "skipped",
  "nothing_said",
  "no_session",
  "gap",
  "line_lost",
  "line_back",
  "line_ended",
  "first_met",
  "first_met_signed",
  "met_elsewhere",
  "met_unsigned",
  "met_other_key",
  "met_revoked",
  "leaving",
  "no_voice",
  "no_table",
  "text_in",
  "no_catalog",
  "heading",
  "list",
  "item",
  "task_done",
  "task_open",
  "struck",
  "quote",
  "code",
  "code_in",
  "table",
  "columns",
  "rows",
  "link",
  "image",
  "word_yes",
  "word_no",
  "word_confirm",
  "word_more",
  "word_repeat",
  "word_what",
] as const;

/** The name of a message in a catalog. */
export type MessageKey = (typeof MESSAGE_KEYS)[number];

/** A catalog, and whether it fits the language that was asked for. */
export interface CatalogMatch {
  readonly catalog: Catalog;
  /** The requested tag, so that e.g. a Brazilian voice speaks the Portuguese catalog. */
  readonly language: string;
  /** Whether it is the first of the requested languages. */
  readonly fitting: boolean;
}

/** The best of these catalogs for the requested languages, preferred first, that a voice can speak; else the first one. */
export function findCatalog(
  catalogs: readonly Catalog[],
  languages: readonly string[],
  can: (language: string) => boolean = () => true,
): CatalogMatch {
  const tags = catalogs.map(({ language }) => language);
  for (const language of languages) {
    const match = matchLanguage([language], tags);
    const catalog = match && catalogs.find((one) => one.language === match.available);
    if (catalog && can(language)) return { catalog, language, fitting: language === languages[0] };
  }
  const [fallback] = catalogs;
  return { catalog: fallback!, language: fallback!.language, fitting: false };
}
