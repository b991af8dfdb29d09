/**
 * The gate: nothing irreversible or of high risk runs until a person approves it. One approval is one run, with exactly
 * the parameters that were shown. Every other outcome is a returned value that says which.
 */
import type { Act } from "../hub/record.ts";
import type { Fact } from "../hub/store.ts";
import { EarshotError } from "../protocol/errors.ts";
import type { AwaitingClarification, AwaitingConfirmation, ConfirmationReply } from "../protocol/types.ts";
import type { Sentence, Summary } from "./envelope.ts";
import type { EventWriter } from "./event-writer.ts";
import {
  bindParams,
  fingerprintOf,
  freezeParams,
  hashParams,
  type Params,
  type Showing,
  secretParams,
  shownLanguages,
  showParams,
} from "./params.ts";
import type { Phrases } from "./phrases.ts";
import {
  type AskRefusal,
  isRefusal,
  type Refusal,
  type RefusalOutcome,
  type RefusalReason,
  refusalOf,
} from "./phrases.ts";
import {
  type Announcement,
  type Asked,
  anySignal,
  type QuestionTimes,
  type SessionQuestions,
  wantsChange,
} from "./questions.ts";
import type { QuestionIdentity } from "./session-facts.ts";
import type { ConfirmOutcome, ConfirmSpec, GatedToolSpec, LenientConfirmSpec } from "./specs.ts";

/** Called after an approval and before the tool runs: demand a second factor or a second person here (CNF-41). */
export type AcceptHook = (accepted: {
  readonly session_id: string;
  readonly tool: string;
  readonly params: Params;
  /** The authenticated person who approved it. */
  readonly principal: string;
}) => boolean | Promise<boolean>;

/** A gated call: its parameters, frozen, and the key that identifies it after a restart. */
export interface GatedCall {
  readonly key: string;
  readonly params: Params;
}

/** An approval to be used once, or a refusal. */
type Passed =
  | {
      readonly granted: true;
      readonly intent: Intent;
      /** Announced when it starts, about the approved parameters. */
      readonly summary: Summary;
      /** Returns the approved parameters, once. */
      use(): Params;
      /** Lets the next question be asked: the tool was announced, or never will be. */
      release(): void;
    }
  | { readonly granted: false; readonly refusal: Refusal };

interface GateOptions {
  readonly times: QuestionTimes;
  readonly onAccept: AcceptHook | undefined;
  readonly warn: (sentence: string) => void;
}

/** How often a person may change the parameters of one call. */
const MOST_CHANGES = 10;
/** Default timeout for irreversible and high-risk questions (CNF-22). */
const HIGH_RISK_SECONDS = 300;

/** Irreversible by any of the fields that can say so; anything but a plain false counts as true (CON-03). */
export const isIrreversible = ({
  irreversible,
  reversibility,
}: {
  irreversible?: unknown;
  reversibility?: unknown;
}): boolean =>
  (irreversible !== undefined && irreversible !== false) ||
  (reversibility !== undefined &&
    reversibility !== "reversible" &&
    reversibility !== "reversible_with_effort");

export class Gate {
  readonly #writer: EventWriter;
  readonly #questions: SessionQuestions;
  readonly #options: GateOptions;

  constructor(writer: EventWriter, questions: SessionQuestions, options: GateOptions) {
    this.#writer = writer;
    this.#questions = questions;
    this.#options = options;
  }

  prepare(spec: GatedToolSpec<Params>): GatedCall {
    if (spec.action === undefined || spec.consequence === undefined || spec.params === undefined) {
      throw new EarshotError(
        "CNF-01",
        `The tool ${spec.tool} must ask first: give it params, action and consequence.`,
      );
    }
    const params = freezeParams(spec.params);
    const about = fingerprintOf("tool", spec.tool, hashParams(params, this.#secretOf(spec, params)));
    return { params, key: this.#writer.sessionFacts.keyOf(spec.key, about) };
  }

  /** `check` refuses what could not be announced after an approval, before anybody is asked. */
  async pass(
    spec: GatedToolSpec<Params>,
    { key, params: given }: GatedCall,
    check: (summary: Summary) => void,
  ): Promise<Passed> {
    const { sessionFacts, options } = this.#writer;
    let params = given;
    let summary = say<Summary>(spec.summary, params);
    check(summary);
    // Started before a restart: whatever its outcome, the same approval does not start it again.
    const begun = sessionFacts.intent(key);
    if (begun) return this.#refuse(spec, begun.state === "done" ? "already_done" : "unknown_outcome");
    for (let change = 0; change <= MOST_CHANGES; change++) {
      const bound = bindParams(params);
      const identity = this.#identify(spec, params, `${key} change ${change}`);
      const known = sessionFacts.question(identity.key);
      const tool_call_id =
        known?.fingerprint === identity.fingerprint ? callOf(known.event) : options.ids("call");
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const act = this.#act(spec, params, tool_call_id);
      const asked = await this.#ask(spec, identity, act, released);
      // onAccept may ask something itself, and a change is asked next: neither may wait for this call.
      const runs = asked.outcome === "accepted" && !wantsChange(asked) && !this.#options.onAccept;
      if (!runs) release();
      if (isRefusal(asked.outcome)) return this.#refuse(spec, asked.outcome);
      const { modified_action } = asked.reply as ConfirmationReply;
      if (modified_action === undefined)
        return this.#grant(spec, {
          act,
          bound,
          intent: new Intent(this.#writer, key, identity.key, act),
          summary,
          principal: asked.principal ?? "",
          release,
        });
      const changed = applyChange(spec, params, modified_action);
      if (!changed) return this.#refuse(spec, "rejected", "cannot_change");
      // Consent is to these parameters only: a change is a new question (CON-73).
      params = changed;
      // A fixed summary may be wrong about changed parameters, so the action replaces it.
      summary = say<Summary>(typeof spec.summary === "function" ? spec.summary : spec.action, params);
      check(summary);
    }
    return this.#refuse(spec, "rejected", "too_many_changes");
  }

  async confirm(spec: ConfirmSpec | LenientConfirmSpec): Promise<ConfirmOutcome> {
    const lenient = spec.default === "accept";
    const irreversible = isIrreversible(spec);
    if (lenient && (irreversible || spec.risk !== "low")) {
      throw new EarshotError("CON-03", '`default: "accept"` requires `risk: "low"` and a reversible act.');
    }
    const { action, consequence, extra_context } = spec;
    const fingerprint = fingerprintOf("confirm", action, consequence, extra_context, irreversible, lenient);
    const asked = await this.#questions.ask({
      ...this.#common(spec, irreversible),
      key: this.#writer.sessionFacts.keyOf(spec.key, fingerprint),
      fingerprint,
      words: { action: spec.action, consequence: spec.consequence, summary: spec.summary ?? spec.action },
      fields: {
        default_decision: lenient ? "accept" : "reject",
        risk_level: spec.risk ?? (irreversible ? "high" : undefined),
        ...(irreversible ? { irreversible, reversibility: "irreversible" } : {}),
        allowed_replies: ["accept", "reject"],
        extra_context: spec.extra_context,
      },
      subject: "A question",
      nobody: (phrases) => (lenient ? phrases.settledLeniently : phrases.settled).nobody_to_ask,
      announce: (settlement) => {
        if (wantsChange(settlement)) return REJECTED_CHANGE;
        const { outcome } = settlement;
        const words = (phrases: Phrases) =>
          outcome === "accepted"
            ? phrases.settled.agreed
            : lenient && (outcome === "timed_out" || outcome === "disconnected")
              ? phrases.settledLeniently[outcome]
              : phrases.settled[outcome];
        return { outcome, words, state: "thinking" };
      },
    });
    const refused = (outcome: AskRefusal, reason?: RefusalReason): ConfirmOutcome => ({
      accepted: false,
      outcome,
      summary: this.#writer.phraseText((phrases) => phrases.refusals[reason ?? outcome]),
    });
    if (asked.outcome === "accepted") {
      return wantsChange(asked) ? refused("rejected", "cannot_change") : { accepted: true, origin: "human" };
    }
    const outcome = asked.outcome as AskRefusal;
    const silent = outcome === "timed_out" || outcome === "disconnected" || outcome === "nobody_to_ask";
    return lenient && silent ? { accepted: true, origin: "policy" } : refused(outcome);
  }

  async #grant(
    spec: GatedToolSpec<Params>,
    given: {
      act: Act;
      bound: string;
      intent: Intent;
      summary: Summary;
      principal: string;
      release: () => void;
    },
  ): Promise<Passed> {
    const { act, bound, intent, summary, principal, release } = given;
    const { params } = act;
    const { onAccept, warn } = this.#options;
    const { session_id } = this.#writer;
    if (onAccept) {
      let passed = false;
      // Stopping the session and withdrawing the call work even if the check never ends.
      const stopped = anySignal(this.#writer.signal, spec.signal);
      try {
        const check = onAccept({ session_id, tool: spec.tool, params, principal });
        passed = (await Promise.race([check, aborted(stopped.signal)])) === true;
      } catch (error) {
        warn(`onAccept failed, so ${spec.tool} did not run: ${String(error)}`);
      } finally {
        stopped.release();
      }
      if (this.#writer.ended) return this.#refuse(spec, "withdrawn");
      if (!passed && !spec.signal?.aborted) {
        await this.#notDone(intent, (phrases) => phrases.refusals.second_check);
        return this.#refuse(spec, "rejected", "second_check");
      }
    }
    // Withdrawn after the approval: the approval is void, and everyone who received it is told.
    if (spec.signal?.aborted) {
      release();
      await this.#notDone(intent, (phrases) => phrases.refusals.withdrawn);
      return this.#refuse(spec, "withdrawn");
    }
    let used = false;
    return {
      granted: true,
      intent,
      summary,
      release,
      use: () => {
        if (used) throw new EarshotError("CON-49", "This approval has already been used.");
        used = true;
        if (bindParams(params) !== bound) {
          throw new EarshotError("CON-49", "The parameters changed after they were approved.");
        }
        return params;
      },
    };
  }

  #notDone(intent: Intent, words: (phrases: Phrases) => string): Promise<void> {
    const writer = this.#writer;
    const state = writer.openTools.length > 0 ? "calling_tool" : "thinking";
    const facts = intent.void();
    return writer.enterState(state, { words: writer.phrase(words), required: true, always: true, facts });
  }

  #secretOf(spec: GatedToolSpec<Params>, params: Params): string[] {
    return secretParams(params, spec.secret ?? [], this.#writer.options.redactor.redact);
  }

  #act(spec: GatedToolSpec<Params>, params: Params, tool_call_id: string): Act {
    const secret = this.#secretOf(spec, params);
    return { tool: spec.tool, tool_call_id, params, params_hash: hashParams(params, secret), secret };
  }

  /** Not even the hash of a secret is stored, so an answer about one is valid only in the process that asked. */
  #identify(spec: GatedToolSpec<Params>, params: Params, key: string): QuestionIdentity {
    const secret = this.#secretOf(spec, params);
    const once = secret.length > 0 ? this.#writer.options.ids("call") : undefined;
    const about = [spec.tool, isIrreversible(spec), hashParams(params, secret), once];
    return { key, fingerprint: fingerprintOf("tool", ...about) };
  }

  #refuse(spec: GatedToolSpec<Params>, outcome: RefusalOutcome, reason?: RefusalReason): Passed {
    const sentences = this.#writer.options.phrases[this.#writer.language]?.refusals;
    return { granted: false, refusal: refusalOf(outcome, spec.tool, reason, sentences) };
  }

  #ask(
    spec: GatedToolSpec<Params>,
    identity: QuestionIdentity,
    act: Act,
    released: Promise<void>,
  ): Promise<Asked> {
    const { params, params_hash, tool_call_id } = act;
    const irreversible = isIrreversible(spec);
    const { onAccept } = this.#options;
    const action = say<Sentence>(spec.action, params);
    const showing: Showing = {
      labels: (spec.labels ?? {}) as Showing["labels"],
      display: (spec.display ?? {}) as Showing["display"],
      secret: act.secret,
    };
    const contextIn = (language: string) => ({
      tool_call_id,
      params: showParams(params, showing, language),
      params_hash,
    });
    const words = { action, consequence: say<Sentence>(spec.consequence, params), summary: action };
    const { language } = this.#writer.textFields(words);
    return this.#questions.ask({
      ...this.#common(spec, irreversible),
      ...identity,
      act,
      words,
      released,
      fields: {
        default_decision: "reject",
        risk_level: spec.risk ?? (irreversible ? "high" : undefined),
        irreversible,
        reversibility: irreversible ? "irreversible" : spec.reversibility,
        allowed_replies: ["accept", "reject"],
        extra_context: contextIn(language),
      },
      localized: Object.fromEntries(
        shownLanguages(showing, params).map((tag) => [tag, { extra_context: contextIn(tag) }]),
      ),
      subject: `The tool ${spec.tool}`,
      nobody: (phrases) => phrases.settled.nobody_to_ask,
      announce: (settlement): Announcement => {
        const { outcome } = settlement;
        if (wantsChange(settlement)) {
          const changed = applyChange(spec, params, settlement.reply.modified_action!);
          return changed
            ? { outcome: "withdrawn", words: (phrases) => phrases.settled.changed, state: "thinking" }
            : REJECTED_CHANGE;
        }
        if (outcome !== "accepted")
          return { outcome, words: (phrases) => phrases.settled[outcome], state: "thinking" };
        return onAccept
          ? { outcome, words: (phrases) => phrases.settled.accepted_with_check, state: "deciding" }
          : { outcome, words: (phrases) => phrases.settled.accepted, state: "calling_tool" };
      },
    });
  }

  #common(
    spec: Pick<ConfirmSpec, "timeout_seconds" | "waitForListenerSeconds" | "signal" | "risk">,
    irreversible: boolean,
  ) {
    const { timeout_seconds } = this.#options.times;
    const highRisk = irreversible || spec.risk === "high";
    return {
      type: "aaep:agent.awaiting.confirmation" as const,
      timeout_seconds:
        spec.timeout_seconds ?? (highRisk ? Math.max(timeout_seconds, HIGH_RISK_SECONDS) : timeout_seconds),
      waitForListenerSeconds: spec.waitForListenerSeconds,
      signal: spec.signal,
    };
  }
}

/** The tool call that a question is about. */
const callOf = (event: AwaitingConfirmation | AwaitingClarification): string =>
  String((event as AwaitingConfirmation).extra_context?.["tool_call_id"]);

const REJECTED_CHANGE: Announcement = {
  outcome: "rejected",
  words: (phrases) => phrases.settled.cannot_change,
  state: "thinking",
};

const say = <Words>(words: Words | ((params: Params) => Words), params: Params): Words =>
  typeof words === "function" ? (words as (params: Params) => Words)(params) : words;

const aborted = (signal: AbortSignal): Promise<false> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(false);
    else signal.addEventListener("abort", () => resolve(false), { once: true });
  });

/** The parameters with a person's change (CON-73), if every changed one may be changed and keeps its type. */
function applyChange(
  spec: GatedToolSpec<Params>,
  params: Params,
  change: Record<string, unknown>,
): Params | undefined {
  const modifiable: readonly string[] = spec.modifiable ?? [];
  const entries = Object.entries(change);
  const allowed = entries.every(
    ([name, value]) =>
      modifiable.includes(name) && Object.hasOwn(params, name) && kindOf(value) === kindOf(params[name]),
  );
  if (!allowed || entries.length === 0) return undefined;
  try {
    return freezeParams({ ...params, ...change });
  } catch {
    // Not plain JSON, such as 1e999: it comes from a reply, so it is refused like any other change, not thrown.
    return undefined;
  }
}

const kindOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value;

type Status = "success" | "error" | "timeout" | "not_started";

/**
 * A used approval, from the start of its tool to the outcome. The start is stored before the function runs, with its
 * announcement; the end with its report. If the process stops in between, the stored facts say so: started, outcome
 * unknown (F02).
 */
export class Intent {
  readonly tool_call_id: string;
  readonly #writer: EventWriter;
  readonly #key: string;
  readonly #asked: string;
  readonly #act: Act;
  readonly #reply_token: string;

  /** `key` identifies the call, `asked` the question about it. */
  constructor(writer: EventWriter, key: string, asked: string, act: Act) {
    this.#writer = writer;
    this.#key = key;
    this.#asked = asked;
    this.#act = act;
    this.tool_call_id = act.tool_call_id;
    this.#reply_token = writer.sessionFacts.question(asked)?.event.reply_token ?? "";
  }

  /** The approval will not be used. */
  void(): Fact[] {
    return this.#writer.sessionFacts.drop(this.#asked);
  }

  begun(): Fact[] {
    this.#record({ kind: "begun", reply_token: this.#reply_token });
    return this.#writer.sessionFacts.begun(this.#key, this.#asked, this.#act);
  }

  ended(status: Status): Fact[] {
    this.#record({ kind: "ended", status });
    return this.#writer.sessionFacts.ended(this.#key, status === "success" ? "done" : "failed");
  }

  #record(
    what:
      | { readonly kind: "begun"; readonly reply_token: string }
      | { readonly kind: "ended"; readonly status: Status },
  ): void {
    const { session_id, options } = this.#writer;
    const { tool, tool_call_id, params_hash } = this.#act;
    const at = options.clock.timestamp();
    options.hub.audit({ ...what, session_id, tool, tool_call_id, params_hash, at });
  }
}
