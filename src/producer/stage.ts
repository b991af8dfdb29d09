/**
 * What all parts of a session share: its language, where its lifecycle stands, and the one way its events reach the
 * log: built, held against the lifecycle and the schemas, appended in order. An illegal event is refused with the id
 * of the requirement it would break; nothing of it leaves.
 */
import type { AppendOptions, Hub } from "../hub/hub.ts";
import { GATE_PROOF } from "../hub/hub.ts";
import type { Clock } from "../protocol/clock.ts";
import { EarshotError } from "../protocol/errors.ts";
import type { Ids } from "../protocol/ids.ts";
import { type Lifecycle, type Resolution, startLifecycle, stepLifecycle } from "../protocol/lifecycle.ts";
import { parseValue } from "../protocol/parse.ts";
import type { CoreEvent, CoreEventType, ProducerIdentity } from "../protocol/types.ts";
import { Ledger } from "./ledger.ts";
import { LIFE, type Past } from "./past.ts";
import { ENGLISH, type Phrases } from "./phrases.ts";
import type { SecretCatcher } from "./secrets.ts";
import type { SessionSpec } from "./specs.ts";
import { createVoice, type Voice } from "./voice.ts";
import { type Sentence, type Spoken, type Summary, speak } from "./words.ts";

export interface StageOptions {
  readonly hub: Hub;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly producer: ProducerIdentity;
  readonly language: string;
  readonly secrets: SecretCatcher;
  /** The library's own sentences by language. */
  readonly phrases: Readonly<Record<string, Phrases>>;
}

type Words = Readonly<Record<string, Summary | Sentence | undefined>>;
type Fields = Readonly<Record<string, unknown>>;

/** Variants in many languages stand in the log together; each listener gets one, well within the limits. */
const IN_THE_LOG = { bytes: 1_048_576, fields: 512 };
/** Where these are the same, one chunk is as valid as the other. */
const isAlike = (one: Fields, other: Fields): boolean =>
  one["output_id"] === other["output_id"] &&
  one["language"] === other["language"] &&
  one["content_type"] === other["content_type"];

export class Stage {
  readonly session_id: string;
  readonly language: string;
  readonly options: StageOptions;
  readonly ledger: Ledger;
  /** Called before anything that must not overtake open text. */
  beforeEvent: () => void = () => {};
  /** While a question is open the state stays awaiting_input: leaving it would tell listeners that it is settled. */
  asking = false;
  /** What went wrong first, in a call that may not have been awaited. */
  failure: unknown;
  readonly #voice: Voice;
  readonly #abort = new AbortController();
  #life: Lifecycle;
  #broken: { readonly error: unknown } | undefined;
  /** The last chunk that was found valid. */
  #chunk: Fields | undefined;
  /** Carries one chunk of an output after another, for as long as nothing else is said. */
  #text: Record<string, unknown> | undefined;
  /** Whether the lifecycle has yet to be told of it: while more of an output comes, only the last of it counts. */
  #untold = false;
  /** What is said in one turn is settled by one promise, and that is looked after once. */
  #watched: Promise<unknown> | undefined;
  #logged: Promise<unknown> | undefined;

  constructor(spec: Pick<SessionSpec, "language" | "correlation_id">, options: StageOptions, past?: Past) {
    this.options = options;
    const { producer, clock, secrets, ids } = options;
    const session_id = past?.session_id ?? ids("sess");
    this.session_id = session_id;
    this.language = spec.language ?? options.language;
    this.#life = past?.life ?? startLifecycle(LIFE);
    this.ledger = new Ledger(session_id, clock, past?.questions, past?.intents);
    const { correlation_id } = spec;
    this.#voice = createVoice({ session_id, producer, clock, secrets, correlation_id, after: past?.last });
  }

  get state(): string {
    return this.#life.currentState ?? "idle";
  }
  get ended(): boolean {
    return this.#life.phase === "ended";
  }
  get openTools(): Lifecycle["openTools"] {
    return this.#life.openTools;
  }
  get openOutputs(): Lifecycle["openOutputs"] {
    this.#catchUp();
    return this.#life.openOutputs;
  }
  get signal(): AbortSignal {
    return this.#abort.signal;
  }
  abort(reason?: unknown): void {
    this.#abort.abort(reason);
  }

  mustBeOpen(): void {
    if (!this.ended) return;
    const how = this.#life.terminal?.replace("aaep:agent.session.", "") ?? "over";
    throw new EarshotError(
      "SEQ-03",
      `This session has ended (${how}). Check session.signal, or start a new session.`,
    );
  }

  /** The library's own words, in every language it has them. */
  own<Words extends Summary | Sentence>(pick: (phrases: Phrases) => Words): Words {
    const entries = Object.entries(this.options.phrases);
    const all = entries.some(([tag]) => tag === "en") ? entries : [...entries, ["en", ENGLISH] as const];
    return Object.fromEntries(all.map(([tag, phrases]) => [tag, pick(phrases)])) as unknown as Words;
  }

  /** The library's words in this session's language, or in English. */
  ownText(pick: (phrases: Phrases) => string): string {
    return pick(this.options.phrases[this.language] ?? this.options.phrases["en"] ?? ENGLISH);
  }

  speak(words: Words): Spoken {
    return speak(this.language, words);
  }

  /** An event of this session that would be legal now, strictly valid; otherwise an error that names the requirement. */
  build(type: CoreEventType, words: Words, fields: Fields = {}, language?: string): Record<string, unknown> {
    const spoken = this.speak(words);
    return this.#checked(this.#voice(type, { ...spoken.fields, ...fields }, language ?? spoken.language));
  }

  emit(
    type: CoreEventType,
    words: Words,
    fields?: Fields,
    options?: AppendOptions & { language?: string },
  ): Promise<void> {
    return this.attempt(() => {
      const { language, ...entry } = options ?? {};
      // Before it is built: an event's time must not be earlier than that of the text that goes ahead of it.
      if (type !== "aaep:agent.progress.updated") this.beforeEvent();
      return this.log(this.build(type, words, fields, language), entry);
    });
  }

  /** Streamed text: as `emit`, for what comes token by token. */
  stream(fields: Fields, language: string): Promise<void> {
    try {
      const text = this.#text;
      if (text && !fields["complete"] && isAlike(text, fields)) {
        if (this.#broken) throw this.#broken.error;
        // The log keeps copies.
        this.#voice.goOn(text, fields);
        this.#untold = true;
        return this.#append(text);
      }
      const event = this.#checked(this.#voice("aaep:agent.output.streaming", fields, language));
      const logged = this.log(event);
      if (!fields["complete"]) this.#text = event;
      return logged;
    } catch (error) {
      return this.attempt(() => Promise.reject(error));
    }
  }

  /** Runs something whose failure must not get lost, nor take the process down if nobody awaits it. */
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
    const { state, violations } = stepLifecycle(this.#life, event as unknown as CoreEvent);
    const [violation] = violations;
    if (violation) throw new EarshotError(violation.id, violation.message);
    this.#life = state;
    return this.#append(event, lowerCased(options));
  }

  #append(event: Record<string, unknown>, options?: AppendOptions): Promise<void> {
    // The position is of no use to authors. A cast, because a `then` would make a promise for every token.
    const logged = this.options.hub.append(event, options, GATE_PROOF) as Promise<unknown> as Promise<void>;
    if (logged === this.#logged) return logged;
    this.#logged = logged;
    logged.catch((error: unknown) => {
      // What the log did not take was never said; nothing more may be done in this session's name.
      this.#broken ??= { error };
      this.failure ??= error;
      this.#abort.abort(error);
    });
    return logged;
  }

  /** Moves to a state, unless it is there already or a question is open; `always` says something all the same. */
  enter(to_state: string, { words, fields, always = false, ...options }: EnterOptions = {}): Promise<void> {
    const from_state = this.state;
    if (!always && (from_state === to_state || this.asking)) return Promise.resolve();
    const summary =
      words ?? this.own((phrases) => phrases.states[to_state] ?? `${to_state.replaceAll("_", " ")}.`);
    const urgency = words === undefined ? "background" : "normal";
    return this.emit(
      "aaep:agent.state.changed",
      { summary },
      { from_state, to_state, urgency, ...fields },
      options,
    );
  }

  /** A fact no event carries: how a question was settled. */
  note(reply_token: string, outcome: Resolution["outcome"]): void {
    this.#catchUp();
    this.#life = stepLifecycle(this.#life, { type: "resolution", reply_token, outcome }).state;
  }

  #catchUp(): void {
    const text = this.#text;
    this.#text = undefined;
    if (!this.#untold) return;
    this.#untold = false;
    this.#life = stepLifecycle(this.#life, text as unknown as CoreEvent).state;
  }

  #checked(event: Record<string, unknown>): Record<string, unknown> {
    // Text of any length may be streamed, and is cut to size on the way to each listener. It comes token by token:
    // what every chunk of an output has in common is looked at once.
    const isText = "chunk" in event;
    if (isText && this.#chunk && isAlike(this.#chunk, event)) return event;
    const parsed = parseValue(
      { ...event, ...(isText ? { chunk: "" } : {}), event_id: "evt_0" },
      { mode: "strict", extensions: this.options.hub.registry, limits: IN_THE_LOG },
    );
    if (parsed.ok) {
      if (isText) this.#chunk = event;
      return event;
    }
    const [issue] = parsed.issues;
    throw new EarshotError(
      issue?.ruling ?? "EVT-13",
      `${issue?.path ?? ""}: ${issue?.message ?? "not a valid event"}`,
    );
  }
}

interface EnterOptions {
  readonly words?: Summary;
  readonly fields?: Fields;
  readonly insist?: boolean;
  readonly always?: boolean;
  readonly facts?: NonNullable<AppendOptions["facts"]>;
}

/** Language tags are compared without regard to case; variants are kept in lower case. */
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
