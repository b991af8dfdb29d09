/**
 * The gate: nothing irreversible or of high risk runs without a person's yes. One yes is one run, with exactly the
 * parameters that were shown. Every other way it can end is a value that says which.
 */
import type { Settlement } from "../hub/questions.ts";
import { EarshotError } from "../protocol/errors.ts";
import type { ConfirmationReply } from "../protocol/types.ts";
import { type Asked, type Asking, anySignal, type QuestionTimes, type Verdict } from "./asking.ts";
import {
  bindParams,
  freezeParams,
  hashParams,
  type Params,
  type Showing,
  secretParams,
  shownLanguages,
  showParams,
} from "./params.ts";
import type { Phrases } from "./phrases.ts";
import { isRefusal, type Refusal, type RefusalOutcome, type RefusalReason, refusalOf } from "./refusals.ts";
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

/** A yes, to be spent once. */
type Passed =
  | {
      readonly granted: true;
      readonly tool_call_id: string;
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

  /** `check` refuses what could not be announced after the yes, before anybody is asked. */
  async pass(spec: GatedToolSpec<Params>, check: (summary: Summary) => void): Promise<Passed> {
    if (spec.action === undefined || spec.consequence === undefined || spec.params === undefined) {
      throw new EarshotError(
        "CNF-01",
        `The tool ${spec.tool} cannot run unasked: give it params, action and consequence.`,
      );
    }
    let params = freezeParams(spec.params);
    let summary = say<Summary>(spec.summary, params);
    check(summary);
    for (let change = 0; change <= MOST_CHANGES; change++) {
      const bound = bindParams(params);
      const tool_call_id = this.#stage.options.ids("call");
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const asked = await this.#ask(spec, params, tool_call_id, released);
      // A second check may ask something itself, and a change is asked about next.
      const runs = asked.outcome === "accepted" && !wantsChange(asked) && !this.#options.onAccept;
      if (!runs) release();
      if (isRefusal(asked.outcome)) return this.#refuse(spec, asked.outcome);
      const { modified_action } = asked.reply as ConfirmationReply;
      if (modified_action === undefined)
        return this.#grant(spec, {
          params,
          bound,
          tool_call_id,
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
    const asked = await this.#asking.ask({
      ...this.#common(spec, irreversible),
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
    const refused = (outcome: RefusalOutcome, reason?: RefusalReason): ConfirmOutcome => ({
      accepted: false,
      outcome,
      summary: this.#stage.ownText((phrases) => phrases.refusals[reason ?? outcome]),
    });
    if (asked.outcome === "accepted") {
      return wantsChange(asked) ? refused("rejected", "cannot_change") : { accepted: true, origin: "human" };
    }
    const outcome = asked.outcome as RefusalOutcome;
    const silent = outcome === "timed_out" || outcome === "disconnected" || outcome === "nobody_to_ask";
    return lenient && silent ? { accepted: true, origin: "policy" } : refused(outcome);
  }

  async #grant(
    spec: GatedToolSpec<Params>,
    given: {
      params: Params;
      bound: string;
      tool_call_id: string;
      summary: Summary;
      principal: string;
      release: () => void;
    },
  ): Promise<Passed> {
    const { params, bound, tool_call_id, summary, principal, release } = given;
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
        await this.#notDone((phrases) => phrases.refusals.second_check);
        return this.#refuse(spec, "rejected", "second_check");
      }
    }
    // Taken back after the yes: the yes is void, and everyone who heard it hears that.
    if (spec.signal?.aborted) {
      release();
      await this.#notDone((phrases) => phrases.refusals.withdrawn);
      return this.#refuse(spec, "withdrawn");
    }
    let spent = false;
    return {
      granted: true,
      tool_call_id,
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

  #notDone(words: (phrases: Phrases) => string): Promise<void> {
    const stage = this.#stage;
    const state = stage.openTools.length > 0 ? "calling_tool" : "thinking";
    return stage.enter(state, { words: stage.own(words), insist: true, always: true });
  }

  #refuse(spec: GatedToolSpec<Params>, outcome: RefusalOutcome, reason?: RefusalReason): Passed {
    const sentences = this.#stage.options.phrases[this.#stage.language]?.refusals;
    return { granted: false, refusal: refusalOf(outcome, spec.tool, reason, sentences) };
  }

  #ask(
    spec: GatedToolSpec<Params>,
    params: Params,
    tool_call_id: string,
    released: Promise<void>,
  ): Promise<Asked> {
    const irreversible = isIrreversible(spec);
    const { onAccept } = this.#options;
    const action = say<Sentence>(spec.action, params);
    const { clean } = this.#stage.options.secrets;
    const showing: Showing = {
      labels: (spec.labels ?? {}) as Showing["labels"],
      display: (spec.display ?? {}) as Showing["display"],
      secret: secretParams(params, spec.secret ?? [], clean),
    };
    const params_hash = hashParams(params, showing.secret);
    const contextIn = (language: string) => ({
      tool_call_id,
      params: showParams(params, showing, language),
      params_hash,
    });
    const words = { action, consequence: say<Sentence>(spec.consequence, params), summary: action };
    const { language } = this.#stage.speak(words);
    return this.#asking.ask({
      ...this.#common(spec, irreversible),
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

const REJECTED_CHANGE: Verdict = {
  outcome: "rejected",
  words: (phrases) => phrases.settled.cannot_change,
  state: "thinking",
};

const say = <Words>(words: Words | ((params: Params) => Words), params: Params): Words =>
  typeof words === "function" ? (words as (params: Params) => Words)(params) : words;

const wantsChange = (asked: Settlement | Asked): asked is Settlement & { reply: ConfirmationReply } =>
  asked.outcome === "accepted" &&
  (asked.reply as ConfirmationReply | undefined)?.modified_action !== undefined;

/** The parameters after a person's change, if every changed one may be changed and keeps its kind. */
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
    // What no tool could be given, such as 1e999: it came from outside, so it is an answer and not an error.
    return undefined;
  }
}

const aborted = (signal: AbortSignal): Promise<false> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(false);
    else signal.addEventListener("abort", () => resolve(false), { once: true });
  });

const kindOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
