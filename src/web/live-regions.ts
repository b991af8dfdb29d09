/**
 * ARIA live regions, used so that no announcement is lost or repeated: regions exist before they are written to; two of
 * each kind alternate, so that the same text twice is announced twice; each change is one whole announcement and stays
 * long enough to be noticed. While a modal dialog is open, everything outside is inert, so announcements go into the
 * topmost dialog, even if it belongs to the page.
 */
import type { Run } from "../subscriber/announcer.ts";
import { deepActive, make, runNodes } from "./dom.ts";

/** A screen reader announces changes only in a region it already knows. */
const SETTLE_MS = 250;
/** Two changes in quicker succession may hide the first. */
const GAP_MS = 170;
/** Old text is removed: it is in the transcript, and would be read again when a dialog closes. */
const CLEAR_MS = 5_000;

interface RegionSet {
  readonly root: HTMLElement;
  readonly polite: readonly [HTMLElement, HTMLElement];
  readonly assertive: readonly [HTMLElement, HTMLElement];
  readonly since: number;
}

const region = (live: "polite" | "assertive"): HTMLElement =>
  make("div", { "aria-live": live, "aria-atomic": "true", "aria-relevant": "additions text" });

/** Announces text through ARIA live regions, so that nothing is lost or repeated. */
export class LiveRegions {
  readonly #home: () => HTMLElement;
  readonly #ownDialog: () => HTMLElement | undefined;
  readonly #regions = new Map<HTMLElement, RegionSet>();
  /** Open modal dialogs in the order they were first seen. */
  #order: HTMLElement[] = [];
  readonly #waiting: { readonly runs: readonly Run[]; readonly urgent: boolean }[] = [];
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #pending = false;
  #wroteAt = -Infinity;
  #turn = 0;

  /** `home` holds the regions while no dialog is open; `ownDialog` is the question dialog, while it is open. */
  constructor(home: () => HTMLElement, ownDialog: () => HTMLElement | undefined) {
    this.#home = home;
    this.#ownDialog = ownDialog;
    this.#regionsIn(home());
  }

  say(runs: readonly Run[], urgent: boolean): void {
    this.#waiting.push({ runs, urgent });
    this.#next();
  }

  /** The target is chosen at the last moment: a dialog may have opened or closed meanwhile. */
  #next(): void {
    if (this.#pending || this.#waiting.length === 0) return;
    const regions = this.#regionsIn(this.#topmost() ?? this.#home());
    const wait = Math.max(regions.since + SETTLE_MS, this.#wroteAt + GAP_MS) - performance.now();
    if (wait <= 0) {
      const { runs, urgent } = this.#waiting.shift()!;
      this.#write(regions, runs, urgent);
      return this.#next();
    }
    this.#pending = true;
    this.#after(wait, () => {
      this.#pending = false;
      this.#next();
    });
  }

  #write(regions: RegionSet, runs: readonly Run[], urgent: boolean): void {
    this.#wroteAt = performance.now();
    this.#turn = 1 - this.#turn;
    this.#empty(regions);
    const chosen = (urgent ? regions.assertive : regions.polite)[this.#turn]!;
    chosen.replaceChildren(...runNodes(runs));
    const written = chosen.firstChild;
    this.#after(CLEAR_MS, () => {
      if (chosen.firstChild === written) chosen.replaceChildren();
    });
  }

  /** Creates the regions in a dialog that has just opened, and empties those outside it. */
  prepare(dialog: HTMLElement): void {
    this.#empty();
    this.#regionsIn(dialog);
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    for (const { root } of this.#regions.values()) root.remove();
  }

  /** The latest text stays for a moment: it may not have been noticed yet. */
  #empty(except?: RegionSet): void {
    for (const regions of this.#regions.values())
      if (regions !== except)
        for (const one of [...regions.polite, ...regions.assertive])
          if (one.firstChild) one.replaceChildren();
  }

  #after(ms: number, then: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      then();
    }, ms);
    this.#timers.add(timer);
  }

  #regionsIn(host: HTMLElement): RegionSet {
    const home = this.#home();
    for (const [other, { root }] of this.#regions) {
      if (other === home || other === host || isModal(other)) continue;
      root.remove();
      this.#regions.delete(other);
    }
    const known = this.#regions.get(host);
    if (known?.root.isConnected) return known;
    const polite = [region("polite"), region("polite")] as const;
    const assertive = [region("assertive"), region("assertive")] as const;
    const root = make("div", { class: "earshot-voice", part: "voice" }, ...polite, ...assertive);
    hide(root);
    const regions = { root, polite, assertive, since: performance.now() };
    this.#regions.set(host, regions);
    host.append(root);
    return regions;
  }

  /** The modal dialog that has the focus, or else the one opened last. */
  #topmost(): HTMLElement | undefined {
    for (
      let node: Node | null = deepActive();
      node;
      node = node.parentNode ?? ((node as ShadowRoot).host || null)
    )
      if (node instanceof HTMLElement && node.matches(MODAL) && isModal(node)) return node;
    const open = [...document.querySelectorAll<HTMLElement>(MODAL)].filter(isModal);
    const own = this.#ownDialog();
    if (own) open.push(own);
    for (const one of open) if (!this.#order.includes(one)) this.#order.push(one);
    this.#order = this.#order.filter((one) => open.includes(one));
    return this.#order.at(-1);
  }
}

const MODAL = "dialog[open], [aria-modal=true]";

/** Visually hidden. Set property by property, which a strict content security policy allows. */
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
