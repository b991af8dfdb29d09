/**
 * A session as an agent's author drives it. Every method returns a promise that settles when the log has it; not
 * awaiting one is safe: order holds, and a failure is kept in `session.failure` instead of taking the process down.
 */

import type { SessionHandle } from "../hub/hub.ts";
import { factOf, type SessionFact } from "../hub/store.ts";
import { EarshotError } from "../protocol/errors.ts";
import type { CoreEventType } from "../protocol/types.ts";
import { Asking, type QuestionTimes } from "./asking.ts";
import { clarify } from "./clarifying.ts";
import { type AcceptHook, Gate, isIrreversible, type Prepared } from "./gate.ts";
import { Interruption } from "./interruption.ts";
import { type Output, Outputs } from "./outputs.ts";
import type { Params } from "./params.ts";
import type { Past } from "./past.ts";
import { readClarify, readConfirm, readTool } from "./reading.ts";
import { refusalOf } from "./refusals.ts";
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
import { Stage, type StageOptions } from "./stage.ts";
import { elapsed, Tools } from "./tools.ts";
import { inLanguage, type Sentence, type Summary } from "./words.ts";

export interface SessionContext extends StageOptions {
  readonly questions: QuestionTimes;
  readonly tool_timeout_ms: number;
  readonly resume_within_seconds: number;
  readonly onAccept: AcceptHook | undefined;
  readonly warn: (sentence: string) => void;
}

export class Session {
  readonly session_id: string;
  readonly #context: SessionContext;
  readonly #stage: Stage;
  readonly #outputs: Outputs;
  readonly #asking: Asking;
  readonly #gate: Gate;
  readonly #tools: Tools;
  readonly #startedAt: number;
  #left: () => void = () => {};
  #interruption: Interruption | undefined;

  /** Use `producer.start`, `producer.run` or `producer.resume`. */
  constructor(spec: SessionSpec | Past, context: SessionContext) {
    const { ids, clock, secrets, hub, questions, onAccept, warn } = context;
    const past = "life" in spec ? spec : undefined;
    const given = "life" in spec ? spec.fact : spec;
    this.#context = context;
    const since = past?.first === undefined ? 0 : Date.parse(clock.timestamp()) - Date.parse(past.first);
    this.#startedAt = clock.now() - Math.max(0, since);
    const stage = new Stage(given, context, past);
    this.#stage = stage;
    this.session_id = stage.session_id;
    this.#outputs = new Outputs(ids, stage.language, (...chunk) => stage.stream(...chunk), secrets);
    stage.beforeEvent = () => this.#outputs.release();
    const handle: SessionHandle = {
      session_id: stage.session_id,
      audience: given.audience,
      cancel: () => void this.#stop({ by: "user", reason: "user_request" }),
      finished: () => this.#tools.finished(),
    };
    this.#asking = new Asking(stage, handle, questions, warn);
    this.#gate = new Gate(stage, this.#asking, { times: questions, onAccept, warn });
    this.#tools = new Tools(stage, context.tool_timeout_ms);
    if (past) {
      this.#tools.count = past.tools;
      hub.openSession(handle);
      const close = (failed: FailSpec) => this.fail(failed);
      this.#interruption = new Interruption(stage, this.#asking, past, { ...context, close });
    } else this.#begin(spec as SessionSpec, handle);
  }

  /** Called by `producer.resume`: the agent is back, and drives this session from here on. */
  reattach(signal?: AbortSignal): void {
    this.#interruption?.end();
    this.#stopWith(signal);
  }

  /** Whether its process stopped and no agent has come back for it. */
  get interrupted(): boolean {
    return this.#interruption?.waiting === true && !this.ended;
  }

  /** What the agent is doing: thinking, calling_tool, writing_output, awaiting_input, … */
  get current_state(): string {
    return this.#stage.state;
  }
  /** Aborted once the session has ended or is being stopped: hand it to the model and to your own work. */
  get signal(): AbortSignal {
    return this.#stage.signal;
  }
  get ended(): boolean {
    return this.#stage.ended;
  }
  /** What went wrong first, in a call that perhaps nobody awaited. */
  get failure(): unknown {
    return this.#stage.failure;
  }

  /** One string, in one language; sentences are found on the way to each listener. */
  say(text: string, options: SayOptions = {}): Promise<void> {
    return this.#open(() => {
      void this.#stage.enter("writing_output");
      return this.#outputs.current(options).say(text, options.language);
    });
  }

  /** An output of its own, beside the one `say` writes to. */
  output(options: SayOptions = {}): Pick<Output, "say" | "end" | "output_id"> {
    this.#stage.mustBeOpen();
    void this.#stage.enter("writing_output");
    return this.#outputs.open(options);
  }

  /** Says what the agent is doing now. Most moves are reported without it. */
  state(to_state: string, summary?: Summary): Promise<void> {
    return this.#open(() => this.#stage.enter(to_state, summary === undefined ? {} : { words: summary }));
  }

  progress(spec: ProgressSpec): Promise<void> {
    return this.#open(() => {
      const stage = this.#stage;
      const { percent, step, total_steps, description, summary, eta_ms } = spec;
      const words: Summary | Sentence =
        summary ??
        description ??
        stage.own((phrases) =>
          percent !== undefined
            ? phrases.percent(Math.round(percent))
            : step !== undefined && total_steps !== undefined
              ? phrases.step(step, total_steps)
              : phrases.working,
        );
      const given = { percent, step, total_steps };
      const progress = (language: string) =>
        Object.fromEntries(
          Object.entries({
            ...given,
            description: description === undefined ? undefined : inLanguage(description, language),
          }).filter(([, value]) => value !== undefined),
        );
      const tags = typeof description === "object" ? Object.keys(description) : [];
      return stage.emit(
        "aaep:agent.progress.updated",
        { summary: words },
        { progress: progress(stage.speak({ summary: words }).language), eta_ms },
        tags.length > 0
          ? { localized: Object.fromEntries(tags.map((tag) => [tag, { progress: progress(tag) }])) }
          : {},
      );
    });
  }

  /** Runs at once; the outcome is `{ ran: true, value }`. */
  tool<T>(
    spec: PlainToolSpec,
    fn: (params: undefined, context: ToolContext) => T | Promise<T>,
  ): Promise<Ran<Awaited<T>>>;
  /** Asks first; `fn` gets exactly the parameters a person approved, or never runs. */
  tool<T, const P extends Params>(
    spec: GatedToolSpec<P>,
    fn: (params: Readonly<P>, context: ToolContext) => T | Promise<T>,
  ): Promise<ToolOutcome<Awaited<T>>>;
  tool<T>(
    spec: PlainToolSpec | GatedToolSpec<Params>,
    fn: (params: never, context: ToolContext) => T | Promise<T>,
  ): Promise<ToolOutcome<T>> {
    return this.#stage.attempt(async () => {
      this.#stage.mustBeOpen();
      // Read once: what is asked about, what is announced and what runs are the same.
      const given = readTool(spec);
      if (typeof fn !== "function") {
        throw new EarshotError("tool_without_function", `The tool ${given.tool} has no function to run.`);
      }
      if (!mustAsk(given)) {
        this.#tools.check(given);
        const call = this.#context.ids("call");
        const ran = await this.#tools.run(given, call, (context) => fn(undefined as never, context));
        if (!ran) this.#stage.mustBeOpen();
        return { ran: true, value: ran!.value };
      }
      const prepared = this.#gate.prepare(given);
      return this.#stage.ledger.alone(prepared.key, () => this.#askAndRun(given, prepared, fn));
    });
  }

  async #askAndRun<T>(
    given: GatedToolSpec<Params>,
    prepared: Prepared,
    fn: (params: never, context: ToolContext) => T | Promise<T>,
  ): Promise<ToolOutcome<T>> {
    const check = (summary: Summary) => this.#tools.check({ ...given, summary });
    const passed = await this.#gate.pass(given, prepared, check);
    if (!passed.granted) return passed.refusal;
    const approved = { ...given, summary: passed.summary };
    const run = (context: ToolContext) => fn(passed.spend() as never, context);
    const starting = this.ended ? undefined : this.#tools.run(approved, passed.intent, run);
    // By now its announcement is on its way into the log, ahead of whatever is asked next.
    passed.release();
    const ran = await starting;
    return ran ? { ran: true, value: ran.value } : refusalOf("withdrawn", given.tool);
  }

  /** A yes or no. For what a tool does, give the question to the tool: then the yes and the act cannot drift apart. */
  confirm(spec: ConfirmSpec | LenientConfirmSpec): Promise<ConfirmOutcome> {
    return this.#open(() => this.#gate.confirm(readConfirm(spec)));
  }

  clarify(spec: ClarifySpec): Promise<ClarifyOutcome> {
    const { timeout_seconds } = this.#context.questions;
    return this.#open(() => clarify(readClarify(spec), this.#stage, this.#asking, timeout_seconds));
  }

  /** The agent cannot finish this; somebody else goes on (EVT-22). Complete or cancel the session afterwards. */
  handoff(spec: HandoffSpec): Promise<void> {
    return this.#open(() => {
      void this.#stage.enter("handing_off");
      return this.#stage.emit(
        "aaep:agent.handoff.requested",
        { reason: spec.reason, summary: spec.summary ?? spec.reason },
        {
          target_kind: spec.target_kind,
          target_uri: spec.target_uri,
          packaged_context: spec.packaged_context,
          urgency_for_handoff: spec.urgency,
        },
      );
    });
  }

  complete(summary?: Summary, fields: { output_summary?: string; result_uri?: string } = {}): Promise<void> {
    return this.#finish(
      "aaep:agent.session.completed",
      { summary: summary ?? this.#stage.own((phrases) => phrases.done) },
      {
        duration_ms: elapsed(this.#context.clock, this.#startedAt),
        tool_invocations_count: this.#tools.count,
        ...fields,
      },
    );
  }

  fail(spec: FailSpec): Promise<void> {
    return this.#finish(
      "aaep:agent.session.errored",
      { summary: spec.summary, remediation_hint: spec.remediation_hint },
      { error_category: spec.category ?? "unknown", error_code: spec.code, recoverable: spec.recoverable },
    );
  }

  cancel(spec: CancelSpec = {}): Promise<void> {
    return this.#stop({ by: "producer", ...spec });
  }

  // ── inside ────────────────────────────────────────────────────────────────────────────────────────────────────

  #begin(spec: SessionSpec, handle: SessionHandle): void {
    const stage = this.#stage;
    const { summary, audience, correlation_id, signal } = spec;
    // A session that cannot be announced does not begin.
    stage.build("aaep:agent.session.started", { summary }, startedFields(spec));
    this.#context.hub.openSession(handle);
    const fact: SessionFact = {
      language: stage.language,
      ...(audience ? { audience } : {}),
      ...(correlation_id === undefined ? {} : { correlation_id }),
    };
    void stage.emit("aaep:agent.session.started", { summary }, startedFields(spec), {
      ...(audience ? { audience } : {}),
      facts: [factOf("session", stage.session_id, fact)],
    });
    void stage.enter("thinking");
    this.#stopWith(signal);
  }

  #stopWith(signal: AbortSignal | undefined): void {
    if (!signal) return;
    const stop = () => void this.#stop({ by: "system" });
    if (signal.aborted) stop();
    else {
      signal.addEventListener("abort", stop, { once: true });
      this.#left = () => signal.removeEventListener("abort", stop);
    }
  }

  #open<T>(work: () => T | Promise<T>): Promise<T> {
    return this.#stage.attempt(() => {
      this.#stage.mustBeOpen();
      return work();
    });
  }

  #stop({ by = "system", summary, reason, partial_result }: CancelSpec): Promise<void> {
    // Stopping what has ended is no mistake: a person and a program may both try.
    if (this.ended) return Promise.resolve();
    const own = this.#stage.own((phrases) => (by === "user" ? phrases.stopped_by_person : phrases.stopped));
    return this.#finish(
      "aaep:agent.session.cancelled",
      { summary: summary ?? own },
      { cancelled_by: by, cancellation_reason: reason, partial_result },
    );
  }

  /** Open questions are withdrawn, tools that still run are reported, open text is closed, then the session ends. */
  #finish(
    type: CoreEventType,
    words: Record<string, Summary | Sentence | undefined>,
    fields: Record<string, unknown>,
  ): Promise<void> {
    return this.#open(() => {
      const stage = this.#stage;
      // Refused before anything is closed, if it cannot be said.
      stage.build(type, words, fields);
      this.#asking.end();
      for (const { tool, tool_call_id } of stage.openTools) {
        const perhaps = tool_call_id !== undefined && this.#tools.underWay.has(tool_call_id);
        const cutOff = stage.own(({ tool_cut_off, perhaps_done }) =>
          perhaps ? `${tool_cut_off} ${perhaps_done}` : tool_cut_off,
        );
        const status = "error";
        void stage.emit(
          "aaep:agent.tool.completed",
          { summary: cutOff, error_message: cutOff },
          { tool, tool_call_id, status },
        );
      }
      if (stage.state === "calling_tool") void stage.enter("thinking");
      this.#outputs.endAll();
      const ended = stage.emit(type, words, fields, { facts: stage.ledger.close() });
      this.#context.hub.endSession(this.session_id);
      this.#interruption?.stop();
      this.#left();
      stage.abort();
      return ended;
    });
  }
}

const startedFields = (spec: SessionSpec) => ({
  requested_by: spec.requested_by,
  request_text: spec.request_text,
  expected_duration_ms: spec.expected_duration_ms,
  tools_available: spec.tools_available,
});

/** Irreversible or not plainly of low or medium risk, or described as something to be asked about (CNF-01, CON-03). */
function mustAsk(spec: PlainToolSpec | GatedToolSpec<Params>): spec is GatedToolSpec<Params> {
  const { risk } = spec as { risk?: unknown };
  const harmless = risk === undefined || risk === "low" || risk === "medium";
  return "action" in spec || "consequence" in spec || isIrreversible(spec) || !harmless;
}
