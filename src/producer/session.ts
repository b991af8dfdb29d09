/**
 * A session as an agent's author drives it. Every method returns a promise that settles when the log has it; not
 * awaiting one is safe: order holds, and a failure surfaces on the next call and on `session.failure`.
 */
import type { Hub, SessionHandle } from "../hub/hub.ts";
import type { Clock } from "../protocol/clock.ts";
import { EarshotError } from "../protocol/errors.ts";
import type { Ids } from "../protocol/ids.ts";
import { type Lifecycle, startLifecycle, stepLifecycle } from "../protocol/lifecycle.ts";
import type { AwaitingClarification, CoreEvent, CoreEventType, ProducerIdentity } from "../protocol/types.ts";
import { responseKind } from "../hub/questions.ts";
import { type Asker, Asking } from "./asking.ts";
import { Gate } from "./gate.ts";
import { type Output, Outputs } from "./outputs.ts";
import type { Params } from "./params.ts";
import { GOES_ON_WITHOUT_ANSWER, refusalOf } from "./refusals.ts";
import type { SecretCatcher } from "./secrets.ts";
import type {
  CancelSpec,
  ClarifyOutcome,
  ClarifySpec,
  ConfirmOutcome,
  ConfirmSpec,
  FailSpec,
  GatedToolSpec,
  HandoffSpec,
  LenientConfirmSpec,
  PlainToolSpec,
  ProgressSpec,
  Ran,
  SayOptions,
  SessionSpec,
  ToolContext,
  ToolOutcome,
} from "./specs.ts";
import { createVoice, type Voice } from "./voice.ts";
import { type Summary, sentenceFields, summaryFields } from "./words.ts";

export interface SessionContext {
  readonly hub: Hub;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly producer: ProducerIdentity;
  readonly language: string;
  readonly secrets: SecretCatcher;
  readonly questions: { readonly timeout_seconds: number; readonly extensions: number; readonly ceiling_seconds: number };
  readonly onAccept: AcceptHook | undefined;
  readonly warn: (sentence: string) => void;
}

/** Called after a valid yes and before anything runs: demand a second factor or a second person here (CNF-41). */
export type AcceptHook = (accepted: { readonly session_id: string; readonly tool: string; readonly params: Params; readonly principal: string }) => boolean | Promise<boolean>;

const STATE_WORDS: Record<string, string> = {
  thinking: "Thinking.",
  calling_tool: "Using a tool.",
  writing_output: "Answering.",
  awaiting_input: "Waiting for your answer.",
  deciding: "Deciding.",
  handing_off: "Passing this on.",
};

export class Session {
  readonly session_id: string;
  readonly audience: readonly string[] | undefined;
  readonly #context: SessionContext;
  readonly #voice: Voice;
  readonly #outputs: Outputs;
  readonly #asking: Asking;
  readonly #gate: Gate;
  readonly #abort = new AbortController();
  readonly #startedAt: number;
  #life: Lifecycle = startLifecycle({ event_ids: "trusted", replies: "seen" });
  #tools = 0;
  #toolsRun = 0;
  #failure: unknown;

  /** Use `producer.start` or `producer.run`. */
  constructor(spec: SessionSpec, context: SessionContext) {
    const { ids, clock, producer, secrets, hub } = context;
    this.#context = context;
    this.session_id = ids("sess");
    this.audience = spec.audience;
    this.#startedAt = clock.now();
    const language = spec.language ?? context.language;
    this.#voice = createVoice({ session_id: this.session_id, producer, language, clock, secrets, correlation_id: spec.correlation_id });
    this.#outputs = new Outputs(ids, language, (type, fields, tag) => this.#emit(type, fields, { language: tag }), secrets);
    const handle: SessionHandle = {
      session_id: this.session_id,
      audience: spec.audience,
      cancel: (reason) => void this.#stop({ by: "user", ...(reason ? { reason: "user_request" } : {}) }),
    };
    const asker: Asker = {
      hub,
      handle,
      ids,
      emit: (type, fields, options) => this.#emit(type, fields, options),
      build: (type, fields, tag) => this.#voice(type, fields, tag),
      log: (event) => this.#log(event),
      enter: (state, fields, options) => this.#enter(state === "same" ? this.state : state, fields, options, true),
      note: (reply_token, outcome) => this.#note(reply_token, outcome),
    };
    this.#asking = new Asking(asker);
    this.#gate = new Gate(this.#asking, context, language, this.session_id);
    hub.open(handle);
    spec.signal?.addEventListener("abort", () => void this.#stop({ by: "system" }), { once: true });
    void this.#emit("aaep:agent.session.started", {
      ...summaryFields(spec.summary, language).fields,
      requested_by: spec.requested_by,
      request_text: spec.request_text,
      expected_duration_ms: spec.expected_duration_ms,
      tools_available: spec.tools_available,
    }, { language: summaryFields(spec.summary, language).language, ...(spec.audience ? { audience: spec.audience } : {}) });
    void this.#enter("thinking");
  }

  get state(): string {
    return this.#life.current_state ?? "idle";
  }
  /** Aborted once the session has ended or is being stopped: hand it to the model and to your own work. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }
  get ended(): boolean {
    return this.#life.phase === "ended";
  }
  /** What went wrong in a call nobody awaited. */
  get failure(): unknown {
    return this.#failure;
  }

  /** One string, in one language; sentences are found on the way to each listener. */
  say(text: string, options: SayOptions = {}): Promise<void> {
    void this.#enter("writing_output");
    return this.#outputs.current(options).say(text, options.language);
  }

  /** An output of its own, beside the one `say` writes to. */
  output(options: SayOptions = {}): Pick<Output, "say" | "end" | "output_id"> {
    void this.#enter("writing_output");
    return this.#outputs.open(options);
  }

  state_changed(to_state: string, summary?: Summary): Promise<void> {
    return this.#enter(to_state, summary === undefined ? undefined : { ...summaryFields(summary, this.#context.language).fields, urgency: "normal" });
  }

  progress(spec: ProgressSpec): Promise<void> {
    const { percent, step, total_steps, description, summary, eta_ms } = spec;
    const progress = Object.fromEntries(Object.entries({ percent, step, total_steps, description }).filter(([, value]) => value !== undefined));
    const words = summary ?? description ?? (percent !== undefined ? `${Math.round(percent)} percent.` : step !== undefined && total_steps !== undefined ? `Step ${step} of ${total_steps}.` : "Working.");
    return this.#emit("aaep:agent.progress.updated", { progress, ...summaryFields(words, this.#context.language).fields, eta_ms });
  }

  /** Runs at once; the outcome is `{ ran: true, value }`. */
  tool<T>(spec: PlainToolSpec, fn: (params: undefined, context: ToolContext) => T | Promise<T>): Promise<Ran<T>>;
  /** Asks first; `fn` gets exactly the parameters a person approved, or never runs. */
  tool<T, const P extends Params>(spec: GatedToolSpec<P>, fn: (params: Readonly<P>, context: ToolContext) => T | Promise<T>): Promise<ToolOutcome<T>>;
  async tool<T>(spec: PlainToolSpec | GatedToolSpec<Params>, fn: (params: never, context: ToolContext) => T | Promise<T>): Promise<ToolOutcome<T>> {
    this.#mustBeOpen();
    // Read once: what is asked about, what is announced and what runs are the same.
    const given = { ...spec } as PlainToolSpec | GatedToolSpec<Params>;
    const tool_call_id = this.#context.ids("call");
    if (!mustAsk(given)) {
      return { ran: true, value: await this.#run(given, tool_call_id, () => fn(undefined as never, this.#toolContext(tool_call_id))) };
    }
    const grant = await this.#gate.pass(given, tool_call_id);
    if (!grant.granted) return grant.refusal;
    this.#mustBeOpen();
    const value = await this.#run(given, grant.tool_call_id, () => fn(grant.spend() as never, this.#toolContext(grant.tool_call_id)));
    return { ran: true, value };
  }

  async confirm(spec: ConfirmSpec | LenientConfirmSpec): Promise<ConfirmOutcome> {
    this.#mustBeOpen();
    return this.#gate.confirm(spec);
  }

  async clarify(spec: ClarifySpec): Promise<ClarifyOutcome> {
    this.#mustBeOpen();
    const { language, questions } = this.#context;
    const kinds = spec.kinds ?? ["freetext"];
    if (kinds.includes("multiple_choice") && !spec.choices) {
      throw new EarshotError("CON-29", "A multiple-choice question needs choices: add `choices: [{ value, label }, …]`.");
    }
    const fields: Record<string, unknown> = {
      ...sentenceFields("question", spec.question, language),
      ...(spec.context ? sentenceFields("context", spec.context, language) : {}),
      ...summaryFields(spec.summary ?? spec.question, language).fields,
      accepted_response_kinds: kinds,
      choices: spec.choices,
      default_response: spec.default === undefined ? undefined : String(spec.default),
    };
    if (spec.default !== undefined && !responseKind(fields as unknown as AwaitingClarification, spec.default)) {
      throw new EarshotError("CON-30", "`default` is not an answer this question takes: it must fit `kinds` and `choices`.");
    }
    const asked = await this.#asking.ask({
      type: "aaep:agent.awaiting.clarification",
      fields,
      language,
      timeout_seconds: spec.timeout_seconds ?? 120,
      wait_for_listener_seconds: spec.wait_for_listener_seconds,
      next: () => "thinking",
      extensions: questions.extensions,
      ceiling_seconds: questions.ceiling_seconds,
    });
    if (asked.outcome === "answered" && asked.reply?.type === "clarification.reply") {
      const { response } = asked.reply;
      return { answered: true, response, kind: responseKind(fields as unknown as AwaitingClarification, response)! };
    }
    const outcome = asked.outcome as Exclude<typeof asked.outcome, "answered" | "accepted">;
    const summary = spec.default === undefined ? refusalOf(outcome, "").summary : GOES_ON_WITHOUT_ANSWER;
    return { answered: false, outcome, assumed: spec.default, summary };
  }

  async handoff(spec: HandoffSpec): Promise<void> {
    const { language } = this.#context;
    void this.#enter("handing_off");
    await this.#emit("aaep:agent.handoff.requested", {
      ...sentenceFields("reason", spec.reason, language),
      ...summaryFields(spec.summary ?? spec.reason, language).fields,
      target_kind: spec.target_kind,
      target_uri: spec.target_uri,
      packaged_context: spec.packaged_context,
      urgency_for_handoff: spec.urgency,
    });
  }

  complete(summary: Summary = "Done.", fields: { output_summary?: string; result_uri?: string } = {}): Promise<void> {
    return this.#finish("aaep:agent.session.completed", {
      ...summaryFields(summary, this.#context.language).fields,
      duration_ms: Math.min(86_400_000, Math.round(this.#context.clock.now() - this.#startedAt)),
      tool_invocations_count: this.#toolsRun,
      ...fields,
    });
  }

  fail(spec: FailSpec): Promise<void> {
    const { language } = this.#context;
    return this.#finish("aaep:agent.session.errored", {
      ...summaryFields(spec.summary, language).fields,
      error_category: spec.category ?? "unknown",
      error_code: spec.code,
      recoverable: spec.recoverable,
      ...(spec.remediation_hint ? sentenceFields("remediation_hint", spec.remediation_hint, language) : {}),
    });
  }

  cancel(spec: CancelSpec = {}): Promise<void> {
    return this.#stop({ by: "producer", ...spec });
  }

  // ── inside ────────────────────────────────────────────────────────────────────────────────────────────────────

  #stop({ by = "system", summary, reason, partial_result }: CancelSpec): Promise<void> {
    if (this.ended) return Promise.resolve();
    const words = summary ?? (by === "user" ? "Stopped, as you asked." : "Stopped.");
    return this.#finish("aaep:agent.session.cancelled", {
      ...summaryFields(words, this.#context.language).fields,
      cancelled_by: by,
      cancellation_reason: reason,
      partial_result,
    });
  }

  /** Open questions are withdrawn, tools that still run are reported, open text is closed, then the session ends. */
  #finish(type: CoreEventType, fields: Record<string, unknown>): Promise<void> {
    this.#mustBeOpen();
    this.#asking.end();
    for (const { tool, tool_call_id } of this.#life.open_tools) {
      void this.#emit("aaep:agent.tool.completed", {
        tool,
        tool_call_id,
        status: "error",
        summary_normal: "The session ended before this tool finished.",
        error_message: "The session ended before this tool finished.",
      });
    }
    this.#outputs.endAll();
    const ended = this.#emit(type, fields);
    this.#context.hub.end(this.session_id);
    this.#abort.abort();
    return ended;
  }

  #toolContext = (tool_call_id: string): ToolContext => ({ signal: this.#abort.signal, tool_call_id });

  /** Announces, runs, and always reports how it ended (SEQ-08, SEQ-10, SEQ-12). */
  async #run<T>(spec: PlainToolSpec | GatedToolSpec<Params>, tool_call_id: string, work: () => T | Promise<T>): Promise<T> {
    const { clock, language } = this.#context;
    const { tool } = spec;
    this.#tools++;
    void this.#enter("calling_tool");
    const { fields, language: spoken } = summaryFields(spec.summary, language);
    await this.#emit(
      "aaep:agent.tool.invoked",
      {
        tool,
        tool_call_id,
        ...fields,
        description: spec.description,
        args_summary: spec.args_summary,
        expected_duration_ms: spec.expected_duration_ms,
        risk_level: spec.risk ?? (spec.irreversible ? "high" : undefined),
        irreversible: spec.irreversible,
      },
      { language: spoken },
    );
    const startedAt = clock.now();
    const finish = async (status: "success" | "error" | "timeout", words: Summary, error_message?: string) => {
      this.#tools--;
      this.#toolsRun++;
      if (this.ended) return;
      const duration_ms = Math.min(86_400_000, Math.round(clock.now() - startedAt));
      void this.#emit("aaep:agent.tool.completed", { tool, tool_call_id, status, duration_ms, ...summaryFields(words, language).fields, error_message });
      if (this.#tools === 0 && this.state === "calling_tool") void this.#enter("thinking");
    };
    try {
      const value = await withTimeout(work, spec.timeout_ms, clock, tool);
      await finish("success", spec.done ?? "Done.");
      return value;
    } catch (error) {
      const timeout = error instanceof EarshotError && error.code === "tool_timeout";
      const message = timeout ? "It took too long." : error instanceof Error ? error.message || error.name : String(error);
      await finish(timeout ? "timeout" : "error", timeout ? "It took too long." : "It did not work.", message.slice(0, 4000));
      throw error;
    }
  }

  #note(reply_token: string, outcome: string): void {
    const known = { accepted: "accept", rejected: "reject", answered: "answered" } as const;
    const resolved = known[outcome as keyof typeof known] ?? "withdrawn";
    this.#life = stepLifecycle(this.#life, { type: "resolution", reply_token, outcome: resolved }).state;
  }

  #enter(to_state: string, fields?: Record<string, unknown>, options?: { insist?: boolean }, always = false): Promise<void> {
    const from_state = this.state;
    if (from_state === to_state && !always) return Promise.resolve();
    return this.#emit(
      "aaep:agent.state.changed",
      { from_state, to_state, summary_normal: STATE_WORDS[to_state] ?? `${to_state.replaceAll("_", " ")}.`, urgency: "background", ...fields },
      options,
    );
  }

  #emit(type: CoreEventType, fields: Record<string, unknown>, options: { insist?: boolean; language?: string | undefined; audience?: readonly string[] } = {}): Promise<void> {
    const { language, ...entry } = options;
    if (type !== "aaep:agent.output.streaming" && type !== "aaep:agent.progress.updated") this.#outputs?.release();
    return this.#log(this.#voice(type, fields, language), entry);
  }

  #log(event: Record<string, unknown>, options?: { insist?: boolean; audience?: readonly string[] }): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const { state, violations } = stepLifecycle(this.#life, { event_id: "evt_0", ...event } as unknown as CoreEvent);
    const [violation] = violations;
    if (violation) return Promise.reject(new EarshotError(violation.id, violation.message));
    this.#life = state;
    const logged = this.#context.hub.append(event, options);
    logged.catch((error: unknown) => {
      this.#failure ??= error;
      this.#abort.abort(error);
    });
    return logged;
  }

  #mustBeOpen(): void {
    if (this.ended) throw new EarshotError("SEQ-03", "This session has ended; start a new one.");
  }
}

/** Irreversible or of high risk, or described as something to be asked about (CNF-01, CON-03). */
const mustAsk = (spec: PlainToolSpec | GatedToolSpec<Params>): spec is GatedToolSpec<Params> => {
  const { risk, irreversible, reversibility } = spec as Partial<GatedToolSpec<Params>>;
  return "action" in spec || irreversible === true || risk === "high" || reversibility === "irreversible";
};

async function withTimeout<T>(work: () => T | Promise<T>, ms: number | undefined, clock: Clock, tool: string): Promise<T> {
  if (ms === undefined) return work();
  let cancel: () => void = () => {};
  const late = new Promise<never>((_, reject) => {
    cancel = clock.timer(clock.now() + ms, () => reject(new EarshotError("tool_timeout", `The tool ${tool} took longer than ${ms} ms.`)));
  });
  try {
    return await Promise.race([work(), late]);
  } finally {
    cancel();
  }
}
