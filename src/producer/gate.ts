/**
 * The gate: nothing irreversible or of high risk runs without a person's yes. One yes is one run, with exactly the
 * parameters that were shown. Every other way it can end is a value that says which.
 */
import type { Act } from "../hub/record.ts";
import { EarshotError } from "../protocol/errors.ts";
import type { AwaitingClarification, AwaitingConfirmation, ConfirmationReply } from "../protocol/types.ts";
import { type Asked, type Asking, anySignal, type QuestionTimes, type Verdict } from "./asking.ts";
import { applyChange, wantsChange } from "./changes.ts";
import { Intent } from "./intent.ts";
import type { Identity } from "./ledger.ts";
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
} from "./refusals.ts";
import type { ConfirmOutcome, ConfirmSpec, GatedToolSpec, LenientConfirmSpec } from "./specs.ts";
import type { Stage } from "./stage.ts";
import type { Sentence, Summary } from "./words.ts";

/** Called after a valid yes and before anything runs: demand a second factor or a second person here (CNF-41). */
export type AcceptHook = (accepted: {
  readonly session_id: string;
  readonly tool: string;
  readonly params: Params;
  /** Who said yes, as the transport knows them. */
  readonly principal: string;
}) => boolean | Promise<boolean>;

/** A call that must ask first: what it is about, read once, and what makes it the same call after a restart. */
export interface Prepared {
  readonly key: string;
  readonly params: Params;
}

/** A yes, to be spent once. */
type Passed =
  | {
      readonly granted: true;
      readonly intent: Intent;
      /** What is said when it starts, about the parameters that were approved. */
      readonly summary: Summary;
      spend(): Params;
      /** It was announced, or never will be: the next question may come. */
      release(): void;
    }
  | { readonly granted: false; readonly refusal: Refusal };

interface GateOptions {
  readonly times: QuestionTimes;
  readonly onAccept: AcceptHook | undefined;
  readonly warn: (sentence: string) => void;
}

/** A person may ask for a change this often before the matter is closed. */
const MOST_CHANGES = 10;
/** What cannot be undone deserves time to think (CNF-22). */
const GRAVE_SECONDS = 300;

/** Irreversible by any of the fields that may say so; what is not plainly false counts as true (CON-03). */
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
  readonly #stage: Stage;
  readonly #asking: Asking;
  readonly #options: GateOptions;

  constructor(stage: Stage, asking: Asking, options: GateOptions) {
    this.#stage = stage;
    this.#asking = asking;
    this.#options = options;
  }

  prepare(spec: GatedToolSpec<Params>): Prepared {
    if (spec.action === undefined || spec.consequence === undefined || spec.params === undefined) {
      throw new EarshotError(
        "CNF-01",
        `The tool ${spec.tool} cannot run unasked: give it params, action and consequence.`,
      );
    }
    const params = freezeParams(spec.params);
    const about = fingerprintOf("tool", spec.tool, hashParams(params, this.#secretOf(spec, params)));
    return { params, key: this.#stage.ledger.keyOf(spec.key, about) };
  }

  /** `check` refuses what could not be announced after the yes, before anybody is asked. */
  async pass(
    spec: GatedToolSpec<Params>,
    { key, params: given }: Prepared,
    check: (summary: Summary) => void,
  ): Promise<Passed> {
    const { ledger, options } = this.#stage;
    let params = given;
    let summary = say<Summary>(spec.summary, params);
    check(summary);
    // Begun before: whatever became of it, it is not begun again in the name of the same yes.
    const begun = ledger.intent(key);
    if (begun) return this.#refuse(spec, begun.state === "done" ? "already_done" : "unknown_outcome");
    for (let change = 0; change <= MOST_CHANGES; change++) {
      const bound = bindParams(params);
      const asking = this.#identify(spec, params, `${key} change ${change}`);
      const known = ledger.question(asking.key);
      const tool_call_id =
        known?.fingerprint === asking.fingerprint ? callOf(known.event) : options.ids("call");
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const act = this.#act(spec, params, tool_call_id);
      const asked = await this.#ask(spec, asking, act, released);
      // A second check may ask something itself, and a change is asked about next.
      const runs = asked.outcome === "accepted" && !wantsChange(asked) && !this.#options.onAccept;
      if (!runs) release();
      if (isRefusal(asked.outcome)) return this.#refuse(spec, asked.outcome);
      const { modified_action } = asked.reply as ConfirmationReply;
      if (modified_action === undefined)
        return this.#grant(spec, {
          act,
          bound,
          intent: new Intent(this.#stage, key, asking.key, act),
          summary,
          principal: asked.principal ?? "",
          release,
        });
      const changed = applyChange(spec, params, modified_action);
      if (!changed) return this.#refuse(spec, "rejected", "cannot_change");
      // Consent is to these parameters and no others: a change is a new question (CON-73).
      params = changed;
      // Words written for the first parameters would be wrong about changed ones: then the action speaks.
      summary = say<Summary>(typeof spec.summary === "function" ? spec.summary : spec.action, params);
      check(summary);
    }
    return this.#refuse(spec, "rejected", "too_many_changes");
  }

  async confirm(spec: ConfirmSpec | LenientConfirmSpec): Promise<ConfirmOutcome> {
    const lenient = spec.default === "accept";
    const irreversible = isIrreversible(spec);
    if (lenient && (irreversible || spec.risk !== "low")) {
      throw new EarshotError("CON-03", "Silence can only mean yes for what is reversible and of low risk.");
    }
    const { action, consequence, extra_context } = spec;
    const fingerprint = fingerprintOf("confirm", action, consequence, extra_context, irreversible, lenient);
    const asked = await this.#asking.ask({
      ...this.#common(spec, irreversible),
      key: this.#stage.ledger.keyOf(spec.key, fingerprint),
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
      nobody: (phrases) => (lenient ? phrases.settled_leniently : phrases.settled).nobody_to_ask,
      verdict: (settlement) => {
        if (wantsChange(settlement)) return REJECTED_CHANGE;
        const { outcome } = settlement;
        const words = (phrases: Phrases) =>
          outcome === "accepted"
            ? phrases.settled.agreed
            : lenient && (outcome === "timed_out" || outcome === "disconnected")
              ? phrases.settled_leniently[outcome]
              : phrases.settled[outcome];
        return { outcome, words, state: "thinking" };
      },
    });
    const refused = (outcome: AskRefusal, reason?: RefusalReason): ConfirmOutcome => ({
      accepted: false,
      outcome,
      summary: this.#stage.ownText((phrases) => phrases.refusals[reason ?? outcome]),
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
    const { session_id } = this.#stage;
    if (onAccept) {
      let passed = false;
      // A check that never ends must not hold up a person who stops everything, nor an author who takes it back.
      const stopped = anySignal(this.#stage.signal, spec.signal);
      try {
        const check = onAccept({ session_id, tool: spec.tool, params, principal });
        passed = (await Promise.race([check, aborted(stopped.signal)])) === true;
      } catch (error) {
        warn(`The check after the yes failed, so ${spec.tool} did not run: ${String(error)}`);
      } finally {
        stopped.release();
      }
      if (this.#stage.ended) return this.#refuse(spec, "withdrawn");
      if (!passed && !spec.signal?.aborted) {
        await this.#notDone(intent, (phrases) => phrases.refusals.second_check);
        return this.#refuse(spec, "rejected", "second_check");
      }
    }
    // Taken back after the yes: the yes is void, and everyone who heard it hears that.
    if (spec.signal?.aborted) {
      release();
      await this.#notDone(intent, (phrases) => phrases.refusals.withdrawn);
      return this.#refuse(spec, "withdrawn");
    }
    let spent = false;
    return {
      granted: true,
      intent,
      summary,
      release,
      spend: () => {
        if (spent) throw new EarshotError("CON-49", "This approval has already been used.");
        spent = true;
        if (bindParams(params) !== bound) {
          throw new EarshotError("CON-49", "The parameters changed after they were approved.");
        }
        return params;
      },
    };
  }

  #notDone(intent: Intent, words: (phrases: Phrases) => string): Promise<void> {
    const stage = this.#stage;
    const state = stage.openTools.length > 0 ? "calling_tool" : "thinking";
    const facts = intent.void();
    return stage.enter(state, { words: stage.own(words), insist: true, always: true, facts });
  }

  #secretOf(spec: GatedToolSpec<Params>, params: Params): string[] {
    return secretParams(params, spec.secret ?? [], this.#stage.options.secrets.clean);
  }

  #act(spec: GatedToolSpec<Params>, params: Params, tool_call_id: string): Act {
    const secret = this.#secretOf(spec, params);
    return { tool: spec.tool, tool_call_id, params, params_hash: hashParams(params, secret), secret };
  }

  /** Nothing of a secret is kept, its hash included: where there is one, an answer is for the process that asked. */
  #identify(spec: GatedToolSpec<Params>, params: Params, key: string): Identity {
    const secret = this.#secretOf(spec, params);
    const once = secret.length > 0 ? this.#stage.options.ids("call") : undefined;
    const about = [spec.tool, isIrreversible(spec), hashParams(params, secret), once];
    return { key, fingerprint: fingerprintOf("tool", ...about) };
  }

  #refuse(spec: GatedToolSpec<Params>, outcome: RefusalOutcome, reason?: RefusalReason): Passed {
    const sentences = this.#stage.options.phrases[this.#stage.language]?.refusals;
    return { granted: false, refusal: refusalOf(outcome, spec.tool, reason, sentences) };
  }

  #ask(spec: GatedToolSpec<Params>, asking: Identity, act: Act, released: Promise<void>): Promise<Asked> {
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
    const { language } = this.#stage.speak(words);
    return this.#asking.ask({
      ...this.#common(spec, irreversible),
      ...asking,
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
      verdict: (settlement): Verdict => {
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
    spec: Pick<ConfirmSpec, "timeout_seconds" | "wait_for_listener_seconds" | "signal" | "risk">,
    irreversible: boolean,
  ) {
    const { timeout_seconds } = this.#options.times;
    const grave = irreversible || spec.risk === "high";
    return {
      type: "aaep:agent.awaiting.confirmation" as const,
      timeout_seconds:
        spec.timeout_seconds ?? (grave ? Math.max(timeout_seconds, GRAVE_SECONDS) : timeout_seconds),
      wait_for_listener_seconds: spec.wait_for_listener_seconds,
      signal: spec.signal,
    };
  }
}

/** The call that was asked about. */
const callOf = (event: AwaitingConfirmation | AwaitingClarification): string =>
  String((event as AwaitingConfirmation).extra_context?.["tool_call_id"]);

const REJECTED_CHANGE: Verdict = {
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
