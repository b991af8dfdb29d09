/**
 * A question in words: Earshot's own sentences around the agent's content, with the parameters themselves (A07, CON-49);
 * and what counts as an answer. Agent text that could be mistaken for Earshot's own sentences is announced as a
 * quotation, from its beginning to its end; "500" and "savings" stay as they are.
 */
import { type Deadline, EXTENSION_PREFIX } from "../../protocol/extension.ts";
import type { AwaitingClarification, AwaitingConfirmation } from "../../protocol/types.ts";
import { isAbbreviation } from "../../text/fallback-sentences.ts";
import type { MessageKey } from "../catalogs/catalog.ts";
import { type EventText, type Phrases, soundKey } from "./phrases.ts";
import { countWords, type Run } from "./utterance.ts";

export type QuestionEvent = AwaitingConfirmation | AwaitingClarification;

/** What a person said to a question. */
export type AnswerInput =
  | { readonly kind: "no" | "confirm" | "more" }
  /** `unsure`: possibly not typed by hand (e.g. pasted), so a second step is required for any question. */
  | { readonly kind: "yes"; readonly unsure?: boolean }
  /** The person's own words, or the number of a choice. */
  | { readonly kind: "text"; readonly text: string };

/** Irreversible or high-risk acts: yes takes two steps, and no rule can accept them. */
export const isGrave = (event: QuestionEvent): boolean =>
  event.type === "aaep:agent.awaiting.confirmation" &&
  (event.irreversible === true || event.reversibility === "irreversible" || event.risk_level === "high");

export const silenceMeansYes = (event: QuestionEvent): boolean =>
  event.type === "aaep:agent.awaiting.confirmation" && event.default_decision === "accept";

const isIrreversible = (event: AwaitingConfirmation): boolean =>
  event.irreversible === true || event.reversibility === "irreversible";

/** Covers everything the person consents to: if any of it changes, consent starts again. */
export function fingerprint(event: QuestionEvent): string {
  const { event_id: _id, timestamp: _time, sequence_number: _number, extensions, ...rest } = event;
  const own = { ...extensions, [EXTENSION_PREFIX]: undefined };
  return stable({ ...rest, extensions: own });
}

function stable(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stable).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
  const fields = value as Record<string, unknown>;
  const keys = Object.keys(fields)
    .filter((key) => fields[key] !== undefined)
    .sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${stable(fields[key])}`).join()}}`;
}

/** The remaining time to answer, if the producer reports it. */
export const deadlineOf = (event: QuestionEvent): Deadline | undefined => {
  const deadline = event.extensions?.[EXTENSION_PREFIX]?.["deadline"] as Deadline | undefined;
  return typeof deadline?.seconds_left === "number" && deadline.seconds_left > 0 ? deadline : undefined;
};

export function questionParts(
  event: QuestionEvent,
  text: EventText,
  agent: string,
  leftMs: number,
  brief: boolean,
): { readonly parts: Run[][]; readonly answers: Run[][] } {
  text.check(event.producer.agent_name);
  const parts =
    event.type === "aaep:agent.awaiting.confirmation"
      ? permission(event, text, agent)
      : clarification(event, text, agent);
  const answers =
    event.type === "aaep:agent.awaiting.confirmation" ? howToDecide(event, text) : howToAnswer(event, text);
  // If silence means yes, that is always announced.
  const silence = !brief || silenceMeansYes(event) ? [silenceMeans(event, text, leftMs)] : [];
  return { parts: [...text.warnings(), ...parts, ...silence], answers };
}

function permission(event: AwaitingConfirmation, text: EventText, agent: string): Run[][] {
  const { phrases } = text;
  const action = text.field("action") ?? text.summary() ?? "";
  const consequence = text.field("consequence");
  return [
    ...dangers(event, text),
    phrases.say("ask", { agent, action: prose(action, text) }),
    ...(consequence ? [phrases.say("consequence", { consequence: prose(consequence, text) })] : []),
    // Without a second step, the parameters are read here: the prose alone could hide what is done.
    ...(isGrave(event) ? [] : (params(event, text) ?? [])),
  ];
}

const dangers = (event: AwaitingConfirmation, { phrases }: EventText): Run[][] => [
  ...(event.risk_level === "high"
    ? [phrases.say("risk_high")]
    : event.risk_level === "medium"
      ? [phrases.say("risk_medium")]
      : []),
  ...(isIrreversible(event) ? [phrases.say("irreversible")] : []),
];

function clarification(event: AwaitingClarification, text: EventText, agent: string): Run[][] {
  const { phrases } = text;
  const context = text.field("context");
  const question = text.field("question") ?? text.summary() ?? "";
  const { choices = [] } = event;
  return [
    // Earshot's sentence comes first, so that what follows is heard as the agent's words.
    phrases.say("ask_clarification", { agent, question: prose(question, text) }),
    ...(context ? [[...prose(context, text)]] : []),
    ...(choices.length > 0 ? [phrases.say("choices", { count: choices.length })] : []),
    ...choices.map(({ label }, index) =>
      phrases.say("choice", { number: index + 1, label: shownValue(label, text) ?? "?" }),
    ),
  ];
}

function silenceMeans(event: QuestionEvent, text: EventText, leftMs: number): Run[] {
  const { phrases } = text;
  const duration = phrases.duration(leftMs);
  if (event.type === "aaep:agent.awaiting.confirmation")
    return phrases.say(event.default_decision === "accept" ? "silence_accept" : "silence_reject", {
      duration,
    });
  const assumed = event.default_response;
  if (assumed === undefined) return phrases.say("silence_nothing", { duration });
  // On the wire yes and no are "true" and "false".
  const isYesNo = event.accepted_response_kinds?.includes("yes_no") && /^(?:true|false)$/.test(assumed);
  if (isYesNo)
    return phrases.say("silence_answer", {
      duration,
      answer: phrases.own(phrases.text(assumed === "true" ? "word_yes" : "word_no")),
    });
  const label = event.choices?.find(({ value }) => value === assumed)?.label ?? assumed;
  return phrases.say("silence_answer", { duration, answer: shownValue(label, text) ?? "?" });
}

/** What happens if the person leaves without answering. */
export const unansweredParts = (event: QuestionEvent, text: EventText, leftMs: number): Run[][] => [
  text.phrases.say("leaving", { action: essenceRun(event, text) }),
  silenceMeans(event, text, leftMs),
];

/** The question in its shortest form, action first. */
export function essenceRun(event: QuestionEvent, text: EventText): Run {
  const words =
    event.type === "aaep:agent.awaiting.confirmation" ? text.field("action") : text.field("question");
  return words ?? text.summary() ?? text.phrases.own("?");
}

function howToDecide(event: AwaitingConfirmation, { phrases }: EventText): Run[][] {
  if (event.allowed_replies && !event.allowed_replies.includes("accept"))
    return [phrases.say("answer_refuse_only")];
  return [phrases.say(isGrave(event) ? "answer_two_steps" : "answer_yes_no")];
}

/** Names every accepted kind of answer (SUB-19). */
function howToAnswer(event: AwaitingClarification, { phrases }: EventText): Run[][] {
  const kinds = event.accepted_response_kinds ?? ["freetext"];
  return [
    ...(kinds.includes("multiple_choice") && event.choices?.length ? [phrases.say("answer_choice")] : []),
    ...(kinds.includes("yes_no") ? [phrases.say("answer_yes_no")] : []),
    ...(kinds.includes("numeric") ? [phrases.say("answer_numeric")] : []),
    ...(kinds.includes("freetext") ? [phrases.say("answer_freetext")] : []),
  ];
}

/** The second step: what would be done, read from the parameters, in Earshot's own words. */
export function readBackParts(
  event: AwaitingConfirmation,
  text: EventText,
  agent: string,
): { readonly parts: Run[][]; readonly answers: Run[][] } {
  const { phrases } = text;
  text.check(event.producer.agent_name);
  const shown = params(event, text);
  const parts = [
    phrases.say("read_back", { agent }),
    ...dangers(event, text),
    ...(shown ?? [phrases.say("no_params", { action: quotedAction(text) })]),
  ];
  const words = { confirm: phrases.text("word_confirm"), no: phrases.text("word_no") };
  return { parts: [...text.warnings(), ...parts], answers: [phrases.say("confirm_now", words)] };
}

/** Without parameters, the agent's own words are read as a quotation. */
function quotedAction(text: EventText): readonly Run[] {
  const action = text.field("action");
  return action ? quotedValue(action, text.phrases) : [];
}

const prose = (run: Run | string, { phrases }: EventText): readonly Run[] =>
  typeof run === "string" ? [phrases.own(run)] : quotedProse(run, phrases);

function shownValue(value: string, text: EventText): readonly Run[] | undefined {
  const run = text.plain(value);
  return run && quotedValue(run, text.phrases, value);
}

interface ShownParam {
  readonly label: string;
  readonly value: unknown;
  readonly masked: boolean;
}

function params(event: AwaitingConfirmation, text: EventText): Run[][] | undefined {
  const context = event.extra_context;
  if (typeof context !== "object" || context === null) return undefined;
  const given = context["params"];
  const shown = Array.isArray(given)
    ? given.map(asShown)
    : Object.entries(context)
        .filter(([key]) => !OWN_KEYS.has(key))
        .map(([key, value]) => ({ label: humanize(key), value, masked: false }));
  if (shown.length === 0) return undefined;
  return shown.map(({ label, value, masked }) => {
    const name = text.label(label.replace(/[.:;!?…。！？：；؟۔।॥؛]+/gu, " "));
    if (masked) return text.phrases.say("param_hidden", { label: name });
    return text.phrases.say("param", { label: name, value: sayValue(value, text) });
  });
}

const OWN_KEYS = new Set(["tool_call_id", "params_hash", "params"]);

function asShown(one: unknown): ShownParam {
  const { name, label, value, masked } = (
    typeof one === "object" && one !== null ? one : { value: one }
  ) as Record<string, unknown>;
  return {
    label: typeof label === "string" && label !== "" ? label : humanize(String(name ?? "?")),
    value,
    masked: masked === true,
  };
}

const humanize = (name: string): string => {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/[_-]+/g, " ")
    .toLowerCase()
    .trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

function sayValue(value: unknown, text: EventText): readonly Run[] | string {
  const { phrases } = text;
  if (typeof value === "number")
    return Number.isFinite(value) ? exact(value, phrases.catalog.language) : String(value);
  if (typeof value === "boolean") return phrases.text(value ? "word_yes" : "word_no");
  if (typeof value === "string") return shownValue(value, text) ?? '""';
  return shownValue(flatten(value), text) ?? "?";
}

/** Without rounding: every digit matters. */
const exact = (value: number, language: string): string =>
  new Intl.NumberFormat(language, { maximumFractionDigits: 20, numberingSystem: "latn" }).format(value);

function flatten(value: unknown): string {
  if (Array.isArray(value)) return value.map(flatten).join(", ");
  if (typeof value === "object" && value !== null)
    return Object.entries(value)
      .map(([key, inner]) => `${humanize(key)} ${flatten(inner)}`)
      .join(", ");
  return String(value);
}

/** The input as a response this question accepts (CNF-27); undefined if it is none. */
export function toResponse(
  event: AwaitingClarification,
  input: AnswerInput,
): string | boolean | number | undefined {
  const kinds = event.accepted_response_kinds ?? ["freetext"];
  const text = input.kind === "text" ? input.text.trim() : input.kind;
  const { choices = [] } = event;
  if (kinds.includes("multiple_choice")) {
    const byNumber = /^\d{1,3}$/.test(text) ? choices[Number(text) - 1] : undefined;
    const found =
      byNumber ??
      choices.find(({ label, value }) =>
        [label, value].some((one) => one.toLowerCase() === text.toLowerCase()),
      );
    if (found) return found.value;
  }
  if (kinds.includes("yes_no") && (input.kind === "yes" || input.kind === "no")) return input.kind === "yes";
  if (kinds.includes("numeric") && /^[-+]?\d+(?:[.,]\d+)?$/.test(text)) return Number(text.replace(",", "."));
  if (kinds.includes("freetext") && text !== "") return text.slice(0, 16_384);
  return undefined;
}

/** A sentence end, a label's colon or a line break with text after it, in any script and including look-alikes. */
const SENTENCE_BREAK = /[.!?…:;]["'”’»)\]]*\s+\S|[\p{STerm}․：；؛∶꞉](?<![.!?])\s*\S|\n\s*\S/u;

/** "U.S. Bank", "3 p.m. today", "No. 5". */
const INITIALS = /(?<![\p{L}\p{N}.])(?:(?:\p{L}\.)+\p{L}|No)$/u;

/** Removes full stops that end no sentence, as in "St. Mary's" or "J. R. Obi". */
const withoutAbbreviations = (text: string): string =>
  text.replaceAll(/\.(?=\s)/gu, (dot, at: number) => {
    const before = text.slice(Math.max(0, at - 24), at);
    return isAbbreviation(before) || INITIALS.test(before) ? "" : dot;
  });

/** Earshot's sentences that tell a person what an answer does; agent text must not imitate them. */
const PROTECTED_MESSAGES: readonly MessageKey[] = [
  "ask",
  "consequence",
  "answer_two_steps",
  "answer_refuse_only",
  "silence_reject",
  "silence_accept",
  "silence_answer",
  "silence_nothing",
  "read_back",
  "param_hidden",
  "no_params",
  "confirm_now",
  "changed",
];
/** Shorter fragments occur in ordinary text. */
const MIN_PROTECTED_WORDS = 3;

/** A value or the label of a choice: quoted if it contains a sentence break. */
const quotedValue = (run: Run, phrases: Phrases, asGiven = run.text): readonly Run[] =>
  SENTENCE_BREAK.test(withoutAbbreviations(asGiven.trim()))
    ? quoted(run, phrases)
    : quotedProse(run, phrases);

/** Prose may contain several sentences; it is quoted if it contains one of Earshot's. */
function quotedProse(run: Run, phrases: Phrases): readonly Run[] {
  const normalized = soundKey(run.text);
  return protectedPhrases(phrases).some((words) => normalized.includes(words)) ? quoted(run, phrases) : [run];
}

function quoted(run: Run, phrases: Phrases): Run[] {
  const word = quoteWord(phrases);
  const runs = run.text
    .split(new RegExp(`((?<!\\p{L})\\p{L}*${word}\\p{L}*)`, "giu"))
    // The odd pieces contain the word that ends a quotation: say that the quotation goes on.
    .flatMap((text, index) => [
      { ...run, text },
      ...(index % 2 === 1 ? [phrases.own(` ${phrases.text("still_quoted")}`)] : []),
    ]);
  return phrases.say("quoted", { text: runs });
}

/** The word that marks both the beginning and the end of a quotation. */
function quoteWord(phrases: Phrases): string {
  const words = phrases.text("quote").match(/[\p{L}\p{M}]+/gu) ?? [];
  return words.reduce((longest, one) => (one.length > longest.length ? one : longest), "");
}

const protectedByCatalog = new WeakMap<Phrases["catalog"], readonly string[]>();

function protectedPhrases({ catalog }: Phrases): readonly string[] {
  const known = protectedByCatalog.get(catalog);
  if (known) return known;
  const words = PROTECTED_MESSAGES.flatMap((key) => String(catalog.messages[key]).split(/\{\w+\}|[.。]/u))
    .filter((piece) => countWords(piece) >= MIN_PROTECTED_WORDS)
    .map(soundKey);
  protectedByCatalog.set(catalog, words);
  return words;
}
