/**
 * The demo agent: a household assistant that follows a script and says so. It needs no network and no model, and the same
 * request always has the same result. Every act that would change something goes through the gate, as in a real agent.
 */

import {
  type Clock,
  createProducer,
  EarshotError,
  type Producer,
  type ProducerOptions,
  type SayOptions,
  type Session,
  type SessionSpec,
  type Summary,
} from "../../index.ts";
import { PHRASES } from "../../producer/phrases/index.ts";
import { systemClock } from "../../subscriber/index.ts";
import {
  LANGUAGES,
  type Language,
  NOT_DONE,
  type Play,
  type Scenario,
  type ScenarioContext,
  THAT_WAS_ALL,
} from "./scenario.ts";
import { languageOf, matchScenario, SCENARIOS, scenarioNamed } from "./scenarios.ts";

type LogStore = NonNullable<ProducerOptions["store"]>;

export const DEMO_ID = "earshot.demo";

export interface DemoOptions extends Pick<ProducerOptions, "store" | "random" | "warn" | "audit"> {
  readonly clock?: Clock;
  /** 1 is the normal speed, 2 is twice as fast. */
  readonly speed?: number;
  /** Called when a scenario fails unexpectedly. */
  readonly failed?: (name: string, error: unknown) => void;
}

export interface Demo {
  readonly producer: Producer;
  /** Starts the scenario that matches a request, and returns the session id at once. */
  start(text: string): string;
  /** Starts a scenario by name. */
  play(name: string): string;
  /** The number of running sessions. */
  readonly running: number;
  /**
   * Resumes sessions that the previous process left open. Scripts are idempotent: a replayed script makes the same calls,
   * and nothing is asked or done twice.
   */
  recover(store: Pick<LogStore, "read">): Promise<void>;
  /** Ends all running sessions. */
  stop(): Promise<void>;
}

/** Interval between chunks of text: about sixteen words per second. */
const PIECE_MS = 180;
/** The most sessions at once; more are refused. */
const MOST_SESSIONS = 64;
const LONGEST_REQUEST = 4_000;
/** Marks which script a session runs, so that it can be resumed. */
const MARK = "earshot-demo:";
const MARKED = new RegExp(`^${MARK}([a-z-]+):(${LANGUAGES.join("|")})$`);

export function createDemo(options: DemoOptions = {}): Demo {
  const { clock = systemClock, speed = 1, failed, ...rest } = options;
  const producer = createProducer({
    agent_id: DEMO_ID,
    agent_name: "Demo assistant",
    model: "a script",
    language: "en",
    languages: LANGUAGES.filter((language) => language !== "en"),
    phrases: PHRASES,
    clock,
    ...rest,
  });
  const running = new Map<Session, Promise<void>>();

  /** Runs a script to its end. A session that is stopped early is not a failure. */
  function perform(
    name: string,
    spec: SessionSpec | Session,
    about: { language: Language; request: string },
    play: Play,
  ): { session: Session; done: Promise<void> } {
    let session!: Session;
    const done = producer
      .run(spec, async (opened) => {
        session = opened;
        try {
          const closing = await play(createContext(opened, about));
          if (!opened.ended) await opened.complete(closing ?? THAT_WAS_ALL);
        } catch (error) {
          // After the session was stopped, calls of the scenario fail as intended.
          if (!opened.ended) throw error;
        }
      })
      .catch((error: unknown) => failed?.(name, error))
      .finally(() => running.delete(session));
    running.set(session, done);
    return { session, done };
  }

  function createContext(
    session: Session,
    { language, request }: { language: Language; request: string },
  ): ScenarioContext {
    const { signal } = session;
    const stream = async (words: string, how: SayOptions): Promise<void> => {
      for (const piece of piecesOf(words, how.language ?? language)) {
        await session.say(piece, how);
        await context.wait(PIECE_MS);
      }
    };
    const context: ScenarioContext = {
      session,
      language,
      request,
      wait: (ms) =>
        unawaited(
          new Promise((resolve, reject) => {
            if (signal.aborted) return reject(new Stopped());
            const stop = () => {
              cancel();
              reject(new Stopped());
            };
            const cancel = clock.timer(clock.now() + ms / speed, () => {
              signal.removeEventListener("abort", stop);
              resolve();
            });
            signal.addEventListener("abort", stop, { once: true });
          }),
        ),
      say: (text, how = {}) => unawaited(stream(typeof text === "string" ? text : text[language], how)),
      async ask(spec) {
        const outcome = await session.clarify(spec);
        return outcome.answered ? outcome.response : outcome.assumed;
      },
      async refused(summary) {
        await context.say(summary);
        return NOT_DONE;
      },
      parallel: (summary: Summary, play) =>
        perform("parallel", { summary, language, requested_by: "demo" }, { language, request }, play).done,
    };
    return context;
  }

  function begin(scenario: Scenario, request: string, spoken: Language): string {
    if (running.size >= MOST_SESSIONS) {
      throw new EarshotError(
        "too_many_sessions",
        `${MOST_SESSIONS} demo sessions are already running. Stop one, or wait until one has ended.`,
      );
    }
    const language = scenario.language ?? spoken;
    const { session } = perform(
      scenario.name,
      {
        summary: scenario.opening,
        language,
        correlation_id: `${MARK}${scenario.name}:${language}`,
        requested_by: "demo",
        ...(request === "" ? {} : { request_text: request }),
        ...(scenario.tools ? { tools_available: scenario.tools } : {}),
      },
      { language, request },
      scenario.play,
    );
    return session.session_id;
  }

  return {
    producer,
    get running() {
      return running.size;
    },
    start(text) {
      const request = text.trim();
      if (request === "") throw new EarshotError("no_request", 'Give a request, such as "Hello".');
      if (request.length > LONGEST_REQUEST)
        throw new EarshotError("long_request", `A request can have at most ${LONGEST_REQUEST} characters.`);
      return begin(matchScenario(request), request, languageOf(request));
    },
    play(name) {
      return begin(scenarioNamed(name), "", "en");
    },
    async recover(store) {
      const requests = new Map<string, string>();
      const left = producer.interrupted;
      if (left.length === 0) return;
      for await (const { event } of store.read(0)) {
        const { session_id, request_text } = event as { session_id: string; request_text?: string };
        if (request_text !== undefined) requests.set(session_id, request_text);
      }
      for (const { session_id, correlation_id = "" } of left) {
        const [, name, language] = MARKED.exec(correlation_id) ?? [];
        const scenario = SCENARIOS.find((one) => one.name === name);
        if (!scenario) continue;
        const request = requests.get(session_id) ?? "";
        perform(
          scenario.name,
          producer.resume(session_id),
          { language: language as Language, request },
          scenario.play,
        );
      }
    },
    async stop() {
      const all = [...running];
      await Promise.all(all.map(([session]) => session.cancel({ by: "system", reason: "shutdown" })));
      await Promise.all(all.map(([, done]) => done));
    },
  };
}

/** Prevents an unhandled rejection if the caller does not await, because a scenario may be stopped at any point. */
function unawaited<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  return work;
}

/** Not a failure: the session ended while its scenario was waiting. */
class Stopped extends Error {}

/** Splits text into chunks as a model would stream it: a few words at a time, never half a word. */
const PIECE = 24;

export function piecesOf(text: string, language: string): string[] {
  const segmenter = new Intl.Segmenter(language, { granularity: "word" });
  const pieces: string[] = [];
  let piece = "";
  for (const { segment } of segmenter.segment(text)) {
    piece += segment;
    if (piece.length < PIECE && !segment.includes("\n")) continue;
    pieces.push(piece);
    piece = "";
  }
  return piece === "" ? pieces : [...pieces, piece];
}
