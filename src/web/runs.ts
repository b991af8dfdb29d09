/** Small helpers for building pages without HTML text: every node is made, every word is a text node. */
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
 * Each stretch of one language in a node that says which it is, so that the right voice reads it in the right
 * direction. Blanks stay outside: inside, those of a text that runs the other way would be on its wrong side.
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
