/**
 * `earshot/subscriber/announcer`: turns events into sentences a person can follow by ear or braille (chapter 9, SUB-*). Pure: events,
 * the person's inputs and the time go in; a voice asks with `advance` what to do. It never speaks half a sentence, never
 * speaks a language with the wrong voice, and records everything in `history`.
 */
import type { AgentEvent, CognitiveLoad, OutputStreaming, Urgency, Verbosity } from "../protocol/types.ts";
import {
  announcementFor,
  isProgressOf,
  isRepetition,
  StateDebouncer,
} from "./announcer/event-announcements.ts";
import { EventOrder, FloodGuard, UrgencyGuard } from "./announcer/event-intake.ts";
import {
  OutputBuffers,
  type ReadyOutput,
  type SpokenBoundary,
  speakOutput,
} from "./announcer/output-text.ts";
import { agentName, EventText, type Phrases } from "./announcer/phrases.ts";
import {
  type AutoAnswer,
  deadlineNotice,
  type Outgoing,
  QuestionFlow,
  TERMINAL,
} from "./announcer/question-flow.ts";
import type { AnswerInput, QuestionEvent } from "./announcer/question-text.ts";
import {
  type ObservedSession,
  ObservedSessions,
  observe,
  observeOutcome,
  sessionStatus,
  takeSummary,
} from "./announcer/sessions.ts";
import { type Action, type HistoryEntry, Speech } from "./announcer/speech-queue.ts";
import { ConnectionNotices, StillWorkingTimer } from "./announcer/status-notices.ts";
import { type Asked, type Run, textOf, type Utterance, type UtteranceKind } from "./announcer/utterance.ts";

export { neutralize } from "../text/neutralize.ts";
export { isGrave } from "./announcer/question-text.ts";
export type { Catalog, Message, MessageKey } from "./catalogs/catalog.ts";
export { CATALOGS, catalogFor } from "./catalogs/index.ts";
export {
  type AttachOptions,
  attach,
  createListener,
  createVoiceListener,
  type Listener,
  type ListenerOptions,
  listen,
  type VoiceListener,
  type VoiceListenerOptions,
} from "./listener.ts";
export { speakMarkdown } from "./markdown.ts";
export { type Speaker, speakWith, type Voice } from "./voice.ts";
export type { AnswerInput, Asked, AutoAnswer, HistoryEntry, Outgoing, Run, Utterance, UtteranceKind };
export { type Action, type Phrases, textOf };

/** What a person can set. */
export interface AnnouncerSettings {
  /** Languages the person reads, preferred first. */
  readonly languages: readonly string[];
  readonly verbosity: Verbosity;
  readonly load: CognitiveLoad;
  /** Verbosity for individual event types. */
  readonly verbosityByType: Readonly<Record<string, Verbosity>>;
  readonly pace_wpm: number | undefined;
  /** Say that work goes on, after 15 seconds of silence and then with exponential backoff. */
  readonly stillWorking: boolean;
  /** Where streamed text may be split: at sentences for speech, at paragraphs for braille (SUB-17). */
  readonly boundary: SpokenBoundary;
}

/** Options of an announcer: a person's settings, and what the voice can do. */
export interface AnnouncerOptions extends Partial<AnnouncerSettings> {
  /** Whether there is a voice, or a braille table, for a language. */
  readonly can?: (language: string) => boolean;
  readonly medium?: "voice" | "braille";
  /** None by default. A rule never accepts an irreversible or high-risk act (CON-75). */
  readonly autoAnswers?: readonly AutoAnswer[];
}

const defaultSettings = (medium: "voice" | "braille"): AnnouncerSettings => ({
  languages: ["en"],
  verbosity: "normal",
  load: "medium",
  verbosityByType: {},
  pace_wpm: undefined,
  stillWorking: true,
  boundary: medium === "braille" ? "paragraph" : "sentence",
});

const QUESTION = /^aaep:agent\.awaiting\.(?:confirmation|clarification)$/;

/** Turns events into utterances: ordered, paced, and in the listener's language. Pure; the time is passed in. */
export class Announcer {
  readonly #speech: Speech;
  readonly #order = new EventOrder();
  readonly #sessions = new ObservedSessions((evicted) => this.#outputs.evict(evicted));
  readonly #questions: QuestionFlow;
  readonly #outputs = new OutputBuffers();
  readonly #stillWorking = new StillWorkingTimer();
  readonly #urgency = new UrgencyGuard();
  readonly #flood = new FloodGuard();
  readonly #states = new StateDebouncer((stale) => this.#speech.skipUnheard(stale));
  readonly #muted = new Set<string>();
  readonly #connections = new ConnectionNotices((key, agent_id, source, now) => {
    const agent = this.#sessions.agentOn(source) ?? agentName({ agent_id });
    this.#say("notice", "normal", [this.phrases.say(key, { agent })], now);
  });
  readonly #sources = new WeakMap<AgentEvent, string>();
  #settings: AnnouncerSettings;
  #verbosityGiven: boolean;
  #paused = false;

  constructor(options: AnnouncerOptions = {}) {
    const { can = () => true, medium = "voice", autoAnswers = [], ...given } = options;
    this.#verbosityGiven = given.verbosity !== undefined;
    this.#settings = { ...defaultSettings(medium), ...given };
    this.#speech = new Speech({ ...this.#settings, can, medium });
    this.#questions = new QuestionFlow({
      speech: this.#speech,
      text: (event) => this.#text(event),
      agentName: (event, source) => this.#naming(this.#sessions.of(event, source)).name,
      settled: (event, source, outcome, brief) =>
        observeOutcome(this.#sessions.of(event, source), outcome, brief),
      isConnectionLost: (source) => this.#connections.isLost(source),
      brief: () => this.#settings.load === "low" || this.#verbosity() === "terse",
      autoAnswers,
    });
  }

  get history(): readonly HistoryEntry[] {
    return this.#speech.history.entries;
  }
  /** The question the person is being asked. */
  get question(): AgentEvent | undefined {
    return this.#questions.current;
  }
  /** Number of open questions, including the current one. */
  get questions(): number {
    return this.#questions.size;
  }
  /** Whether this question still waits for an answer. */
  isOpen(reply_token: string, source = ""): boolean {
    return this.#questions.openTokens(source).includes(reply_token);
  }
  /** Whether a critical utterance is queued. */
  get urgent(): boolean {
    return this.#speech.queue.urgent;
  }
  get phrases(): Phrases {
    return this.#speech.phrases;
  }

  /** Changes settings from now on. What was not spoken before stays in the history (DEL-25). */
  set(settings: Partial<AnnouncerSettings>): void {
    this.#settings = { ...this.#settings, ...settings };
    this.#verbosityGiven ||= settings.verbosity !== undefined;
    if (settings.languages) this.#speech.languages = settings.languages;
    if ("pace_wpm" in settings) this.#speech.queue.pace_wpm = settings.pace_wpm;
  }

  /** Only critical announcements of this agent are spoken while it is muted. */
  mute(agent_id: string, muted = true): void {
    if (muted) this.#muted.add(agent_id);
    else this.#muted.delete(agent_id);
  }

  /** Announces an event, which must be deduplicated, as a `Subscriber` does. `source` tells connections apart. */
  hear(event: AgentEvent, now: number, source = ""): void {
    this.#sources.set(event, source);
    this.#connections.eventReceived(source, now);
    for (const one of this.#order.take(event, now, source))
      this.#handle(one, now, this.#sources.get(one) ?? source);
    this.#updateHold(now);
  }

  /** A connection was lost, is back (`forgot`: the producer no longer knows the subscription), or has ended for good. */
  connection(
    state: "lost" | "connected" | "ended",
    agent: string,
    now: number,
    source = "",
    forgot = false,
  ): void {
    if (forgot || state === "ended") this.#sessions.markUnknown(source);
    if (state !== "ended") return this.#connections.changed(state, agent, source, now);
    this.#connections.ended(agent, source, now);
    // Nothing more will arrive: speak unfinished sentences, and close questions that can no longer be answered.
    for (const session of this.#sessions.open(source)) {
      this.#speakOutputs(this.#outputs.end(session), now);
      session.ended = true;
    }
    for (const token of this.#questions.openTokens(source))
      this.#questions.settle(source, token, "disconnected", now);
    this.#updateHold(now);
  }

  tick(now: number): void {
    for (const event of this.#order.late(now)) this.#handle(event, now, this.#sources.get(event) ?? "");
    this.#speakOutputs(this.#outputs.due(now), now);
    this.#questions.tick(now);
    this.#states.due(now);
    this.#connections.announceDue(now);
    for (const { session, count } of this.#flood.due(now)) this.#reportHeldBack(session, count, now);
    this.#updateHold(now);
    if (!this.#isSilent || !this.#stillWorking.isDue(now)) return;
    const tool = this.#working.flatMap(({ tools }) => [...tools.values()]).at(-1)?.said;
    const words = tool ? this.phrases.say("still_working_on", { tool }) : this.phrases.say("still_working");
    this.#say("still_working", "background", [words], now);
  }

  /** When to call `tick` and `advance` next, if nothing else happens before. */
  wakeAt(now: number): number | undefined {
    const times = [
      this.#order.wakeAt,
      this.#outputs.wakeAt,
      this.#questions.wakeAt,
      this.#flood.wakeAt,
      this.#states.wakeAt,
      this.#connections.wakeAt,
      this.#speech.queue.wakeAt(now),
      this.#isSilent ? this.#stillWorking.wakeAt : undefined,
    ].filter((time) => time !== undefined);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** What the voice should do now. */
  advance(now: number): Action[] {
    const actions = this.#speech.queue.advance(now);
    for (const action of actions) {
      if (action.do === "stop") this.#speech.history.mark(action.utterance.id, "waiting");
      else {
        this.#speech.history.mark(action.utterance.id, "said");
        this.#stillWorking.said(action.utterance.kind === "still_working", now);
      }
    }
    return actions;
  }

  /** The voice has spoken this utterance to its end. */
  finished(id: number, now: number): void {
    if (!this.#speech.queue.finished(id)) return;
    this.#stillWorking.finished(now);
    this.#questions.finished(id);
  }

  answer(input: AnswerInput, now: number): void {
    this.#questions.answer(input, now);
    this.#updateHold(now);
  }
  /** Messages to send; each is returned once. */
  outgoing(): Outgoing[] {
    return this.#questions.takeOutgoing();
  }
  /** Reports whether the producer took a message; `taken` is undefined if that cannot be known. */
  sent(message: Outgoing, taken: boolean | undefined, now: number): void {
    if (message.do !== "more_time") this.#questions.sent(message, taken, now);
    else if (taken === false) this.#say("answer", "critical", [this.phrases.say("no_more_time")], now);
    this.#updateHold(now);
  }

  /** Repeats the open question, or else the last utterance. */
  repeat(now: number): void {
    if (this.#questions.repeat(now)) return;
    const last = this.#speech.history.lastSaid();
    if (last) this.#speech.add({ ...last, urgency: "critical" }, now);
    else this.#say("status", "critical", [this.phrases.say("nothing_said")], now);
  }

  /** Answers "what is happening?". */
  what(now: number): void {
    const parts = this.#sessions.active.map((session) =>
      sessionStatus(
        session,
        this.#naming(session).name,
        this.#connections.isLost(session.source),
        this.phrases,
      ),
    );
    const count = this.#questions.size - 1;
    if (count > 0) parts.push(this.phrases.say("questions_waiting", { count }));
    if (parts.length === 0 && !this.#questions.current) parts.push(this.phrases.say("no_session"));
    if (parts.length > 0) this.#say("status", "critical", parts, now);
    this.#questions.repeat(now);
  }

  /** What happens to the open questions if the person leaves now; empty if there are none. */
  unanswered(now: number): readonly Run[] {
    return this.phrases.join(this.#questions.unanswered(now));
  }

  /** Reads out the code and link targets of the last output that had any. */
  details(now: number): void {
    const parts = this.#outputs.details.map((one) => [this.phrases.content(one, undefined)]);
    this.#say("status", "critical", parts.length > 0 ? parts : [this.phrases.say("nothing_said")], now);
  }

  /** Queues a sentence of the surrounding program; returns the utterance's id. */
  notice(parts: readonly (readonly Run[])[], now: number): number {
    return this.#speech.say("notice", "critical", parts, now);
  }

  pause(now: number): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#say("notice", "critical", [this.phrases.say("paused")], now);
    this.#updateHold(now);
  }

  /** Goes on after a pause, with a digest of what was missed. */
  resume(now: number): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#updateHold(now);
    this.#speech.catchUp(now);
  }

  /** Agents are working and nothing is being said. */
  get #isSilent(): boolean {
    const busy = this.#paused || this.#questions.current || !this.#speech.queue.idle;
    return this.#settings.stillWorking && !busy && this.#working.length > 0;
  }

  get #working(): ObservedSession[] {
    return this.#sessions.active.filter(({ source }) => !this.#connections.isLost(source));
  }

  #verbosity(type?: string): Verbosity {
    const own = type === undefined ? undefined : this.#settings.verbosityByType[type];
    return (
      own ?? (this.#settings.load === "low" && !this.#verbosityGiven ? "terse" : this.#settings.verbosity)
    );
  }

  #text(event: AgentEvent): EventText {
    return new EventText(event, this.phrases, this.#settings.languages, this.#verbosity(event.type));
  }

  #naming(session: ObservedSession, starting = false): { name: string; ambiguous: boolean } {
    return this.#sessions.naming(session, this.phrases, starting);
  }

  #handle(event: AgentEvent, now: number, source: string): void {
    this.#speech.checkLanguage(now);
    const session = this.#sessions.of(event, source);
    session.unknown = false;
    this.#stillWorking.start(now);
    if (event.type === "aaep:agent.output.streaming") {
      const boundary = this.#settings.load === "low" ? "completion" : this.#settings.boundary;
      return this.#speakOutputs(this.#outputs.add(event as OutputStreaming, session, boundary, now), now);
    }
    const ends = TERMINAL.test(event.type);
    this.#speakOutputs(ends ? this.#outputs.end(session) : this.#outputs.flushWhole(session), now);
    if (QUESTION.test(event.type)) return this.#ask(event as QuestionEvent, session, now);
    const deadline = deadlineNotice(event);
    if (deadline) return this.#questions.deadline(source, deadline, now);
    observe(event, session, this.#text(event));
    this.#announce(event, session, now);
    this.#questions.settleBy(event, source, now);
    if (ends) session.ended = true;
  }

  #ask(event: QuestionEvent, session: ObservedSession, now: number): void {
    this.#states.supersede(session, now);
    this.#questions.ask(event, session.source, now);
    if (session.ended) this.#questions.settle(session.source, event.reply_token, "ended", now);
  }

  #announce(event: AgentEvent, session: ObservedSession, now: number): void {
    const text = this.#text(event);
    const { name } = this.#naming(session);
    const { load } = this.#settings;
    const announcement = announcementFor(event, { text, verbosity: this.#verbosity(event.type), load, name });
    if (!announcement) return;
    const { kind } = announcement;
    const words = this.phrases.join(announcement.parts);
    const ends = TERMINAL.test(event.type);
    // Only the latest queued progress update is spoken, and none after the end of the session.
    const replaces = (ends || kind === "progress") && this.#speech.skip(isProgressOf(session)).length > 0;
    const quiet = isRepetition(event, announcement, textOf({ runs: words }), session, load, now) && !replaces;
    const parts: Run[][] = [...text.warnings(), words];
    if (ends && load === "low") parts.push(...takeSummary(session, this.phrases));
    const named = () => (/^(?:handoff|unknown)$/.test(kind) ? parts : this.#named(session, parts, kind));
    const urgency = this.#urgency.of(event, session.source, now);
    const say = (at: number, old: boolean) => this.#say(kind, urgency, named(), at, session, old);
    const debounce = kind === "state" && event.urgency !== "critical" && load !== "high";
    if (debounce && !quiet) this.#states.add(session, now, say);
    else say(now, quiet);
  }

  /** Adds the agent's name where it is unclear who speaks. */
  #named(session: ObservedSession, parts: readonly (readonly Run[])[], kind?: UtteranceKind) {
    const { name, ambiguous } = this.#naming(session, kind === "started");
    if (!ambiguous) return parts;
    return [this.phrases.say("named", { agent: name, words: this.phrases.join(parts) })];
  }

  #speakOutputs(outputs: readonly ReadyOutput[], now: number): void {
    for (const { ready, content_type, session, output } of outputs) {
      const spoken = speakOutput(ready, content_type, this.phrases);
      this.#outputs.addDetails(output, spoken.details);
      const notice = (key: "gap" | "mixed_scripts" | "hidden_text") =>
        this.#say("notice", "normal", [this.phrases.say(key)], now, session);
      if (ready.missing) notice("gap");
      if (spoken.mixed) notice("mixed_scripts");
      if (spoken.hidden) notice("hidden_text");
      spoken.sentences.forEach((words, index) => {
        this.#say("output", "normal", index === 0 ? this.#named(session, [words]) : [words], now, session);
      });
    }
  }

  #say(
    kind: UtteranceKind,
    urgency: Urgency,
    parts: readonly (readonly Run[])[],
    now: number,
    session?: ObservedSession,
    quiet = false,
  ): number {
    if (session && !quiet) this.#states.supersede(session, now);
    const subject = session ? { session_id: session.key } : {};
    const exempt = quiet || urgency === "critical" || session === undefined;
    const held =
      !exempt && (this.#muted.has(session.agent_id) || !this.#flood.allows(session, kind === "output", now));
    return this.#speech.say(kind, urgency, parts, now, { quiet: quiet || held, ...subject });
  }

  #reportHeldBack(session: ObservedSession, count: number, now: number): void {
    const words = this.phrases.say("skipped", { count });
    const parts = [this.phrases.say("named", { agent: this.#naming(session).name, words })];
    this.#say("digest", "normal", parts, now);
  }

  /** While paused, or while a question is open at low load, only critical utterances are spoken. */
  #updateHold(now: number): void {
    const asking = this.#settings.load === "low" && this.#questions.current !== undefined;
    const held = this.#paused || asking;
    if (this.#speech.queue.held && !held && this.#settings.load === "low") {
      const summarized = (one: Utterance) =>
        one.urgency !== "critical" && /^(?:state|progress|tool|still_working)$/.test(one.kind);
      // What was held back becomes one summary instead of a backlog.
      const missed = this.#speech.skip(summarized).length > 0 ? this.#sessions.active : [];
      const summary = missed.flatMap((one) => takeSummary(one, this.phrases));
      if (summary.length > 0) this.#say("digest", "normal", summary, now);
    }
    this.#speech.queue.hold(held);
  }
}
