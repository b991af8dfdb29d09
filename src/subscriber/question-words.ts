/** A question in words: our frame, their content, the parameters themselves (A07, CON-49), and what counts as an answer. */
import { type Deadline, EXTENSION_PREFIX } from "../protocol/extension.ts";
import type { AwaitingClarification, AwaitingConfirmation } from "../protocol/types.ts";
import type { Reader } from "./announcer/reader.ts";
import type { Run } from "./announcer/utterance.ts";
import type { AnswerInput } from "./answers.ts";
import { quotedProse, quotedValue } from "./quotation.ts";

export type QuestionEvent = AwaitingConfirmation | AwaitingClarification;

export const isGrave = (event: QuestionEvent): boolean =>
  event.type === "aaep:agent.awaiting.confirmation" &&
  (event.irreversible === true || event.reversibility === "irreversible" || event.risk_level === "high");

export const silentYes = (event: QuestionEvent): boolean =>
  event.type === "aaep:agent.awaiting.confirmation" && event.default_decision === "accept";

const isIrreversible = (event: AwaitingConfirmation): boolean =>
  event.irreversible === true || event.reversibility === "irreversible";

/** Everything a person consents to: if any of it changes, consent starts again. */
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

/** How long there is to answer, where the producer says so. */
export const deadlineOf = (event: QuestionEvent): Deadline | undefined => {
  const deadline = event.extensions?.[EXTENSION_PREFIX]?.["deadline"] as Deadline | undefined;
  return typeof deadline?.seconds_left === "number" && deadline.seconds_left > 0 ? deadline : undefined;
};

export function questionParts(
  event: QuestionEvent,
  reader: Reader,
  agent: string,
  leftMs: number,
  brief: boolean,
): { readonly parts: Run[][]; readonly answers: Run[][] } {
  reader.heed(event.producer.agent_name);
  const parts =
    event.type === "aaep:agent.awaiting.confirmation"
      ? permission(event, reader, agent)
      : clarification(event, reader, agent);
  const answers =
    event.type === "aaep:agent.awaiting.confirmation"
      ? howToDecide(event, reader)
      : howToAnswer(event, reader);
  // Silence that means yes is never left unsaid.
  const silence = !brief || silentYes(event) ? [silenceMeans(event, reader, leftMs)] : [];
  return { parts: [...reader.warnings(), ...parts, ...silence], answers };
}

function permission(event: AwaitingConfirmation, reader: Reader, agent: string): Run[][] {
  const { phrases } = reader;
  const action = reader.field("action") ?? reader.summary() ?? "";
  const consequence = reader.field("consequence");
  return [
    ...dangers(event, reader),
    phrases.say("ask", { agent, action: prose(action, reader) }),
    ...(consequence ? [phrases.say("consequence", { consequence: prose(consequence, reader) })] : []),
    // With no second step to come, the parameters themselves belong here: the prose alone could hide the act.
    ...(isGrave(event) ? [] : (params(event, reader) ?? [])),
  ];
}

const dangers = (event: AwaitingConfirmation, { phrases }: Reader): Run[][] => [
  ...(event.risk_level === "high"
    ? [phrases.say("risk_high")]
    : event.risk_level === "medium"
      ? [phrases.say("risk_medium")]
      : []),
  ...(isIrreversible(event) ? [phrases.say("irreversible")] : []),
];

function clarification(event: AwaitingClarification, reader: Reader, agent: string): Run[][] {
  const { phrases } = reader;
  const context = reader.field("context");
  const question = reader.field("question") ?? reader.summary() ?? "";
  const { choices = [] } = event;
  return [
    // Our frame first: whatever the agent tells, it is heard as the agent's.
    phrases.say("ask_clarification", { agent, question: prose(question, reader) }),
    ...(context ? [[...prose(context, reader)]] : []),
    ...(choices.length > 0 ? [phrases.say("choices", { count: choices.length })] : []),
    ...choices.map(({ label }, index) =>
      phrases.say("choice", { number: index + 1, label: shownValue(label, reader) ?? "?" }),
    ),
  ];
}

function silenceMeans(event: QuestionEvent, reader: Reader, leftMs: number): Run[] {
  const { phrases } = reader;
  const duration = phrases.duration(leftMs);
  if (event.type === "aaep:agent.awaiting.confirmation")
    return phrases.say(event.default_decision === "accept" ? "silence_accept" : "silence_reject", {
      duration,
    });
  const assumed = event.default_response;
  if (assumed === undefined) return phrases.say("silence_nothing", { duration });
  // Yes and no travel as true and false; nobody would say so.
  const isYesNo = event.accepted_response_kinds?.includes("yes_no") && /^(?:true|false)$/.test(assumed);
  if (isYesNo)
    return phrases.say("silence_answer", {
      duration,
      answer: phrases.own(phrases.text(assumed === "true" ? "word_yes" : "word_no")),
    });
  const label = event.choices?.find(({ value }) => value === assumed)?.label ?? assumed;
  return phrases.say("silence_answer", { duration, answer: shownValue(label, reader) ?? "?" });
}

/** For whoever goes without answering: what will come of it. */
export const leavingParts = (event: QuestionEvent, reader: Reader, leftMs: number): Run[][] => [
  reader.phrases.say("leaving", { action: essenceRun(event, reader) }),
  silenceMeans(event, reader, leftMs),
];

/** The question in as few words as it has, action first. */
export function essenceRun(event: QuestionEvent, reader: Reader): Run {
  const words =
    event.type === "aaep:agent.awaiting.confirmation" ? reader.field("action") : reader.field("question");
  return words ?? reader.summary() ?? reader.phrases.own("?");
}

function howToDecide(event: AwaitingConfirmation, { phrases }: Reader): Run[][] {
  if (event.allowed_replies && !event.allowed_replies.includes("accept"))
    return [phrases.say("answer_refuse_only")];
  return [phrases.say(isGrave(event) ? "answer_two_steps" : "answer_yes_no")];
}

/** Of several kinds, every one that works is told (SUB-19). */
function howToAnswer(event: AwaitingClarification, { phrases }: Reader): Run[][] {
  const kinds = event.accepted_response_kinds ?? ["freetext"];
  return [
    ...(kinds.includes("multiple_choice") && event.choices?.length ? [phrases.say("answer_choice")] : []),
    ...(kinds.includes("yes_no") ? [phrases.say("answer_yes_no")] : []),
    ...(kinds.includes("numeric") ? [phrases.say("answer_numeric")] : []),
    ...(kinds.includes("freetext") ? [phrases.say("answer_freetext")] : []),
  ];
}

/** The second step: what would really be done, from the parameters, in our own voice. */
export function readBackParts(
  event: AwaitingConfirmation,
  reader: Reader,
  agent: string,
): { readonly parts: Run[][]; readonly answers: Run[][] } {
  const { phrases } = reader;
  reader.heed(event.producer.agent_name);
  const shown = params(event, reader);
  const parts = [
    phrases.say("read_back", { agent }),
    ...dangers(event, reader),
    ...(shown ?? [phrases.say("no_params", { action: quotedAction(reader) })]),
  ];
  const words = { confirm: phrases.text("word_confirm"), no: phrases.text("word_no") };
  return { parts: [...reader.warnings(), ...parts], answers: [phrases.say("confirm_now", words)] };
}

/** Where its own words are all there is, they must not pass for ours. */
function quotedAction(reader: Reader): readonly Run[] {
  const action = reader.field("action");
  return action ? quotedValue(action, reader.phrases) : [];
}

const prose = (run: Run | string, { phrases }: Reader): readonly Run[] =>
  typeof run === "string" ? [phrases.own(run)] : quotedProse(run, phrases);

function shownValue(text: string, reader: Reader): readonly Run[] | undefined {
  const run = reader.plain(text);
  return run && quotedValue(run, reader.phrases, text);
}

interface Shown {
  readonly label: string;
  readonly value: unknown;
  readonly masked: boolean;
}

function params(event: AwaitingConfirmation, reader: Reader): Run[][] | undefined {
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
    const name = reader.label(label.replace(/[.:;!?…。！？：；؟۔।॥؛]+/gu, " "));
    if (masked) return reader.phrases.say("param_hidden", { label: name });
    return reader.phrases.say("param", { label: name, value: sayValue(value, reader) });
  });
}

const OWN_KEYS = new Set(["tool_call_id", "params_hash", "params"]);

function asShown(one: unknown): Shown {
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

function sayValue(value: unknown, reader: Reader): readonly Run[] | string {
  const { phrases } = reader;
  if (typeof value === "number")
    return Number.isFinite(value) ? exact(value, phrases.catalog.language) : String(value);
  if (typeof value === "boolean") return phrases.text(value ? "word_yes" : "word_no");
  if (typeof value === "string") return shownValue(value, reader) ?? '""';
  return shownValue(flatten(value), reader) ?? "?";
}

/** Every digit counts. */
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

/** A person's words as an answer the question takes (CNF-27); undefined if they are none. */
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
