// At the opening of a line and of a sentence: which block the line belongs to, whether a line end was only a
// wrap, and what the sentence opens with.
import { EMOJI, EXTEND, LOWER, OPEN, QUOTE, UPPER } from "./classes.ts";
import { TIME_LEAD_IN } from "./data.ts";
import { endsSentence } from "./decide.ts";
import { wordSet } from "./language.ts";
import {
  acceptsMarker,
  BLANK_QUOTE,
  BULLET,
  CLOSED,
  FENCE,
  follows,
  HEADING,
  ITEM,
  type Line,
  levelOfBlocks,
  NOT_A_FENCE,
  OPENING_LINE,
  opensList,
  PROSE,
  readMarkdownLine,
  readMarker,
  readNumber,
  readPlainLine,
  stepFence,
  TABLE,
  UNDERLINE,
} from "./lines.ts";
import { FENCED, PARAGRAPH, pauses, type Scan, SENTENCE, TEXT, WORD } from "./state.ts";

/** A line no longer than this may be an item without a mark. */
const BARE_MOST = 40;

const leadIns = wordSet(TIME_LEAD_IN);

export function openLine(s: Scan) {
  const { tape, at, list, newlines, markdown } = s;
  const first = !s.content;
  // After a blank line the kind of line changes nothing, so the listener need not wait for it.
  if (!first && newlines > 1 && tape.at(at) !== 0x3e && tape.kind(at) !== EXTEND && !tape.starved)
    s.emit(at, PARAGRAPH);
  const prose = !first && newlines === 1 && (s.block === PROSE || s.block === ITEM);
  const line = markdown ? readMarkdownLine(tape, at, prose) : readPlainLine(tape, at);
  const opensParagraph = first || newlines > 1;
  const free = opensParagraph || s.block !== PROSE || s.lastUnit === 0x3a || s.stop !== undefined;
  if (line.marker && !acceptsMarker(line.marker, list, free, opensParagraph)) {
    line.kind = PROSE;
    delete line.marker;
  }
  // Code set off by its indent, which no list item explains.
  if (
    markdown &&
    s.indent >= 4 &&
    list.style === 0 &&
    (opensParagraph || s.block === TABLE) &&
    line.content === at
  ) {
    line.kind = TABLE;
    delete line.marker;
  }
  if (line.kind === BLANK_QUOTE) {
    if (tape.starved) return;
    s.newlines = 2;
    s.at = line.content;
    return;
  }
  if (tape.kind(at) === EXTEND) return s.cancelStop();
  let level = 0;
  if (!first) {
    const known = levelOfBlocks(s.block, line.kind, newlines);
    level = known >= 0 ? known : levelOfProse(s, line.content, line.content > at);
  }
  if (tape.starved) return;
  s.content = true;
  enterLine(s, line, level, first);
}

/** A single line end between two lines of prose (or of an item): a wrapped line, or the next sentence. */
function levelOfProse(s: Scan, content: number, quoted: boolean): number {
  const { tape, stop, lastUnit } = s;
  if (s.hardBreak || (quoted && !s.quoted)) return SENTENCE;
  const kind = tape.kind(content);
  if (kind === EMOJI) return SENTENCE;
  if (s.block === ITEM && s.indent === 0 && kind !== LOWER) return SENTENCE;
  if (stop) {
    const ends = !s.isUnit() && endsSentence(tape, s.profile, stop, s.sentence, content);
    return ends ? SENTENCE : WORD;
  }
  if (pauses(lastUnit) && pauses(tape.at(content))) return SENTENCE;
  if (s.isUnit()) return WORD;
  // "Shopping list:", and then a few words to the line.
  const short = s.at - s.lineStart <= BARE_MOST;
  s.bare = short && (s.bare || lastUnit === 0x3a);
  if (s.bare) return SENTENCE;
  if (kind === LOWER) return WORD;
  return lastUnit === 0x3a || (s.keyed && kind === UPPER) ? SENTENCE : WORD;
}

function enterLine(s: Scan, line: Line, level: number, first: boolean) {
  const { at, list } = s;
  s.stop = undefined;
  s.emit(at, level);
  const fresh = first || level >= SENTENCE;
  if (line.kind !== PROSE || fresh) s.block = line.kind === UNDERLINE ? HEADING : line.kind;
  if (fresh || line.kind === TABLE) s.lineStart = at;
  s.quoted = s.markdown && line.content > at;
  s.keyed = false;
  if (level === PARAGRAPH || line.marker) s.bare = false;
  if (line.marker) {
    list.style = line.marker.style;
    list.value = line.marker.value;
  } else if (level === PARAGRAPH && line.kind !== FENCE) {
    list.style = 0;
    list.value = -1;
  }
  if (line.kind === FENCE) {
    s.fence = { mark: line.mark, length: line.length, place: OPENING_LINE };
    s.state = FENCED;
  } else if (fresh) s.beginSentence(line.marker !== undefined);
  else {
    s.sentence.words++;
    s.state = TEXT;
  }
  s.at = line.marker?.end ?? line.content;
}

export function inFence(s: Scan) {
  const { tape, fence } = s;
  const next = stepFence(tape, fence, s.at);
  if (tape.starved) return;
  s.at = next;
  if (fence.place === CLOSED || fence.place === NOT_A_FENCE) {
    s.state = TEXT;
    if (fence.place === NOT_A_FENCE) s.block = PROSE;
  }
}

export function atFirst(s: Scan) {
  const { tape, list } = s;
  if (s.marked) return readOpening(s, s.at);
  const bullet = list.style === BULLET;
  const marker = bullet ? readMarker(tape, s.at, false) : readNumber(tape, s.at);
  // "Do this. 1. Open it. 2. Close it."
  const opens = marker?.value === 1 && opensList(tape, s.at) !== undefined;
  if (tape.starved) return;
  const goesOn = marker && (bullet ? marker.style === BULLET : follows(list, marker));
  const next = goesOn || opens ? marker : undefined;
  readOpening(s, next?.end ?? s.at);
  if (!next || tape.starved) return;
  list.style = next.style;
  list.value = next.value;
}

function readOpening(s: Scan, from: number) {
  const { tape, sentence } = s;
  let at = from;
  let kind = tape.kind(at);
  const quoted = kind === QUOTE || (kind === OPEN && "“‘«‹„‚「『".includes(String.fromCharCode(tape.at(at))));
  if (quoted) kind = tape.kind(++at);
  const leadIn = kind === UPPER && leadIns.has(tape.word(at, 9));
  if (tape.starved) return;
  sentence.quoted = quoted;
  sentence.pictured = kind === EMOJI;
  sentence.lower = kind === LOWER;
  sentence.leadIn = leadIn;
  s.at = from;
  s.state = TEXT;
}
