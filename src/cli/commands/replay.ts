/** `earshot replay`: serves a recording again, at its original speed, faster, or step by step. */
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { createProducer, EarshotError, type Producer } from "../../index.ts";
import type { AgentEvent } from "../../protocol/index.ts";
import { type LogEntry, type Serving, serve } from "../../server/index.ts";
import { CommandError, command, EXIT, type Io, print, say, stopped, usage, wholeNumber } from "../command.ts";
import { count, plain } from "../io.ts";
import { type Contents, contentsOf, readRecording } from "../recording.ts";
import { BoundedMap } from "../stream-check.ts";

/** setTimeout fires immediately for longer delays. */
const LONGEST_WAIT = 2_000_000_000;

export default command({
  takes: "<file>",
  most: 1,
  about:
    "Serves a recording as if it happened now. It starts when the first listener connects, and ends when the last one has left. No tool runs, and answers to recorded questions are refused.",
  flags: {
    speed: {
      type: "string",
      value: "FACTOR",
      help: "Replay speed: 2 is twice as fast, 0.5 is half as fast; default 1.",
    },
    step: { type: "boolean", help: "Send one event each time you press Enter." },
    port: { type: "string", value: "PORT", help: "Port to listen on; default 4600. 0 means any free port." },
    "insecure-loopback": {
      type: "boolean",
      help: "Require no token: any program on this machine may listen. Use it only for recordings that anyone may hear.",
    },
    json: { type: "boolean", help: "When ready, print one JSON line: http, ws, unix, grpc, token." },
  },
  examples: [
    ["earshot replay session.jsonl", "Serves a recording. Hear it in another terminal: npx earshot listen"],
    ["earshot replay session.jsonl --speed 4", "Replays four times as fast."],
    ["earshot replay session.jsonl --step --port 0", "Sends one event per Enter, on any free port."],
  ],
  exits: [
    [0, "Everything was sent."],
    [1, "Something in the file could not be sent."],
    [2, "The command line is wrong, or the file cannot be read."],
    [130, "Stopped by Ctrl+C."],
  ],
  async run({ args, flags, io }) {
    const [file] = args;
    if (file === undefined || file === "-")
      throw usage(
        'Give the file to replay: earshot replay session.jsonl. "earshot capture -o session.jsonl" creates one.',
      );
    if (flags.step && flags.speed !== undefined) throw usage("Give either --speed or --step, not both.");
    const speed = flags.speed === undefined ? 1 : speedOf(flags.speed);
    const port = flags.port === undefined ? 4600 : wholeNumber("port", flags.port, { most: 65_535 });
    const contents = await contentsOf(io, file);
    const producer = producerOf(file, contents, (line) => say(io, line));
    const audience = createAudience(() => producer.subscriptions);
    const serving = await serve(producer, {
      port,
      log: (entry) => {
        audience.hear(entry);
        if (entry.level === "error" || entry.event === "insecure_loopback") say(io, asSentence(entry));
      },
      ...(flags["insecure-loopback"] ? { insecureLoopback: true } : {}),
    });
    const keys = flags.step ? readEnters(io) : undefined;
    try {
      announce(io, flags.json, file, contents, serving);
      await Promise.race([audience.arrived, stopped(io)]);
      io.signal.throwIfAborted();
      say(io, "A listener is connected. The replay starts.");
      if (keys) say(io, "Press Enter for each event.");
      const left = await play(io, producer, file, keys ? stepwise(io, keys) : timed(io, speed));
      say(io, "The replay is complete. It ends when the last listener has left. Ctrl+C ends it now.");
      await Promise.race([audience.gone(), stopped(io)]);
      io.signal.throwIfAborted();
      return left > 0 ? EXIT.failed : EXIT.ok;
    } finally {
      audience.close();
      io.stdin.pause();
      await serving.close();
    }
  },
});

function speedOf(text: string): number {
  const value = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && value >= 0.01 && value <= 1_000) return value;
  throw usage(`--speed needs a factor from 0.01 to 1000, such as 2, not "${text}".`);
}

function producerOf(file: string, { first, languages }: Contents, warn: (line: string) => void): Producer {
  if (!first)
    throw new CommandError(
      `There is no event in ${file}. "earshot validate ${file}" says what is wrong with it.`,
      EXIT.usage,
    );
  const { agent_id, agent_name } = first.producer;
  const [language = "en", ...others] = languages;
  return createProducer({
    agent_id: "earshot.replay",
    agent_name: `Recording of ${plain(agent_name ?? agent_id).slice(0, 80)}`,
    language,
    languages: others,
    warn,
    // A disconnected listener can resume, but the replay does not wait much longer than that.
    hub: { graceSeconds: 30, resumeSeconds: 60 },
  });
}

function announce(io: Io, json: boolean, file: string, contents: Contents, serving: Serving): void {
  const { http, ws, unix = null, grpc = null, token = null } = serving;
  if (json) return print(io, JSON.stringify({ http, ws, unix, grpc, token }));
  const { events, sessions, seconds } = contents;
  print(
    io,
    `${file}: ${count(events, "event")}, ${count(sessions, "session")}, ${count(Math.round(seconds), "second")} long.`,
  );
  print(io, `Waiting for a listener at ${http}`);
  print(io, `In another terminal: npx earshot listen ${http}`);
}

const asSentence = ({ event, message }: LogEntry): string => message ?? event;

/** Resolves when the event may be sent: true, or false to end the replay. */
type Cue = (event: AgentEvent, line: number) => Promise<boolean>;

function timed(io: Io, speed: number): Cue {
  const pace = createPace(speed);
  return async ({ timestamp }) => {
    for (;;) {
      const wait = pace.wait(Date.parse(timestamp), performance.now());
      if (wait <= 0) return true;
      await sleep(Math.min(wait, LONGEST_WAIT), undefined, { signal: io.signal });
    }
  };
}

const stepwise =
  (io: Io, enters: AsyncIterator<void>): Cue =>
  async (event, line) => {
    const { done } = await enters.next();
    if (done) say(io, "Standard input has ended, so no more events are sent.");
    else say(io, `Line ${line}: ${describe(event)}`);
    return !done;
  };

function describe(event: AgentEvent): string {
  const { type, summary_normal, chunk, action, question } = event as AgentEvent & Record<string, unknown>;
  const words = summary_normal ?? chunk ?? action ?? question;
  return plain(
    `${type.replace(/^aaep:agent\./, "")}${words === undefined ? "" : `: ${String(words)}`}`,
  ).slice(0, 200);
}

/** Yields once per line of standard input. */
async function* readEnters({ stdin, signal }: Io): AsyncGenerator<void> {
  const stop = () => stdin.destroy();
  signal.addEventListener("abort", stop, { once: true });
  try {
    for await (const chunk of stdin) {
      const lines = String(chunk).split("\n").length - 1;
      for (let i = 0; i < lines; i++) yield;
    }
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

const isLast = ({ type }: AgentEvent): boolean =>
  /^aaep:agent\.session\.(?:completed|errored|cancelled)$/.test(type);

/** Returns how many entries could not be sent. */
async function play(io: Io, producer: Producer, file: string, cue: Cue): Promise<number> {
  let left = 0;
  let timestamp = "";
  const ended = new BoundedMap<true>(10_000);
  for await (const { line, event, wrong } of readRecording(io, file)) {
    try {
      if (!event) throw new Error(wrong);
      if (ended.get(event.session_id)) throw new EarshotError("SEQ-03", "Its session has already ended.");
      if (!(await cue(event, line))) break;
      const now = new Date().toISOString();
      // A clock that is set back must not reverse the order.
      timestamp = now > timestamp ? now : timestamp;
      await producer.relay({ ...event, timestamp }, { recorded: true });
      if (isLast(event)) ended.set(event.session_id, true);
      // Give the event time to be written before the next one.
      await nextTurn();
    } catch (error) {
      io.signal.throwIfAborted();
      left++;
      const { code, message } = error as Error & { code?: string };
      say(io, `Line ${line} was skipped: ${plain(message)}${code ? ` (${code})` : ""}`);
    }
  }
  return left;
}

/** When a recorded event is due: by its timestamp relative to the first one, divided by the speed. */
export interface Pace {
  /** Milliseconds from `now` until an event recorded at `at` is due. */
  wait(at: number, now: number): number;
}

export function createPace(speed: number): Pace {
  let began: { readonly recorded: number; readonly now: number } | undefined;
  let latest = 0;
  return {
    wait(at, now) {
      // Sessions may be interleaved and clocks set back, so recorded time never goes backwards.
      if (!Number.isNaN(at)) latest = began ? Math.max(latest, at) : at;
      began ??= { recorded: latest, now };
      return Math.max(0, began.now + (latest - began.recorded) / speed - now);
    },
  };
}

/** Who listens to a replay, according to the server's log: when the first one arrives, and when the last one has left. */
export interface Audience {
  /** Pass every log entry of the server. */
  hear(entry: LogEntry): void;
  readonly arrived: Promise<void>;
  /** Resolves when no subscription is left. */
  gone(): Promise<void>;
  close(): void;
}

/** After a disconnect, check again after this time, when the subscription can no longer resume. */
const LOST_MS = 65_000;

/** `subscriptions` returns their number, including disconnected ones that can still resume. */
function createAudience(subscriptions: () => number): Audience {
  let come = () => {};
  let leave: (() => void) | undefined;
  let again: NodeJS.Timeout | undefined;
  const arrived = new Promise<void>((resolve) => {
    come = resolve;
  });
  const look = () => {
    if (subscriptions() === 0) leave?.();
  };
  return {
    arrived,
    hear({ event }) {
      if (event === "stream_opened") come();
      if (event !== "stream_closed") return;
      // The log entry comes before the subscription is removed.
      setImmediate(look);
      clearTimeout(again);
      again = setTimeout(look, LOST_MS);
    },
    gone: () =>
      new Promise((resolve) => {
        leave = resolve;
        look();
      }),
    close: () => clearTimeout(again),
  };
}
