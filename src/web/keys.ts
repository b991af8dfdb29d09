/**
 * What the person's hands are doing. A question must not open under someone who types, and no key that was struck for
 * something else may answer it: one held since before or from the first moment, one that repeats, or the second of two
 * quick ones.
 */
import { deepActive } from "./announce.ts";

/** So long without a key, and nobody is typing any more. */
export const PAUSE_MS = 2_000;
/** Keys that press buttons or close dialogs. */
const PRESSING: ReadonlySet<string> = new Set(["Enter", "NumpadEnter", "Space"]);
const DECIDING: ReadonlySet<string> = new Set([...PRESSING, "Escape"]);
/** A second stroke this soon after a dialog has gone was meant for it, not for the page behind it. */
const DOUBLE_MS = 500;

const EDITABLE =
  "input:not([type=button],[type=checkbox],[type=radio],[type=submit],[type=reset],[type=range],[type=color],[type=file],[type=image]), textarea, select, [contenteditable]:not([contenteditable=false]), [role=textbox], [role=searchbox], [role=combobox]";

export class Keys {
  readonly #down = new Set<string>();
  readonly #stop = new AbortController();
  #typedAt = -Infinity;
  #composing = false;
  #stale = new Set<string>();
  #deafUntil = -Infinity;
  /** While a dialog is open: when presses begin to count. */
  #armedAt: number | undefined;
  #touched: () => void;

  /** `touched` is called whenever the person does something here. */
  constructor(touched: () => void) {
    this.#touched = touched;
    const options = { capture: true, signal: this.#stop.signal } as const;
    window.addEventListener("keydown", (event) => this.#keydown(event), options);
    window.addEventListener("keyup", (event) => this.#keyup(event), options);
    window.addEventListener("pointerdown", () => this.#touched(), options);
    window.addEventListener("blur", () => this.#down.clear(), options);
    window.addEventListener("input", () => this.#typed(), options);
    window.addEventListener("compositionstart", () => this.#compose(true), options);
    window.addEventListener("compositionend", () => this.#compose(false), options);
  }

  close(): void {
    this.#stop.abort();
  }

  /** When a question may open: now, or so many milliseconds after now. */
  typingFor(): number {
    const active = deepActive();
    // What happens inside a frame nobody tells this page; a list that is open is being read.
    if (this.#composing || active?.matches("iframe, frame, object, embed") || isOpenList(active))
      return PAUSE_MS;
    return Math.max(0, this.#typedAt + PAUSE_MS - performance.now());
  }

  /** A dialog opens, or shows something else: keys that are down now say nothing to it, nor do those of its first moment. */
  renew(armedAt: number): void {
    this.#stale = new Set(this.#down);
    this.#armedAt = armedAt;
  }

  /** A dialog has gone. */
  gone(): void {
    this.#stale = new Set(this.#down);
    this.#armedAt = undefined;
    this.#deafUntil = performance.now() + DOUBLE_MS;
  }

  #typed(): void {
    this.#typedAt = performance.now();
  }

  #compose(on: boolean): void {
    this.#composing = on;
    this.#typed();
  }

  #keydown(event: KeyboardEvent): void {
    this.#touched();
    const { code } = event;
    this.#down.add(code);
    const editing = isEditable(deepActive());
    // Letters are typing wherever they go: there are editors that a page cannot be seen to have.
    if (editing || (code !== "Space" && event.key.length === 1 && !event.ctrlKey && !event.metaKey))
      this.#typed();
    if (!DECIDING.has(code)) return;
    const now = performance.now();
    const early = this.#armedAt !== undefined && now < this.#armedAt && PRESSING.has(code);
    if ((early && !editing) || (now < this.#deafUntil && !(code === "Space" && editing)))
      this.#stale.add(code);
    const repeated = event.repeat && this.#armedAt !== undefined && !editing;
    if (repeated || this.#stale.has(code)) swallow(event);
  }

  #keyup(event: KeyboardEvent): void {
    this.#down.delete(event.code);
    // A space bar presses its button when it is let go.
    if (this.#stale.delete(event.code) && DECIDING.has(event.code)) swallow(event);
  }
}

const isEditable = (active: Element | null): boolean =>
  active !== null && (active.matches(EDITABLE) || (active as HTMLElement).isContentEditable);

const isOpenList = (active: Element | null): boolean =>
  active?.localName === "select" && CSS.supports("selector(:open)") && active.matches(":open");

function swallow(event: Event): void {
  event.preventDefault();
  event.stopImmediatePropagation();
}
