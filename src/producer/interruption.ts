/**
 * A session whose process stopped, until its agent comes back or is given up on. Everyone is told at once what was cut
 * off and what nobody knows; an open question stays open; in the end the session is closed, and says so.
 */
import type { IntentFact } from "../hub/store.ts";
import { matchLanguage, pickVariant } from "../text/language.ts";
import { type Asking, INTERRUPTED } from "./asking.ts";
import type { Past } from "./past.ts";
import type { Phrases } from "./phrases.ts";
import type { FailSpec } from "./specs.ts";
import type { Stage } from "./stage.ts";

interface InterruptionOptions {
  readonly resume_within_seconds: number;
  readonly warn: (sentence: string) => void;
  readonly close: (failed: FailSpec) => Promise<void>;
}

export class Interruption {
  readonly #stage: Stage;
  readonly #asking: Asking;
  readonly #options: InterruptionOptions;
  readonly #giveUpAt: number;
  /** Until the agent is back. */
  waiting = true;
  #cancel: () => void = () => {};
  #expiry: () => void = () => {};

  constructor(stage: Stage, asking: Asking, past: Past, options: InterruptionOptions) {
    this.#stage = stage;
    this.#asking = asking;
    this.#options = options;
    this.#giveUpAt = stage.options.clock.now() + options.resume_within_seconds * 1000;
    for (const output of past.outputs) this.#endText(output);
    for (const { tool, tool_call_id } of stage.openTools) this.#endTool(tool, tool_call_id);
    asking.abandoned = true;
    const open = stage.ledger.questions.find(({ settled }) => !settled);
    if (open) asking.restore(open);
    else void stage.enter(INTERRUPTED, { words: stage.own(({ interrupted }) => interrupted.state) });
    asking.settled = () => this.#wait();
    this.#wait();
  }

  /** The agent is back. An answer that came meanwhile waits for it, as long as the person was told there was time. */
  end(): void {
    const stage = this.#stage;
    this.waiting = false;
    this.#cancel();
    this.#asking.abandoned = false;
    this.#asking.settled = () => this.#expire();
    const state = stage.asking ? stage.state : "thinking";
    void stage.enter(state, { words: stage.own(({ interrupted }) => interrupted.back), always: true });
    this.#expire();
  }

  /** The session has ended. */
  stop(): void {
    this.#cancel();
    this.#expiry();
    this.#asking.settled = undefined;
  }

  /** Not before a question that is open, or a yes that may still be used, has had its time. */
  #wait(): void {
    const { clock } = this.#stage.options;
    const { ledger } = this.#stage;
    const open = ledger.questions.filter(({ settled }) => !settled);
    const left = [...open, ...ledger.unused].map((question) => clock.now() + ledger.msLeft(question));
    this.#cancel();
    this.#cancel = clock.timer(Math.max(this.#giveUpAt, ...left), () => this.#giveUp());
  }

  #giveUp(): void {
    const stage = this.#stage;
    // Its timer and this one may be due together: the question is settled first, by itself.
    if (stage.asking) return;
    const lost = stage.ledger.intents.filter(({ state }) => state === "unknown");
    const unused = stage.ledger.unused.length > 0;
    const summary = stage.own((phrases) =>
      [
        phrases.interrupted.closed,
        ...lost.map((intent) => unknown(intent, phrases, this.#tagOf(phrases))),
        ...(unused ? [phrases.interrupted.expired] : []),
      ].join(" "),
    );
    const remediation_hint = stage.own(({ interrupted }) => interrupted.hint);
    const fields = { category: "transient", code: "AGENT_INTERRUPTED", recoverable: true } as const;
    void this.#options.close({ ...fields, summary, remediation_hint }).catch((error: unknown) => {
      this.#options.warn(`A session that nobody resumed could not be closed: ${String(error)}`);
    });
  }

  /** A yes that nobody used in time is void, and whoever gave it hears that. */
  #expire(): void {
    const stage = this.#stage;
    const { clock } = stage.options;
    this.#expiry();
    const left = stage.ledger.unused.map((question) => stage.ledger.msLeft(question));
    if (left.length === 0) return;
    this.#expiry = clock.timer(clock.now() + Math.min(...left), () => {
      const over = stage.ledger.unused.filter((question) => stage.ledger.msLeft(question) === 0);
      if (over.length > 0 && !stage.ended) {
        const words = stage.own(({ interrupted }) => interrupted.expired);
        const facts = over.flatMap(({ key }) => stage.ledger.drop(key));
        void stage.enter(stage.state, { words, insist: true, always: true, facts });
      }
      this.#expire();
    });
  }

  #endText({ output_id, content_type, language }: Past["outputs"][number]): void {
    const stage = this.#stage;
    const { nextPosition: position } = stage.openOutputs.get(output_id ?? "") ?? { nextPosition: 0 };
    const fields = { chunk: "", position, complete: true, coalesce_hint: "completion" };
    void stage.stream({ ...fields, output_id, content_type, language }, language ?? stage.language);
  }

  #endTool(tool: string, tool_call_id: string | undefined): void {
    const stage = this.#stage;
    const { ledger, session_id, options } = stage;
    const intent = ledger.intents.find((one) => one.tool_call_id === tool_call_id && one.state === "begun");
    const words = stage.own((phrases) =>
      intent ? unknown(intent, phrases, this.#tagOf(phrases)) : phrases.interrupted.cut_off,
    );
    const fields = { tool, tool_call_id, status: "error" };
    const said = { summary: words, error_message: words };
    const facts = intent ? ledger.ended(intent.key, "unknown") : [];
    if (intent) {
      const { params_hash } = intent;
      const act = { tool: intent.tool, tool_call_id: intent.tool_call_id, params_hash };
      options.hub.audit({ kind: "unknown", session_id, ...act, at: options.clock.timestamp() });
    }
    void stage.emit("aaep:agent.tool.completed", said, fields, { insist: intent !== undefined, facts });
  }

  #tagOf(phrases: Phrases): string {
    const entries = Object.entries(this.#stage.options.phrases);
    return entries.find(([, one]) => one === phrases)?.[0] ?? "en";
  }
}

/** In the words of the question, where they come in the language of the sentence: a voice speaks one at a time. */
function unknown({ words }: IntentFact, phrases: Phrases, tag: string): string {
  const action = pickVariant(words, "action", [tag]);
  const spoken = action && matchLanguage([tag], [action.language ?? tag]);
  return spoken ? phrases.unknown(action.text) : phrases.interrupted.unknown;
}
