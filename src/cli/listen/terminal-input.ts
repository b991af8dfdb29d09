/**
 * What a person types, or a pipe delivers, as lines that say how they were entered. The terminal is in raw mode, since
 * only then is it known when each key was pressed: a line begun before a question was heard must not answer it.
 * `Keyboard` is pure: chunks and the time in, actions out.
 */
import { StringDecoder } from "node:string_decoder";
import type { Io } from "../command.ts";

/** One line of input, with how it was entered. */
export interface InputLine {
  readonly text: string;
  /** When its first letter arrived. */
  readonly began: number;
  /** Not typed letter by letter with its own Enter: it may have been written long before it was read. */
  readonly pasted: boolean;
  /** Dictated or pasted: a whole line at once, with no other input around it. */
  readonly phrase: boolean;
  /** From a pipe or a file: there may be no person. */
  readonly piped: boolean;
}

export interface InputEvents {
  line(line: InputLine): void;
  key(key: string): void;
  pasted(): void;
  /** More lines arrived at once than a person can mean. */
  dropped(count: number): void;
  interrupt(): void;
  end(): void;
  echo(text: string): void;
  /** Keys that act without Enter right now. */
  keys(): ReadonlySet<string>;
}

/** More lines than this at once come from a program, such as `yes`. */
const MOST_LINES = 20;
const FLOOD_PAUSE_MS = 1000;

export interface Input {
  /** The line being typed. */
  readonly typed: string;
  /** Discards it; true if there was one. */
  discard(): boolean;
  close(): void;
}

export function readInput(io: Io, now: () => number, events: InputEvents): Input {
  const { stdin } = io;
  return stdin.isTTY === true && stdin.setRawMode
    ? fromTerminal(stdin, now, events)
    : fromPipe(stdin, now, events);
}

function fromTerminal(stdin: Io["stdin"], now: () => number, events: InputEvents): Input {
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
        pasted: typed.pasted,
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

/** The end of a pipe does not end listening: there are only no more answers. */
function fromPipe(stdin: Io["stdin"], now: () => number, events: InputEvents): Input {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  let pause: NodeJS.Timeout | undefined;
  const read = (chunk: Buffer | string) => {
    const lines = (rest + (typeof chunk === "string" ? chunk : decoder.write(chunk))).split(/\r?\n/u);
    rest = lines.pop()!.slice(0, LONGEST_LINE);
    // Of a flood, each distinct line once: the same reply twenty times helps nobody.
    const taken = lines.length > MOST_LINES ? [...new Set(lines.slice(0, MOST_LINES))] : lines;
    for (const text of taken)
      events.line({
        text: text.trim(),
        began: now(),
        pasted: lines.length > 1 || rest !== "",
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

export type Typed =
  /** To be written back, so that the person sees and hears what they type. */
  | { readonly do: "echo"; readonly text: string }
  | {
      readonly do: "line";
      readonly text: string;
      readonly began: number;
      readonly pasted: boolean;
      readonly phrase: boolean;
    }
  /** One key, in a listener that takes single keys. */
  | { readonly do: "key"; readonly key: string }
  /** Text with line ends was pasted; it waits for Enter. */
  | { readonly do: "pasted" }
  | { readonly do: "interrupt" }
  | { readonly do: "end" };

/** The same key again within this time is held down, not pressed again. */
export const HELD_MS = 700;
/** Enter this soon after several characters at once is the end of a paste that arrived in two chunks. */
const PASTE_TAIL_MS = 30;
/**
 * A whole line at once with no other input around it: what dictation, a switch or an on-screen keyboard sends. It may
 * also be a paste, so its yes always needs a second step.
 */
const PHRASE_ALONE_MS = 250;
const LONGEST_PHRASE = 200;
/** Nobody types faster than this, letter after letter. */
const FASTEST_KEY_MS = 20;
const LONGEST_LINE = 16_384;

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });
/** Escape sequences: arrow keys and the like, and replies of the terminal. */
const SEQUENCE = /^\u001b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[^[\]O])/u;
const UNFINISHED = /^\u001b(?:\[[0-?]*[ -/]*|O|\][^\u0007\u001b]*\u001b?)?$/u;
const PASTE_BEGINS = "\u001b[200~";
const PASTE_ENDS = "\u001b[201~";

export class Keyboard {
  #line = "";
  #began = 0;
  #pasted = false;
  /** Within a bracketed paste, no matter which program enabled that mode. */
  #bracketed = false;
  #rest = "";
  #pieceAt = Number.NEGATIVE_INFINITY;
  #lastKey = { key: "", at: Number.NEGATIVE_INFINITY };

  /** The line typed so far. */
  get line(): string {
    return this.#line;
  }

  /** Discards the line typed so far; true if there was one. */
  discard(): boolean {
    const had = this.#line.trim() !== "";
    this.#line = "";
    this.#pasted = false;
    return had;
  }

  /** `keys`: those that act without Enter while the line is empty. */
  feed(chunk: string, now: number, keys: ReadonlySet<string> = new Set()): Typed[] {
    const text = (this.#rest + chunk).replaceAll("\r\n", "\r").replaceAll("\n", "\r");
    this.#rest = "";
    const out: Typed[] = [];
    const visible = text.replaceAll(/\u001b\[[0-?]*[ -/]*[@-~]/gu, "");
    const phrase = this.#isPhrase(text, now);
    const inOnePiece =
      !phrase &&
      visible.length > 1 &&
      /[^\r]/u.test(visible) &&
      /\r/u.test(visible) &&
      !this.#isEndOfTyping(visible, now);
    const tail = /^\r/u.test(visible) && now - this.#pieceAt < PASTE_TAIL_MS;
    let told = false;
    let at = 0;
    while (at < text.length) {
      const rest = text.slice(at);
      if (rest.startsWith("\u001b")) {
        if (UNFINISHED.test(rest) && rest.length > 1 && rest.length < 64) {
          this.#rest = rest;
          break;
        }
        const sequence = SEQUENCE.exec(rest)?.[0] ?? "\u001b";
        if (sequence === PASTE_BEGINS) this.#bracketed = true;
        if (sequence === PASTE_ENDS) this.#bracketed = false;
        at += sequence.length;
        continue;
      }
      const character = String.fromCodePoint(rest.codePointAt(0)!);
      at += character.length;
      if (character === "\r" && !phrase && (inOnePiece || tail || this.#bracketed || this.#tooFast(now))) {
        out.push(...this.#add(" ", now, NONE));
        told = true;
        this.#pasted = true;
      } else
        out.push(
          ...this.#take(character, now, phrase || inOnePiece || this.#bracketed ? NONE : keys, phrase),
        );
    }
    if (told) out.push({ do: "pasted" });
    // Count graphemes: letters of some scripts consist of several code units. Two at once are a paste.
    if ([...graphemes.segment(visible)].length > 1) this.#pieceAt = now;
    return out;
  }

  /** A slow machine may deliver the last letters together with Enter: a line begun by hand still counts as typed. */
  #isEndOfTyping(visible: string, now: number): boolean {
    const [, letters] = /^([^\r]+)\r$/u.exec(visible) ?? [];
    const count = letters === undefined ? Number.POSITIVE_INFINITY : [...graphemes.segment(letters)].length;
    const byHand = this.#line !== "" && !this.#pasted && !this.#bracketed;
    return (
      byHand && count <= 2 && now - this.#lastKey.at >= PASTE_TAIL_MS && now - this.#pieceAt >= PASTE_TAIL_MS
    );
  }

  /** Letter by letter but too fast: a program types. Two letters may be struck together. */
  #tooFast(now: number): boolean {
    const letters = this.#pasted ? 0 : [...graphemes.segment(this.#line)].length;
    return letters > 2 && now - this.#began < letters * FASTEST_KEY_MS;
  }

  #isPhrase(text: string, now: number): boolean {
    const alone = now - Math.max(this.#lastKey.at, this.#pieceAt) >= PHRASE_ALONE_MS;
    const whole = /^[^\r\u001b]{2,}\r$/u.test(text) && text.length <= LONGEST_PHRASE;
    return alone && whole && this.#line === "" && !this.#bracketed && this.#rest === "";
  }

  #take(character: string, now: number, keys: ReadonlySet<string>, phrase: boolean): Typed[] {
    switch (character) {
      case "\r": {
        // On an empty line no echo: a blank line would only be in a screen reader's way.
        const echo = this.#line === "" ? [] : [{ do: "echo", text: "\n" } as const];
        const began = this.#line === "" ? now : this.#began;
        const line = { do: "line", text: this.#line.trim(), began, pasted: this.#pasted, phrase } as const;
        this.discard();
        return [...echo, line];
      }
      case "\u0003":
        return [{ do: "interrupt" }];
      case "\u0004":
        return this.#line === "" ? [{ do: "end" }] : [];
      case "\u007f":
      case "\b":
        return this.#erase(1);
      case "\u0015":
        return this.#erase(Number.POSITIVE_INFINITY);
      case "\u0017":
        return this.#erase([...graphemes.segment(/\S*\s*$/u.exec(this.#line)?.[0] ?? "")].length);
      default:
        return /[\u0000-\u001f\u007f-\u009f]/u.test(character) ? [] : this.#add(character, now, keys);
    }
  }

  #add(character: string, now: number, keys: ReadonlySet<string>): Typed[] {
    const held = this.#lastKey.key === character && now - this.#lastKey.at < HELD_MS;
    this.#lastKey = { key: character, at: now };
    if (this.#line === "" && keys.has(character)) return held ? [] : [{ do: "key", key: character }];
    if (this.#line.length >= LONGEST_LINE) return [];
    if (this.#line === "") this.#began = now;
    this.#line += character;
    return [{ do: "echo", text: character }];
  }

  /** Erases as the terminal itself would: back, blank, back. */
  #erase(most: number): Typed[] {
    const all = [...graphemes.segment(this.#line)].map(({ segment }) => segment);
    const gone = all.splice(Math.max(0, all.length - most));
    this.#line = all.join("");
    if (this.#line === "") this.#pasted = false;
    const cells = gone.reduce((sum, one) => sum + cellsOf(one), 0);
    return cells === 0 ? [] : [{ do: "echo", text: "\b \b".repeat(cells) }];
  }
}

const NONE: ReadonlySet<string> = new Set();

/** East Asian characters and emoji take two cells. */
const cellsOf = (grapheme: string): number =>
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u.test(
    grapheme,
  )
    ? 2
    : 1;

/** Output to a terminal at which a person may be typing: a new line never lands in the middle of typed text. */
export class Screen {
  readonly #io: Io;
  readonly #typed: () => string;
  /** Echo never goes to a stream that a program reads results from. */
  readonly #echoes: Io["stdout"] | Io["stderr"];

  constructor(io: Io, typed: () => string, echo: "stdout" | "stderr") {
    this.#io = io;
    this.#typed = typed;
    this.#echoes = io[echo];
  }

  echo(text: string): void {
    this.#echoes.write(text);
  }

  /** Writes whole lines. The line being typed is repeated below them. */
  write(lines: string): void {
    const typed = this.#typed();
    if (typed !== "") this.#echoes.write("\n");
    this.#io.stdout.write(lines);
    if (typed !== "") this.#echoes.write(typed);
  }
}
