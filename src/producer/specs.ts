/** What an agent's author writes. The types are the first gate: what could do harm does not compile without a question. */
import type { ResponseKind } from "../hub/questions.ts";
import type { RiskLevel } from "../protocol/types.ts";
import type { Params } from "./params.ts";
import type { AskRefusal, Refusal } from "./refusals.ts";
import type { Sentence, Summary } from "./words.ts";

export interface SessionSpec {
  /** The first thing a listener hears. */
  readonly summary: Summary;
  readonly requested_by?: string;
  readonly request_text?: string;
  readonly expected_duration_ms?: number;
  readonly tools_available?: readonly string[];
  /** Language of this session's words; the producer's own by default. */
  readonly language?: string;
  /** Who may hear it; everyone connected by default. */
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
  /** The tool's own time, counted from when it starts; a person's thinking never burns it. */
  readonly timeout_ms?: number;
  /** Said when it worked; "Done." by default. */
  readonly done?: Summary;
  /** Said when it did not. The error itself is yours alone: it is not written for the person. */
  readonly failed?: Sentence;
}

/** A tool that harms nobody if it runs by mistake: it runs at once. */
export interface PlainToolSpec extends ToolBase {
  readonly risk?: "low" | "medium";
  readonly irreversible?: false;
  /** Taken only by tools that ask first. */
  readonly params?: never;
}

/** A tool that asks first. Needed as soon as it is irreversible or of high risk. */
export interface GatedToolSpec<P extends Params> extends Omit<ToolBase, "summary"> {
  /** Said when it starts; a function of the parameters, if a person may change them. */
  readonly summary: Summary | ((params: P) => Summary);
  readonly risk?: RiskLevel;
  readonly irreversible?: boolean;
  readonly reversibility?: "reversible" | "reversible_with_effort" | "irreversible";
  readonly params: P;
  /** What will be done; best as a function of the parameters, so that words and act cannot drift apart. */
  readonly action: Sentence | ((params: P) => Sentence);
  readonly consequence: Sentence | ((params: P) => Sentence);
  /** What each parameter is called; its name, made readable, by default. */
  readonly labels?: Partial<Record<keyof P & string, Sentence>>;
  /** How a value is said where it does not speak for itself: "500 dollars" for 50000. */
  readonly display?: { readonly [Name in keyof P & string]?: (value: P[Name]) => Sentence };
  /** Parameters that are bound but not shown. Passwords, keys and the like are hidden without being named here. */
  readonly secret?: readonly (keyof P & string)[];
  /** Parameters a person may change; any change is shown and asked again (CON-73). */
  readonly modifiable?: readonly (keyof P & string)[];
  /**
   * What makes this the same act when it is asked for again, after a restart above all: it is asked about once and done
   * once. By default the tool and its parameters, counted.
   */
  readonly key?: string;
  readonly timeout_seconds?: number;
  /** With nobody to ask, wait this long for somebody before giving up. */
  readonly wait_for_listener_seconds?: number;
  /** Aborting takes the question back. */
  readonly signal?: AbortSignal;
}

export interface ToolContext {
  /** Aborted when the session ends or the tool's time is up. */
  readonly signal: AbortSignal;
  readonly tool_call_id: string;
}

export interface Ran<T> {
  readonly ran: true;
  readonly value: T;
}
export type ToolOutcome<T> = Ran<T> | Refusal;

interface ConfirmBase {
  /** What makes this the same question when it is asked again; by default its words, counted. */
  readonly key?: string;
  readonly action: Sentence;
  readonly consequence: Sentence;
  readonly summary?: Summary;
  readonly timeout_seconds?: number;
  readonly wait_for_listener_seconds?: number;
  /** Aborting takes the question back. */
  readonly signal?: AbortSignal;
  readonly extra_context?: Readonly<Record<string, unknown>>;
}
/** Silence means no. */
export interface ConfirmSpec extends ConfirmBase {
  readonly risk?: RiskLevel;
  readonly irreversible?: boolean;
  readonly default?: "reject";
}
/** Silence may mean yes only for what is harmless and can be undone. */
export interface LenientConfirmSpec extends ConfirmBase {
  readonly risk: "low";
  readonly irreversible: false;
  readonly default: "accept";
}

export type ConfirmOutcome =
  | { readonly accepted: true; readonly origin: "human" | "policy" }
  | { readonly accepted: false; readonly outcome: AskRefusal; readonly summary: string };

export interface ClarifySpec {
  /** What makes this the same question when it is asked again; by default its words, counted. */
  readonly key?: string;
  readonly question: Sentence;
  readonly context?: Sentence;
  readonly summary?: Summary;
  /** Kinds of answer you can use; free text by default. */
  readonly kinds?: readonly [ResponseKind, ...ResponseKind[]];
  readonly choices?: readonly { readonly value: string; readonly label: Sentence }[];
  /** What you assume without an answer. */
  readonly default?: string | boolean | number;
  readonly timeout_seconds?: number;
  readonly wait_for_listener_seconds?: number;
  /** Aborting takes the question back. */
  readonly signal?: AbortSignal;
}

export type ClarifyOutcome =
  | { readonly answered: true; readonly response: string | boolean | number; readonly kind: ResponseKind }
  | {
      readonly answered: false;
      readonly outcome: AskRefusal;
      readonly assumed: string | boolean | number | undefined;
      readonly summary: string;
    };

export interface HandoffSpec {
  readonly reason: Sentence;
  readonly target_kind: "human" | "specialist_agent" | "escalation_queue";
  readonly target_uri?: string;
  readonly packaged_context?: Readonly<Record<string, unknown>>;
  readonly urgency?: RiskLevel;
  readonly summary?: Summary;
}

export interface FailSpec {
  readonly summary: Summary;
  readonly category?: "transient" | "permanent" | "requires_user" | "unknown";
  readonly code?: string;
  readonly recoverable?: boolean;
  readonly remediation_hint?: Sentence;
}

export interface CancelSpec {
  readonly by?: "user" | "producer" | "timeout" | "system";
  readonly summary?: Summary;
  readonly reason?: string;
  readonly partial_result?: string;
}

export interface ProgressSpec {
  readonly percent?: number;
  readonly step?: number;
  readonly total_steps?: number;
  readonly description?: Sentence;
  readonly summary?: Summary;
  readonly eta_ms?: number;
}

export interface SayOptions {
  readonly content_type?: string;
  readonly language?: string;
}
