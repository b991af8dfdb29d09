/** Output of `earshot listen`: lines in a terminal, speech, braille, or JSON for a program; step by step on request. */
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
import { messagesIn } from "./messages/index.ts";

export interface OutputOptions {
  /** Speak as well: with the speech of this machine, or with the given voice. */
  readonly speak?: boolean | Voice;
  /** Braille lines of so many cells, or the person's braille display. */
  readonly braille?: number | "display";
  /** Words a minute, spoken. */
  readonly rate?: number;
  readonly width?: number;
  readonly bell?: boolean;
  readonly json?: boolean;
}

/** A voice with the controls a person needs where output takes time. */
export interface Output extends Voice {
  /** Stops what is being said, because the person has started to act on it. */
  hush?(): void;
  /** The next utterance is what the person asked for: it replaces what they were reading. */
  jump?(): void;
  /** Pans forward; `more`: another utterance is waiting. */
  forward?(more: boolean): void;
  back?(): void;
  /** The last utterance, replacing whatever is being said. It is on the screen already. */
  last?(utterance: Utterance): Promise<void>;
}

interface OutputHost {
  readonly language: string;
  /** Whole lines. */
  write(text: string): void;
  /** Reports a problem with the output itself. */
  tell(text: string): void;
  /** The person pressed a key of their braille display. */
  pan(direction: "forward" | "back"): void;
}

export async function createOutput(options: OutputOptions, host: OutputHost): Promise<Output> {
  const { write, tell } = host;
  if (options.braille !== undefined) return braille(options.braille, host);
  const written = options.json
    ? jsonVoice(write)
    : createTerminalVoice({
        write,
        bell: options.bell !== false,
        ...(options.width === undefined ? {} : { width: options.width }),
      });
  if (!options.speak) return written;
  const spoken = options.speak === true ? await speech(options.rate) : options.speak;
  return both(written, spoken, () => tell(messagesIn(host.language).speechFailed));
}

/** One JSON object per line, without characters that control a terminal. */
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

/** Writes and speaks: an utterance counts as heard once it was spoken. */
function both(written: Voice, spoken: Voice, failed: () => void): Output {
  const shown = new Set<number>();
  let told = false;
  let over = false;
  return {
    async say(utterance: Utterance) {
      if (over) return;
      // An interrupted utterance is spoken again from its start, but it is on the screen already.
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

/** How long the last utterance may take. */
const LAST_SPEECH_MS = 15_000;
/** Only recently interrupted utterances can come again. */
const MOST_SHOWN = 1000;

/** More display windows than any text has. */
const MOST_WINDOWS = 4096;

async function braille(
  where: number | "display",
  { language, write, tell, pan }: OutputHost,
): Promise<Output> {
  const device = where === "display" ? await connectBrlapi({ pan, lost: tell }) : undefined;
  const width = device?.width ?? Number(where);
  let shown = "";
  let mark = 0;
  let silent = false;
  /** The next utterance replaces the text on the display, because the person asked for it: any utterance, or only an answer. */
  let turn: "anything" | "answer" | undefined;
  /** The person has left the text on the display: a waiting mark on it is useless. */
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
    // A terminal cannot change one cell: the line is written again only if it says something new.
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

/** The speech of this machine: its speech server first, since that has the person's settings. */
async function speech(rate: number | undefined): Promise<Voice> {
  const options = rate === undefined ? {} : { rate };
  const candidates: (() => Promise<Voice>)[] =
    process.platform === "darwin"
      ? [() => macVoice(options)]
      : process.platform === "win32"
        ? [async () => createProgramVoice({ ...options, command: powershellCommand, can: () => true })]
        : [() => createSpeechDispatcherVoice(options), () => createEspeakVoice(options)];
  for (const create of candidates) {
    const voice = await create().catch(() => undefined);
    if (voice) return voice;
  }
  throw new CommandError(
    'No speech output was found: neither speech-dispatcher nor espeak-ng answers. Install one, e.g. "apt install espeak-ng", or leave out --speak. "earshot doctor" gives details.',
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

/** One utterance at a time: nothing new appears until the person asks for it; the person is told once that something waits. */
export interface StepVoice extends Voice {
  /** Outputs the waiting utterance; false if there is none. */
  next(): boolean;
  readonly holding: boolean;
  /** The waiting utterance is urgent. */
  readonly urgent: boolean;
}

export interface StepOptions {
  readonly voice: Voice;
  /** Whether to output it at once, because the person asked for it. */
  mayPass(utterance: Utterance): boolean;
  /** How many more wait behind it. */
  waiting(): number;
  /** Tells the person briefly that something waits. */
  tell(what: "something" | "urgent"): void;
  /** The utterance with the number of those behind it. */
  counted(utterance: Utterance, more: number): Utterance;
}

export function stepping({ voice, mayPass, waiting, tell, counted }: StepOptions): StepVoice {
  let held: { readonly utterance: Utterance; readonly done: () => void } | undefined;
  let notified: "nothing" | "something" | "urgent" = "nothing";
  const isUrgent = () => held?.utterance.urgency === "critical";
  return {
    say(utterance) {
      if (mayPass(utterance)) return voice.say(utterance);
      return new Promise((resolve) => {
        held = { utterance, done: resolve };
        if (isUrgent() ? notified !== "urgent" : notified === "nothing") {
          notified = isUrgent() ? "urgent" : "something";
          tell(notified);
        }
      });
    },
    stop() {
      // The announcer hands it out again, after what was more urgent.
      if (held) held = undefined;
      else voice.stop();
    },
    next() {
      if (!held) return false;
      const { utterance, done } = held;
      held = undefined;
      const more = waiting();
      // The count says that more waits: only something urgent is worth another notice.
      notified = more > 0 ? "something" : "nothing";
      const saying = voice.say(more > 0 ? counted(utterance, more) : utterance);
      if (saying) saying.then(done, done);
      else done();
      return true;
    },
    get holding() {
      return held !== undefined;
    },
    get urgent() {
      return isUrgent();
    },
    can: (language) => voice.can(language),
    close: () => voice.close(),
  };
}
