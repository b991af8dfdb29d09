/**
 * The gate: nothing irreversible or of high risk runs without a person's yes. One yes is one run, with exactly the
 * parameters that were shown. Every other way it can end is a value that says which.
 */
import { EarshotError } from "../protocol/errors.ts";
import type { ConfirmationReply } from "../protocol/types.ts";
import type { Asked, Asking } from "./asking.ts";
import { freezeParams, hashParams, type Params, showParams } from "./params.ts";
import { NOT_ALLOWED_TO_CHANGE, type Refusal, type RefusalOutcome, refusalOf, SECOND_CHECK_FAILED } from "./refusals.ts";
import type { SessionContext } from "./session.ts";
import type { ConfirmOutcome, ConfirmSpec, GatedToolSpec, LenientConfirmSpec } from "./specs.ts";
import { type Sentence, sentenceFields, summaryFields } from "./words.ts";

/** A yes, to be spent once. */
export type Passed =
  | { readonly granted: true; readonly tool_call_id: string; spend(): Params }
  | { readonly granted: false; readonly refusal: Refusal };

/** A person may ask for a change this often before the matter is closed. */
const MOST_CHANGES = 10;

export class Gate {
  readonly #asking: Asking;
  readonly #context: SessionContext;
  readonly #language: string;
  readonly #session_id: string;

  constructor(asking: Asking, context: SessionContext, language: string, session_id: string) {
    this.#asking = asking;
    this.#context = context;
    this.#language = language;
    this.#session_id = session_id;
  }

  async pass(spec: GatedToolSpec<Params>, first_call_id: string): Promise<Passed> {
    const { ids, onAccept, warn } = this.#context;
    if (spec.action === undefined || spec.consequence === undefined || spec.params === undefined) {
      throw new EarshotError("CNF-01", `The tool ${spec.tool} cannot run unasked: give it params, action and consequence.`);
    }
    let params = freezeParams(spec.params);
    let tool_call_id = first_call_id;
    const refuse = (outcome: RefusalOutcome, reason?: string): Passed => ({ granted: false, refusal: refusalOf(outcome, spec.tool, reason) });
    for (let change = 0; change <= MOST_CHANGES; change++) {
      const hash = await hashParams(params);
      const asked = await this.#ask(spec, params, hash, tool_call_id);
      if (asked.outcome === "nobody_to_ask") {
        warn(`${spec.tool} was not run: nobody is connected who could be asked. Start a listener: npx earshot listen`);
      }
      if (asked.outcome !== "accepted") return refuse(asked.outcome as RefusalOutcome);
      const { modified_action } = asked.reply as ConfirmationReply;
      if (modified_action !== undefined) {
        const changed = applyChange(spec, params, modified_action);
        if (!changed) return refuse("rejected", NOT_ALLOWED_TO_CHANGE);
        // Consent is to these parameters and no others: a change is a new question (CON-73).
        params = changed;
        tool_call_id = ids("call");
        continue;
      }
      if (onAccept && !(await onAccept({ session_id: this.#session_id, tool: spec.tool, params, principal: asked.principal ?? "" }))) {
        return refuse("rejected", SECOND_CHECK_FAILED);
      }
      if ((await hashParams(params)) !== hash) throw new EarshotError("CON-49", "The parameters changed after they were approved.");
      let spent = false;
      return {
        granted: true,
        tool_call_id,
        spend: () => {
          if (spent) throw new EarshotError("CON-49", "This approval has already been used.");
          spent = true;
          return params;
        },
      };
    }
    return refuse("rejected", NOT_ALLOWED_TO_CHANGE);
  }

  async confirm(spec: ConfirmSpec | LenientConfirmSpec): Promise<ConfirmOutcome> {
    const lenient = spec.default === "accept";
    const harmful = spec.irreversible === true || (spec.risk ?? "low") !== "low";
    if (lenient && harmful) throw new EarshotError("CON-03", "Silence can only mean yes for what is reversible and of low risk.");
    const irreversible = spec.irreversible ?? false;
    const asked = await this.#asking.ask({
      ...this.#common(spec.timeout_seconds, spec.wait_for_listener_seconds, irreversible, spec.risk),
      fields: {
        ...sentenceFields("action", spec.action, this.#language),
        ...sentenceFields("consequence", spec.consequence, this.#language),
        ...summaryFields(spec.summary ?? spec.action, this.#language).fields,
        default_decision: lenient ? "accept" : "reject",
        risk_level: spec.risk ?? (irreversible ? "high" : lenient ? "low" : undefined),
        ...(irreversible ? { irreversible, reversibility: "irreversible" } : {}),
        allowed_replies: ["accept", "reject"],
        extra_context: spec.extra_context,
      },
      next: () => "thinking",
    });
    if (asked.outcome === "accepted" && (asked.reply as ConfirmationReply).modified_action === undefined) return { accepted: true, origin: "human" };
    if (lenient && asked.outcome !== "rejected" && asked.outcome !== "accepted" && asked.outcome !== "withdrawn") return { accepted: true, origin: "policy" };
    if (asked.outcome === "accepted") return { accepted: false, outcome: "rejected", summary: NOT_ALLOWED_TO_CHANGE };
    const outcome = asked.outcome as RefusalOutcome;
    return { accepted: false, outcome, summary: refusalOf(outcome, "").summary };
  }

  #ask(spec: GatedToolSpec<Params>, params: Params, params_hash: string, tool_call_id: string): Promise<Asked> {
    const irreversible = spec.irreversible === true || spec.reversibility === "irreversible";
    const say = (words: Sentence | ((params: Params) => Sentence)): Sentence => (typeof words === "function" ? words(params) : words);
    const action = say(spec.action);
    const reversibility = irreversible ? "irreversible" : spec.reversibility;
    return this.#asking.ask({
      ...this.#common(spec.timeout_seconds, spec.wait_for_listener_seconds, irreversible, spec.risk),
      fields: {
        ...sentenceFields("action", action, this.#language),
        ...sentenceFields("consequence", say(spec.consequence), this.#language),
        ...summaryFields(action, this.#language).fields,
        default_decision: "reject",
        risk_level: spec.risk ?? (irreversible ? "high" : undefined),
        irreversible,
        reversibility,
        allowed_replies: ["accept", "reject"],
        extra_context: { tool_call_id, params: showParams(params, (spec.labels ?? {}) as Record<string, string>, spec.secret ?? []), params_hash },
      },
      next: (settlement) =>
        settlement.outcome === "accepted" && (settlement.reply as ConfirmationReply).modified_action === undefined ? "calling_tool" : "thinking",
    });
  }

  #common(timeout_seconds: number | undefined, wait_for_listener_seconds: number | undefined, irreversible: boolean, risk: string | undefined) {
    const { questions } = this.#context;
    return {
      type: "aaep:agent.awaiting.confirmation" as const,
      language: this.#language,
      // What cannot be undone deserves time to think (CNF-22).
      timeout_seconds: timeout_seconds ?? (irreversible || risk === "high" ? Math.max(questions.timeout_seconds, 300) : questions.timeout_seconds),
      wait_for_listener_seconds,
      extensions: questions.extensions,
      ceiling_seconds: questions.ceiling_seconds,
    };
  }
}

/** The parameters after a person's change, if every changed one may be changed and keeps its kind. */
function applyChange(spec: GatedToolSpec<Params>, params: Params, change: Record<string, unknown>): Params | undefined {
  const modifiable: readonly string[] = spec.modifiable ?? [];
  for (const [name, value] of Object.entries(change)) {
    if (!modifiable.includes(name) || !Object.hasOwn(params, name) || typeof value !== typeof params[name]) return undefined;
  }
  return Object.keys(change).length === 0 ? undefined : freezeParams({ ...params, ...change });
}

