/**
 * The demo agent: a household assistant that is a script and says so. It needs no network and no model, and for the same
 * requests it does the same things. Whatever it would change goes through the gate, as in a real agent.
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
import { systemClock } from "../../subscriber/index.ts";
import { PHRASES } from "./phrases/index.ts";
import {
  type Act,
  LANGUAGES,
  type Language,
  NOT_DONE,
  type Play,
  type Scenario,
  THAT_WAS_ALL,
} from "./scenario.ts";
import { languageOf, matchScenario, SCENARIOS, scenarioNamed } from "./scenarios.ts";

type LogStore = NonNullable<ProducerOptions["store"]>;

export const DEMO_ID = "earshot.demo";

export interface DemoOptions extends Pick<ProducerOptions, "store" | "random" | "warn" | "audit"> {
  readonly clock?: Clock;
  /** 1 is a lively human pace, 2 twice as fast. */
  readonly speed?: number;
  /** Told of a scenario that failed in a way it was not meant to. */
  readonly failed?: (name: string, error: unknown) => void;
}

export interface Demo {
  readonly producer: Producer;
  /** Does what a request asks for, as far as a script can, and gives the session's id at once. */
  start(text: string): string;
  /** Plays a scenario by its name. */
  play(name: string): string;
  /** Sessions that are under way. */
  readonly running: number;
  /**
   * Goes on with what the process before this one left open. A script that is played again asks the same things, and what
   * was asked or done before is neither asked nor done twice.
   */
  recover(store: Pick<LogStore, "read">): Promise<void>;
  /** Ends whatever is under way. */
  stop(): Promise<void>;
}

/** A piece of text this often: some sixteen words a second. */
const PIECE_MS = 180;
/** More at once than anybody could follow is refused. */
const MOST_SESSIONS = 64;
const LONGEST_REQUEST = 4_000;
/** Which script a session plays, for whoever has to go on with it. */
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
  const under_way = new Map<Session, Promise<void>>();

  /** Plays to the end; a session that was stopped on the way is no failure. */
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
          const closing = await play(createAct(opened, about));
          if (!opened.ended) await opened.complete(closing ?? THAT_WAS_ALL);
        } catch (error) {
          // What a scenario still tried after it was stopped is refused, and rightly.
          if (!opened.ended) throw error;
        }
      })
      .catch((error: unknown) => failed?.(name, error))
      .finally(() => under_way.delete(session));
    under_way.set(session, done);
    return { session, done };
  }

  function createAct(session: Session, { language, request }: { language: Language; request: string }): Act {
    const { signal } = session;
    const stream = async (words: string, how: SayOptions): Promise<void> => {
      for (const piece of piecesOf(words, how.language ?? language)) {
        await session.say(piece, how);
        await act.wait(PIECE_MS);
      }
    };
    const act: Act = {
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
        await act.say(summary);
        return NOT_DONE;
      },
      beside: (summary: Summary, play) =>
        perform("beside", { summary, language, requested_by: "demo" }, { language, request }, play).done,
    };
    return act;
  }

  function begin(scenario: Scenario, request: string, spoken: Language): string {
    if (under_way.size >= MOST_SESSIONS) {
      throw new EarshotError(
        "too_many_sessions",
        `${MOST_SESSIONS} demo sessions are under way already. Stop one, or wait until one has ended.`,
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
      return under_way.size;
    },
    start(text) {
      const request = text.trim();
      if (request === "")
        throw new EarshotError("no_request", 'Say what the demo should do, such as "Hello".');
      if (request.length > LONGEST_REQUEST)
        throw new EarshotError("long_request", `A request may have ${LONGEST_REQUEST} characters here.`);
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
      const all = [...under_way];
      await Promise.all(all.map(([session]) => session.cancel({ by: "system", reason: "shutdown" })));
      await Promise.all(all.map(([, done]) => done));
    },
  };
}

/** Safe where nobody waits for it, as a session's own methods are: a scenario may be stopped anywhere. */
function unawaited<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  return work;
}

/** Not an error: the session ended while its scenario waited for something. */
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
