/** `earshot capture`: everything an agent says, one event a line, as it came. */
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
import { chooseAgent } from "../listen/find.ts";
import { openLine } from "../listen/open-line.ts";

/** Where a reader is slower than the agent for so long, the capture ends and says so. */
const MOST_WAITING_BYTES = 64 * 1024 * 1024;
/** Messages that came and were not yet heard, at most. */
const MOST_TEXTS = 10_000;
const LINE_HELD_MS = 1_000;
const TERMINAL = /^aaep:agent\.session\.(completed|errored|cancelled)$/;

export default command({
  takes: "[address]",
  most: 1,
  about:
    "Writes every event of an agent to standard output or to a file, one JSON object a line, as it came. By default it asks for everything: full detail, no limit, text as it is made. It never answers a question, and no agent waits for it to.",
  flags: {
    output: { type: "string", short: "o", value: "FILE", help: "Write to this file, readable by you alone." },
    overwrite: { type: "boolean", help: "Replace the file if there is one." },
    sessions: { type: "string", value: "N", help: "End once N sessions have ended." },
    for: { type: "string", value: "SECONDS", help: "End after so long." },
    verbosity: {
      type: "string",
      choices: ["terse", "normal", "detailed"],
      help: "How much detail; detailed by default.",
    },
    lang: {
      type: "string",
      value: "TAG",
      multiple: true,
      help: "A language to hear it in, best first. May be repeated. The agent's own by default.",
    },
    rate: { type: "string", value: "EVENTS", help: "Most events a second; no limit by default." },
    boundaries: {
      type: "string",
      multiple: true,
      choices: ["none", "word", "sentence", "paragraph", "completion"],
      help: "Where text is cut; none, as it is made, by default. May be repeated.",
    },
    extension: {
      type: "string",
      value: "ADDRESS",
      multiple: true,
      help: "An extension to ask for besides Earshot's own. May be repeated.",
    },
    questions: {
      type: "boolean",
      help: "Claim to be able to answer, for agents that show questions to nobody else. They will wait for an answer in vain.",
    },
    token: { type: "string", value: "TOKEN", help: "The agent's token; EARSHOT_TOKEN works too." },
    quiet: { type: "boolean", help: "Say nothing but errors." },
  },
  examples: [
    [
      "earshot capture -o session.jsonl --sessions 1",
      "Records the next session of the agent that is running here.",
    ],
    ["earshot capture http://127.0.0.1:4600 | earshot validate", "Checks an agent while it speaks."],
    ["earshot capture ws://127.0.0.1:4600 --for 60 -o minute.jsonl", "Records for a minute."],
  ],
  exits: [
    [0, "The capture ended as asked."],
    [1, "The agent ended it, or what was heard could not be written."],
    [2, "The command line is wrong, or the file exists already."],
    [3, "Nothing answers at the address, or it refuses."],
    [130, "Stopped by Ctrl+C. What was captured is kept."],
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

    const texts = createTexts();
    const connect = async (to: string, options: ConnectOptions): Promise<Subscriber> => {
      const { token: _, ...rest } = options;
      const transport = tapped(await transportFor(to, options), texts.came);
      const subscriber = new Subscriber(transport, rest);
      const line = createLineNews(news);
      subscriber.on("event", (event) => {
        line.heard();
        heard.events++;
        write(asLine(event, texts.of(event)));
        if (event.type === "aaep:agent.session.started") news(`Began: ${wordsOf(event)}`);
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
      subscriber = await openLine(
        io,
        address,
        flags.token ?? io.env["EARSHOT_TOKEN"],
        {
          ...wishes(flags, rate),
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
        "Whoever reads is slower than the agent, so the capture ended. Write to a file with -o.",
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

/** A line that is back is believed once the agent speaks or it has held: an agent that leaves may open one more. */
function createLineNews(news: (line: string) => void) {
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
    if (state === "connected") back = setTimeout(heard, LINE_HELD_MS);
    else if (!known) news(`The line dropped: ${plain(message)} Trying again.`);
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

/** Text as it came, found again for what was made of it: both are in the same order, though not at the same time. */
function createTexts() {
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

interface Wishes {
  readonly verbosity: string | undefined;
  readonly lang: readonly string[];
  readonly boundaries: readonly string[];
  readonly extension: readonly string[];
  readonly questions: boolean;
}

/** Everything there is, unless something else was asked for. A capture answers nothing, so nobody should count on it. */
const wishes = (
  { verbosity, lang, boundaries, extension, questions }: Wishes,
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

/** As it came where it fits on a line; where a part of it was heard before, only the rest. */
function asLine(event: AgentEvent, text: string | undefined): string {
  if (text === undefined || /[\r\n]/.test(text)) return JSON.stringify(event);
  const { chunk } = JSON.parse(text) as { chunk?: unknown };
  return chunk === (event as { chunk?: unknown }).chunk ? text : JSON.stringify(event);
}

function secondsOf(text: string): number {
  const value = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && value > 0 && value <= 1_000_000) return value;
  throw usage(`--for takes a number of seconds, such as 60, not "${text}".`);
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
          ? usage(`${name} is there already. Choose another name, or add --overwrite.`)
          : usage(`${name} cannot be written: ${error.message}. Name another file with -o.`),
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
      ? [`${count(unreadable, "message")} could not be read; "npx earshot validate" says why.`]
      : []),
    ...(gaps > 0 ? [`In ${count(gaps, "place")} something is missing, and the agent said so.`] : []),
    ...(file !== undefined && events > 0 ? [`Hear it again: npx earshot replay ${file}`] : []),
  ];
  return parts.join(" ");
}
