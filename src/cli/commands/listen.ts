/** `earshot listen`: listen to an agent and answer it. */

import { Announcer, type AnnouncerSettings } from "../../subscriber/announcer.ts";
import type { ConnectOptions, Subscriber } from "../../subscriber/index.ts";
import { CommandError, command, EXIT, type Io, print, wholeNumber } from "../command.ts";
import { chooseAgent, connectTo, type FoundAgent, findAgents, listed } from "../listen/discovery.ts";
import { asTag, systemLanguage } from "../listen/messages/index.ts";
import { jsonLine } from "../listen/output.ts";
import { isLocal, knownAgents, prompt } from "../listen/prompts.ts";
import { runTerminalSession } from "../listen/terminal-session.ts";

const VERBOSITIES = ["terse", "normal", "detailed"] as const;
const LOADS = ["low", "medium", "high"] as const;

export default command({
  takes: "[address...]",
  most: 8,
  about: [
    "Announces what an agent does, line by line, and takes your answers: type a word, then press Enter. Without an address it listens to the only agent that runs for you on this machine, or asks which one. An address is a URL (http, https, ws, wss, grpc, grpcs), unix:PATH, pipe:NAME, stdio:COMMAND, a port, or the name of an agent on this machine.",
    "",
    "While it runs, type yes, no, more (time), repeat, what (is happening), a number for a choice, or your own words where the agent asks for them; help lists the rest. Allowing something risky or irreversible takes two words: first yes, and then, after it was read back to you, confirm.",
    "",
    "Only text typed after the end of a question answers it. Text typed earlier, a key held down or a paste of several lines never counts as yes. One line entered at once, as dictation does, may answer, but its yes always needs a second step. Input from a pipe or a file cannot allow anything risky or irreversible; only a person at a terminal can.",
  ].join("\n"),
  flags: {
    discover: { type: "boolean", help: "List the agents that run for you on this machine, and exit." },
    token: {
      type: "string",
      value: "TOKEN",
      help: "Bearer token for the agent; or set EARSHOT_TOKEN. For your own agents on this machine it is found automatically.",
    },
    trust: {
      type: "boolean",
      help: "Listen to a new agent on another machine without being asked first.",
    },
    speak: { type: "boolean", help: "Also speak: with speech-dispatcher, espeak-ng or the system's speech." },
    braille: {
      type: "string",
      value: "CELLS|display",
      help: "Braille instead of print, one line at a time: written with this many cells, or on your display through brltty. Implies --step.",
    },
    step: { type: "boolean", help: "Show one thing at a time: nothing new appears until you press Enter." },
    keys: { type: "boolean", help: "Single keys for everything but yes and confirm; help lists them." },
    lang: {
      type: "string",
      value: "TAG",
      multiple: true,
      help: "Your language, such as es or pt-BR; repeat it for other languages you read. Default: the language of your system.",
    },
    verbosity: { type: "string", choices: VERBOSITIES, help: "How detailed each announcement is." },
    load: { type: "string", choices: LOADS, help: "How many announcements; low = fewest." },
    rate: { type: "string", value: "WORDS", help: "Speech rate in words per minute, from 80 to 450." },
    width: {
      type: "string",
      value: "COLUMNS",
      help: "Wrap lines at this column. By default they are not wrapped, for screen readers.",
    },
    json: { type: "boolean", help: "Print one JSON object per line: events, and what a person would hear." },
    "no-bell": { type: "boolean", help: "Do not ring the terminal bell for questions and endings." },
  },
  examples: [
    ["earshot listen", "listen to the agent that runs on this machine"],
    ["earshot listen http://127.0.0.1:4600", "listen to the agent at this address"],
    ["earshot listen --speak --lang es", "speak, in Spanish"],
    ["earshot listen --braille 40", "braille, one line at a time"],
    ["earshot listen --discover", "list the agents on this machine"],
    ["earshot listen --json < /dev/null", "output for a program"],
  ],
  exits: [
    [EXIT.ok, "you left with quit or Ctrl+D, or the program received SIGTERM."],
    [EXIT.failed, "the agent ended the connection, or there is no speech or braille on this machine."],
    [EXIT.usage, "the command line is wrong, or several agents are running and none was chosen."],
    [
      EXIT.unreachable,
      "nothing answers at the address, the agent refuses the token, or you do not trust it.",
    ],
    [EXIT.interrupted, "you left with Ctrl+C."],
  ],
  async run({ args, flags, io }) {
    if (flags.discover) return discover(io, flags.json);
    const languages = flags.lang.length > 0 ? flags.lang.map(asTag) : [systemLanguage(io)];
    const braille =
      flags.braille === undefined || flags.braille === "display"
        ? flags.braille
        : wholeNumber("braille", flags.braille, { least: 8, most: 200 });
    const rate = flags.rate && wholeNumber("rate", flags.rate, { least: 80, most: 450 });
    const width = flags.width && wholeNumber("width", flags.width, { least: 10, most: 1000 });
    const settings: Partial<AnnouncerSettings> = {
      languages,
      ...(flags.verbosity ? { verbosity: flags.verbosity as (typeof VERBOSITIES)[number] } : {}),
      ...(flags.load ? { load: flags.load as (typeof LOADS)[number] } : {}),
      ...(rate ? { pace_wpm: rate } : {}),
    };
    const capabilities: ConnectOptions = {
      languages: [...languages],
      coalesce_boundaries: [braille ? "paragraph" : "sentence"],
      ...(settings.verbosity ? { preferred_verbosity: settings.verbosity } : {}),
      ...(settings.load ? { cognitive_load: settings.load } : {}),
      ...(rate ? { pace_wpm: rate } : {}),
    };
    const token = flags.token ?? (io.env["EARSHOT_TOKEN"] || undefined);
    const agents: FoundAgent[] = [];
    for (const wanted of args.length > 0 ? args : [undefined])
      agents.push(await chooseAgent(io, wanted, (lines) => whichOne(io, lines)));
    const subscribers: Subscriber[] = [];
    try {
      for (const { address } of agents) {
        const unknown = !flags.trust && !isLocal(address);
        const known = unknown ? { known: knownAgents(io, new Announcer({ languages })) } : {};
        subscribers.push(await connectTo(io, address, token, { ...capabilities, ...known }));
      }
      return await runTerminalSession(io, subscribers, {
        settings,
        keys: flags.keys,
        step: flags.step || braille !== undefined,
        speak: flags.speak,
        bell: !flags["no-bell"],
        json: flags.json,
        ...(braille === undefined ? {} : { braille }),
        ...(rate ? { rate } : {}),
        ...(width ? { width } : {}),
      });
    } catch (error) {
      await Promise.all(subscribers.map((one) => one.close()));
      throw error;
    }
  },
});

async function discover(io: Io, json: boolean): Promise<number> {
  const agents = await findAgents(io);
  if (json) for (const agent of agents) io.stdout.write(jsonLine(agent));
  else for (const line of listed(agents)) print(io, line);
  if (agents.length === 0)
    throw new CommandError(
      'No agent is running for you on this machine. Start one with "earshot demo".',
      EXIT.unreachable,
    );
  return EXIT.ok;
}

const whichOne = (io: Io, lines: readonly string[]): Promise<string | undefined> =>
  prompt(io, ["Several agents are running:", ...lines, "Type a number, then press Enter."]);
