/**
 * `earshot/announcer`: from events to words a person can follow by ear or finger (chapter 9, SUB-*). Pure: events,
 * inputs and the time go in, and a voice asks what to do. It never says half a sentence, never reads a language with a
 * wrong voice, and forgets nothing it was told.
 */
import type { AgentEvent, OutputStreaming, Urgency, Verbosity } from "../protocol/types.ts";
import { Account } from "./announcer/account.ts";
import { tell } from "./announcer/compose.ts";
import { Details } from "./announcer/details.ts";
import { FloodGuard } from "./announcer/flood-guard.ts";
import type { HistoryEntry } from "./announcer/history.ts";
import { Lines } from "./announcer/lines.ts";
import { Mouth } from "./announcer/mouth.ts";
import { Order } from "./announcer/order.ts";
import { Outputs, type ReadyOutput } from "./announcer/outputs.ts";
import { PassingStates } from "./announcer/passing.ts";
import type { Phrases } from "./announcer/phrase.ts";
import type { Action } from "./announcer/queue.ts";
import { nameOf, Reader } from "./announcer/reader.ts";
import { isOldNews, isProgressOf } from "./announcer/repetition.ts";
import { type Session, Sessions } from "./announcer/sessions.ts";
import { type AnnouncerOptions, type AnnouncerSettings, defaultSettings } from "./announcer/settings.ts";
import { deadlineIn, settlementsOf, TERMINAL } from "./announcer/settlement.ts";
import { speakOutput } from "./announcer/speak-output.ts";
import { StillWorking } from "./announcer/still-working.ts";
import { UrgencyGuard } from "./announcer/urgency.ts";
import { type Asked, type Run, textOf, type Utterance, type UtteranceKind } from "./announcer/utterance.ts";
import type { AnswerInput, AutoAnswer, Outgoing } from "./answers.ts";
import { Desk } from "./replies.ts";

export { neutralize } from "../text/neutralize.ts";
export type { Catalog, Message, MessageKey } from "./catalogs/catalog.ts";
export { CATALOGS, catalogFor } from "./catalogs/index.ts";
export {
  type AttachOptions,
  attach,
  createListener,
  type Listener,
  type ListenerOptions,
} from "./listener.ts";
export { speakMarkdown } from "./markdown.ts";
export { isGrave } from "./question-words.ts";
export type { AnswerInput, Asked, AutoAnswer, HistoryEntry, Outgoing, Run, Utterance, UtteranceKind };
export { type Action, type AnnouncerOptions, type AnnouncerSettings, type Phrases, textOf };

const QUESTION = /^aaep:agent\.awaiting\.(?:confirmation|clarification)$/;

export class Announcer {
  readonly #mouth: Mouth;
  readonly #order = new Order();
  readonly #sessions = new Sessions((gone) => this.#outputs.leave(gone));
  readonly #desk: Desk;
  readonly #account = new Account();
  readonly #outputs = new Outputs();
  readonly #quiet = new StillWorking();
  readonly #guard = new UrgencyGuard();
  readonly #flood = new FloodGuard();
  readonly #passing = new PassingStates((stale) => this.#mouth.drop(stale));
  readonly #muted = new Set<string>();
  readonly #lines = new Lines((key, agent_id, source, now) => {
    const agent = this.#sessions.nameOf(source) ?? nameOf({ agent_id });
    this.#say("notice", "normal", [this.phrases.say(key, { agent })], now);
  });
  readonly #details = new Details();
  readonly #outgoing: Outgoing[] = [];
  readonly #sources = new WeakMap<AgentEvent, string>();
  #settings: AnnouncerSettings;
  #verbosityGiven: boolean;
  #paused = false;

  constructor(options: AnnouncerOptions = {}) {
    const { can = () => true, medium = "voice", auto_answers = [], ...given } = options;
    this.#verbosityGiven = given.verbosity !== undefined;
    this.#settings = { ...defaultSettings(medium), ...given };
    this.#mouth = new Mouth({ ...this.#settings, can, medium });
    this.#desk = new Desk({
      phrases: () => this.phrases,
      reader: (event) => this.#reader(event),
      name: (event, source) => this.#sessions.spoken(this.#sessions.of(event, source), this.phrases).name,
      say: ({ kind, urgency = "critical", parts, ...about }, now) =>
        this.#mouth.say(kind, urgency, parts, now, about),
      unsay: (source, token, changed) => this.#mouth.unsay(source, token, changed),
      send: (message) => void this.#outgoing.push(message),
      settled: (event, source, outcome, brief) =>
        this.#account.question(this.#sessions.of(event, source), outcome, brief),
      lost: (source) => this.#lines.lost(source),
      brief: () => this.#settings.load === "low" || this.#verbosity() === "terse",
      auto_answers,
    });
  }

  get history(): readonly HistoryEntry[] {
    return this.#mouth.history.entries;
  }
  /** The question a person is being asked. */
  get question(): AgentEvent | undefined {
    return this.#desk.current;
  }
  /** How many questions are open, that one included. */
  get questions(): number {
    return this.#desk.size;
  }
  /** Whether this one still waits for an answer. */
  isOpen(reply_token: string, source = ""): boolean {
    return this.#desk.openIn(source).includes(reply_token);
  }
  /** Something critical waits to be said. */
  get urgent(): boolean {
    return this.#mouth.queue.urgent;
  }
  get phrases(): Phrases {
    return this.#mouth.phrases;
  }

  /** Changes settings from here on; whatever was quiet can be had again (DEL-25). */
  set(settings: Partial<AnnouncerSettings>): void {
    this.#settings = { ...this.#settings, ...settings };
    this.#verbosityGiven ||= settings.verbosity !== undefined;
    if (settings.languages) this.#mouth.languages = settings.languages;
    if ("pace_wpm" in settings) this.#mouth.queue.pace_wpm = settings.pace_wpm;
  }

  /** Nothing but what is critical from this agent. */
  mute(agent_id: string, muted = true): void {
    if (muted) this.#muted.add(agent_id);
    else this.#muted.delete(agent_id);
  }

  /** `source` keeps apart agents heard over several connections. */
  hear(event: AgentEvent, now: number, source = ""): void {
    this.#sources.set(event, source);
    this.#lines.heard(source, now);
    for (const one of this.#order.take(event, now, source))
      this.#tell(one, now, this.#sources.get(one) ?? source);
    this.#hold(now);
  }

  /** The line to a producer was lost, is back (`forgot`: to one that knows nothing of us), or has ended for good. */
  line(state: "lost" | "connected" | "ended", agent: string, now: number, source = "", forgot = false): void {
    if (forgot || state === "ended") this.#sessions.doubt(source);
    if (state !== "ended") return this.#lines.is(state, agent, source, now);
    this.#lines.ended(agent, source, now);
    // Nothing more will come of it: half a sentence is all there is, and no answer would arrive.
    for (const session of this.#sessions.open(source)) {
      this.#read(this.#outputs.end(session), now);
      session.ended = true;
    }
    for (const token of this.#desk.openIn(source)) this.#desk.settle(source, token, "disconnected", now);
    this.#hold(now);
  }

  tick(now: number): void {
    for (const event of this.#order.late(now)) this.#tell(event, now, this.#sources.get(event) ?? "");
    this.#read(this.#outputs.paused(now), now);
    this.#desk.tick(now);
    this.#passing.due(now);
    this.#lines.due(now);
    for (const { session, count } of this.#flood.due(now)) this.#heldBack(session, count, now);
    this.#hold(now);
    if (!this.#silent || !this.#quiet.due(now)) return;
    const tool = this.#atWork.flatMap(({ tools }) => [...tools.values()]).at(-1)?.said;
    const words = tool ? this.phrases.say("still_working_on", { tool }) : this.phrases.say("still_working");
    this.#say("still_working", "background", [words], now);
  }

  /** When `tick` and `advance` should be called next, if nothing else happens. */
  wakeAt(now: number): number | undefined {
    const times = [
      this.#order.wakeAt,
      this.#outputs.wakeAt,
      this.#desk.wakeAt,
      this.#flood.wakeAt,
      this.#passing.wakeAt,
      this.#lines.wakeAt,
      this.#mouth.queue.wakeAt(now),
      this.#silent ? this.#quiet.wakeAt : undefined,
    ].filter((time) => time !== undefined);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** What the voice should do now. */
  advance(now: number): Action[] {
    const actions = this.#mouth.queue.advance(now);
    for (const action of actions) {
      if (action.do === "stop") this.#mouth.history.mark(action.utterance.id, "waiting");
      else {
        this.#mouth.history.mark(action.utterance.id, "said");
        this.#quiet.said(action.utterance.kind === "still_working", now);
      }
    }
    return actions;
  }

  /** The voice has said it to its end. */
  finished(id: number, now: number): void {
    if (!this.#mouth.queue.finished(id)) return;
    this.#quiet.spoke(now);
    this.#desk.finished(id);
  }

  answer(input: AnswerInput, now: number): void {
    this.#desk.answer(input, now);
    this.#hold(now);
  }
  /** Messages to send; each is handed out once. */
  outgoing(): Outgoing[] {
    return this.#outgoing.splice(0);
  }
  sent(message: Outgoing, taken: boolean | undefined, now: number): void {
    if (message.do !== "more_time") this.#desk.sent(message, taken, now);
    else if (taken === false) this.#say("answer", "critical", [this.phrases.say("no_more_time")], now);
    this.#hold(now);
  }

  /** Once more: the open question, else the last thing said. */
  repeat(now: number): void {
    if (this.#desk.repeat(now)) return;
    const last = this.#mouth.history.lastSaid();
    if (last) this.#mouth.add({ ...last, urgency: "critical" }, now);
    else this.#say("status", "critical", [this.phrases.say("nothing_said")], now);
  }

  /** "What is happening?" */
  what(now: number): void {
    const parts = this.#sessions.active.map((session) => {
      const { name } = this.#sessions.spoken(session, this.phrases);
      return this.#account.report(session, name, this.#lines.lost(session.source), this.phrases);
    });
    const count = this.#desk.size - 1;
    if (count > 0) parts.push(this.phrases.say("questions_waiting", { count }));
    if (parts.length === 0 && !this.#desk.current) parts.push(this.phrases.say("no_session"));
    if (parts.length > 0) this.#say("status", "critical", parts, now);
    this.#desk.repeat(now);
  }

  /** What leaving now would do to the open questions; nothing if there are none. */
  leaving(now: number): readonly Run[] {
    return this.phrases.join(this.#desk.leaving(now));
  }

  /** The code and addresses of the last text that had any, read because someone asked. */
  details(now: number): void {
    const parts = this.#details.all.map((one) => [this.phrases.content(one, undefined)]);
    this.#say("status", "critical", parts.length > 0 ? parts : [this.phrases.say("nothing_said")], now);
  }

  /** Words of the program around this one, in turn with all the others; gives the utterance's number. */
  notice(parts: readonly (readonly Run[])[], now: number): number {
    return this.#mouth.say("notice", "critical", parts, now);
  }

  pause(now: number): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#say("notice", "critical", [this.phrases.say("paused")], now);
    this.#hold(now);
  }

  /** With a digest of what was missed. */
  resume(now: number): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#hold(now);
    this.#mouth.catchUp(now);
  }

  /** Agents are at work and nothing is said: a person may wonder. */
  get #silent(): boolean {
    const busy = this.#paused || this.#desk.current || !this.#mouth.queue.idle;
    return this.#settings.still_working && !busy && this.#atWork.length > 0;
  }

  get #atWork(): Session[] {
    return this.#sessions.active.filter(({ source }) => !this.#lines.lost(source));
  }

  #verbosity(type?: string): Verbosity {
    const own = type === undefined ? undefined : this.#settings.verbosity_by_type[type];
    return (
      own ?? (this.#settings.load === "low" && !this.#verbosityGiven ? "terse" : this.#settings.verbosity)
    );
  }

  #reader(event: AgentEvent): Reader {
    return new Reader(event, this.phrases, this.#settings.languages, this.#verbosity(event.type));
  }

  #tell(event: AgentEvent, now: number, source: string): void {
    this.#mouth.greet(now);
    const session = this.#sessions.of(event, source);
    session.unsure = false;
    this.#quiet.begin(now);
    if (event.type === "aaep:agent.output.streaming") {
      const boundary = this.#settings.load === "low" ? "completion" : this.#settings.boundary;
      return this.#read(this.#outputs.add(event as OutputStreaming, session, boundary, now), now);
    }
    this.#read(TERMINAL.test(event.type) ? this.#outputs.end(session) : this.#outputs.settle(session), now);
    if (QUESTION.test(event.type)) return this.#question(event as never, session, source, now);
    const deadline = deadlineIn(event);
    if (deadline) return this.#desk.deadline(source, deadline, now);
    this.#account.note(event, session, this.#reader(event));
    this.#announce(event, session, now);
    this.#settle(event, session, source, now);
  }

  #question(event: never, session: Session, source: string, now: number): void {
    this.#passing.over(session, now);
    this.#desk.ask(event, source, now);
    if (session.ended)
      this.#desk.settle(source, (event as { reply_token: string }).reply_token, "ended", now);
  }

  #settle(event: AgentEvent, session: Session, source: string, now: number): void {
    for (const { token, outcome } of settlementsOf(event, this.#desk.openIn(source, event.session_id)))
      this.#desk.settle(source, token, outcome, now);
    if (TERMINAL.test(event.type)) session.ended = true;
  }

  #announce(event: AgentEvent, session: Session, now: number): void {
    const reader = this.#reader(event);
    const { name } = this.#sessions.spoken(session, this.phrases);
    const { load } = this.#settings;
    const told = tell(event, { reader, verbosity: this.#verbosity(event.type), load, name });
    if (!told) return;
    const words = this.phrases.join(told.parts);
    const ends = TERMINAL.test(event.type);
    // The newest stands for those nobody has heard; with the work over, none is true any more.
    const unheard = (ends || told.kind === "progress") && this.#mouth.skip(isProgressOf(session)).length > 0;
    const quiet = isOldNews(event, told, textOf({ runs: words }), session, load, now) && !unheard;
    const parts: Run[][] = [...reader.warnings(), words];
    if (ends && load === "low") parts.push(...this.#account.sentence(session, this.phrases));
    const named = () =>
      /^(?:handoff|unknown)$/.test(told.kind) ? parts : this.#named(session, parts, told.kind);
    const urgency = this.#guard.of(event, session.source, now);
    const say = (at: number, old: boolean) => this.#say(told.kind, urgency, named(), at, session, old);
    // Called critical by its agent it is said, if not at once.
    const passing = told.kind === "state" && event.urgency !== "critical" && load !== "high";
    if (!passing || quiet) return void say(now, quiet);
    this.#passing.add(session, now, say);
  }

  /** With the name where it is unclear who speaks. */
  #named(session: Session, parts: readonly (readonly Run[])[], kind?: UtteranceKind) {
    const { name, ambiguous } = this.#sessions.spoken(session, this.phrases, kind === "started");
    if (!ambiguous) return parts;
    return [this.phrases.say("named", { agent: name, words: this.phrases.join(parts) })];
  }

  #read(outputs: readonly ReadyOutput[], now: number): void {
    for (const { ready, content_type, session, output } of outputs) {
      const spoken = speakOutput(ready, content_type, this.phrases);
      this.#details.add(output, spoken.details);
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
    session?: Session,
    quiet = false,
  ): number {
    if (session && !quiet) this.#passing.over(session, now);
    const about = session ? { session_id: session.key } : {};
    const always = quiet || urgency === "critical" || session === undefined;
    const held =
      !always && (this.#muted.has(session.agent_id) || !this.#flood.allows(session, kind === "output", now));
    return this.#mouth.say(kind, urgency, parts, now, { quiet: quiet || held, ...about });
  }

  #heldBack(session: Session, count: number, now: number): void {
    const { name } = this.#sessions.spoken(session, this.phrases);
    const words = this.phrases.say("skipped", { count });
    this.#say("digest", "normal", [this.phrases.say("named", { agent: name, words })], now);
  }

  /** Paused, or asked at low load: nothing new but what is critical. Afterwards one sentence of what was and was not done. */
  #hold(now: number): void {
    const asking = this.#settings.load === "low" && this.#desk.current !== undefined;
    const held = this.#paused || asking;
    if (this.#mouth.queue.held && !held && this.#settings.load === "low") {
      const told = (one: Utterance) =>
        one.urgency !== "critical" && /^(?:state|progress|tool|still_working)$/.test(one.kind);
      // What was held back is told as one account, not as a backlog.
      const missed = this.#mouth.skip(told).length > 0 ? this.#sessions.active : [];
      const account = missed.flatMap((one) => this.#account.sentence(one, this.phrases));
      if (account.length > 0) this.#say("digest", "normal", account, now);
    }
    this.#mouth.queue.hold(held);
  }
}
