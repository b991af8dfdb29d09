/** `earshot demo`: a pretend agent to listen to, to answer, and to test against. */

import type { LogEntry } from "../../server/index.ts";
import { type Subscriber, subscribe } from "../../subscriber/index.ts";
import { CommandError, command, EXIT, type Io, print, say, stopped, usage, wholeNumber } from "../command.ts";
import { transfer } from "../demo/household/bank.ts";
import { LANGUAGES, type Scenario, type Words } from "../demo/scenario.ts";
import { AWKWARD, HOUSEHOLD, scenarioNamed } from "../demo/scenarios.ts";
import { DEFAULT_PORT, type Host, openHost } from "../demo/server.ts";
import { asTag, systemLanguage } from "../listen/language.ts";
import { listenIn } from "../listen/listen-in.ts";

export default command({
  about: [
    "Starts the demo agent: a household assistant that is a script, needs no network, and does nothing real. It is open to programs on this machine only, over HTTP, WebSocket, a Unix socket and gRPC.",
    "",
    "In a terminal you hear it at once: type a request, or press Enter to be offered a bank transfer, and decide. Without a terminal, or with --json, it serves until it is stopped.",
  ].join("\n"),
  flags: {
    port: {
      type: "string",
      value: "PORT",
      help: `Where to listen; ${DEFAULT_PORT} by default, and another if that is taken. 0 takes any free one.`,
    },
    scenario: {
      type: "string",
      value: "NAME",
      help: 'Play this as soon as somebody listens. "list" names them all.',
    },
    speed: { type: "string", value: "FACTOR", help: "How fast the agent is: 2 is twice as fast, 0.5 half." },
    speak: { type: "boolean", help: "In a terminal, speak as well." },
    lang: {
      type: "string",
      value: "TAG",
      help: "In a terminal, your language: en, es, fr, ar or ja. By default that of your system.",
    },
    data: { type: "string", value: "DIR", help: "Keep the log here; by default it goes with the demo." },
    json: {
      type: "boolean",
      help: "For scripts: one line of JSON once it is ready, with its addresses and its token.",
    },
    "insecure-loopback": {
      type: "boolean",
      help: "No token: any program on this machine may listen and answer.",
    },
    compat: {
      type: "boolean",
      help: "Also serve existing AAEP clients and test drivers that know no handshake.",
    },
  },
  examples: [
    ["earshot demo", "hear the demo agent and give it something to do"],
    ["earshot demo --scenario list", "see what it can play"],
    ["earshot demo --scenario question-timeout", "play one awkward case to whoever listens first"],
    ["earshot demo --port 0 --json", "for a script: any free port, and one line that says which"],
  ],
  exits: [
    [EXIT.ok, "it was asked to end, or you left with quit."],
    [EXIT.failed, "it could not be started."],
    [EXIT.usage, "the command line is wrong."],
    [EXIT.interrupted, "you left with Ctrl+C."],
  ],
  async run({ flags, io }) {
    if (flags.scenario === "list") return list(io, flags.json);
    const scenario = flags.scenario === undefined ? undefined : scenarioOf(flags.scenario);
    const port = flags.port === undefined ? undefined : wholeNumber("port", flags.port, { most: 65_535 });
    const language = flags.lang === undefined ? systemLanguage(io) : asTag(flags.lang);
    const listens = io.stdin.isTTY === true && io.stdout.isTTY === true && !flags.json;
    const host = await openHost(io, {
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
      const forget = scenario === undefined ? () => undefined : playForTheFirst(host, scenario);
      const why = await stopped(io);
      forget();
      return why === "SIGINT" ? EXIT.interrupted : EXIT.ok;
    } finally {
      await host.close();
    }
  },
});

function list(io: Io, json: boolean): number {
  if (json) {
    const all = [...HOUSEHOLD, ...AWKWARD].map(({ name, about, examples = {} }) => ({
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
  for (const line of lines("The household:", HOUSEHOLD)) print(io, line);
  for (const line of lines("What an assistive technology must survive:", AWKWARD)) print(io, line);
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
  throw usage(`--speed takes a number above 0 and up to 1000, such as 2 or 0.5, not "${text}".`);
}

/** For scripts: what they need to connect, and nothing else on this stream. */
const ready = ({ serving }: Host) => ({
  http: serving.http,
  ws: serving.ws,
  unix: serving.unix ?? null,
  grpc: serving.grpc ?? null,
  token: serving.token ?? null,
});

/** A person hears of what matters to them; a script's log gets everything. */
function tell(io: Io, entry: LogEntry, json: boolean): void {
  if (json) return say(io, JSON.stringify(entry));
  if (entry.level === "error" || entry.event === "insecure_loopback" || entry.event === "compat")
    say(io, entry.message ?? entry.event);
}

function introduction({ serving }: Host, port: number | undefined): string[] {
  const usual = serving.port === DEFAULT_PORT;
  return [
    "The demo agent is running: a pretend household assistant. It is a script, and nothing it does is real.",
    ...(port === undefined && !usual
      ? [`Port ${DEFAULT_PORT} is taken, so it uses port ${serving.port}.`]
      : []),
    `It is at ${serving.http}, for programs on this machine only.`,
    `To hear it in another terminal: npx earshot listen${usual ? "" : ` ${serving.http}`}`,
    `To give it something to do: npx earshot ask "book a room"${usual ? "" : ` --address ${serving.http}`}`,
  ];
}

const seeIt = ({ serving }: Host): string =>
  `To see in a browser what every listener gets: ${serving.inspector}`;
/** In a terminal its address is given on request: it holds the token, 64 characters that nobody wants read out. */
const PAGE = "page";

/** Starts a scenario for whoever comes first; the answer takes that back. */
function playForTheFirst({ demo }: Host, scenario: string): () => void {
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

/** What is said first where nobody has asked for anything yet. */
const GREETINGS: Words = {
  en: "Hello, briefly",
  es: "Hola, breve",
  fr: "Bonjour, bref",
  ar: "مرحبا باختصار",
  ja: "こんにちは、短く",
};

/** The terminal is a listener like any other, over the same wire. */
async function listenHere(io: Io, host: Host, { scenario, port, language, speak }: Hearing): Promise<number> {
  const { demo, serving } = host;
  const own = LANGUAGES.find((one) => one === language.split("-")[0]) ?? "en";
  for (const line of introduction(host, port)) print(io, line);
  print(io, `To see in a browser what every listener gets, type ${PAGE}; its long address is then shown.`);
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
  const listening = listenIn(io, subscriber, {
    speak,
    settings: { languages: [language] },
    greeting:
      "Press Enter to be offered a bank transfer. Or type a request, such as: explain how rainbows form. Type help for my words. Ctrl+C ends the demo.",
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
