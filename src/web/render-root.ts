/**
 * Where announcements and questions are rendered: in the element or, while the page hides that, in the page's body. A
 * collapsed panel must not hide a question, nor leave the page inert behind one that nobody can see.
 */
import { make } from "./dom.ts";
import { styleSheet } from "./styles.ts";

export class RenderRoot {
  readonly #host: HTMLElement;
  readonly #inner: ShadowRoot;
  #outer: HTMLElement | undefined;

  constructor(host: HTMLElement, inner: ShadowRoot) {
    this.#host = host;
    this.#inner = inner;
  }

  get root(): ShadowRoot {
    if (isReachable(this.#host)) return this.#inner;
    if (!this.#outer) {
      this.#outer = make("div");
      this.#outer.attachShadow({ mode: "open" }).adoptedStyleSheets = [styleSheet()];
    }
    if (!this.#outer.isConnected) document.body.append(this.#outer);
    return this.#outer.shadowRoot!;
  }

  get voice(): HTMLElement {
    const { root } = this;
    const known = [...root.children].find((one) => one.className === "voice");
    if (known) return known as HTMLElement;
    const made = make("div", { class: "voice" });
    root.append(made);
    return made;
  }

  close(): void {
    this.#outer?.remove();
  }
}

/** Visible, and not hidden from screen readers. */
export function isReachable(element: HTMLElement): boolean {
  if (element.checkVisibility?.({ visibilityProperty: true }) === false) return false;
  for (let node: Node | null = element; node; node = node.parentNode ?? ((node as ShadowRoot).host || null))
    if (node instanceof Element && node.getAttribute("aria-hidden") === "true") return false;
  return true;
}
