/** Running tools: announced before anything happens, and always reported, however they end (SEQ-08, SEQ-10, SEQ-12). */
import type { Clock } from "../protocol/clock.ts";
import { EarshotError } from "../protocol/errors.ts";
import { isIrreversible } from "./gate.ts";
import type { Intent } from "./intent.ts";
import type { Params } from "./params.ts";
import type { Phrases } from "./phrases.ts";
import type { GatedToolSpec, PlainToolSpec, ToolContext } from "./specs.ts";
import type { Stage } from "./stage.ts";
import type { Summary } from "./words.ts";

/** With its words settled. */
type AnySpec = PlainToolSpec | (Omit<GatedToolSpec<Params>, "summary"> & { readonly summary: Summary });

/** A name every listener can take (CON-42); the original is kept in the description. */
function toolName(name: string): string {
  const safe = name.replaceAll(/[^A-Za-z0-9_.-]/g, "_").slice(0, 256);
  return /^[A-Za-z_]/.test(safe) ? safe : `_${safe}`.slice(0, 256);
}

const LONGEST = 86_400_000;

/** How long something took; a clock that was set back must not keep it from being reported. */
export const elapsed = (clock: Clock, since: number): number =>
  Math.min(LONGEST, Math.max(0, Math.round(clock.now() - since)));

export class Tools {
  readonly #stage: Stage;
  readonly #timeoutMs: number;
  #running = 0;
  /** Calls of what cannot be undone that have started and not ended: cut off now, nobody knows how far they came. */
  readonly underWay = new Set<string>();
  /** Calls that somebody said yes to, from their announcement to their report. */
  readonly #agreed = new Set<Promise<unknown>>();
  /** How many have run to an end. */
  count = 0;

  constructor(stage: Stage, timeout_ms: number) {
    this.#stage = stage;
    this.#timeoutMs = timeout_ms;
  }

  /** Refuses what could not be announced or reported, before anybody is asked about it and before it runs. */
  check(spec: AnySpec): void {
    const { timeout_ms = this.#timeoutMs, done, failed } = spec;
    if (!(timeout_ms > 0)) {
      throw new EarshotError(
        "SEQ-12",
        `timeout_ms of ${spec.tool} must be more than 0; found ${timeout_ms}.`,
      );
    }
    const { words, fields } = this.#announcement(spec, "call_0");
    this.#stage.build("aaep:agent.tool.invoked", words, fields);
    const { tool, tool_call_id } = fields;
    const ended = { tool, tool_call_id, duration_ms: 0 };
    if (done !== undefined)
      this.#stage.build("aaep:agent.tool.completed", { summary: done }, { ...ended, status: "success" });
    if (failed !== undefined)
      this.#stage.build(
        "aaep:agent.tool.completed",
        { summary: failed, error_message: failed },
        { ...ended, status: "error" },
      );
  }

  /** Settles when everything that somebody said yes to has been reported. */
  finished(): Promise<unknown> {
    return Promise.allSettled(this.#agreed);
  }

  /** Resolves with what the tool returned, or undefined if it was stopped or taken back before it could start. */
  async run<T>(
    spec: AnySpec,
    call: string | Intent,
    work: (context: ToolContext) => T | Promise<T>,
  ): Promise<{ readonly value: T } | undefined> {
    const running = this.#run(spec, call, work);
    if (typeof call === "string") return running;
    this.#agreed.add(running);
    try {
      return await running;
    } finally {
      this.#agreed.delete(running);
    }
  }

  async #run<T>(
    spec: AnySpec,
    call: string | Intent,
    work: (context: ToolContext) => T | Promise<T>,
  ): Promise<{ readonly value: T } | undefined> {
    const stage = this.#stage;
    const { clock } = stage.options;
    const tool = toolName(spec.tool);
    const intent = typeof call === "string" ? undefined : call;
    const tool_call_id = typeof call === "string" ? call : call.tool_call_id;
    const { words, fields } = this.#announcement(spec, tool_call_id);
    this.#running++;
    void stage.enter("calling_tool");
    try {
      const facts = intent?.begun() ?? [];
      await stage.emit("aaep:agent.tool.invoked", words, fields, { facts });
    } catch (error) {
      this.#running--;
      intent?.ended("not_started");
      throw error;
    }
    // The log took its time and the session ended meanwhile, which has closed this call already: nothing may start.
    if (stage.ended) {
      intent?.ended("not_started");
      return undefined;
    }
    const startedAt = clock.now();
    let started = false;
    const finish = (status: "success" | "error" | "timeout", summary: Summary, error_message?: Summary) => {
      this.#running--;
      this.count++;
      this.underWay.delete(tool_call_id);
      const facts = intent?.ended(started ? status : "not_started") ?? [];
      if (stage.ended) return;
      const duration_ms = elapsed(clock, startedAt);
      void stage.emit(
        "aaep:agent.tool.completed",
        { summary, ...(error_message === undefined ? {} : { error_message }) },
        { tool, tool_call_id, status, duration_ms },
        { facts },
      );
      if (this.#running === 0 && stage.state === "calling_tool") void stage.enter("thinking");
    };
    // Taken back while the announcement was on its way: it was announced, so it is reported, and it does not run.
    if ("signal" in spec && spec.signal?.aborted) {
      const takenBack = stage.own((phrases) => phrases.refusals.withdrawn);
      finish("error", takenBack, takenBack);
      return undefined;
    }
    started = true;
    if (isIrreversible(spec)) this.underWay.add(tool_call_id);
    try {
      const value = await this.#inTime(spec, tool_call_id, work);
      finish("success", spec.done ?? stage.own((phrases) => phrases.done));
      return { value };
    } catch (error) {
      const late = error instanceof EarshotError && error.code === "tool_timeout";
      // The error itself stays with the caller: its text was not written for the person (EVT-16).
      const own = spec.failed && !late ? spec.failed : stage.own((phrases) => failure(phrases, spec, late));
      finish(late ? "timeout" : "error", own, own);
      throw error;
    }
  }

  #announcement(spec: AnySpec, tool_call_id: string) {
    const tool = toolName(spec.tool);
    const irreversible = isIrreversible(spec);
    const original = tool === spec.tool ? undefined : spec.tool;
    const description = [original, spec.description].filter((part) => part !== undefined).join(": ");
    return {
      words: { summary: spec.summary, ...(description === "" ? {} : { description }) },
      fields: {
        tool,
        tool_call_id,
        args_summary: spec.args_summary,
        expected_duration_ms: spec.expected_duration_ms,
        risk_level: spec.risk ?? (irreversible ? "high" : undefined),
        irreversible: irreversible || spec.irreversible,
      },
    };
  }

  async #inTime<T>(
    spec: AnySpec,
    tool_call_id: string,
    work: (context: ToolContext) => T | Promise<T>,
  ): Promise<T> {
    const { clock } = this.#stage.options;
    const ms = spec.timeout_ms ?? this.#timeoutMs;
    const call = new AbortController();
    const stop = () => call.abort();
    this.#stage.signal.addEventListener("abort", stop);
    let cancel: () => void = () => {};
    const late = new Promise<never>((_, reject) => {
      cancel = clock.timer(clock.now() + ms, () => {
        call.abort();
        reject(new EarshotError("tool_timeout", `The tool ${spec.tool} took longer than ${ms} ms.`));
      });
    });
    try {
      return await Promise.race([work({ signal: call.signal, tool_call_id }), late]);
    } finally {
      cancel();
      this.#stage.signal.removeEventListener("abort", stop);
    }
  }
}

const failure = (phrases: Phrases, spec: AnySpec, late: boolean): string => {
  const what = late ? phrases.tool_late : phrases.tool_failed;
  return isIrreversible(spec) ? `${what} ${phrases.perhaps_done}` : what;
};
