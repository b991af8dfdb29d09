/**
 * A list that can grow without slowing the page: all items are kept, the newest are rendered, and updates are batched per
 * animation frame.
 */
import { make } from "./dom.ts";

/** Items rendered at first, and added by each press of "Show earlier". */
const PAGE_SIZE = 100;

export interface UpdateHold {
  /** While true, lists are not updated, so that a person can read. */
  readonly held: boolean;
}

export class EventList<Item> {
  readonly items: Item[] = [];
  readonly #list: HTMLElement;
  readonly #earlier: HTMLButtonElement;
  readonly #count: HTMLElement;
  readonly #toElement: (item: Item) => HTMLElement;
  readonly #hold: UpdateHold;
  readonly #box: HTMLElement;
  #limit = PAGE_SIZE;
  /** Rendered items: items[from] up to, not including, items[to]. */
  #from = 0;
  #to = 0;
  #scheduled = false;

  /** `list` is inside `box`, which scrolls and is labelled by the heading with the id `title`. */
  constructor(
    { box, list, title }: { box: HTMLElement; list: HTMLElement; title: string },
    hold: UpdateHold,
    toElement: (item: Item) => HTMLElement,
  ) {
    // A scrollable area must be focusable and have a name.
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-labelledby", title);
    this.#box = box;
    this.#list = list;
    this.#hold = hold;
    this.#toElement = toElement;
    this.#earlier = make("button", { type: "button", class: "earlier", hidden: "" }, "Show earlier");
    this.#count = make("p", { class: "count" }, "Nothing yet.");
    this.#earlier.addEventListener("click", () => this.#showEarlier());
    box.before(this.#count, this.#earlier);
  }

  add(item: Item): void {
    this.items.push(item);
    this.render();
  }

  clear(): void {
    this.items.length = 0;
    this.#list.replaceChildren();
    this.#from = this.#to = 0;
    this.#limit = PAGE_SIZE;
    this.render();
  }

  /** Schedules rendering for the next animation frame. */
  render(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      if (!this.#hold.held) this.#flush();
      this.#updateCount();
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
      this.#list.append(...this.items.slice(this.#to).map((item) => this.#toElement(item)));
    this.#to = this.items.length;
    if (atEnd) box.scrollTop = box.scrollHeight;
  }

  #showEarlier(): void {
    const from = Math.max(0, this.#from - PAGE_SIZE);
    this.#list.prepend(...this.items.slice(from, this.#from).map((item) => this.#toElement(item)));
    this.#limit += PAGE_SIZE;
    this.#from = from;
    this.#box.scrollTop = 0;
    this.#updateCount();
    // The button may have been hidden: move the focus to the list.
    if (this.#earlier.hidden) this.#box.focus();
  }

  #updateCount(): void {
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
