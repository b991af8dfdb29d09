/** `earshot listen`: hear an agent, and answer it. */

import { Announcer, type AnnouncerSettings } from "../../subscriber/announcer.ts";
import type { ConnectOptions, Subscriber } from "../../subscriber/index.ts";
import { CommandError, command, EXIT, type Io, print, wholeNumber } from "../command.ts";
import { chooseAgent, findAgents, listed, type Place } from "../listen/find.ts";
import { isLocal, knownAgents } from "../listen/known.ts";
import { asTag, systemLanguage } from "../listen/language.ts";
import { listenIn } from "../listen/listen-in.ts";
import { openLine } from "../listen/open-line.ts";
import { jsonLine } from "../listen/output.ts";
import { prompt } from "../listen/prompt.ts";

const VERBOSITIES = ["terse", "normal", "detailed"] as const;
const LOADS = ["low", "medium", "high"] as const;

export default command({
  takes: "[address...]",
  most: 8,
  about: [
    "Says what an agent does, line by line, and takes your answers: a word, then Enter. Without an address it takes the only agent that runs for you on this machine, or asks which. An address is a URL (http, https, ws, wss, grpc, grpcs), unix:PATH, pipe:NAME, stdio:COMMAND, a port, or the name of an agent on this machine.",
    "",
    "While it runs: yes, no, more (time), repeat, what (is happening), a number for a choice, your own words where the agent asks for some; help lists the rest. What is risky or cannot be undone takes two words: yes, then, after it was read back to you, confirm.",
    "",
    "Only what you type after a question was finished answers it. Text that was typed before, a key that is held down, or a paste of several lines never says yes. One line that comes all at once, as dictation sends it, may answer, but its yes always takes a second step. From a pipe or a file nothing risky or irreversible can be allowed at all: there only a person at a terminal can.",
  ].join("\n"),
  flags: {
    discover: { type: "boolean", help: "List the agents that run for you on this machine, and end." },
    token: {
      type: "string",
      value: "TOKEN",
      help: "What the agent wants to see; or set EARSHOT_TOKEN. For your own agents on this machine it is found by itself.",
    },
    trust: {
      type: "boolean",
      help: "Hear an agent on another machine that you have not met, without being asked first.",
    },
    speak: { type: "boolean", help: "Speak as well: speech-dispatcher, espeak-ng, or what the system has." },
    braille: {
      type: "string",
      value: "CELLS|display",
      help: "Braille in place of letters, a line at a time: written in so many cells, or on your display through brltty. Implies --step.",
    },
    step: { type: "boolean", help: "Nothing new appears until you press Enter." },
    keys: { type: "boolean", help: "Single keys for everything but yes and confirm; help lists them." },
    lang: {
      type: "string",
      value: "TAG",
      multiple: true,
      help: "Your language, such as es or pt-BR; give it again for others you read. By default that of your system.",
    },
    verbosity: { type: "string", choices: VERBOSITIES, help: "How much is said of each thing." },
    load: { type: "string", choices: LOADS, help: "How much there is at all: low is the least." },
    rate: { type: "string", value: "WORDS", help: "Words a minute, from 80 to 450." },
    width: {
      type: "string",
      value: "COLUMNS",
      help: "Break lines here. By default they are left whole, for screen readers.",
    },
    json: { type: "boolean", help: "One JSON object on each line: events, and what a person would hear." },
    "no-bell": { type: "boolean", help: "No bell for questions and endings." },
  },
  examples: [
    ["earshot listen", "hear the agent that is running on this machine"],
    ["earshot listen http://127.0.0.1:4600", "hear the agent at this address"],
    ["earshot listen --speak --lang es", "in Spanish, aloud"],
    ["earshot listen --braille 40", "as braille, a line at a time"],
    ["earshot listen --discover", "see which agents are there"],
    ["earshot listen --json < /dev/null", "for a program that reads along"],
  ],
  exits: [
    [EXIT.ok, "you left with quit or Ctrl+D, or the program was asked to end."],
    [EXIT.failed, "the agent ended the connection, or there is no speech or braille on this machine."],
    [EXIT.usage, "the command line is wrong, or several agents run and none was chosen."],
    [EXIT.unreachable, "nothing answers at the address, it refuses the token, or you do not trust it."],
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
    const places: Place[] = [];
    for (const wanted of args.length > 0 ? args : [undefined])
      places.push(await chooseAgent(io, wanted, (lines) => whichOne(io, lines)));
    const subscribers: Subscriber[] = [];
    try {
      for (const { address } of places) {
        const stranger = !flags.trust && !isLocal(address);
        const known = stranger ? { known: knownAgents(io, new Announcer({ languages })) } : {};
        subscribers.push(await openLine(io, address, token, { ...capabilities, ...known }));
      }
      return await listenIn(io, subscribers, {
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
