/** DOM helpers. The page is built without HTML strings: all text goes into text nodes. */

export type Child = Node | string | undefined | false;

export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string | undefined>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined) element.setAttribute(key, value);
  for (const child of children) if (child !== undefined && child !== false) element.append(child);
  return element;
}

/** The page's own elements, by the ids in index.html. */
export function byId<Kind extends HTMLElement = HTMLElement>(id: string): Kind {
  const element = document.getElementById(id);
  if (!element) throw new Error(`index.html has no element with the id ${id}.`);
  return element as Kind;
}

const two = (value: number): string => String(value).padStart(2, "0");

/** Local time, to the millisecond. */
function clockTime(at: number): string {
  const date = new Date(at);
  if (Number.isNaN(at)) return "no time";
  const seconds = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return `${seconds}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

export const timeNode = (at: number): HTMLElement =>
  Number.isNaN(at)
    ? make("span", {}, clockTime(at))
    : make("time", { datetime: new Date(at).toISOString() }, clockTime(at));

/** The result of the person's own action, in the page's only live region. */
export function tellStatus(sentence: string): void {
  byId("status").textContent = sentence;
}

/** Downloads text as a file, without a server. */
export function saveFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  make("a", { href: url, download: name }).click();
  // By then the download has started.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
