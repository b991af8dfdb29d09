/** The fields of an open question: choices, a number, words, yes or no; whichever of them it takes (CNF-27). */
import type { AwaitingClarification } from "../protocol/types.ts";
import type { AnswerInput } from "../subscriber/announcer.ts";
import { neutralize } from "../text/neutralize.ts";
import type { Wording } from "./languages.ts";
import { make } from "./runs.ts";

/** What stands in the fields. */
export interface Draft {
  readonly text: string;
  readonly chosen: number;
}

export interface QuestionForm {
  draft(): Draft;
  restore(draft: Draft): void;
  readonly nodes: readonly HTMLElement[];
  /** What the person put in; undefined if nothing yet. */
  read(): AnswerInput | undefined;
  /** Says at the field that something is missing, and goes there. */
  complain(): void;
  readonly yesNo: boolean;
}

export function questionForm(event: AwaitingClarification, { words, language }: Wording): QuestionForm {
  const kinds = event.accepted_response_kinds ?? ["freetext"];
  const choices = kinds.includes("multiple_choice") ? (event.choices ?? []) : [];
  const radios = choices.map((_, index) =>
    make("input", { type: "radio", name: "choice", id: `choice-${index}`, value: String(index + 1) }),
  );
  const hints = event.localization_hints?.primary_language;
  const error = make(
    "p",
    { id: "error", part: "error", class: "error", lang: language, hidden: true },
    words.not_an_answer,
  );
  const nodes: HTMLElement[] = [];
  if (radios.length > 0) {
    const options = radios.map((radio, index) =>
      make(
        "div",
        { class: "choice", part: "choice" },
        radio,
        make("label", { for: radio.id, lang: hints, dir: "auto" }, neutralize(choices[index]!.label).text),
      ),
    );
    nodes.push(
      make("fieldset", { part: "choices" }, make("legend", { lang: language }, words.choose), ...options),
    );
  }
  const numeric = kinds.includes("numeric") && !kinds.includes("freetext");
  const typed = numeric || kinds.includes("freetext");
  const field = numeric
    ? make("input", { id: "answer", inputmode: "decimal", autocomplete: "off", part: "field" })
    : make("textarea", { id: "answer", rows: "3", part: "field", dir: "auto" });
  if (typed) {
    const label = make(
      "label",
      { for: "answer", lang: language },
      numeric ? words.your_number : words.your_answer,
    );
    nodes.push(make("div", { class: "field" }, label, field));
  }
  nodes.push(error);
  const first = radios[0] ?? field;
  return {
    nodes,
    yesNo: kinds.includes("yes_no"),
    draft: () => ({ text: field.value, chosen: radios.findIndex(({ checked }) => checked) }),
    restore({ text, chosen }) {
      field.value = text;
      const radio = radios[chosen];
      if (radio) radio.checked = true;
    },
    read() {
      const text = typed ? field.value.trim() : "";
      if (text !== "") return { kind: "text", text };
      const chosen = radios.find(({ checked }) => checked);
      return chosen && { kind: "text", text: chosen.value };
    },
    complain() {
      error.hidden = false;
      for (const one of [...radios, field]) one.setAttribute("aria-describedby", "error");
      field.setAttribute("aria-invalid", "true");
      first.focus();
    },
  };
}
