/**
 * The one path of a session's events into the log: built, checked against the lifecycle and the schemas, and appended in
 * order. An illegal event is refused with the id of the requirement it would violate. Also holds what all parts of a
 * session share: its language, lifecycle state, facts and abort signal.
 */
import { type AppendOptions, GATE_PROOF, type Hub } from "../hub/hub.ts";
import { EarshotError, type RequirementId } from "../protocol/errors.ts";
import { type Lifecycle, type Resolution, startLifecycle, stepLifecycle } from "../protocol/lifecycle.ts";
import { parseValue } from "../protocol/parse.ts";
import type { Clock, Ids } from "../protocol/platform.ts";
import type { CoreEvent, CoreEventType, ProducerIdentity } from "../protocol/types.ts";
import {
  createEnvelope,
  type Envelope,
  type Sentence,
  type Summary,
  type TextFields,
  textFields,
} from "./envelope.ts";
import { ENGLISH, type Phrases } from "./phrases.ts";
import type { Redactor } from "./redaction.ts";
import { LIFECYCLE_OPTIONS, type RestoredSession } from "./restore.ts";
import { SessionFacts } from "./session-facts.ts";
import type { SessionSpec } from "./specs.ts";

export interface WriterOptions {
  readonly hub: Hub;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly producer: ProducerIdentity;
  readonly language: string;
  readonly redactor: Redactor;
  /** The library's own sentences by language. */
  readonly phrases: Readonly<Record<string, Phrases>>;
}

type Texts = Readonly<Record<string, Summary | Sentence | undefined>>;
type Fields = Readonly<Record<string, unknown>>;

/** Larger than on the wire, because an entry holds the variants of all languages and each listener gets one. */
const LOG_LIMITS = { bytes: 1_048_576, fields: 512 };
/** Chunks that agree in these fields are equally valid. */
const isSameOutput = (one: Fields, other: Fields): boolean =>
  one["output_id"] === other["output_id"] &&
  one["language"] === other["language"] &&
  one["content_type"] === other["content_type"];

export class EventWriter {
  readonly session_id: string;
  readonly language: string;
  readonly options: WriterOptions;
  readonly sessionFacts: SessionFacts;
  /** Called before an event that must not overtake open text. */
  beforeEvent: () => void = () => {};
  /** While a question is open the state stays awaiting_input: leaving it would mean that the question is settled. */
  asking = false;
  /** The first failure, in a call that may not have been awaited. */
  failure: unknown;
  readonly #envelope: Envelope;
  readonly #abort = new AbortController();
  #lifecycle: Lifecycle;
  #broken: { readonly error: unknown } | undefined;
  /** The last chunk that passed validation. */
  #validChunk: Fields | undefined;
  /** The event reused for consecutive chunks of one output. */
  #textEvent: Record<string, unknown> | undefined;
  /** Whether the lifecycle has yet to see it: of consecutive chunks only the last one matters. */
  #lifecycleBehind = false;
  /** Tokens of one turn share a promise, so that its rejection is handled once. */
  #watched: Promise<unknown> | undefined;
  #logged: Promise<unknown> | undefined;

  constructor(
    spec: Pick<SessionSpec, "language" | "correlation_id">,
    options: WriterOptions,
    restored?: RestoredSession,
  ) {
    this.options = options;
    const { producer, clock, redactor, ids } = options;
    const session_id = restored?.session_id ?? ids("sess");
    this.session_id = session_id;
    this.language = spec.language ?? options.language;
    this.#lifecycle = restored?.lifecycle ?? startLifecycle(LIFECYCLE_OPTIONS);
    this.sessionFacts = new SessionFacts(session_id, clock, restored?.questions, restored?.intents);
    const { correlation_id } = spec;
    const after = restored?.last;
    this.#envelope = createEnvelope({ session_id, producer, clock, redactor, correlation_id, after });
  }

  get state(): string {
    return this.#lifecycle.currentState ?? "idle";
  }
  get ended(): boolean {
    return this.#lifecycle.phase === "ended";
  }
  get openTools(): Lifecycle["openTools"] {
    return this.#lifecycle.openTools;
  }
  get openOutputs(): Lifecycle["openOutputs"] {
    this.#catchUp();
    return this.#lifecycle.openOutputs;
  }
  get signal(): AbortSignal {
    return this.#abort.signal;
  }
  abort(reason?: unknown): void {
    this.#abort.abort(reason);
  }

  assertOpen(): void {
    if (!this.ended) return;
    const how = this.#lifecycle.terminal?.replace("aaep:agent.session.", "") ?? "over";
    throw new EarshotError(
      "SEQ-03",
      `This session has ended (${how}). Check session.signal, or start a new session.`,
    );
  }

  /** A sentence of the library, in every language there are phrases for. */
  phrase<Words extends Summary | Sentence>(pick: (phrases: Phrases) => Words): Words {
    const entries = Object.entries(this.options.phrases);
    const all = entries.some(([tag]) => tag === "en") ? entries : [...entries, ["en", ENGLISH] as const];
    return Object.fromEntries(all.map(([tag, phrases]) => [tag, pick(phrases)])) as unknown as Words;
  }

  /** A sentence of the library in this session's language, or in English. */
  phraseText(pick: (phrases: Phrases) => string): string {
    return pick(this.options.phrases[this.language] ?? this.options.phrases["en"] ?? ENGLISH);
  }

  textFields(texts: Texts): TextFields {
    return textFields(this.language, texts);
  }

  /** An event of this session that is valid and legal now; otherwise throws an error that names the requirement. */
  build(type: CoreEventType, texts: Texts, fields: Fields = {}, language?: string): Record<string, unknown> {
    const text = this.textFields(texts);
    return this.#checked(this.#envelope(type, { ...text.fields, ...fields }, language ?? text.language));
  }

  emit(
    type: CoreEventType,
    texts: Texts,
    fields?: Fields,
    options?: AppendOptions & { language?: string },
  ): Promise<void> {
    return this.attempt(() => {
      const { language, ...entry } = options ?? {};
      // Before it is built, so that its timestamp is not earlier than that of the text before it.
      if (type !== "aaep:agent.progress.updated") this.beforeEvent();
      return this.log(this.build(type, texts, fields, language), entry);
    });
  }

  /** The hot path of `emit`, for text that comes token by token. */
  stream(fields: Fields, language: string): Promise<void> {
    try {
      const text = this.#textEvent;
      if (text && !fields["complete"] && isSameOutput(text, fields)) {
        if (this.#broken) throw this.#broken.error;
        // Safe to reuse, because the log copies it.
        this.#envelope.setChunk(text, fields);
        this.#lifecycleBehind = true;
        return this.#append(text);
      }
      const event = this.#checked(this.#envelope("aaep:agent.output.streaming", fields, language));
      const logged = this.log(event);
      if (!fields["complete"]) this.#textEvent = event;
      return logged;
    } catch (error) {
      return this.attempt(() => Promise.reject(error));
    }
  }

  /** Records a failure in `failure`, so that it is neither lost nor an unhandled rejection if nobody awaits it. */
  attempt<T>(work: () => T | Promise<T>): Promise<T> {
    let promise: Promise<T>;
    try {
      promise = Promise.resolve(work());
    } catch (error) {
      promise = Promise.reject(error);
    }
    if (promise !== this.#watched) {
      this.#watched = promise;
      promise.catch((error: unknown) => {
        this.failure ??= error;
      });
    }
    return promise;
  }

  log(event: Record<string, unknown>, options?: AppendOptions): Promise<void> {
    if (this.#broken) throw this.#broken.error;
    this.#catchUp();
    const { state, violations } = stepLifecycle(this.#lifecycle, event as unknown as CoreEvent);
    const [violation] = violations;
    if (violation) throw new EarshotError(violation.id as RequirementId, violation.message);
    this.#lifecycle = state;
    return this.#append(event, lowerCased(options));
  }

  #append(event: Record<string, unknown>, options?: AppendOptions): Promise<void> {
    // The position is of no use to authors. A cast, because a `then` would make a promise for every token.
    const logged = this.options.hub.append(event, options, GATE_PROOF) as Promise<unknown> as Promise<void>;
    if (logged === this.#logged) return logged;
    this.#logged = logged;
    logged.catch((error: unknown) => {
      // What the log did not store was never said, so this session must not do anything more.
      this.#broken ??= { error };
      this.failure ??= error;
      this.#abort.abort(error);
    });
    return logged;
  }

  /** Moves to a state, unless it is the current one or a question is open; `always` sends the event anyway. */
  enterState(
    to_state: string,
    { words, fields, always = false, ...options }: StateOptions = {},
  ): Promise<void> {
    const from_state = this.state;
    if (!always && (from_state === to_state || this.asking)) return Promise.resolve();
    const summary =
      words ?? this.phrase((phrases) => phrases.states[to_state] ?? `${to_state.replaceAll("_", " ")}.`);
    const urgency = words === undefined ? "background" : "normal";
    return this.emit(
      "aaep:agent.state.changed",
      { summary },
      { from_state, to_state, urgency, ...fields },
      options,
    );
  }

  /** Tells the lifecycle how a question was settled: no event carries that. */
  noteResolution(reply_token: string, outcome: Resolution["outcome"]): void {
    this.#catchUp();
    this.#lifecycle = stepLifecycle(this.#lifecycle, { type: "resolution", reply_token, outcome }).state;
  }

  #catchUp(): void {
    const text = this.#textEvent;
    this.#textEvent = undefined;
    if (!this.#lifecycleBehind) return;
    this.#lifecycleBehind = false;
    this.#lifecycle = stepLifecycle(this.#lifecycle, text as unknown as CoreEvent).state;
  }

  #checked(event: Record<string, unknown>): Record<string, unknown> {
    // A chunk may have any length: it is cut for each listener. What all chunks of an output share is validated once,
    // because text comes token by token.
    const isText = "chunk" in event;
    if (isText && this.#validChunk && isSameOutput(this.#validChunk, event)) return event;
    const parsed = parseValue(
      { ...event, ...(isText ? { chunk: "" } : {}), event_id: "evt_0" },
      { mode: "strict", extensions: this.options.hub.registry, limits: LOG_LIMITS },
    );
    if (parsed.ok) {
      if (isText) this.#validChunk = event;
      return event;
    }
    const [issue] = parsed.issues;
    throw new EarshotError(
      (issue?.ruling as RequirementId | undefined) ?? "EVT-13",
      `${issue?.path ?? ""}: ${issue?.message ?? "not a valid event"}`,
    );
  }
}

interface StateOptions {
  readonly words?: Summary;
  readonly fields?: Fields;
  readonly required?: boolean;
  readonly always?: boolean;
  readonly facts?: NonNullable<AppendOptions["facts"]>;
}

/** Language tags are case-insensitive; variants are stored in lower case. */
function lowerCased(options?: AppendOptions): AppendOptions | undefined {
  if (!options?.localized) return options;
  const { localized, ...rest } = options;
  if (Object.keys(localized).length === 0) return rest;
  return {
    ...rest,
    localized: Object.fromEntries(
      Object.entries(localized).map(([tag, fields]) => [tag.toLowerCase(), fields]),
    ),
  };
}
