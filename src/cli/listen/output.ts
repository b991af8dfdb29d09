/** Where the words go: lines in a terminal, speech, braille, or JSON for a program. */
import { execFile } from "node:child_process";
import { textOf, type Utterance } from "../../subscriber/announcer.ts";
import {
  connectBrlapi,
  createBrailleVoice,
  createEspeakVoice,
  createLiblouis,
  createProgramVoice,
  createSpeechDispatcherVoice,
  createTerminalVoice,
  macVoices,
  powershellCommand,
  sayCommand,
  type Voice,
  WAITS,
  WAITS_URGENTLY,
} from "../../voices/index.ts";
import { CommandError } from "../command.ts";
import { saysFor } from "./texts.ts";

export interface OutputOptions {
  /** Aloud as well: with what this machine has, or with a voice of one's own. */
  readonly speak?: boolean | Voice;
  /** Lines of so many cells, or the person's braille display. */
  readonly braille?: number | "display";
  /** Words a minute, spoken. */
  readonly rate?: number;
  readonly width?: number;
  readonly bell?: boolean;
  readonly json?: boolean;
}

/** A voice, and what else it can do where saying takes time. */
export interface Output extends Voice {
  /** Ends what is being said, because the person has begun to act on it. */
  hush?(): void;
  /** What is said next is what the person asked for: it takes the place of what they were reading. */
  jump?(): void;
  /** On along the line; `more` says that something waits to be said behind it. */
  forward?(more: boolean): void;
  back?(): void;
  /** The last words of all, in place of whatever is being said. They are on the screen already. */
  last?(utterance: Utterance): Promise<void>;
}

export interface Surroundings {
  readonly language: string;
  /** Whole lines. */
  write(text: string): void;
  /** Something about the output itself. */
  tell(text: string): void;
  /** The person pressed a key of their braille display. */
  pan(direction: "forward" | "back"): void;
}

export async function createOutput(options: OutputOptions, around: Surroundings): Promise<Output> {
  const { write, tell } = around;
  if (options.braille !== undefined) return braille(options.braille, around);
  const written = options.json
    ? jsonVoice(write)
    : createTerminalVoice({
        write,
        bell: options.bell !== false,
        ...(options.width === undefined ? {} : { width: options.width }),
      });
  if (!options.speak) return written;
  const spoken = options.speak === true ? await speech(options.rate) : options.speak;
  return both(written, spoken, () => tell(saysFor(around.language).speechFailed));
}

/** One JSON object on a line, with nothing in it that could steer a terminal. */
export const jsonLine = (value: unknown): string =>
  `${JSON.stringify(value).replaceAll(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )}\n`;

function jsonVoice(write: (text: string) => void): Voice {
  return {
    say(utterance) {
      const { asked: _, ...rest } = utterance;
      write(jsonLine({ utterance: { ...rest, text: textOf(utterance) } }));
    },
    stop: () => undefined,
    can: () => true,
    close: async () => undefined,
  };
}

/** Written and spoken: it counts as heard once it was spoken. */
function both(written: Voice, spoken: Voice, failed: () => void): Output {
  const shown = new Set<number>();
  let told = false;
  let over = false;
  return {
    async say(utterance: Utterance) {
      if (over) return;
      // What was interrupted is spoken again from its start, but it is on the screen already.
      if (!shown.has(utterance.id)) void written.say(utterance);
      shown.add(utterance.id);
      if (shown.size > MOST_SHOWN) shown.delete(shown.values().next().value!);
      try {
        await spoken.say(utterance);
      } catch {
        if (!told) failed();
        told = true;
      }
    },
    stop: () => spoken.stop(),
    hush: () => spoken.stop(),
    async last(utterance) {
      over = true;
      spoken.stop();
      const timeout = new Promise<void>((resolve) => setTimeout(resolve, LAST_SPEECH_MS).unref());
      await Promise.race([Promise.resolve(spoken.say(utterance)).catch(() => undefined), timeout]);
    },
    can: (language) => spoken.can(language),
    close: () => spoken.close(),
  };
}

/** So long saying what leaving means may take. */
const LAST_SPEECH_MS = 15_000;
/** Only what was interrupted of late can come again. */
const MOST_SHOWN = 1000;

/** More windows than any text has. */
const MOST_WINDOWS = 4096;

async function braille(
  where: number | "display",
  { language, write, tell, pan }: Surroundings,
): Promise<Output> {
  const device = where === "display" ? await connectBrlapi({ pan, lost: tell }) : undefined;
  const width = device?.width ?? Number(where);
  let shown = "";
  let mark = 0;
  let silent = false;
  /** What comes next takes the place of the text that was read, since the person asked for it: anything, or an answer to them. */
  let turn: "anything" | "answer" | undefined;
  /** The person has turned away from the text that is shown: a mark on it tells them nothing. */
  let left = false;
  const rank = (cell: string) => [WAITS, WAITS_URGENTLY].indexOf(cell) + 1;
  const voice = createBrailleVoice({ translator: createLiblouis(language), width, show: () => show() });
  const turnFrom = (id: number | undefined) => {
    silent = true;
    for (let i = 0; i < MOST_WINDOWS && voice.display.shown?.id === id; i++) voice.forward();
    silent = false;
  };
  const show = (): void => {
    if (silent) return;
    const waits = rank(voice.display.line().slice(-1));
    if ((turn === "anything" && waits > 0) || (turn === "answer" && waits > 1)) {
      turnFrom(voice.display.shown?.id);
      turn = undefined;
      left = false;
    }
    if (left) return;
    const line = voice.display.line();
    const text = line.slice(0, -1);
    // A terminal cannot change one cell: the line is written again only if that says something new.
    if (device) device.show(line);
    else if (text !== shown || rank(line.slice(-1)) > mark) write(`${line}\n`);
    shown = text;
    mark = rank(line.slice(-1));
  };
  return {
    ...voice,
    async close() {
      await Promise.all([voice.close(), device?.close()]);
    },
    hush() {
      turnFrom(voice.display.shown?.id);
      left = true;
    },
    jump() {
      turn = "answer";
    },
    forward(more) {
      left = false;
      const before = voice.display.line();
      voice.forward();
      if (more && voice.display.line() === before) turn = "anything";
    },
  };
}

/** The speech this machine has: its own speech server first, since that is how a person has set it up. */
async function speech(rate: number | undefined): Promise<Voice> {
  const options = rate === undefined ? {} : { rate };
  const ways: (() => Promise<Voice>)[] =
    process.platform === "darwin"
      ? [() => macVoice(options)]
      : process.platform === "win32"
        ? [async () => createProgramVoice({ ...options, command: powershellCommand, can: () => true })]
        : [() => createSpeechDispatcherVoice(options), () => createEspeakVoice(options)];
  for (const way of ways) {
    const voice = await way().catch(() => undefined);
    if (voice) return voice;
  }
  throw new CommandError(
    'There is no speech on this machine: neither speech-dispatcher nor espeak-ng answers. Install one, e.g. "apt install espeak-ng", or leave out --speak. "earshot doctor" tells more.',
  );
}

async function macVoice(options: { rate?: number }): Promise<Voice> {
  const listing = await new Promise<string>((resolve, reject) =>
    execFile("say", ["-v", "?"], (error, out) => (error ? reject(error) : resolve(out))),
  );
  const voices = macVoices(listing);
  return createProgramVoice({
    ...options,
    command: (language, wpm) => sayCommand(language, wpm, voices),
    can: (language) =>
      voices.has(language.toLowerCase()) || voices.has(language.split("-")[0]!.toLowerCase()),
  });
}
