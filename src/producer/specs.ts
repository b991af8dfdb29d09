/**
 * What an agent's author passes to a session. The types are the first gate: an irreversible or high-risk tool does not
 * compile without the fields of a question.
 */
import type { ResponseKind } from "../hub/questions.ts";
import type { RiskLevel } from "../protocol/types.ts";
import type { Sentence, Summary } from "./envelope.ts";
import type { Params } from "./params.ts";
import type { AskRefusal, Refusal } from "./phrases.ts";

/** How a session starts: its summary, its audience and its language. */
export interface SessionSpec {
  /** Announced when the session starts. */
  readonly summary: Summary;
  readonly requested_by?: string;
  readonly request_text?: string;
  readonly expected_duration_ms?: number;
  readonly tools_available?: readonly string[];
  /** Language of this session's texts; default: the producer's. */
  readonly language?: string;
  /** Audiences that may receive the session; default: everyone connected. */
  readonly audience?: readonly string[];
  readonly correlation_id?: string;
  /** Aborting cancels the session. */
  readonly signal?: AbortSignal;
}

interface ToolBase {
  readonly tool: string;
  readonly summary: Summary;
  readonly description?: string;
  readonly args_summary?: string;
  readonly expected_duration_ms?: number;
  /** Time limit for the function itself; waiting for an approval does not count. */
  readonly timeoutMs?: number;
  /** Announced when it succeeded; "Done." by default. */
  readonly done?: Summary;
  /** Announced when it failed. The error itself is never announced: its text was not written for the person. */
  readonly failed?: Sentence;
}

/** A tool that does no harm if it runs by mistake: it runs at once, without asking. */
export interface PlainToolSpec<P extends Params = Params> extends ToolBase {
  readonly risk?: "low" | "medium";
  readonly irreversible?: false;
  /** Passed to the function; `{}` by default. */
  readonly params?: P;
}

/** A tool that asks first. Required if it is irreversible or of high risk. */
export interface GatedToolSpec<P extends Params> extends Omit<ToolBase, "summary"> {
  /** Announced when it starts; a function of the parameters if a person may change them. */
  readonly summary: Summary | ((params: P) => Summary);
  readonly risk?: RiskLevel;
  readonly irreversible?: boolean;
  readonly reversibility?: "reversible" | "reversible_with_effort" | "irreversible";
  readonly params: P;
  /** What will be done; best as a function of the parameters, so that text and parameters always agree. */
  readonly action: Sentence | ((params: P) => Sentence);
  readonly consequence: Sentence | ((params: P) => Sentence);
  /** A label for each parameter; default: its name, made readable. */
  readonly labels?: Partial<Record<keyof P & string, Sentence>>;
  /** How a value is shown, if not as it is: "500 dollars" for 50000. */
  readonly display?: { readonly [Name in keyof P & string]?: (value: P[Name]) => Sentence };
  /** Parameters that are bound but not shown. Passwords, keys and the like are hidden without being listed here. */
  readonly secret?: readonly (keyof P & string)[];
  /** Parameters a person may change; a change is shown and asked again (CON-73). */
  readonly modifiable?: readonly (keyof P & string)[];
  /**
   * Idempotency key: after a restart, a call with the same key is asked and run only once. Default: the tool and its
   * parameters, and how often they were called before.
   */
  readonly key?: string;
  readonly timeout_seconds?: number;
  /** If there is nobody to ask, wait this long for somebody before giving up. */
  readonly waitForListenerSeconds?: number;
  /** Aborting withdraws the question. */
  readonly signal?: AbortSignal;
}

/** The second argument of a tool's function. */
export interface ToolContext {
  /** Aborted when the session ends or the time limit is reached. */
  readonly signal: AbortSignal;
  readonly tool_call_id: string;
}

/** A tool ran; `value` is what its function returned. */
export interface Ran<T> {
  readonly ran: true;
  readonly value: T;
}
/** The result of `session.tool`: it ran, or it was refused. */
export type ToolOutcome<T> = Ran<T> | Refusal;

interface ConfirmBase {
  /** Idempotency key: after a restart, a question with the same key is asked only once. Default: its text, counted. */
  readonly key?: string;
  readonly action: Sentence;
  readonly consequence: Sentence;
  readonly summary?: Summary;
  readonly timeout_seconds?: number;
  readonly waitForListenerSeconds?: number;
  /** Aborting withdraws the question. */
  readonly signal?: AbortSignal;
  readonly extra_context?: Readonly<Record<string, unknown>>;
}
/** Without an answer, the result is no. */
export interface ConfirmSpec extends ConfirmBase {
  readonly risk?: RiskLevel;
  readonly irreversible?: boolean;
  readonly default?: "reject";
}
/** Without an answer, the result is yes: only for what is harmless and can be undone. */
export interface LenientConfirmSpec extends ConfirmBase {
  readonly risk: "low";
  readonly irreversible: false;
  readonly default: "accept";
}

/** The result of `session.confirm`: accepted, or why not. */
export type ConfirmOutcome =
  | { readonly accepted: true; readonly origin: "human" | "policy" }
  | { readonly accepted: false; readonly outcome: AskRefusal; readonly summary: string };

/** A question in open words, for `session.clarify`. */
export interface ClarifySpec {
  /** Idempotency key: after a restart, a question with the same key is asked only once. Default: its text, counted. */
  readonly key?: string;
  readonly question: Sentence;
  readonly context?: Sentence;
  readonly summary?: Summary;
  /** Accepted kinds of answers; free text by default. */
  readonly kinds?: readonly [ResponseKind, ...ResponseKind[]];
  readonly choices?: readonly { readonly value: string; readonly label: Sentence }[];
  /** Assumed without an answer. */
  readonly default?: string | boolean | number;
  readonly timeout_seconds?: number;
  readonly waitForListenerSeconds?: number;
  /** Aborting withdraws the question. */
  readonly signal?: AbortSignal;
}

/** The result of `session.clarify`: the answer, or why there is none and what is assumed instead. */
export type ClarifyOutcome =
  | { readonly answered: true; readonly response: string | boolean | number; readonly kind: ResponseKind }
  | {
      readonly answered: false;
      readonly outcome: AskRefusal;
      readonly assumed: string | boolean | number | undefined;
      readonly summary: string;
    };

/** Options of `session.handoff`: to whom the work is passed on, and why. */
export interface HandoffSpec {
  readonly reason: Sentence;
  readonly target_kind: "human" | "specialist_agent" | "escalation_queue";
  readonly target_uri?: string;
  readonly packaged_context?: Readonly<Record<string, unknown>>;
  readonly urgency?: RiskLevel;
  readonly summary?: Summary;
}

/** Options of `session.fail`: what went wrong, and what may help. */
export interface FailSpec {
  readonly summary: Summary;
  readonly category?: "transient" | "permanent" | "requires_user" | "unknown";
  readonly code?: string;
  readonly recoverable?: boolean;
  readonly remediation_hint?: Sentence;
}

/** Options of `session.cancel`: who cancelled the session, and why. */
export interface CancelSpec {
  readonly by?: "user" | "producer" | "timeout" | "system";
  readonly summary?: Summary;
  readonly reason?: string;
  readonly partial_result?: string;
}

/** How far the work is: a percentage, a step, a description, or several of them. */
export interface ProgressSpec {
  readonly percent?: number;
  readonly step?: number;
  readonly total_steps?: number;
  readonly description?: Sentence;
  readonly summary?: Summary;
  readonly eta_ms?: number;
}

/** Options of `session.say`: the content type and language of the output. */
export interface SayOptions {
  readonly content_type?: string;
  readonly language?: string;
}

type Names<Spec> = Readonly<Record<keyof Spec, true>>;

const TOOL: Names<GatedToolSpec<Params>> = {
  tool: true,
  summary: true,
  description: true,
  args_summary: true,
  expected_duration_ms: true,
  timeoutMs: true,
  done: true,
  failed: true,
  risk: true,
  irreversible: true,
  reversibility: true,
  params: true,
  action: true,
  consequence: true,
  labels: true,
  display: true,
  secret: true,
  modifiable: true,
  key: true,
  timeout_seconds: true,
  waitForListenerSeconds: true,
  signal: true,
};
const CONFIRM: Names<ConfirmSpec & Pick<GatedToolSpec<Params>, "reversibility">> = {
  key: true,
  action: true,
  consequence: true,
  summary: true,
  timeout_seconds: true,
  waitForListenerSeconds: true,
  signal: true,
  extra_context: true,
  risk: true,
  irreversible: true,
  reversibility: true,
  default: true,
};
const CLARIFY: Names<ClarifySpec> = {
  key: true,
  question: true,
  context: true,
  summary: true,
  kinds: true,
  choices: true,
  default: true,
  timeout_seconds: true,
  waitForListenerSeconds: true,
  signal: true,
};

/**
 * Copies a spec once, field by field, before anything is checked: inherited fields and getters count too. A copy of own
 * properties only would miss an `irreversible` that is declared on a class.
 */
function read<Spec extends object>(spec: Spec, names: object): Spec {
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(names)) {
    const value = (spec as Record<string, unknown>)[name];
    if (value !== undefined || name in spec) copy[name] = value;
  }
  return copy as Spec;
}

export const readTool = <Spec extends object>(spec: Spec): Spec => read(spec, TOOL);
export const readConfirm = <Spec extends object>(spec: Spec): Spec => read(spec, CONFIRM);
export const readClarify = <Spec extends object>(spec: Spec): Spec => read(spec, CLARIFY);
