/**
 * Protects questions from accidental keys. A question does not open while the person types, and a key press meant for
 * something else does not answer it: a key held since before it opened or pressed in its first moment, a repeating key,
 * or the second of a double press.
 */
import { deepActive } from "./dom.ts";

/** Without a key press for this long, the person is no longer typing. */
const PAUSE_MS = 2_000;
/** Keys that press buttons or close dialogs. */
const PRESSING: ReadonlySet<string> = new Set(["Enter", "NumpadEnter", "Space"]);
const DECIDING: ReadonlySet<string> = new Set([...PRESSING, "Escape"]);
/** A key press this soon after a dialog closed was meant for it, not for the page behind it. */
const DOUBLE_PRESS_MS = 500;

const EDITABLE =
  "input:not([type=button],[type=checkbox],[type=radio],[type=submit],[type=reset],[type=range],[type=color],[type=file],[type=image]), textarea, select, [contenteditable]:not([contenteditable=false]), [role=textbox], [role=searchbox], [role=combobox]";

export class KeyboardGuard {
  readonly #down = new Set<string>();
  readonly #stop = new AbortController();
  #typedAt = -Infinity;
  #composing = false;
  /** Keys whose current press is ignored. */
  #ignored = new Set<string>();
  #ignoreUntil = -Infinity;
  /** While a dialog is open: when presses begin to count. */
  #armedAt: number | undefined;
  readonly #activity: () => void;

  /** `activity` is called on every key press and pointer press. */
  constructor(activity: () => void) {
    this.#activity = activity;
    const options = { capture: true, signal: this.#stop.signal } as const;
    window.addEventListener("keydown", (event) => this.#keydown(event), options);
    window.addEventListener("keyup", (event) => this.#keyup(event), options);
    window.addEventListener("pointerdown", () => this.#activity(), options);
    window.addEventListener("blur", () => this.#down.clear(), options);
    window.addEventListener("input", () => this.#typed(), options);
    window.addEventListener("compositionstart", () => this.#compose(true), options);
    window.addEventListener("compositionend", () => this.#compose(false), options);
  }

  close(): void {
    this.#stop.abort();
  }

  /** Milliseconds until a question may open; 0 if now. */
  typingFor(): number {
    const active = deepActive();
    // Typing inside a frame cannot be observed; an open list is being read.
    if (this.#composing || active?.matches("iframe, frame, object, embed") || isOpenList(active))
      return PAUSE_MS;
    return Math.max(0, this.#typedAt + PAUSE_MS - performance.now());
  }

  /** A dialog opened or changed: keys held now, and those pressed before `armedAt`, do not count. */
  dialogOpened(armedAt: number): void {
    this.#ignored = new Set(this.#down);
    this.#armedAt = armedAt;
  }

  dialogClosed(): void {
    this.#ignored = new Set(this.#down);
    this.#armedAt = undefined;
    this.#ignoreUntil = performance.now() + DOUBLE_PRESS_MS;
  }

  #typed(): void {
    this.#typedAt = performance.now();
  }

  #compose(on: boolean): void {
    this.#composing = on;
    this.#typed();
  }

  #keydown(event: KeyboardEvent): void {
    this.#activity();
    const { code } = event;
    this.#down.add(code);
    const editing = isEditable(deepActive());
    // Letters count as typing anywhere: some editors cannot be recognized as such.
    if (editing || (code !== "Space" && event.key.length === 1 && !event.ctrlKey && !event.metaKey))
      this.#typed();
    if (!DECIDING.has(code)) return;
    const now = performance.now();
    const early = this.#armedAt !== undefined && now < this.#armedAt && PRESSING.has(code);
    if ((early && !editing) || (now < this.#ignoreUntil && !(code === "Space" && editing)))
      this.#ignored.add(code);
    const repeated = event.repeat && this.#armedAt !== undefined && !editing;
    if (repeated || this.#ignored.has(code)) swallow(event);
  }

  #keyup(event: KeyboardEvent): void {
    this.#down.delete(event.code);
    // The space bar activates a button on release.
    if (this.#ignored.delete(event.code) && DECIDING.has(event.code)) swallow(event);
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
