/**
 * A list that may grow without end while the page stays quick and still: everything is kept, the newest are shown, and
 * whatever came since the last frame is drawn at once.
 */
import { make } from "./dom.ts";

/** Entries in the page at first, and how many more each press of the button brings. */
export const SHOWN = 100;

export interface Held {
  /** While true, lists stay as they are: somebody is reading. */
  readonly held: boolean;
}

export class Rows<Item> {
  readonly items: Item[] = [];
  readonly #list: HTMLElement;
  readonly #earlier: HTMLButtonElement;
  readonly #count: HTMLElement;
  readonly #render: (item: Item) => HTMLElement;
  readonly #hold: Held;
  readonly #box: HTMLElement;
  #limit = SHOWN;
  /** Those in the page are items[from] up to items[to]. */
  #from = 0;
  #to = 0;
  #drawn = false;

  /** `list` is in `box`, which scrolls, and is named by the heading with the id `title`. */
  constructor(
    { box, list, title }: { box: HTMLElement; list: HTMLElement; title: string },
    hold: Held,
    render: (item: Item) => HTMLElement,
  ) {
    // What scrolls must be reachable by keyboard, and say what it is.
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-labelledby", title);
    this.#box = box;
    this.#list = list;
    this.#hold = hold;
    this.#render = render;
    this.#earlier = make("button", { type: "button", class: "earlier", hidden: "" }, "Show earlier");
    this.#count = make("p", { class: "count" }, "Nothing yet.");
    this.#earlier.addEventListener("click", () => this.#showEarlier());
    box.before(this.#count, this.#earlier);
  }

  add(item: Item): void {
    this.items.push(item);
    this.draw();
  }

  clear(): void {
    this.items.length = 0;
    this.#list.replaceChildren();
    this.#from = this.#to = 0;
    this.#limit = SHOWN;
    this.draw();
  }

  /** With the next frame, together with everything else that came. */
  draw(): void {
    if (this.#drawn) return;
    this.#drawn = true;
    requestAnimationFrame(() => {
      this.#drawn = false;
      if (!this.#hold.held) this.#flush();
      this.#tell();
    });
  }

  #flush(): void {
    const box = this.#box;
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    const from = Math.max(this.#from, this.items.length - this.#limit);
    if (from >= this.#to) {
      this.#list.replaceChildren();
      this.#to = from;
    } else for (let gone = from - this.#from; gone > 0; gone--) this.#list.firstElementChild?.remove();
    this.#from = from;
    if (this.#to < this.items.length)
      this.#list.append(...this.items.slice(this.#to).map((item) => this.#render(item)));
    this.#to = this.items.length;
    if (atEnd) box.scrollTop = box.scrollHeight;
  }

  #showEarlier(): void {
    const from = Math.max(0, this.#from - SHOWN);
    this.#list.prepend(...this.items.slice(from, this.#from).map((item) => this.#render(item)));
    this.#limit += SHOWN;
    this.#from = from;
    this.#box.scrollTop = 0;
    this.#tell();
    // The button may be gone: the list it was about is where the person wants to be.
    if (this.#earlier.hidden) this.#box.focus();
  }

  #tell(): void {
    const { length } = this.items;
    this.#earlier.hidden = this.#from === 0;
    const shown = this.#to - this.#from;
    const waiting = length - this.#to;
    const all =
      length === 0
        ? "Nothing yet."
        : shown === length
          ? `${length} in all.`
          : `${shown} of ${length.toLocaleString("en")}, from number ${(this.#from + 1).toLocaleString("en")}.`;
    const text = waiting > 0 && length > 0 ? `${all} ${waiting.toLocaleString("en")} newer wait.` : all;
    if (this.#count.textContent !== text) this.#count.textContent = text;
  }
}
