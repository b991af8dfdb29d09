/**
 * Text from a producer made harmless before anyone hears it (CON-67, A08, A16): no bidi override, control character or
 * invisible filler gets through, honest right-to-left text and emoji do. What was taken out, and look-alike letters,
 * are reported, so that the person can be told. Nothing visible is ever removed: a question must not lose words.
 */
import { scriptOf } from "./language.ts";

interface Neutral {
  readonly text: string;
  /** Something invisible was taken out that no honest text needs. */
  readonly hidden: boolean;
  /** A word mixes scripts whose letters look alike, or imitates another one as a whole. */
  readonly mixed: boolean;
}

/**
 * Colours and cursor moves as programs write them: the sequence goes, the words around it stay. Only these, and never
 * where a letter after the mark may begin a word: everything else loses its mark alone.
 */
const TERMINAL_SEQUENCE = /\u001b\[[0-?]*(?:m|[A-HJKSTfhlsu](?!\p{Ll}))/gu;
/** Where the text of a sequence (a window title, a link) begins or ends: only the marks go, lest words hide in there. */
const TERMINAL_STRING = /\u001b[\]PX^_\\]/gu;
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/gu;
const BIDI_FORCE = /[\u202a-\u202e]/gu;
const FILLER =
  /\u034f|\u17b4|\u17b5|[\u180b-\u180d]|[\u00ad\u115f\u1160\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]/gu;
/** Tag characters spell the flags of regions; anywhere else they are a hidden message. */
const TAGS = /(\u{1f3f4}[\u{e0020}-\u{e007e}]{1,16}\u{e007f})|[\u{e0000}-\u{e0fff}]/gu;
/** Joiners belong between letters of scripts that join, and between emoji. */
const JOINER = /\u200c|\u200d/gu;
const JOINING =
  "Arabic Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Syriac Mongolian";
const joining = JOINING.split(" ").map((script) => `\\p{Script=${script}}`);
const JOINER_HONEST = new RegExp(
  `(?<=[${joining.join("")}\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\p{M}])[\\u200c\\u200d](?=[\\p{L}\\p{M}\\p{Extended_Pictographic}])`,
  "uy",
);
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const WORD = /[\p{L}\p{M}]+/gu;
const LOOK_ALIKE = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u];
/** Cyrillic and Greek words made only of letters that pass for Latin ones. */
const DISGUISED = /^[аеорсухіјѕԁһԛԝѵАВЕКМНОРСТУХІЈЅνορικΑΒΕΖΗΙΚΜΝΟΡΤΥΧ]{2,}$/u;

export function neutralize(given: string, language?: string): Neutral {
  let hidden = false;
  const take = (text: string, pattern: RegExp, by: string | ((match: string) => string)): string =>
    text.replace(pattern, (match) => {
      const kept = typeof by === "string" ? by : by(match);
      if (kept !== match) hidden = true;
      return kept;
    });
  let text = given.replaceAll("\r\n", "\n").replace(/[\r\u2028\u2029\u0085]/g, "\n");
  text = text.replace(LONE_SURROGATE, "\ufffd").replaceAll("\t", " ");
  text = take(text, TERMINAL_STRING, " ");
  text = take(text, TERMINAL_SEQUENCE, "");
  text = take(text, CONTROL, " ");
  text = take(text, BIDI_FORCE, "");
  text = take(text, FILLER, "");
  text = take(text, TAGS, (match) => (match.startsWith("\u{1f3f4}") ? match : ""));
  text = text.replace(JOINER, (match, at: number, whole: string) => {
    JOINER_HONEST.lastIndex = at;
    if (JOINER_HONEST.test(whole)) return match;
    hidden = true;
    return "";
  });
  const balanced = balance(text);
  return {
    text: balanced.normalize("NFC"),
    hidden: hidden || balanced !== text,
    mixed: imitates(text, language),
  };
}

/** An isolate left open would reorder what follows, our own frame included; one closed twice would break out of it. */
function balance(text: string): string {
  if (!/[\u2066-\u2069]/.test(text)) return text;
  let open = 0;
  const kept = text.replace(/[\u2066-\u2069]/g, (mark) => {
    if (mark !== "\u2069") {
      open++;
      return mark;
    }
    if (open === 0) return "";
    open--;
    return mark;
  });
  return kept + "\u2069".repeat(open);
}

function imitates(text: string, language: string | undefined): boolean {
  const script = language === undefined ? undefined : scriptOf(language);
  for (const [word] of text.matchAll(WORD)) {
    if (LOOK_ALIKE.filter((one) => one.test(word)).length > 1) return true;
    if (script === "Latn" && DISGUISED.test(word)) return true;
  }
  return false;
}

/** One line: for names and labels, which must not start a line of their own. */
export const oneLine = (text: string): string => text.replace(/\s+/gu, " ").trim();

/** At most so many characters, never half of one (I18N-12). */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  let kept = "";
  for (const { segment } of graphemes.segment(text)) {
    if (kept.length + segment.length > most - 1) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}

const graphemes = new Intl.Segmenter("und", { granularity: "grapheme" });
