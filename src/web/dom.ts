/** DOM helpers. Pages are built without HTML strings: all text goes into text nodes. */
import type { Run } from "../subscriber/announcer.ts";

export type Child = Node | string | undefined | false;

export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string | boolean | undefined>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  for (const child of children) if (child !== undefined && child !== false) element.append(child);
  return element;
}

/**
 * One element with `lang` and `dir` per run, so that screen readers use the right voice. Spaces stay outside: inside a run
 * of the other direction they would end up on the wrong side.
 */
export const runNodes = (runs: readonly Run[]): (Node | string)[] =>
  runs
    .filter(({ standIn }) => !standIn)
    .flatMap(({ text, language, direction }) => {
      const [, before = "", words = "", after = ""] = /^(\s*)(.*?)(\s*)$/su.exec(text) ?? [];
      return [before, make("span", { lang: language, dir: direction }, words), after].filter(
        (one) => one !== "",
      );
    });

/** The focused element, inside shadow roots too. */
export function deepActive(): Element | null {
  let active = document.activeElement;
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  return active;
}

/** Owners with an open question, and the title prefix of each. */
const titlePrefixes = new Map<object, string>();
let added = "";

/**
 * Prefixes the page title while a question is open: the title is what a person hears of a background tab. Changes the
 * page itself makes to its title are kept.
 */
export function markTitle(owner: object, words: string | undefined): void {
  if (words === undefined) titlePrefixes.delete(owner);
  else titlePrefixes.set(owner, words);
  const plain =
    added !== "" && document.title.startsWith(added) ? document.title.slice(added.length) : document.title;
  const [first] = titlePrefixes.values();
  added = first === undefined ? "" : `${first} – `;
  if (document.title !== added + plain) document.title = added + plain;
}
