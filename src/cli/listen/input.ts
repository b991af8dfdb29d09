/** What a person types, or a program writes, as lines that say how they came. */
import { StringDecoder } from "node:string_decoder";
import type { Io } from "../command.ts";
import { Keyboard, type Typed } from "./keyboard.ts";

export interface Line {
  readonly text: string;
  /** When its first letter came. */
  readonly began: number;
  /** Not typed letter by letter with an Enter of its own: it may have been written long before it was read. */
  readonly inOnePiece: boolean;
  /** Typed or dictated or pasted: a whole line, alone, in one piece. */
  readonly phrase: boolean;
  /** From a pipe or a file: nobody is known to sit there. */
  readonly piped: boolean;
}

export interface InputEvents {
  line(line: Line): void;
  key(key: string): void;
  pasted(): void;
  /** Lines that came at once and were too many to be meant. */
  dropped(count: number): void;
  interrupt(): void;
  end(): void;
  echo(text: string): void;
  /** Keys that act by themselves right now. */
  keys(): ReadonlySet<string>;
}

/** What is more in one piece is a program talking to itself, such as `yes`. */
const MOST_LINES = 20;
const FLOOD_PAUSE_MS = 1000;
const LONGEST_LINE = 16_384;

export interface Input {
  /** What is being typed right now. */
  readonly typed: string;
  /** Throws it away; true if there was something. */
  discard(): boolean;
  close(): void;
}

export function readInput(io: Io, now: () => number, events: InputEvents): Input {
  const { stdin } = io;
  return stdin.isTTY === true && stdin.setRawMode ? byHand(stdin, now, events) : byPipe(stdin, now, events);
}

function byHand(stdin: Io["stdin"], now: () => number, events: InputEvents): Input {
  const keyboard = new Keyboard();
  const decoder = new StringDecoder("utf8");
  let closed = false;
  const act = (typed: Typed) => {
    if (closed) return;
    if (typed.do === "echo") events.echo(typed.text);
    else if (typed.do === "line")
      events.line({
        text: typed.text,
        began: typed.began,
        inOnePiece: typed.pasted,
        phrase: typed.phrase,
        piped: false,
      });
    else if (typed.do === "key") events.key(typed.key);
    else events[typed.do]();
  };
  const read = (chunk: Buffer | string) => {
    const text = typeof chunk === "string" ? chunk : decoder.write(chunk);
    for (const typed of keyboard.feed(text, now(), events.keys())) act(typed);
  };
  const end = () => events.end();
  stdin.setRawMode!(true);
  stdin.on("data", read).on("end", end).resume();
  return {
    get typed() {
      return keyboard.line;
    },
    discard: () => keyboard.discard(),
    close() {
      closed = true;
      stdin.off("data", read).off("end", end).pause();
      stdin.setRawMode!(false);
    },
  };
}

/** A pipe that ends is no reason to stop listening: only its answers have ended. */
function byPipe(stdin: Io["stdin"], now: () => number, events: InputEvents): Input {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  let pause: NodeJS.Timeout | undefined;
  const read = (chunk: Buffer | string) => {
    const lines = (rest + (typeof chunk === "string" ? chunk : decoder.write(chunk))).split(/\r?\n/u);
    rest = lines.pop()!.slice(0, LONGEST_LINE);
    // Of a flood each word once: nobody wants to be told the same twenty times.
    const taken = lines.length > MOST_LINES ? [...new Set(lines.slice(0, MOST_LINES))] : lines;
    for (const text of taken)
      events.line({
        text: text.trim(),
        began: now(),
        inOnePiece: lines.length > 1 || rest !== "",
        phrase: false,
        piped: true,
      });
    if (lines.length === taken.length) return;
    events.dropped(lines.length - taken.length);
    stdin.pause();
    pause = setTimeout(() => stdin.resume(), FLOOD_PAUSE_MS);
  };
  const fail = () => undefined;
  stdin.on("data", read).on("error", fail).resume();
  return {
    typed: "",
    discard: () => false,
    close() {
      clearTimeout(pause);
      stdin.off("data", read).off("error", fail).pause();
    },
  };
}
