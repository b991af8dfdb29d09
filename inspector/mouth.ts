/** The page's one mouth, off until it is switched on: <earshot-live>, which speaks, and puts questions as dialogs. */
import { byId, make } from "./dom.ts";

export class Mouth {
  readonly #switch = byId<HTMLInputElement>("speak");
  readonly #home = byId("mouth");
  #address: string | undefined;

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

  async #turn(): Promise<void> {
    const address = this.#address;
    if (!this.#switch.checked || address === undefined) return this.#home.replaceChildren();
    if (this.#home.firstChild) return;
    const { defineEarshotLive } = await import("../src/web/index.ts");
    defineEarshotLive();
    if (!this.#switch.checked || this.#home.firstChild) return;
    this.#home.append(make("earshot-live" as "div", { src: address, lang: navigator.language || "en" }));
  }
}
