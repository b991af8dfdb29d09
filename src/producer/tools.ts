/** Runs tools: announced before they start, and always reported, however they end (SEQ-08, SEQ-10, SEQ-12). */

import { EarshotError } from "../protocol/errors.ts";
import type { Clock } from "../protocol/platform.ts";
import type { Summary } from "./envelope.ts";
import type { EventWriter } from "./event-writer.ts";
import { type Intent, isIrreversible } from "./gate.ts";
import type { Params } from "./params.ts";
import type { Phrases } from "./phrases.ts";
import type { GatedToolSpec, PlainToolSpec, ToolContext } from "./specs.ts";

/** With its summary resolved. */
type AnySpec = PlainToolSpec | (Omit<GatedToolSpec<Params>, "summary"> & { readonly summary: Summary });

/** A tool name that is valid on the wire (CON-42); the original goes into the description. */
function toolName(name: string): string {
  const safe = name.replaceAll(/[^A-Za-z0-9_.-]/g, "_").slice(0, 256);
  return /^[A-Za-z_]/.test(safe) ? safe : `_${safe}`.slice(0, 256);
}

const LONGEST = 86_400_000;

/** Elapsed milliseconds, within the range that the wire allows even if the clock was set. */
export const elapsed = (clock: Clock, since: number): number =>
  Math.min(LONGEST, Math.max(0, Math.round(clock.now() - since)));

export class ToolRunner {
  readonly #writer: EventWriter;
  readonly #timeoutMs: number;
  #running = 0;
  /** Irreversible calls that are running: if stopped now, their outcome is unknown. */
  readonly irreversibleRunning = new Set<string>();
  /** Approved calls, from their announcement to their report. */
  readonly #approved = new Set<Promise<unknown>>();
  /** How many tools have ended. */
  count = 0;

  constructor(writer: EventWriter, timeoutMs: number) {
    this.#writer = writer;
    this.#timeoutMs = timeoutMs;
  }

  /** Validates the announcement and the reports before anybody is asked and before the tool runs. */
  check(spec: AnySpec): void {
    const { timeoutMs = this.#timeoutMs, done, failed } = spec;
    if (!(timeoutMs > 0)) {
      throw new EarshotError("SEQ-12", `timeoutMs of ${spec.tool} must be more than 0; found ${timeoutMs}.`);
    }
    const { words, fields } = this.#announcement(spec, "call_0");
    this.#writer.build("aaep:agent.tool.invoked", words, fields);
    const { tool, tool_call_id } = fields;
    const ended = { tool, tool_call_id, duration_ms: 0 };
    if (done !== undefined)
      this.#writer.build("aaep:agent.tool.completed", { summary: done }, { ...ended, status: "success" });
    if (failed !== undefined)
      this.#writer.build(
        "aaep:agent.tool.completed",
        { summary: failed, error_message: failed },
        { ...ended, status: "error" },
      );
  }

  /** Settles when every approved call has been reported. */
  finished(): Promise<unknown> {
    return Promise.allSettled(this.#approved);
  }

  /** Resolves to what the tool returned, or undefined if it was stopped or withdrawn before it could start. */
  async run<T>(
    spec: AnySpec,
    call: string | Intent,
    work: (context: ToolContext) => T | Promise<T>,
  ): Promise<{ readonly value: T } | undefined> {
    const running = this.#run(spec, call, work);
    if (typeof call === "string") return running;
    this.#approved.add(running);
    try {
      return await running;
    } finally {
      this.#approved.delete(running);
    }
  }

  async #run<T>(
    spec: AnySpec,
    call: string | Intent,
    work: (context: ToolContext) => T | Promise<T>,
  ): Promise<{ readonly value: T } | undefined> {
    const writer = this.#writer;
    const { clock } = writer.options;
    const tool = toolName(spec.tool);
    const intent = typeof call === "string" ? undefined : call;
    const tool_call_id = typeof call === "string" ? call : call.tool_call_id;
    const { words, fields } = this.#announcement(spec, tool_call_id);
    this.#running++;
    void writer.enterState("calling_tool");
    try {
      const facts = intent?.begun() ?? [];
      await writer.emit("aaep:agent.tool.invoked", words, fields, { facts });
    } catch (error) {
      this.#running--;
      intent?.ended("not_started");
      throw error;
    }
    // The session ended while the announcement was being stored, and has reported this call already.
    if (writer.ended) {
      intent?.ended("not_started");
      return undefined;
    }
    const startedAt = clock.now();
    let started = false;
    const finish = (status: "success" | "error" | "timeout", summary: Summary, error_message?: Summary) => {
      this.#running--;
      this.count++;
      this.irreversibleRunning.delete(tool_call_id);
      const facts = intent?.ended(started ? status : "not_started") ?? [];
      if (writer.ended) return;
      const duration_ms = elapsed(clock, startedAt);
      void writer.emit(
        "aaep:agent.tool.completed",
        { summary, ...(error_message === undefined ? {} : { error_message }) },
        { tool, tool_call_id, status, duration_ms },
        { facts },
      );
      if (this.#running === 0 && writer.state === "calling_tool") void writer.enterState("thinking");
    };
    // Withdrawn while the announcement was being stored: it was announced, so it is reported, and does not run.
    if ("signal" in spec && spec.signal?.aborted) {
      const withdrawn = writer.phrase((phrases) => phrases.refusals.withdrawn);
      finish("error", withdrawn, withdrawn);
      return undefined;
    }
    started = true;
    if (isIrreversible(spec)) this.irreversibleRunning.add(tool_call_id);
    try {
      const value = await this.#inTime(spec, tool_call_id, work);
      finish("success", spec.done ?? writer.phrase((phrases) => phrases.done));
      return { value };
    } catch (error) {
      const late = error instanceof EarshotError && error.code === "tool_timeout";
      // The error goes to the caller only: its text was not written for the person (EVT-16).
      const sentence =
        spec.failed && !late ? spec.failed : writer.phrase((phrases) => failure(phrases, spec, late));
      finish(late ? "timeout" : "error", sentence, sentence);
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
    const { clock } = this.#writer.options;
    const ms = spec.timeoutMs ?? this.#timeoutMs;
    const call = new AbortController();
    const stop = () => call.abort();
    this.#writer.signal.addEventListener("abort", stop);
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
      this.#writer.signal.removeEventListener("abort", stop);
    }
  }
}

const failure = (phrases: Phrases, spec: AnySpec, late: boolean): string => {
  const what = late ? phrases.toolLate : phrases.toolFailed;
  return isIrreversible(spec) ? `${what} ${phrases.perhapsDone}` : what;
};
