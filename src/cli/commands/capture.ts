/** `earshot capture`: records every event of an agent as JSON Lines, unchanged. */
import { createWriteStream } from "node:fs";
import { resolve } from "node:path";
import { finished } from "node:stream/promises";
import { type AgentEvent, type Boundary, parse, type Verbosity } from "../../protocol/index.ts";
import {
  type ClientTransport,
  type ConnectOptions,
  Subscriber,
  transportFor,
} from "../../subscriber/index.ts";
import { CommandError, command, EXIT, type Io, say, stopped, usage, wholeNumber } from "../command.ts";
import { count, plain } from "../io.ts";
import { chooseAgent, connectTo } from "../listen/discovery.ts";

/** If this much output waits for a slow reader, the capture ends with an error. */
const MOST_WAITING_BYTES = 64 * 1024 * 1024;
/** The most received messages that wait for their parsed event. */
const MOST_TEXTS = 10_000;
const CONNECTION_HELD_MS = 1_000;
const TERMINAL = /^aaep:agent\.session\.(completed|errored|cancelled)$/;

export default command({
  takes: "[address]",
  most: 1,
  about:
    "Writes every event of an agent to standard output or to a file, one JSON object per line, unchanged. By default it requests everything: full detail, no rate limit, text as it is generated. It never answers a question, and the agent does not wait for it to answer.",
  flags: {
    output: { type: "string", short: "o", value: "FILE", help: "Write to this file. Only you can read it." },
    overwrite: { type: "boolean", help: "Overwrite the file if it exists." },
    sessions: { type: "string", value: "N", help: "Stop after N sessions have ended." },
    for: { type: "string", value: "SECONDS", help: "Stop after this many seconds." },
    verbosity: {
      type: "string",
      choices: ["terse", "normal", "detailed"],
      help: "Level of detail; default detailed.",
    },
    lang: {
      type: "string",
      value: "TAG",
      multiple: true,
      help: "Preferred language. May be repeated, most preferred first. Default: the agent's own language.",
    },
    rate: { type: "string", value: "EVENTS", help: "Maximum events per second; default no limit." },
    boundaries: {
      type: "string",
      multiple: true,
      choices: ["none", "word", "sentence", "paragraph", "completion"],
      help: "Where text may be split; default none, which means as it is generated. May be repeated.",
    },
    extension: {
      type: "string",
      value: "ADDRESS",
      multiple: true,
      help: "An extension to request in addition to Earshot's own. May be repeated.",
    },
    questions: {
      type: "boolean",
      help: "Claim to support replies, for agents that send questions only to such listeners. The agent will wait for an answer that never comes.",
    },
    token: {
      type: "string",
      value: "TOKEN",
      help: "Bearer token for the agent. Default: the environment variable EARSHOT_TOKEN.",
    },
    quiet: { type: "boolean", help: "Print only errors." },
  },
  examples: [
    [
      "earshot capture -o session.jsonl --sessions 1",
      "Records the next session of the agent on this machine.",
    ],
    ["earshot capture http://127.0.0.1:4600 | earshot validate", "Checks a running agent."],
    ["earshot capture ws://127.0.0.1:4600 --for 60 -o minute.jsonl", "Records for a minute."],
  ],
  exits: [
    [0, "The capture ended as requested."],
    [1, "The agent closed the connection, or the output could not be written."],
    [2, "The command line is wrong, or the file already exists."],
    [3, "Nothing answers at the address, or the agent refuses."],
    [130, "Stopped by Ctrl+C. The recording so far is kept."],
  ],
  async run({ args, flags, io }) {
    const most =
      flags.sessions === undefined ? Infinity : wholeNumber("sessions", flags.sessions, { least: 1 });
    const seconds = flags.for === undefined ? undefined : secondsOf(flags.for);
    const rate =
      flags.rate === undefined ? undefined : wholeNumber("rate", flags.rate, { least: 1, most: 100_000 });
    const news = flags.quiet ? () => undefined : (line: string) => say(io, line);
    const { address, name } = await chooseAgent(io, args[0], async () => undefined, "capture");
    const heard = { events: 0, sessions: 0, unreadable: 0, gaps: 0 };
    const file = flags.output === undefined ? undefined : await openFile(io, flags.output, flags.overwrite);
    const sink = file ?? io.stdout;
    const done = new AbortController();
    const end = (why: string) => done.abort(why);
    const write = (line: string) => {
      if (sink.writableLength > MOST_WAITING_BYTES) end("too slow");
      else if (!io.signal.aborted && !done.signal.aborted) sink.write(`${line}\n`);
    };
    file?.on("error", (error) => end(`failed: ${error.message}`));

    const texts = createRawTexts();
    const connect = async (to: string, options: ConnectOptions): Promise<Subscriber> => {
      const { token: _, ...rest } = options;
      const transport = tapped(await transportFor(to, options), texts.came);
      const subscriber = new Subscriber(transport, rest);
      const line = createConnectionNews(news);
      subscriber.on("event", (event) => {
        line.heard();
        heard.events++;
        write(asLine(event, texts.of(event)));
        if (event.type === "aaep:agent.session.started") news(`Started: ${wordsOf(event)}`);
        const ended = TERMINAL.exec(event.type)?.[1];
        if (ended === undefined) return;
        heard.sessions++;
        news(`Ended, ${ended}: ${wordsOf(event)}`);
        if (heard.sessions >= most) end("sessions");
      });
      subscriber.on("violation", () => {
        heard.unreadable++;
        write(texts.unreadable().replaceAll(/[\r\n]+/g, " "));
      });
      subscriber.on("gap", () => {
        heard.gaps++;
      });
      subscriber.on("closed", ({ code, message }) => {
        line.stop();
        if (code !== "subscriber_closed") end(`closed: ${message}`);
      });
      await subscriber.connect();
      subscriber.on("connection", line.is);
      return subscriber;
    };
    const began = performance.now();
    let subscriber: Subscriber | undefined;
    let timer: NodeJS.Timeout | undefined;
    try {
      subscriber = await connectTo(
        io,
        address,
        flags.token ?? io.env["EARSHOT_TOKEN"],
        {
          ...capabilities(flags, rate),
          signal: io.signal,
        },
        connect,
      );
      news(`Capturing ${plain(name)}. Press Ctrl+C to stop.`);
      if (seconds !== undefined) timer = setTimeout(() => end("time"), seconds * 1000);
      await Promise.race([stopped(io), stopped({ ...io, signal: done.signal })]);
    } finally {
      clearTimeout(timer);
      await subscriber?.close();
      if (file) await finished(file.end()).catch(() => undefined);
    }
    const lasted = Math.round((performance.now() - began) / 1000);
    news(summary(heard, lasted, flags.output));
    const why = String(done.signal.reason ?? "");
    if (why === "too slow")
      throw new CommandError(
        "The reader of standard output is too slow, so the capture ended. Write to a file with -o.",
      );
    if (/^(?:closed|failed): /.test(why))
      throw new CommandError(
        why.startsWith("closed")
          ? `The agent ended the capture: ${plain(why.slice(8))}`
          : `The file could not be written: ${why.slice(8)}`,
      );
    if (!done.signal.aborted) io.signal.throwIfAborted();
    return EXIT.ok;
  },
});

/** Announces a reconnect only after an event arrives or the connection has held, because an agent that shuts down may accept one more connection. */
function createConnectionNews(news: (line: string) => void) {
  let back: NodeJS.Timeout | undefined;
  const stop = () => {
    clearTimeout(back);
    back = undefined;
  };
  const heard = () => {
    if (back === undefined) return;
    stop();
    news("Connected again.");
  };
  const is = ({
    state,
    message,
  }: {
    readonly state: "connecting" | "connected" | "lost";
    readonly message: string;
  }) => {
    const known = back !== undefined;
    stop();
    if (state === "connected") back = setTimeout(heard, CONNECTION_HELD_MS);
    else if (!known) news(`Connection lost: ${plain(message)} Reconnecting.`);
  };
  return { is, heard, stop };
}

const tapped = (transport: ClientTransport, came: (text: string) => void): ClientTransport => ({
  name: transport.name,
  open: (request, resume, events) =>
    transport.open(request, resume, {
      ...events,
      message: (text, cursor) => {
        came(text);
        events.message(text, cursor);
      },
    }),
});

/** Finds the original text of each parsed event. Both come in the same order, but at different times. */
function createRawTexts() {
  let waiting: string[] = [];
  const take = (fits: (text: string) => boolean): string | undefined => {
    const at = waiting.findIndex(fits);
    const text = waiting[at];
    waiting = waiting.slice(at + 1);
    return text;
  };
  return {
    came: (text: string) => {
      waiting.push(text);
      if (waiting.length > MOST_TEXTS) waiting.shift();
    },
    of: ({ event_id }: AgentEvent) => take((text) => text.includes(`"${event_id}"`)),
    unreadable: () => take((text) => !parse(text, { mode: "tolerant" }).ok) ?? "",
  };
}

interface CaptureFlags {
  readonly verbosity: string | undefined;
  readonly lang: readonly string[];
  readonly boundaries: readonly string[];
  readonly extension: readonly string[];
  readonly questions: boolean;
}

/** Requests everything by default. A capture cannot answer, so by default it does not claim to. */
const capabilities = (
  { verbosity, lang, boundaries, extension, questions }: CaptureFlags,
  rate?: number,
): ConnectOptions => ({
  subscriber_id: "earshot-capture",
  subscriber_name: "earshot capture",
  preferred_verbosity: (verbosity ?? "detailed") as Verbosity,
  languages: lang.length > 0 ? [...lang] : ["und"],
  coalesce_boundaries: (boundaries.length > 0 ? [...boundaries] : ["none"]) as Boundary[],
  event_filters: { include: ["*"] },
  supported_extensions: [...extension],
  supports_confirmation_reply: questions,
  supports_clarification_reply: questions,
  earshot: { resume: true, view_prompts: true },
  ...(rate === undefined ? {} : { max_events_per_second: rate }),
});

/** The original text if it is one line. If part of the event was received before a reconnect, only the new part. */
function asLine(event: AgentEvent, text: string | undefined): string {
  if (text === undefined || /[\r\n]/.test(text)) return JSON.stringify(event);
  const { chunk } = JSON.parse(text) as { chunk?: unknown };
  return chunk === (event as { chunk?: unknown }).chunk ? text : JSON.stringify(event);
}

function secondsOf(text: string): number {
  const value = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && value > 0 && value <= 1_000_000) return value;
  throw usage(`--for needs a number of seconds, such as 60, not "${text}".`);
}

const wordsOf = (event: AgentEvent): string => {
  const { summary_normal: words = event.type } = event as { summary_normal?: string };
  return plain(words).slice(0, 200);
};

async function openFile(io: Io, name: string, overwrite: boolean) {
  const file = createWriteStream(resolve(io.cwd, name), { flags: overwrite ? "w" : "wx", mode: 0o600 });
  await new Promise<void>((done, fail) => {
    file.once("open", () => done());
    file.once("error", (error: NodeJS.ErrnoException) =>
      fail(
        error.code === "EEXIST"
          ? usage(`${name} already exists. Choose another name, or add --overwrite.`)
          : usage(`${name} cannot be written: ${error.message}. Choose another file with -o.`),
      ),
    );
  });
  return file;
}

function summary(
  { events, sessions, unreadable, gaps }: Record<"events" | "sessions" | "unreadable" | "gaps", number>,
  seconds: number,
  file: string | undefined,
): string {
  const parts = [
    `Captured ${count(events, "event")}, ${count(sessions, "session")} ended, in ${count(seconds, "second")}.`,
    ...(unreadable > 0
      ? [`${count(unreadable, "message")} could not be parsed; "npx earshot validate" says why.`]
      : []),
    ...(gaps > 0 ? [`The agent reported ${count(gaps, "gap")} where events are missing.`] : []),
    ...(file !== undefined && events > 0 ? [`To replay it: npx earshot replay ${file}`] : []),
  ];
  return parts.join(" ");
}
