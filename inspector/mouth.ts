/** The page's one mouth, off until it is switched on: <earshot-live>, which speaks, and puts questions as dialogs. */
import { byId, make } from "./dom.ts";
import type { OpenQuestions } from "./timeline.ts";

const TITLE = document.title;

export class Mouth {
  readonly #switch = byId<HTMLInputElement>("speak");
  readonly #home = byId("mouth");
  #address: string | undefined;
  #questions: OpenQuestions | undefined;

  constructor() {
    this.#switch.addEventListener("change", () => void this.#turn());
    byId("answer").addEventListener("click", () => {
      this.#switch.checked = true;
      // The button may go with its question: the person is where the switch is.
      this.#switch.focus();
      void this.#turn();
    });
  }

  /** Undefined where nobody could be answered: in a replay, or elsewhere. */
  set address(address: string | undefined) {
    this.#address = address;
    this.#switch.disabled = address === undefined;
    byId<HTMLButtonElement>("answer").hidden = address === undefined;
    if (address === undefined) this.#switch.checked = false;
    void this.#turn();
  }

  asked(questions: OpenQuestions): void {
    this.#questions = questions;
    this.#draw();
  }

  /** Without a voice, a box and the page's title say that a question waits; neither interrupts. The element does that better. */
  #draw(): void {
    const { first, size = 0 } = this.#questions ?? {};
    const silent = this.#switch.checked ? undefined : first;
    byId("asked").hidden = silent === undefined;
    const words = byId("asked-text");
    words.textContent = silent ? `${silent.text}${size > 1 ? ` And ${size - 1} more.` : ""}` : "";
    words.dir = "auto";
    words.lang = silent?.language ?? "";
    if (!this.#switch.checked) document.title = silent ? `A question waits – ${TITLE}` : TITLE;
  }

  async #turn(): Promise<void> {
    // The element marks the title itself from here on, and takes its mark away when it goes.
    if (this.#switch.checked) document.title = TITLE;
    const address = this.#address;
    this.#draw();
    if (!this.#switch.checked || address === undefined) return this.#home.replaceChildren();
    if (this.#home.firstChild) return;
    const { defineEarshotLive } = await import("../src/web/index.ts");
    defineEarshotLive();
    if (!this.#switch.checked || this.#home.firstChild) return;
    this.#home.append(make("earshot-live" as "div", { src: address, lang: navigator.language || "en" }));
  }
}
