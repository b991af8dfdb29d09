/**
 * A page's mouth: live regions, used so that nothing is lost or said twice. They exist before they are written to;
 * two of each kind take turns, so that the same words twice are heard twice; each change is one whole announcement, and
 * stands long enough to be noticed.
 * While a dialog is open, everything outside it is inert and its live regions are mute: then the words go inside the
 * topmost one, whosever it is.
 */
import type { Run } from "../subscriber/announcer.ts";
import { make, runNodes } from "./runs.ts";

/** A screen reader has to have seen a region before a change in it is news. */
const SETTLE_MS = 250;
/** A change that follows another sooner may hide it. */
const GAP_MS = 170;
/** Afterwards the words are in the transcript; here they would be found by accident, or heard again when a dialog closes. */
const CLEAR_MS = 5_000;

interface Place {
  readonly root: HTMLElement;
  readonly polite: readonly [HTMLElement, HTMLElement];
  readonly assertive: readonly [HTMLElement, HTMLElement];
  readonly since: number;
}

const region = (live: "polite" | "assertive"): HTMLElement =>
  make("div", { "aria-live": live, "aria-atomic": "true", "aria-relevant": "additions text" });

export class Announce {
  readonly #home: () => HTMLElement;
  readonly #own: () => HTMLElement | undefined;
  readonly #places = new Map<HTMLElement, Place>();
  #order: HTMLElement[] = [];
  readonly #waiting: { readonly runs: readonly Run[]; readonly urgent: boolean }[] = [];
  readonly #late = new Set<ReturnType<typeof setTimeout>>();
  #pending = false;
  #wroteAt = -Infinity;
  #turn = 0;

  /** `home` is where words go while no dialog is open; `own` is our dialog, while it is. */
  constructor(home: () => HTMLElement, own: () => HTMLElement | undefined) {
    this.#home = home;
    this.#own = own;
    this.#place(home());
  }

  say(runs: readonly Run[], urgent: boolean): void {
    this.#waiting.push({ runs, urgent });
    this.#next();
  }

  /** Where it goes is decided when it goes: a dialog may have opened or closed meanwhile. */
  #next(): void {
    if (this.#pending || this.#waiting.length === 0) return;
    const place = this.#place(this.#topmost() ?? this.#home());
    const wait = Math.max(place.since + SETTLE_MS, this.#wroteAt + GAP_MS) - performance.now();
    if (wait <= 0) {
      const { runs, urgent } = this.#waiting.shift()!;
      this.#write(place, runs, urgent);
      return this.#next();
    }
    this.#pending = true;
    this.#after(wait, () => {
      this.#pending = false;
      this.#next();
    });
  }

  #write(place: Place, runs: readonly Run[], urgent: boolean): void {
    this.#wroteAt = performance.now();
    this.#turn = 1 - this.#turn;
    this.#empty(place);
    const chosen = (urgent ? place.assertive : place.polite)[this.#turn]!;
    chosen.replaceChildren(...runNodes(runs));
    const written = chosen.firstChild;
    this.#after(CLEAR_MS, () => {
      if (chosen.firstChild === written) chosen.replaceChildren();
    });
  }

  /** Ready in a dialog that has just opened, before there is anything to say. Outside it, nothing is left to hear later. */
  ready(dialog: HTMLElement): void {
    this.#empty();
    this.#place(dialog);
  }

  close(): void {
    for (const timer of this.#late) clearTimeout(timer);
    for (const { root } of this.#places.values()) root.remove();
  }

  /** What was written last stays for a moment: it may not have been noticed yet. */
  #empty(except?: Place): void {
    for (const place of this.#places.values())
      if (place !== except)
        for (const one of [...place.polite, ...place.assertive]) if (one.firstChild) one.replaceChildren();
  }

  #after(ms: number, then: () => void): void {
    const timer = setTimeout(() => {
      this.#late.delete(timer);
      then();
    }, ms);
    this.#late.add(timer);
  }

  #place(host: HTMLElement): Place {
    const home = this.#home();
    for (const [other, { root }] of this.#places) {
      if (other === home || other === host || isModal(other)) continue;
      root.remove();
      this.#places.delete(other);
    }
    const known = this.#places.get(host);
    if (known?.root.isConnected) return known;
    const polite = [region("polite"), region("polite")] as const;
    const assertive = [region("assertive"), region("assertive")] as const;
    const root = make("div", { class: "earshot-voice", part: "voice" }, ...polite, ...assertive);
    hide(root);
    const place = { root, polite, assertive, since: performance.now() };
    this.#places.set(host, place);
    host.append(root);
    return place;
  }

  /** The one the focus is in; else the one that was opened last. */
  #topmost(): HTMLElement | undefined {
    for (
      let node: Node | null = deepActive();
      node;
      node = node.parentNode ?? ((node as ShadowRoot).host || null)
    )
      if (node instanceof HTMLElement && node.matches(MODAL) && isModal(node)) return node;
    const open = [...document.querySelectorAll<HTMLElement>(MODAL)].filter(isModal);
    const own = this.#own();
    if (own) open.push(own);
    for (const one of open) if (!this.#order.includes(one)) this.#order.push(one);
    this.#order = this.#order.filter((one) => open.includes(one));
    return this.#order.at(-1);
  }
}

const MODAL = "dialog[open], [aria-modal=true]";

/** Out of sight, not out of reach. Set one by one: a strict policy allows that, and the page's own styles do not matter. */
function hide({ style }: HTMLElement): void {
  const rules = {
    position: "absolute",
    width: "1px",
    height: "1px",
    margin: "-1px",
    overflow: "hidden",
    "clip-path": "inset(50%)",
    "white-space": "nowrap",
  };
  for (const [name, value] of Object.entries(rules)) style.setProperty(name, value, "important");
}

function isModal(element: HTMLElement): boolean {
  if (!element.isConnected) return false;
  if (element instanceof HTMLDialogElement) return element.matches(":modal");
  return element.checkVisibility?.() ?? element.offsetParent !== null;
}

export function deepActive(): Element | null {
  let active = document.activeElement;
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  return active;
}
