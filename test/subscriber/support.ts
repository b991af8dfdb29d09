/** A listener for tests: takes events and inputs at given times, and records what the announcer says. */

import { parseValue } from "../../src/protocol/parse.ts";
import type { AgentEvent } from "../../src/protocol/types.ts";
import { CORE_CONTEXT } from "../../src/protocol/types.ts";
import {
  Announcer,
  type AnnouncerOptions,
  type AnswerInput,
  type Outgoing,
  textOf,
  type Utterance,
} from "../../src/subscriber/announcer.ts";

export type Fields = Record<string, unknown>;

/** Events of one session, strictly valid unless told otherwise. */
export function eventsOf(language = "en", over: Fields = {}) {
  let count = 0;
  const session = String(over["session_id"] ?? "sess_1");
  return (name: string, fields: Fields = {}): AgentEvent => {
    const type = name.includes(":") ? name : `aaep:agent.${name}`;
    const critical = /errored|awaiting|handoff/.test(name) ? { urgency: "critical" } : {};
    const event = {
      "@context": CORE_CONTEXT,
      type,
      event_id: `evt_${session.slice(5)}x${++count}`,
      session_id: session,
      timestamp: "2026-01-01T00:00:00.000Z",
      producer: { agent_id: "planner", agent_name: "Planner" },
      localization_hints: { primary_language: language },
      ...critical,
      ...over,
      ...fields,
    };
    const parsed = parseValue(event, { mode: "tolerant" });
    if (!parsed.ok) throw new Error(`${type}: ${JSON.stringify(parsed.issues)}`);
    return parsed.message as AgentEvent;
  };
}

export interface Said {
  readonly at: number;
  readonly utterance: Utterance;
  readonly text: string;
}

/** An announcer with a voice that takes no time, or as long as `duration` says. */
export class TestListener {
  readonly announcer: Announcer;
  readonly said: Said[] = [];
  readonly stopped: Utterance[] = [];
  readonly sent: Outgoing[] = [];
  now = 0;
  speaking: { readonly id: number; readonly until: number } | undefined;
  readonly #duration: (utterance: Utterance) => number;
  /** What the producer's line answers. */
  taken: boolean | undefined | "later" = true;

  constructor(options: AnnouncerOptions = {}, duration: (utterance: Utterance) => number = () => 0) {
    this.announcer = new Announcer(options);
    this.#duration = duration;
  }

  get texts(): string[] {
    return this.said.map(({ text }) => text);
  }

  hear(...events: AgentEvent[]): this {
    for (const event of events) {
      this.announcer.hear(event, this.now);
      this.pump();
    }
    return this;
  }

  answer(input: AnswerInput | AnswerInput["kind"], text = ""): this {
    this.announcer.answer(
      typeof input === "string" ? ({ kind: input, text } as AnswerInput) : input,
      this.now,
    );
    this.pump();
    return this;
  }

  do(name: "what" | "repeat" | "pause" | "resume" | "details"): this {
    this.announcer[name](this.now);
    this.pump();
    return this;
  }

  /** Time passes, in steps no longer than a second. */
  wait(ms: number): this {
    const until = this.now + ms;
    while (this.now < until) {
      const wake = this.announcer.wakeAt(this.now);
      const end = this.speaking?.until;
      this.now = Math.min(
        until,
        this.now + 1000,
        ...[wake, end].filter((time) => time !== undefined && time > this.now).map(Number),
      );
      this.pump();
    }
    return this;
  }

  pump(): void {
    for (let round = 0; round < 10_000; round++) {
      if (this.speaking && this.speaking.until <= this.now) {
        const { id } = this.speaking;
        this.speaking = undefined;
        this.announcer.finished(id, this.now);
      }
      for (const message of this.announcer.outgoing()) {
        this.sent.push(message);
        if (this.taken !== "later") this.announcer.sent(message, this.taken, this.now);
      }
      this.announcer.tick(this.now);
      const actions = this.announcer.advance(this.now);
      for (const { do: what, utterance } of actions) {
        if (what === "stop") {
          this.stopped.push(utterance);
          this.speaking = undefined;
          continue;
        }
        this.said.push({ at: this.now, utterance, text: textOf(utterance) });
        this.speaking = { id: utterance.id, until: this.now + this.#duration(utterance) };
      }
      if (actions.length === 0 && !(this.speaking && this.speaking.until <= this.now)) return;
    }
    throw new Error("The announcer never stops talking.");
  }
}

/** A line of a transcript: time, urgency, words; what is not in the frame's language is marked with its own. */
export function written({ at, utterance }: Said, frame: string): string {
  const seconds = Math.floor(at / 1000);
  const time = `${String(Math.floor(seconds / 60)).padStart(2, "0")}:${String(seconds % 60).padStart(2, "0")}`;
  const words = utterance.runs
    .filter(({ standIn }) => !standIn)
    .map(({ text, language }) =>
      language === frame ? text : `‹${language ?? "?"}: ${text.trim()}›${/\s$/u.test(text) ? " " : ""}`,
    )
    .join("");
  return `${time} ${utterance.urgency === "critical" ? "!" : " "} ${words}`;
}
