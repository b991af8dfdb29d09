// The bounded memory of the segmenter: a ring of the most recent code units. Rules read it through `at`, which
// notes when a rule asked for text that has not arrived. A rule that starved is simply asked again later, so a
// decision depends on the text alone and never on how the text was cut into tokens.
import { classOfPair, classOfUnit, EXTEND, NEWLINE, SPACE, SURROGATE } from "./classes.ts";

export const EOF = -1;
const SIZE = 4096;
const MASK = SIZE - 1;
/** Most units to append before scanning: leaves room for look-back and for a starved rule's look-ahead. */
export const SLICE = 2048;

export class Tape {
  readonly units: Uint16Array = new Uint16Array(SIZE);
  readonly mask: number = MASK;
  end = 0;
  floor = 0;
  closed = false;
  starved = false;

  append(text: string, from: number, to: number): void {
    const units = this.units;
    let end = this.end;
    for (let i = from; i < to; i++) units[end++ & MASK] = text.charCodeAt(i);
    this.end = end;
  }

  at(offset: number): number {
    if (offset < this.end) return this.units[offset & MASK]!;
    if (!this.closed) this.starved = true;
    return EOF;
  }

  /** The unit at a passed offset (not far back: the ring forgets), or EOF beyond the last flush. */
  past(offset: number): number {
    return offset < this.floor ? EOF : this.units[offset & MASK]!;
  }

  /** Class of the code point starting at an offset; 0 at the end. */
  kind(offset: number): number {
    const unit = this.at(offset);
    if (unit === EOF) return 0;
    if ((unit & 0xfc00) !== 0xd800) return classOfUnit(unit);
    const low = this.at(offset + 1);
    if ((low & 0xfc00) !== 0xdc00) return SURROGATE;
    return classOfPair(((unit - 0xd800) << 10) + (low - 0xdc00) + 0x10000);
  }

  pastKind(offset: number): number {
    const unit = this.past(offset);
    if (unit === EOF) return 0;
    if ((unit & 0xfc00) === 0xdc00) return this.kind(offset - 1);
    return classOfUnit(unit);
  }

  width(offset: number): number {
    return (this.at(offset) & 0xfc00) === 0xd800 && (this.at(offset + 1) & 0xfc00) === 0xdc00 ? 2 : 1;
  }

  text(from: number, to: number): string {
    let out = "";
    for (let i = from; i < to; i++) out += String.fromCharCode(this.units[i & MASK]!);
    return out;
  }

  /** The text in NFC: most of it has no marks, and then there is nothing to do. */
  composed(from: number, to: number): string {
    let high = 0;
    for (let i = from; i < to; i++) high |= this.units[i & MASK]!;
    const text = this.text(from, to);
    return high < 0x300 ? text : text.normalize("NFC");
  }

  /** The letters starting at an offset, at most `most` units. */
  word(offset: number, most = 16): string {
    let i = offset;
    while (i < offset + most) {
      const kind = this.kind(i);
      if (kind === 0 || (kind > 3 && kind !== EXTEND)) break;
      i += this.width(i);
    }
    return this.composed(offset, Math.min(i, this.end));
  }

  /** First offset from here on that is not horizontal space, looking over at most `most` units. */
  skipSpaces(offset: number, most = 12): number {
    let i = offset;
    while (i < offset + most && this.kind(i) === SPACE) i++;
    return i;
  }

  isBlank(offset: number): boolean {
    const kind = this.kind(offset);
    return kind === 0 || kind === SPACE || kind === NEWLINE;
  }
}
