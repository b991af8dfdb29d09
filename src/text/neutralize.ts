/**
 * Sanitizes untrusted text from a producer (CON-67, A08, A16): removes bidi overrides, control characters and invisible
 * fillers, but keeps legitimate right-to-left text and emoji. Reports removals and look-alike letters, so that the
 * person can be warned. Never removes anything visible: a question must not lose words.
 */
import { scriptOf } from "./language.ts";

interface SafeText {
  readonly text: string;
  /** Invisible characters were removed that legitimate text does not need. */
  readonly hidden: boolean;
  /** A word mixes scripts with look-alike letters (homoglyphs), or is written entirely in them. */
  readonly mixed: boolean;
}

/**
 * Terminal escape sequences for colours and cursor movement are removed entirely. Of all others, and where the final
 * letter may start a word, only the escape character is removed.
 */
const TERMINAL_SEQUENCE = /\u001b\[[0-?]*(?:m|[A-HJKSTfhlsu](?!\p{Ll}))/gu;
/** Start or end of a string sequence (window title, link): only the marks are removed, so that no words are hidden. */
const TERMINAL_STRING = /\u001b[\]PX^_\\]/gu;
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/gu;
const BIDI_OVERRIDE = /[\u202a-\u202e]/gu;
const FILLER =
  /\u034f|\u17b4|\u17b5|[\u180b-\u180d]|[\u00ad\u115f\u1160\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]/gu;
/** Tag characters are legitimate in flag emoji; anywhere else they can hide text. */
const TAGS = /(\u{1f3f4}[\u{e0020}-\u{e007e}]{1,16}\u{e007f})|[\u{e0000}-\u{e0fff}]/gu;
/** Zero-width joiners are legitimate between letters of joining scripts and between emoji. */
const JOINER = /\u200c|\u200d/gu;
const JOINING =
  "Arabic Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Khmer Syriac Mongolian";
const joining = JOINING.split(" ").map((script) => `\\p{Script=${script}}`);
const LEGITIMATE_JOINER = new RegExp(
  `(?<=[${joining.join("")}\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\p{M}])[\\u200c\\u200d](?=[\\p{L}\\p{M}\\p{Extended_Pictographic}])`,
  "uy",
);
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const WORD = /[\p{L}\p{M}]+/gu;
const LOOK_ALIKE = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u];
/** Cyrillic and Greek words of only Latin look-alikes. */
const ALL_LOOK_ALIKE = /^[аеорсухіјѕԁһԛԝѵАВЕКМНОРСТУХІЈЅνορικΑΒΕΖΗΙΚΜΝΟΡΤΥΧ]{2,}$/u;

/** Makes untrusted text safe to speak and show: no control or invisible characters, look-alike words marked. */
export function neutralize(source: string, language?: string): SafeText {
  let hidden = false;
  const remove = (text: string, pattern: RegExp, by: string | ((match: string) => string)): string =>
    text.replace(pattern, (match) => {
      const kept = typeof by === "string" ? by : by(match);
      if (kept !== match) hidden = true;
      return kept;
    });
  let text = source.replaceAll("\r\n", "\n").replace(/[\r\u2028\u2029\u0085]/g, "\n");
  text = text.replace(LONE_SURROGATE, "\ufffd").replaceAll("\t", " ");
  text = remove(text, TERMINAL_STRING, " ");
  text = remove(text, TERMINAL_SEQUENCE, "");
  text = remove(text, CONTROL, " ");
  text = remove(text, BIDI_OVERRIDE, "");
  text = remove(text, FILLER, "");
  text = remove(text, TAGS, (match) => (match.startsWith("\u{1f3f4}") ? match : ""));
  text = text.replace(JOINER, (match, at: number, whole: string) => {
    LEGITIMATE_JOINER.lastIndex = at;
    if (LEGITIMATE_JOINER.test(whole)) return match;
    hidden = true;
    return "";
  });
  const balanced = balance(text);
  return {
    text: balanced.normalize("NFC"),
    hidden: hidden || balanced !== text,
    mixed: hasLookAlikes(text, language),
  };
}

/** Balances bidi isolates: an open one would reorder the text after it, an extra closing one would end ours. */
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

function hasLookAlikes(text: string, language: string | undefined): boolean {
  const script = language === undefined ? undefined : scriptOf(language);
  for (const [word] of text.matchAll(WORD)) {
    if (LOOK_ALIKE.filter((one) => one.test(word)).length > 1) return true;
    if (script === "Latn" && ALL_LOOK_ALIKE.test(word)) return true;
  }
  return false;
}

/** Collapses whitespace into one line, for names and labels. */
export const oneLine = (text: string): string => text.replace(/\s+/gu, " ").trim();

/** Truncates to `most` UTF-16 units between grapheme clusters (I18N-12). */
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
