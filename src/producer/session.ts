/**
 * A session as an agent's author uses it. Every method returns a promise that settles when the log has the event. Not
 * awaiting it is safe: the order holds, and a failure is kept in `session.failure` instead of crashing the process.
 */

import type { SessionHandle } from "../hub/hub.ts";
import { factOf, type SessionFact } from "../hub/store.ts";
import { EarshotError } from "../protocol/errors.ts";
import type { CoreEventType } from "../protocol/types.ts";
import { inLanguage, type Sentence, type Summary } from "./envelope.ts";
import { EventWriter, type WriterOptions } from "./event-writer.ts";
import { type AcceptHook, Gate, type GatedCall, isIrreversible } from "./gate.ts";
import { type Output, Outputs } from "./output.ts";
import type { Params } from "./params.ts";
import { refusalOf } from "./phrases.ts";
import { clarify, type QuestionTimes, SessionQuestions } from "./questions.ts";
import { Interruption, type RestoredSession } from "./restore.ts";
import {
  type CancelSpec,
  type ClarifyOutcome,
  type ClarifySpec,
  type ConfirmOutcome,
  type ConfirmSpec,
  type FailSpec,
  type GatedToolSpec,
  type HandoffSpec,
  type LenientConfirmSpec,
  type PlainToolSpec,
  type ProgressSpec,
  type Ran,
  readClarify,
  readConfirm,
  readTool,
  type SayOptions,
  type SessionSpec,
  type ToolContext,
  type ToolOutcome,
} from "./specs.ts";
import { elapsed, ToolRunner } from "./tools.ts";

export interface SessionContext extends WriterOptions {
  readonly questions: QuestionTimes;
  readonly toolTimeoutMs: number;
  readonly resumeWithinSeconds: number;
  readonly onAccept: AcceptHook | undefined;
  readonly warn: (sentence: string) => void;
}

/** One piece of work of an agent: says, asks, runs tools, and ends exactly once. */
export class Session {
  readonly session_id: string;
  /** As given when it was started. */
  readonly correlation_id: string | undefined;
  readonly #context: SessionContext;
  readonly #writer: EventWriter;
  readonly #outputs: Outputs;
  readonly #questions: SessionQuestions;
  readonly #gate: Gate;
  readonly #tools: ToolRunner;
  readonly #startedAt: number;
  #removeAbortListener: () => void = () => {};
  #interruption: Interruption | undefined;

  /** Use `producer.start`, `producer.run` or `producer.resume`. */
  constructor(spec: SessionSpec | RestoredSession, context: SessionContext) {
    const { ids, clock, redactor, hub, questions, onAccept, warn } = context;
    const restored = "lifecycle" in spec ? spec : undefined;
    const given = "lifecycle" in spec ? spec.fact : spec;
    this.#context = context;
    const since =
      restored?.first === undefined ? 0 : Date.parse(clock.timestamp()) - Date.parse(restored.first);
    this.#startedAt = clock.now() - Math.max(0, since);
    const writer = new EventWriter(given, context, restored);
    this.#writer = writer;
    this.session_id = writer.session_id;
    this.correlation_id = given.correlation_id;
    this.#outputs = new Outputs(ids, writer.language, (...chunk) => writer.stream(...chunk), redactor);
    writer.beforeEvent = () => this.#outputs.release();
    const handle: SessionHandle = {
      session_id: writer.session_id,
      audience: given.audience,
      cancel: () => void this.#stop({ by: "user", reason: "user_request" }),
      finished: () => this.#tools.finished(),
    };
    this.#questions = new SessionQuestions(writer, handle, questions, warn);
    this.#gate = new Gate(writer, this.#questions, { times: questions, onAccept, warn });
    this.#tools = new ToolRunner(writer, context.toolTimeoutMs);
    if (restored) {
      this.#tools.count = restored.tools;
      hub.openSession(handle);
      const close = (failed: FailSpec) => this.fail(failed);
      this.#interruption = new Interruption(writer, this.#questions, restored, { ...context, close });
    } else this.#begin(spec as SessionSpec, handle);
  }

  /** Called by `producer.resume`: the agent is back. */
  reattach(signal?: AbortSignal): void {
    this.#interruption?.end();
    this.#stopWith(signal);
  }

  /** True after a restart, until an agent resumes the session. */
  get interrupted(): boolean {
    return this.#interruption?.waiting === true && !this.ended;
  }

  /** What the agent is doing: thinking, calling_tool, writing_output, awaiting_input, … */
  get currentState(): string {
    return this.#writer.state;
  }
  /** Aborted once the session has ended or is being stopped: pass it to the model and to your own work. */
  get signal(): AbortSignal {
    return this.#writer.signal;
  }
  get ended(): boolean {
    return this.#writer.ended;
  }
  /** The first failure, in a call that may not have been awaited. */
  get failure(): unknown {
    return this.#writer.failure;
  }

  /** Streams text in one language, in pieces of any size. Each listener gets it cut as they asked. */
  say(text: string, options: SayOptions = {}): Promise<void> {
    return this.#open(() => {
      void this.#writer.enterState("writing_output");
      return this.#outputs.current(options).say(text, options.language);
    });
  }

  /** Opens another output, next to the one that `say` writes to. */
  output(options: SayOptions = {}): Pick<Output, "say" | "end" | "output_id"> {
    this.#writer.assertOpen();
    void this.#writer.enterState("writing_output");
    return this.#outputs.open(options);
  }

  /** Announces a state. Most state changes are announced automatically. */
  state(to_state: string, summary?: Summary): Promise<void> {
    return this.#open(() =>
      this.#writer.enterState(to_state, summary === undefined ? {} : { words: summary }),
    );
  }

  progress(spec: ProgressSpec): Promise<void> {
    return this.#open(() => {
      const writer = this.#writer;
      const { percent, step, total_steps, description, summary, eta_ms } = spec;
      const words: Summary | Sentence =
        summary ??
        description ??
        writer.phrase((phrases) =>
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
      return writer.emit(
        "aaep:agent.progress.updated",
        { summary: words },
        { progress: progress(writer.textFields({ summary: words }).language), eta_ms },
        tags.length > 0
          ? { localized: Object.fromEntries(tags.map((tag) => [tag, { progress: progress(tag) }])) }
          : {},
      );
    });
  }

  /** Runs at once; the outcome is `{ ran: true, value }`. */
  tool<T, const P extends Params>(
    spec: PlainToolSpec<P>,
    fn: (params: Readonly<P>, context: ToolContext) => T | Promise<T>,
  ): Promise<Ran<Awaited<T>>>;
  /** Asks first; `fn` receives exactly the parameters a person approved, or never runs. */
  tool<T, const P extends Params>(
    spec: GatedToolSpec<P>,
    fn: (params: Readonly<P>, context: ToolContext) => T | Promise<T>,
  ): Promise<ToolOutcome<Awaited<T>>>;
  tool<T>(
    spec: PlainToolSpec | GatedToolSpec<Params>,
    fn: (params: never, context: ToolContext) => T | Promise<T>,
  ): Promise<ToolOutcome<T>> {
    return this.#writer.attempt(async () => {
      this.#writer.assertOpen();
      // Read once, so that what is asked, what is announced and what runs are the same.
      const given = readTool(spec);
      if (typeof fn !== "function") {
        throw new EarshotError("tool_without_function", `The tool ${given.tool} has no function to run.`);
      }
      if (!mustAsk(given)) {
        this.#tools.check(given);
        const params = given.params ?? {};
        const tool_call_id = this.#context.ids("call");
        const ran = await this.#tools.run(given, tool_call_id, (context) => fn(params as never, context));
        if (!ran) this.#writer.assertOpen();
        return { ran: true, value: ran!.value };
      }
      const call = this.#gate.prepare(given);
      return this.#writer.sessionFacts.exclusive(call.key, () => this.#askAndRun(given, call, fn));
    });
  }

  async #askAndRun<T>(
    given: GatedToolSpec<Params>,
    call: GatedCall,
    fn: (params: never, context: ToolContext) => T | Promise<T>,
  ): Promise<ToolOutcome<T>> {
    const check = (summary: Summary) => this.#tools.check({ ...given, summary });
    const passed = await this.#gate.pass(given, call, check);
    if (!passed.granted) return passed.refusal;
    const approved = { ...given, summary: passed.summary };
    const run = (context: ToolContext) => fn(passed.use() as never, context);
    const starting = this.ended ? undefined : this.#tools.run(approved, passed.intent, run);
    // Its announcement has been appended by now, ahead of whatever is asked next.
    passed.release();
    const ran = await starting;
    return ran ? { ran: true, value: ran.value } : refusalOf("withdrawn", given.tool);
  }

  /** Asks yes or no. To approve a tool call, use `tool`: then the approval is bound to the parameters. */
  confirm(spec: ConfirmSpec | LenientConfirmSpec): Promise<ConfirmOutcome> {
    return this.#open(() => this.#gate.confirm(readConfirm(spec)));
  }

  /** Asks for something the agent needs to know. */
  clarify(spec: ClarifySpec): Promise<ClarifyOutcome> {
    const { timeout_seconds } = this.#context.questions;
    return this.#open(() => clarify(readClarify(spec), this.#writer, this.#questions, timeout_seconds));
  }

  /** Hands over to a person or another agent (EVT-22). Complete or cancel the session afterwards. */
  handoff(spec: HandoffSpec): Promise<void> {
    return this.#open(() => {
      void this.#writer.enterState("handing_off");
      return this.#writer.emit(
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
      { summary: summary ?? this.#writer.phrase((phrases) => phrases.done) },
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

  // ── Internal ──

  #begin(spec: SessionSpec, handle: SessionHandle): void {
    const writer = this.#writer;
    const { summary, audience, correlation_id, signal } = spec;
    // Validated first: a session that cannot be announced does not start.
    writer.build("aaep:agent.session.started", { summary }, startedFields(spec));
    this.#context.hub.openSession(handle);
    const fact: SessionFact = {
      language: writer.language,
      ...(audience ? { audience } : {}),
      ...(correlation_id === undefined ? {} : { correlation_id }),
    };
    void writer.emit("aaep:agent.session.started", { summary }, startedFields(spec), {
      ...(audience ? { audience } : {}),
      facts: [factOf("session", writer.session_id, fact)],
    });
    void writer.enterState("thinking");
    this.#stopWith(signal);
  }

  #stopWith(signal: AbortSignal | undefined): void {
    if (!signal) return;
    const stop = () => void this.#stop({ by: "system" });
    if (signal.aborted) stop();
    else {
      signal.addEventListener("abort", stop, { once: true });
      this.#removeAbortListener = () => signal.removeEventListener("abort", stop);
    }
  }

  #open<T>(work: () => T | Promise<T>): Promise<T> {
    return this.#writer.attempt(() => {
      this.#writer.assertOpen();
      return work();
    });
  }

  #stop({ by = "system", summary, reason, partial_result }: CancelSpec): Promise<void> {
    // Idempotent: a person and a program may both stop the session.
    if (this.ended) return Promise.resolve();
    const own = this.#writer.phrase((phrases) => (by === "user" ? phrases.stoppedByPerson : phrases.stopped));
    return this.#finish(
      "aaep:agent.session.cancelled",
      { summary: summary ?? own },
      { cancelled_by: by, cancellation_reason: reason, partial_result },
    );
  }

  /** Withdraws the open question, reports running tools, completes open output, then ends the session. */
  #finish(
    type: CoreEventType,
    words: Record<string, Summary | Sentence | undefined>,
    fields: Record<string, unknown>,
  ): Promise<void> {
    return this.#open(() => {
      const writer = this.#writer;
      // Validated before anything is closed.
      writer.build(type, words, fields);
      this.#questions.end();
      for (const { tool, tool_call_id } of writer.openTools) {
        const perhaps = tool_call_id !== undefined && this.#tools.irreversibleRunning.has(tool_call_id);
        const cutOff = writer.phrase(({ toolCutOff, perhapsDone }) =>
          perhaps ? `${toolCutOff} ${perhapsDone}` : toolCutOff,
        );
        const status = "error";
        void writer.emit(
          "aaep:agent.tool.completed",
          { summary: cutOff, error_message: cutOff },
          { tool, tool_call_id, status },
        );
      }
      if (writer.state === "calling_tool") void writer.enterState("thinking");
      this.#outputs.endAll();
      const ended = writer.emit(type, words, fields, { facts: writer.sessionFacts.close() });
      this.#context.hub.endSession(this.session_id);
      this.#interruption?.stop();
      this.#removeAbortListener();
      writer.abort();
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

/** Irreversible, not plainly of low or medium risk, or with the fields of a question (CNF-01, CON-03). */
function mustAsk(spec: PlainToolSpec | GatedToolSpec<Params>): spec is GatedToolSpec<Params> {
  const { risk } = spec as { risk?: unknown };
  const harmless = risk === undefined || risk === "low" || risk === "medium";
  return "action" in spec || "consequence" in spec || isIrreversible(spec) || !harmless;
}
