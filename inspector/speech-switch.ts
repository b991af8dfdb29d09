/** Switches speech on: adds <earshot-live>, which announces events and shows questions as dialogs. Off by default. */
import { byId, make } from "./dom.ts";
import type { OpenQuestions } from "./timeline.ts";

const TITLE = document.title;

export class SpeechSwitch {
  readonly #switch = byId<HTMLInputElement>("speak");
  readonly #home = byId("live-element");
  #address: string | undefined;
  #questions: OpenQuestions | undefined;

  constructor() {
    this.#switch.addEventListener("change", () => void this.#apply());
    byId("answer").addEventListener("click", () => {
      this.#switch.checked = true;
      // The button disappears with its question: move the focus to the switch.
      this.#switch.focus();
      void this.#apply();
    });
  }

  /** Undefined where questions cannot be answered: in a replay, or for a remote agent. */
  set address(address: string | undefined) {
    this.#address = address;
    this.#switch.disabled = address === undefined;
    byId<HTMLButtonElement>("answer").hidden = address === undefined;
    if (address === undefined) this.#switch.checked = false;
    void this.#apply();
  }

  asked(questions: OpenQuestions): void {
    this.#questions = questions;
    this.#render();
  }

  /** While speech is off, a box and the page title show that a question is open, without interrupting. */
  #render(): void {
    const { first, size = 0 } = this.#questions ?? {};
    const silent = this.#switch.checked ? undefined : first;
    byId("asked").hidden = silent === undefined;
    const words = byId("asked-text");
    words.textContent = silent ? `${silent.text}${size > 1 ? ` And ${size - 1} more.` : ""}` : "";
    words.dir = "auto";
    words.lang = silent?.language ?? "";
    if (!this.#switch.checked) document.title = silent ? `A question waits – ${TITLE}` : TITLE;
  }

  async #apply(): Promise<void> {
    // The element marks the title itself from here on.
    if (this.#switch.checked) document.title = TITLE;
    const address = this.#address;
    this.#render();
    if (!this.#switch.checked || address === undefined) return this.#home.replaceChildren();
    if (this.#home.firstChild) return;
    const { defineEarshotLive } = await import("../src/web/index.ts");
    defineEarshotLive();
    if (!this.#switch.checked || this.#home.firstChild) return;
    this.#home.append(make("earshot-live" as "div", { src: address, lang: navigator.language || "en" }));
  }
}
