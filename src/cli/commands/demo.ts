/** `earshot demo`: a scripted agent to listen to, to answer, and to test against. */

import type { LogEntry } from "../../server/index.ts";
import { type Subscriber, subscribe } from "../../subscriber/index.ts";
import { CommandError, command, EXIT, type Io, print, say, stopped, usage, wholeNumber } from "../command.ts";
import { transfer } from "../demo/household/bank.ts";
import { LANGUAGES, type Scenario, type Words } from "../demo/scenario.ts";
import { EDGE_CASES, HOUSEHOLD, scenarioNamed } from "../demo/scenarios.ts";
import { DEFAULT_PORT, type DemoServer, openDemoServer } from "../demo/server.ts";
import { asTag, systemLanguage } from "../listen/messages/index.ts";
import { runTerminalSession } from "../listen/terminal-session.ts";

export default command({
  about: [
    "Starts the demo agent: a scripted household assistant that needs no network and does nothing real. Only programs on this machine can reach it, over HTTP, WebSocket, a Unix socket and gRPC.",
    "",
    "In a terminal you hear it at once. Type a request, or press Enter for a bank transfer that you can allow or refuse. Without a terminal, or with --json, it serves until it is stopped.",
  ].join("\n"),
  flags: {
    port: {
      type: "string",
      value: "PORT",
      help: `Port to listen on; default ${DEFAULT_PORT}, or another if that is in use. 0 means any free port.`,
    },
    scenario: {
      type: "string",
      value: "NAME",
      help: 'Play this scenario as soon as a listener connects. "list" lists all scenarios.',
    },
    speed: {
      type: "string",
      value: "FACTOR",
      help: "Speed of the agent: 2 is twice as fast, 0.5 is half as fast.",
    },
    speak: { type: "boolean", help: "In a terminal, also speak." },
    lang: {
      type: "string",
      value: "TAG",
      help: "In a terminal, your language: en, es, fr, ar or ja. Default: the system's language.",
    },
    data: {
      type: "string",
      value: "DIR",
      help: "Directory for the log. Default: a temporary one that is deleted when the demo ends.",
    },
    json: {
      type: "boolean",
      help: "For scripts: when ready, print one line of JSON with the addresses and the token.",
    },
    "insecure-loopback": {
      type: "boolean",
      help: "Require no token: any program on this machine may listen and answer.",
    },
    compat: {
      type: "boolean",
      help: "Also serve existing AAEP clients and test drivers that do not use the handshake.",
    },
  },
  examples: [
    ["earshot demo", "Hear the demo agent and send it requests."],
    ["earshot demo --scenario list", "List the scenarios."],
    ["earshot demo --scenario question-timeout", "Play one edge case to the first listener."],
    ["earshot demo --port 0 --json", "For a script: use any free port, and print one line that says which."],
  ],
  exits: [
    [EXIT.ok, "It was stopped, or you typed quit."],
    [EXIT.failed, "It could not be started."],
    [EXIT.usage, "The command line is wrong."],
    [EXIT.interrupted, "Stopped by Ctrl+C."],
  ],
  async run({ flags, io }) {
    if (flags.scenario === "list") return list(io, flags.json);
    const scenario = flags.scenario === undefined ? undefined : scenarioOf(flags.scenario);
    const port = flags.port === undefined ? undefined : wholeNumber("port", flags.port, { most: 65_535 });
    const language = flags.lang === undefined ? systemLanguage(io) : asTag(flags.lang);
    const listens = io.stdin.isTTY === true && io.stdout.isTTY === true && !flags.json;
    const host = await openDemoServer(io, {
      port,
      data: flags.data,
      speed: flags.speed === undefined ? 1 : factor(flags.speed),
      insecureLoopback: flags["insecure-loopback"],
      compat: flags.compat,
      warn: (sentence) => say(io, sentence),
      log: (entry) => tell(io, entry, flags.json),
    });
    try {
      if (flags.json) print(io, JSON.stringify(ready(host)));
      if (listens) return await listenHere(io, host, { scenario, port, language, speak: flags.speak });
      if (!flags.json) for (const line of [...introduction(host, port), seeIt(host)]) print(io, line);
      const cancel = scenario === undefined ? () => undefined : playForFirstListener(host, scenario);
      const why = await stopped(io);
      cancel();
      return why === "SIGINT" ? EXIT.interrupted : EXIT.ok;
    } finally {
      await host.close();
    }
  },
});

function list(io: Io, json: boolean): number {
  if (json) {
    const all = [...HOUSEHOLD, ...EDGE_CASES].map(({ name, about, examples = {} }) => ({
      name,
      about,
      examples,
    }));
    print(io, JSON.stringify(all));
    return EXIT.ok;
  }
  const lines = (title: string, scenarios: readonly Scenario[]) => [
    title,
    ...scenarios.map(({ name, about }) => `  ${name}: ${about}`),
  ];
  for (const line of lines("Everyday requests:", HOUSEHOLD)) print(io, line);
  for (const line of lines("Edge cases that an assistive technology must handle:", EDGE_CASES))
    print(io, line);
  return EXIT.ok;
}

function scenarioOf(name: string): string {
  try {
    return scenarioNamed(name).name;
  } catch (error) {
    throw usage((error as Error).message);
  }
}

function factor(text: string): number {
  const value = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && value > 0 && value <= 1_000) return value;
  throw usage(`--speed needs a number above 0 and up to 1000, such as 2 or 0.5, not "${text}".`);
}

/** What a script needs to connect. Nothing else is printed on standard output. */
const ready = ({ serving }: DemoServer) => ({
  http: serving.http,
  ws: serving.ws,
  unix: serving.unix ?? null,
  grpc: serving.grpc ?? null,
  token: serving.token ?? null,
});

/** A person gets only important log entries; a script gets all of them. */
function tell(io: Io, entry: LogEntry, json: boolean): void {
  if (json) return say(io, JSON.stringify(entry));
  if (entry.level === "error" || entry.event === "insecure_loopback" || entry.event === "compat")
    say(io, entry.message ?? entry.event);
}

function introduction({ serving }: DemoServer, port: number | undefined): string[] {
  const usual = serving.port === DEFAULT_PORT;
  return [
    "The demo agent is running: a household assistant that follows a script. Nothing it does is real.",
    ...(port === undefined && !usual
      ? [`Port ${DEFAULT_PORT} is in use, so it uses port ${serving.port}.`]
      : []),
    `It is at ${serving.http}, for programs on this machine only.`,
    `To hear it in another terminal: npx earshot listen${usual ? "" : ` ${serving.http}`}`,
    `To send it a request: npx earshot ask "book a room"${usual ? "" : ` --address ${serving.http}`}`,
  ];
}

const seeIt = ({ serving }: DemoServer): string =>
  `To see in a browser what each listener gets: ${serving.inspector}`;
/** In a terminal, this word shows the address of the Inspector. It contains a token of 64 characters, too long to read out each time. */
const PAGE = "page";

/** Starts a scenario when the first listener connects. Returns a function that cancels this. */
function playForFirstListener({ demo }: DemoServer, scenario: string): () => void {
  const look = setInterval(() => {
    if (demo.producer.subscriptions === 0) return;
    clearInterval(look);
    demo.play(scenario);
  }, 50);
  return () => clearInterval(look);
}

interface Hearing {
  readonly scenario: string | undefined;
  readonly port: number | undefined;
  readonly language: string;
  readonly speak: boolean;
}

/** The first request, before the person has typed one. */
const GREETINGS: Words = {
  en: "Hello, briefly",
  es: "Hola, breve",
  fr: "Bonjour, bref",
  ar: "مرحبا باختصار",
  ja: "こんにちは、短く",
};

/** The terminal is a listener like any other, connected over HTTP. */
async function listenHere(
  io: Io,
  host: DemoServer,
  { scenario, port, language, speak }: Hearing,
): Promise<number> {
  const { demo, serving } = host;
  const own = LANGUAGES.find((one) => one === language.split("-")[0]) ?? "en";
  for (const line of introduction(host, port)) print(io, line);
  print(io, `To see in a browser what each listener gets, type ${PAGE}. That prints a long address.`);
  let subscriber: Subscriber;
  try {
    const { token, http } = serving;
    subscriber = await subscribe(http, { languages: [language], ...(token === undefined ? {} : { token }) });
  } catch (cause) {
    throw new CommandError(`The demo is running but cannot be heard here: ${(cause as Error).message}`);
  }
  const start = (work: () => void): boolean => {
    try {
      work();
    } catch (error) {
      say(io, (error as Error).message);
    }
    return true;
  };
  const listening = runTerminalSession(io, subscriber, {
    speak,
    settings: { languages: [language] },
    greeting:
      "Press Enter for a bank transfer. Or type a request, such as: explain how rainbows form. Type help for a list of commands. Ctrl+C ends the demo.",
    farewell: "The demo has ended.",
    onLine: (text) =>
      start(() => {
        if (text.toLowerCase() === PAGE) print(io, seeIt(host));
        else demo.start(text === "" ? transfer.examples![own]! : text);
      }),
  });
  start(() => (scenario === undefined ? demo.start(GREETINGS[own]) : demo.play(scenario)));
  return listening;
}
