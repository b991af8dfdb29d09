/** An event's texts for one listener: in its language where there is one, at its verbosity, made harmless. */

import type { AgentEvent, ProducerIdentity, Verbosity } from "../../protocol/types.ts";
import { pickVariant, type VariantBase } from "../../text/language.ts";
import { neutralize, oneLine, shorten } from "../../text/neutralize.ts";
import type { Phrases } from "./phrase.ts";
import type { Run } from "./utterance.ts";

const ORDER: Readonly<Record<Verbosity, readonly VariantBase[]>> = {
  terse: ["summary_terse", "summary_normal", "summary_detailed"],
  normal: ["summary_normal", "summary_terse", "summary_detailed"],
  detailed: ["summary_detailed", "summary_normal", "summary_terse"],
};
/** Names and labels are spoken within our own sentences: they must not be long enough to pass for some. */
const LONGEST_NAME = 80;

export class Reader {
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
    for (const base of ORDER[this.#verbosity]) {
      const found = this.field(base);
      if (found) return found;
    }
    return undefined;
  }

  /** The shortest there is. */
  brief(): Run | undefined {
    return this.field("summary_terse") ?? this.field("summary_normal");
  }

  /** A text of this event in the event's language. */
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
    // What the event says of its own text's direction holds for that text, not for its translations (CON-34).
    const { primary_language, text_direction } = this.#event.localization_hints ?? {};
    return text_direction !== undefined && language === primary_language
      ? { ...run, direction: text_direction }
      : run;
  }

  /** Nothing is said of this text but whether it can be trusted to be what it sounds like. */
  heed(text = ""): void {
    this.text(text, undefined);
  }

  label(text: string): Run {
    const run = this.plain(text) ?? this.phrases.own("?");
    return { ...run, text: shorten(run.text, LONGEST_NAME) };
  }

  /** What a person must know about the text itself, in our words, before they trust it. */
  warnings(): Run[][] {
    return [
      ...(this.#mixed ? [this.phrases.say("mixed_scripts")] : []),
      ...(this.#hidden ? [this.phrases.say("hidden_text")] : []),
    ];
  }
}

/** A producer's name, fit to stand in a sentence of ours: no line breaks, no quotation out of it, not endless. */
export function nameOf({ agent_name, agent_id }: ProducerIdentity): string {
  const name = oneLine(neutralize(agent_name ?? agent_id).text)
    .replace(/[.!?:;。！？：]+/gu, " ")
    .trim();
  return shorten(oneLine(name) || agent_id, LONGEST_NAME);
}
