/**
 * Sessions after a restart: read from the log and the facts, then interrupted until their agent resumes them. If no agent
 * does in time, they are closed.
 */
import {
  factsOf,
  type IntentFact,
  type LogStore,
  type QuestionFact,
  type SessionFact,
} from "../hub/store.ts";
import { EXTENSION_PREFIX, type Resolves } from "../protocol/extension.ts";
import { type Lifecycle, startLifecycle, stepLifecycle } from "../protocol/lifecycle.ts";
import type { AgentEvent, OutputStreaming } from "../protocol/types.ts";
import { matchLanguage, pickVariant } from "../text/language.ts";
import type { EventWriter } from "./event-writer.ts";
import type { Phrases } from "./phrases.ts";
import { INTERRUPTED, RESOLUTIONS, type SessionQuestions } from "./questions.ts";
import type { FailSpec } from "./specs.ts";

/** Our own sessions: ids come from a generator, and every answer is known. */
export const LIFECYCLE_OPTIONS = { eventIds: "trusted", replies: "seen" } as const;

/** A session as the previous process left it. */
export interface RestoredSession {
  readonly session_id: string;
  readonly fact: SessionFact;
  readonly lifecycle: Lifecycle;
  /** Timestamps of its first and last event. */
  readonly first: string | undefined;
  readonly last: string | undefined;
  readonly tools: number;
  readonly questions: readonly QuestionFact[];
  readonly intents: readonly IntentFact[];
  /** The last chunk of each output that was never completed. */
  readonly outputs: readonly OutputStreaming[];
}

/** Every session that was open when the process stopped. */
export function restoredSessions(
  store: LogStore,
  eventsOf: (session_id: string) => readonly AgentEvent[],
): RestoredSession[] {
  const questions = [...factsOf(store, "question").values()];
  const intents = [...factsOf(store, "intent").values()];
  return [...factsOf(store, "session")].map(([session_id, fact]) => {
    const mine = (one: { readonly session_id: string }) => one.session_id === session_id;
    return {
      session_id,
      fact,
      questions: questions.filter(mine),
      intents: intents.filter(mine),
      ...replay(eventsOf(session_id)),
    };
  });
}

function replay(
  events: readonly AgentEvent[],
): Pick<RestoredSession, "lifecycle" | "first" | "last" | "tools" | "outputs"> {
  const whole = events[0]?.type === "aaep:agent.session.started";
  let lifecycle = startLifecycle(whole ? LIFECYCLE_OPTIONS : { ...LIFECYCLE_OPTIONS, joined: "mid" });
  let tools = 0;
  const outputs = new Map<string, OutputStreaming>();
  for (const event of events) {
    const resolves = event.extensions?.[EXTENSION_PREFIX]?.["resolves"] as Resolves | undefined;
    if (resolves) {
      const { reply_token, outcome } = resolves;
      lifecycle = stepLifecycle(lifecycle, {
        type: "resolution",
        reply_token,
        outcome: RESOLUTIONS[outcome],
      }).state;
    }
    if (event.type === "aaep:agent.tool.completed") tools++;
    const { output_id = "", complete } = event as OutputStreaming;
    // Of output that is still open only the last chunk counts, and there may be very many.
    if (event.type === "aaep:agent.output.streaming" && !complete) {
      outputs.set(output_id, event as OutputStreaming);
      continue;
    }
    if (event.type === "aaep:agent.output.streaming") outputs.delete(output_id);
    lifecycle = stepLifecycle(lifecycle, event).state;
  }
  for (const chunk of outputs.values()) lifecycle = stepLifecycle(lifecycle, chunk).state;
  const { timestamp: first } = events[0] ?? {};
  const { timestamp: last } = events.at(-1) ?? {};
  return { lifecycle, first, last, tools, outputs: [...outputs.values()] };
}

interface InterruptionOptions {
  readonly resumeWithinSeconds: number;
  readonly warn: (sentence: string) => void;
  readonly close: (failed: FailSpec) => Promise<void>;
}

/**
 * A session between a restart and the return of its agent. Listeners are told at once what was stopped and what is not
 * known; an open question stays open; if no agent resumes the session in time, it is closed.
 */
export class Interruption {
  readonly #writer: EventWriter;
  readonly #questions: SessionQuestions;
  readonly #options: InterruptionOptions;
  readonly #closeAt: number;
  /** True until the agent resumes the session. */
  waiting = true;
  #cancelClose: () => void = () => {};
  #cancelExpiry: () => void = () => {};

  constructor(
    writer: EventWriter,
    questions: SessionQuestions,
    restored: RestoredSession,
    options: InterruptionOptions,
  ) {
    this.#writer = writer;
    this.#questions = questions;
    this.#options = options;
    this.#closeAt = writer.options.clock.now() + options.resumeWithinSeconds * 1000;
    for (const output of restored.outputs) this.#endText(output);
    for (const { tool, tool_call_id } of writer.openTools) this.#endTool(tool, tool_call_id);
    questions.interrupted = true;
    const open = writer.sessionFacts.questions.find(({ settled }) => !settled);
    if (open) questions.restore(open);
    else
      void writer.enterState(INTERRUPTED, { words: writer.phrase(({ interrupted }) => interrupted.state) });
    questions.onSettled = () => this.#wait();
    this.#wait();
  }

  /** The agent is back. An answer that came meanwhile is valid until the deadline the person was told. */
  end(): void {
    const writer = this.#writer;
    this.waiting = false;
    this.#cancelClose();
    this.#questions.interrupted = false;
    this.#questions.onSettled = () => this.#expire();
    const state = writer.asking ? writer.state : "thinking";
    void writer.enterState(state, {
      words: writer.phrase(({ interrupted }) => interrupted.back),
      always: true,
    });
    this.#expire();
  }

  /** The session has ended: cancels the timers. */
  stop(): void {
    this.#cancelClose();
    this.#cancelExpiry();
    this.#questions.onSettled = undefined;
  }

  /** Closes the session later, but not before the deadline of an open question or an unused approval. */
  #wait(): void {
    const { clock } = this.#writer.options;
    const { sessionFacts } = this.#writer;
    const open = sessionFacts.questions.filter(({ settled }) => !settled);
    const left = [...open, ...sessionFacts.unused].map(
      (question) => clock.now() + sessionFacts.msLeft(question),
    );
    this.#cancelClose();
    this.#cancelClose = clock.timer(Math.max(this.#closeAt, ...left), () => this.#close());
  }

  #close(): void {
    const writer = this.#writer;
    // If the question's own timer is due at the same time, the question is settled first.
    if (writer.asking) return;
    const lost = writer.sessionFacts.intents.filter(({ state }) => state === "unknown");
    const unused = writer.sessionFacts.unused.length > 0;
    const summary = writer.phrase((phrases) =>
      [
        phrases.interrupted.closed,
        ...lost.map((intent) => unknownOutcome(intent, phrases, this.#tagOf(phrases))),
        ...(unused ? [phrases.interrupted.expired] : []),
      ].join(" "),
    );
    const remediation_hint = writer.phrase(({ interrupted }) => interrupted.hint);
    const fields = { category: "transient", code: "AGENT_INTERRUPTED", recoverable: true } as const;
    void this.#options.close({ ...fields, summary, remediation_hint }).catch((error: unknown) => {
      this.#options.warn(`A session that no agent resumed could not be closed: ${String(error)}`);
    });
  }

  /** An approval that was not used in time is void, and listeners are told. */
  #expire(): void {
    const writer = this.#writer;
    const { clock } = writer.options;
    this.#cancelExpiry();
    const left = writer.sessionFacts.unused.map((question) => writer.sessionFacts.msLeft(question));
    if (left.length === 0) return;
    this.#cancelExpiry = clock.timer(clock.now() + Math.min(...left), () => {
      const over = writer.sessionFacts.unused.filter(
        (question) => writer.sessionFacts.msLeft(question) === 0,
      );
      if (over.length > 0 && !writer.ended) {
        const words = writer.phrase(({ interrupted }) => interrupted.expired);
        const facts = over.flatMap(({ key }) => writer.sessionFacts.drop(key));
        void writer.enterState(writer.state, { words, required: true, always: true, facts });
      }
      this.#expire();
    });
  }

  #endText({ output_id, content_type, language }: RestoredSession["outputs"][number]): void {
    const writer = this.#writer;
    const { nextPosition: position } = writer.openOutputs.get(output_id ?? "") ?? { nextPosition: 0 };
    const fields = { chunk: "", position, complete: true, coalesce_hint: "completion" };
    void writer.stream({ ...fields, output_id, content_type, language }, language ?? writer.language);
  }

  #endTool(tool: string, tool_call_id: string | undefined): void {
    const writer = this.#writer;
    const { sessionFacts, session_id, options } = writer;
    const intent = sessionFacts.intents.find(
      (one) => one.tool_call_id === tool_call_id && one.state === "begun",
    );
    const words = writer.phrase((phrases) =>
      intent ? unknownOutcome(intent, phrases, this.#tagOf(phrases)) : phrases.interrupted.cut_off,
    );
    const fields = { tool, tool_call_id, status: "error" };
    const said = { summary: words, error_message: words };
    const facts = intent ? sessionFacts.ended(intent.key, "unknown") : [];
    if (intent) {
      const { params_hash } = intent;
      const act = { tool: intent.tool, tool_call_id: intent.tool_call_id, params_hash };
      options.hub.audit({ kind: "unknown", session_id, ...act, at: options.clock.timestamp() });
    }
    void writer.emit("aaep:agent.tool.completed", said, fields, { required: intent !== undefined, facts });
  }

  #tagOf(phrases: Phrases): string {
    const entries = Object.entries(this.#writer.options.phrases);
    return entries.find(([, one]) => one === phrases)?.[0] ?? "en";
  }
}

/** Quotes the question's action if it exists in the language of the sentence: one language per utterance. */
function unknownOutcome({ words }: IntentFact, phrases: Phrases, tag: string): string {
  const action = pickVariant(words, "action", [tag]);
  const spoken = action && matchLanguage([tag], [action.language ?? tag]);
  return spoken ? phrases.unknown(action.text) : phrases.interrupted.unknown;
}
