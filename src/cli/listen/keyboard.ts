/**
 * A person's typing, key by key: what came by hand, what came in one piece, and what to show for it. The terminal is
 * in raw mode, since only then is it known when a key was pressed: a line begun before a question was heard must not
 * answer it. Pure: chunks and the time in, acts out.
 */

export type Typed =
  /** To be written, so that the person sees and hears what they type. */
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
  /** A text with line ends came in one piece; it waits for Enter. */
  | { readonly do: "pasted" }
  | { readonly do: "interrupt" }
  | { readonly do: "end" };

/** A key again within this time is being held down, not pressed again. */
export const HELD_MS = 700;
/** Nobody presses Enter so soon after a piece of several characters: it is the end of a paste that came in two. */
const PASTE_TAIL_MS = 30;
/**
 * A whole line at once with nothing near it: what dictation, a switch or an on-screen keyboard sends. It may also be a
 * paste, so that it can begin an answer and never be all of it.
 */
const PHRASE_ALONE_MS = 250;
const LONGEST_PHRASE = 200;
/** No hand is faster than this, letter after letter. */
const FASTEST_KEY_MS = 20;
const LONGEST_LINE = 16_384;

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });
/** Arrow keys and the like, and what a terminal answers to questions nobody asked here. */
const SEQUENCE = /^\u001b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[^[\]O])/u;
const UNFINISHED = /^\u001b(?:\[[0-?]*[ -/]*|O|\][^\u0007\u001b]*\u001b?)?$/u;
const PASTE_BEGINS = "\u001b[200~";
const PASTE_ENDS = "\u001b[201~";

export class Keyboard {
  #line = "";
  #began = 0;
  #pasted = false;
  /** Between the marks of a terminal that marks pastes, whoever told it to. */
  #bracketed = false;
  #rest = "";
  #pieceAt = Number.NEGATIVE_INFINITY;
  #lastKey = { key: "", at: Number.NEGATIVE_INFINITY };

  /** What stands on the line so far. */
  get line(): string {
    return this.#line;
  }

  /** Throws away what was typed so far; true if there was anything. */
  discard(): boolean {
    const had = this.#line.trim() !== "";
    this.#line = "";
    this.#pasted = false;
    return had;
  }

  /** `keys`: those that act by themselves while the line is empty. */
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
    // Letters of other scripts come in several units; two of them at once are a piece.
    if ([...graphemes.segment(visible)].length > 1) this.#pieceAt = now;
    return out;
  }

  /** A slow machine may hand over the last letters together with Enter: a line begun by hand is one all the same. */
  #isEndOfTyping(visible: string, now: number): boolean {
    const [, letters] = /^([^\r]+)\r$/u.exec(visible) ?? [];
    const count = letters === undefined ? Number.POSITIVE_INFINITY : [...graphemes.segment(letters)].length;
    const byHand = this.#line !== "" && !this.#pasted && !this.#bracketed;
    return (
      byHand && count <= 2 && now - this.#lastKey.at >= PASTE_TAIL_MS && now - this.#pieceAt >= PASTE_TAIL_MS
    );
  }

  /** Letter by letter, but all at once: a program types. Two letters may be struck together. */
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
        // On an empty line there is nothing to move away from: a blank line would only be in a reader's way.
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

  /** As the terminal itself would: back, blank, back. */
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

/** Characters of East Asia and emoji take two. */
const cellsOf = (grapheme: string): number =>
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u.test(
    grapheme,
  )
    ? 2
    : 1;
