/**
 * From catalog messages and event fields to runs of text. `Phrases` fills a message of the listener's catalog: the
 * message is in the listener's language, inserted content keeps its own. `EventText` reads an event's text fields in
 * the right language and verbosity, with untrusted characters neutralized.
 */
import type { AgentEvent, ProducerIdentity, Verbosity } from "../../protocol/types.ts";
import { pickVariant, type VariantBase } from "../../text/language.ts";
import { neutralize, oneLine, shorten } from "../../text/neutralize.ts";
import type { Catalog, MessageKey } from "../catalogs/catalog.ts";
import { catalogFor } from "../catalogs/index.ts";
import { type Run, run } from "./utterance.ts";

type Slot = string | number | Run | readonly Run[];
type Slots = Readonly<Record<string, Slot>>;

const primary = (tag: string): string => tag.toLowerCase().split("-")[0]!;
const ENDED = /[.!?…。！？؟۔:：]["'”’»）)」』]*\s*$/u;

/** Fills the messages of a catalog, in the listener's language. */
export class Phrases {
  readonly catalog: Catalog;
  readonly language: string;
  /** False where the listener's first language has no catalog, or no voice for it. */
  readonly fitting: boolean;
  readonly #plural: Intl.PluralRules;
  /** Created once: constructing an Intl formatter is slower than formatting a sentence. */
  readonly #numbers: Intl.NumberFormat;
  readonly #percents: Intl.NumberFormat;
  readonly #can: (language: string) => boolean;

  constructor(languages: readonly string[], can: (language: string) => boolean) {
    const found = catalogFor(languages, can);
    this.catalog = found.catalog;
    this.language = found.language;
    this.fitting = found.fitting;
    const { language } = this.catalog;
    const numberingSystem = "latn";
    this.#plural = new Intl.PluralRules(language);
    this.#numbers = new Intl.NumberFormat(language, { maximumFractionDigits: 2, numberingSystem });
    this.#percents = new Intl.NumberFormat(language, {
      style: "unit",
      unit: "percent",
      unitDisplay: "long",
      numberingSystem,
      maximumFractionDigits: 0,
    });
    this.#can = can;
  }

  /** Content in its own language. A regional variant of the catalog's language does not switch voices mid-sentence. */
  content(text: string, language: string | undefined): Run {
    return run(
      text,
      language !== undefined && primary(language) === primary(this.language) ? this.language : language,
    );
  }

  own(text: string): Run {
    return run(text, this.language);
  }

  speakable(language: string | undefined): boolean {
    return language === undefined || primary(language) === primary(this.language) || this.#can(language);
  }

  say(key: MessageKey, slots: Slots = {}): Run[] {
    const message = this.catalog.messages[key];
    const count = slots["count"];
    const template =
      typeof message === "string"
        ? message
        : (message[typeof count === "number" ? this.#plural.select(count) : "other"] ?? message.other ?? "");
    const runs: Run[] = [];
    let at = 0;
    for (const slot of template.matchAll(/\{(\w+)\}/g)) {
      runs.push(this.own(template.slice(at, slot.index)));
      const value = slots[slot[1]!] ?? "";
      if (typeof value === "string") runs.push(this.own(value));
      else if (typeof value === "number") runs.push(this.own(this.number(value)));
      else if ("text" in value) runs.push(value);
      else runs.push(...value);
      at = slot.index + slot[0].length;
    }
    let rest = template.slice(at);
    const before = runs.map(({ text }) => text).join("");
    // Avoid a doubled full stop, as in "Savings..".
    if (/^[.。]/.test(rest) && /[.!?…。！？؟]["'”’»）)」』]*$/u.test(before.trimEnd())) rest = rest.slice(1);
    runs.push(this.own(rest));
    return merge(runs);
  }

  text(key: MessageKey, slots: Slots = {}): string {
    return this.say(key, slots)
      .map(({ text }) => text)
      .join("");
  }

  number(value: number): string {
    return this.#numbers.format(value);
  }

  percent(value: number): string {
    return this.#percents.format(value);
  }

  /** "1 minute and 30 seconds". Longer durations are rounded more coarsely. */
  duration(ms: number): string {
    const step = ms > 120_000 ? 10 : 1;
    const seconds = Math.max(1, Math.round(ms / 1000 / step) * step);
    const hours = Math.floor(seconds / 3600);
    const minutes = Math.floor((seconds % 3600) / 60);
    const parts: [number, "hour" | "minute" | "second"][] = [
      [hours, "hour"],
      [minutes, "minute"],
      [hours > 0 || minutes >= 10 ? 0 : seconds % 60, "second"],
    ];
    const said = parts.filter(([amount]) => amount > 0).map(([amount, unit]) => this.#unit(amount, unit));
    const { and, language } = this.catalog;
    if (and !== undefined) return said.join(and);
    return new Intl.ListFormat(language, { type: "conjunction", style: "long" }).format(said);
  }

  #unit(amount: number, unit: "hour" | "minute" | "second"): string {
    const own = this.catalog.units?.[unit];
    if (own) return own.replace("{count}", String(amount));
    return new Intl.NumberFormat(this.catalog.language, {
      style: "unit",
      unit,
      unitDisplay: "long",
      numberingSystem: "latn",
    }).format(amount);
  }

  languageName(tag: string): string {
    try {
      return new Intl.DisplayNames(this.catalog.language, { type: "language" }).of(tag) ?? tag;
    } catch {
      return tag;
    }
  }

  /** Joins sentences, adding a full stop where one is missing. */
  join(parts: readonly (readonly Run[])[]): Run[] {
    const runs: Run[] = [];
    for (const part of parts) {
      if (part.every(({ text }) => text.trim() === "")) continue;
      const last = runs.at(-1);
      if (last) {
        const gap = /[。！？、」]$/u.test(last.text) ? "" : ENDED.test(last.text) ? " " : ". ";
        runs[runs.length - 1] = { ...last, text: last.text.trimEnd() + gap };
      }
      runs.push(...part);
    }
    return merge(runs);
  }

  /** Marks text that no voice can speak as `kept` and adds a spoken stand-in for it. */
  keepUnspeakable(runs: readonly Run[]): { runs: readonly Run[]; languages: string[] } {
    const languages = [
      ...new Set(runs.flatMap(({ language }) => (this.speakable(language) ? [] : [language!]))),
    ];
    if (languages.length === 0) return { runs, languages };
    const marked = runs.flatMap((one): Run[] => {
      if (this.speakable(one.language) || one.text.trim() === "") return [one];
      const instead = this.text("text_in", { language: this.languageName(one.language!) });
      return [
        { ...one, kept: true },
        { ...this.own(` ${instead} `), standIn: true },
      ];
    });
    return { runs: marked, languages };
  }
}

/** Joins adjacent runs of one language: switching voices mid-sentence is audible as a break. */
export function merge(runs: readonly Run[]): Run[] {
  const merged: Run[] = [];
  for (const one of runs) {
    if (one.text === "") continue;
    const last = merged.at(-1);
    // Spaces and punctuation have no language of their own.
    const neutral = !/[\p{L}\p{N}]/u.test(one.text);
    if (last && (neutral || (last.language === one.language && last.direction === one.direction)))
      merged[merged.length - 1] = { ...last, text: last.text + one.text };
    else merged.push(one);
  }
  return merged;
}

const FALLBACKS: Readonly<Record<Verbosity, readonly VariantBase[]>> = {
  terse: ["summary_terse", "summary_normal", "summary_detailed"],
  normal: ["summary_normal", "summary_terse", "summary_detailed"],
  detailed: ["summary_detailed", "summary_normal", "summary_terse"],
};
/** Names and labels appear inside Earshot's own sentences, so they must be too short to imitate one. */
const MAX_NAME_LENGTH = 80;

export class EventText {
  readonly phrases: Phrases;
  readonly #event: AgentEvent;
  readonly #languages: readonly string[];
  readonly #verbosity: Verbosity;
  #hidden = false;
  #mixed = false;

  constructor(event: AgentEvent, phrases: Phrases, languages: readonly string[], verbosity: Verbosity) {
    this.#event = event;
    this.phrases = phrases;
    this.#languages = languages;
    this.#verbosity = verbosity;
  }

  field(base: VariantBase): Run | undefined {
    const found = pickVariant(this.#event, base, this.#languages);
    return found && this.text(found.text, found.language);
  }

  summary(): Run | undefined {
    for (const base of FALLBACKS[this.#verbosity]) {
      const found = this.field(base);
      if (found) return found;
    }
    return undefined;
  }

  /** The shortest summary. */
  brief(): Run | undefined {
    return this.field("summary_terse") ?? this.field("summary_normal");
  }

  /** A text of this event, in the event's primary language. */
  plain(text: string): Run | undefined {
    return this.text(text, this.#event.localization_hints?.primary_language);
  }

  text(text: string, language: string | undefined): Run | undefined {
    const { text: clean, hidden, mixed } = neutralize(text, language);
    this.#hidden ||= hidden;
    this.#mixed ||= mixed;
    const line = oneLine(clean);
    if (line === "") return undefined;
    const run = this.phrases.content(line, language);
    // The declared text direction applies to the original text, not to its translations (CON-34).
    const { primary_language, text_direction } = this.#event.localization_hints ?? {};
    return text_direction !== undefined && language === primary_language
      ? { ...run, direction: text_direction }
      : run;
  }

  /** Includes a text in `warnings` without announcing it. */
  check(text = ""): void {
    this.text(text, undefined);
  }

  label(text: string): Run {
    const run = this.plain(text) ?? this.phrases.own("?");
    return { ...run, text: shorten(run.text, MAX_NAME_LENGTH) };
  }

  /** Warnings about deceptive characters in the texts read so far. */
  warnings(): Run[][] {
    return [
      ...(this.#mixed ? [this.phrases.say("mixed_scripts")] : []),
      ...(this.#hidden ? [this.phrases.say("hidden_text")] : []),
    ];
  }
}

/** A producer's name, made safe to insert in a sentence of Earshot's: one line, no sentence breaks, bounded. */
export function agentName({ agent_name, agent_id }: ProducerIdentity): string {
  const name = oneLine(neutralize(agent_name ?? agent_id).text)
    .replace(/[.!?:;。！？：]+/gu, " ")
    .trim();
  return shorten(oneLine(name) || agent_id, MAX_NAME_LENGTH);
}

/** Equal for texts a person could not tell apart by ear. */
export const soundKey = (text: string): string =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "");
