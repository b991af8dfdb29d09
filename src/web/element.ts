/**
 * `<earshot-live src="…">`: an agent's session in a page. A transcript, the current status, questions as dialogs, and
 * settings; everything is announced through live regions. No framework, no HTML strings.
 */

import type { AgentEvent, CognitiveLoad, Verbosity } from "../protocol/types.ts";
import type { Utterance } from "../subscriber/announcer.ts";
import type { Token } from "../subscriber/index.ts";
import { directionOf } from "../text/language.ts";
import { deepActive, make, markTitle, runNodes } from "./dom.ts";
import { KeyboardGuard } from "./keyboard-guard.ts";
import { LiveRegions } from "./live-regions.ts";
import { fill, type LocalizedMessages, messagesFor } from "./messages.ts";
import { PageListener } from "./page-listener.ts";
import { QuestionDialog, type QuestionEvent } from "./question-dialog.ts";
import { RenderRoot } from "./render-root.ts";
import { type PageSettings, type Speed, settingsForm } from "./settings.ts";
import { styleSheet } from "./styles.ts";
import { Transcript } from "./transcript.ts";

/** Detail of the `earshot-announced` event: what was announced, and whether in a live region or in a question dialog. */
export interface EarshotAnnounced {
  readonly utterance: Utterance;
  readonly by: "live-region" | "dialog";
}

/** Utterances shown in the transcript, besides the agent's own output. */
const NOTED: ReadonlySet<string> = new Set(
  "started completed errored cancelled handoff tool settled answer unknown".split(" "),
);
/** Utterances shown as the current status. */
const STATES: ReadonlySet<string> = new Set(
  "started state progress tool completed errored cancelled handoff unknown".split(" "),
);
/** How often to retry while another element's question is open. */
const BUSY_RETRY_MS = 500;
/** After the focus has moved, the screen reader announces the new position first. */
const AFTER_FOCUS_MS = 700;
const OPEN_KEY = "Alt+Shift+Q";

const oneOf = <Value extends string>(
  value: string | null,
  known: readonly Value[],
  otherwise: Value,
): Value => (known.includes(value as Value) ? (value as Value) : otherwise);

/** Lets the class be imported where there is no DOM, as in server-side rendering. */
const Base =
  (globalThis as { HTMLElement?: typeof HTMLElement }).HTMLElement ?? (class {} as typeof HTMLElement);

/** The `<earshot-live>` element: transcript, announcements, questions and settings. */
export class EarshotLive extends Base {
  static readonly observedAttributes = ["src", "lang", "verbosity", "load", "speed", "account"];

  /** A bearer token, or a function that returns one. Set it before the element is connected, or set `src` last. */
  token: Token | undefined;
  #listener: PageListener | undefined;
  #view: ElementView | undefined;
  #running: string | undefined;

  get listener(): PageListener | undefined {
    return this.#listener;
  }

  connectedCallback(): void {
    this.#start();
    this.#view?.moved();
  }

  disconnectedCallback(): void {
    // An element that was only moved is connected again before this runs.
    queueMicrotask(() => !this.isConnected && this.#stop());
  }

  attributeChangedCallback(name: string, before: string | null, now: string | null): void {
    if (before === now || !this.isConnected) return;
    if (name === "src" || name === "account") return this.#start();
    // Only the changed attribute: the person may have changed the others.
    const { languages, ...others } = this.#settings();
    if (name === "lang") void this.#listener?.set({ languages });
    else void this.#listener?.set({ [name]: others[name as "load"] });
  }

  /** Adds what the person wrote to the transcript. */
  addTurn(text: string): void {
    this.#view?.transcript.person(text);
  }

  /** Opens the postponed question, if there is one. */
  openQuestion(): void {
    this.#listener?.reopen();
  }

  #settings(): PageSettings {
    const own = this.getAttribute("lang") ?? this.closest("[lang]")?.getAttribute("lang");
    const languages = [...new Set([...(own ? [own] : []), ...navigator.languages])];
    return {
      languages: languages.length > 0 ? languages : ["en"],
      verbosity: oneOf<Verbosity>(this.getAttribute("verbosity"), ["terse", "normal", "detailed"], "normal"),
      load: oneOf<CognitiveLoad>(this.getAttribute("load"), ["low", "medium", "high"], "medium"),
      speed: oneOf<Speed>(this.getAttribute("speed"), ["slow", "medium", "fast"], "medium"),
    };
  }

  #start(): void {
    const src = this.getAttribute("src");
    const wanted =
      src === null ? undefined : `${new URL(src, document.baseURI).href} ${this.getAttribute("account")}`;
    if (wanted === this.#running && this.#listener) return;
    this.#stop();
    if (src === null || wanted === undefined) return;
    this.#running = wanted;
    this.#view = new ElementView(this);
    const view = this.#view;
    const address = new URL(src, document.baseURI).href.replace(/\/$/, "");
    const account = this.getAttribute("account");
    this.#listener = new PageListener(
      {
        address,
        settings: this.#settings(),
        ...(this.token === undefined ? {} : { token: this.token }),
        ...(account === null ? {} : { account }),
        host: window,
        presence: view.presence(document.hasFocus()),
      },
      {
        say: (utterance) => view.say(utterance),
        event: (event) => view.event(event),
        note: (utterance) => view.note(utterance),
        changed: () => view.changed(),
      },
    );
    view.start(this.#listener);
    void this.#listener.start().then(() => view.changed());
  }

  #stop(): void {
    this.#listener?.stop();
    this.#view?.stop();
    this.#listener = this.#view = this.#running = undefined;
  }
}

/** The element's content while it is connected. */
class ElementView {
  readonly transcript: Transcript;
  readonly #host: EarshotLive;
  readonly #root: ShadowRoot;
  readonly #keyboard: KeyboardGuard;
  readonly #dialog: QuestionDialog;
  readonly #liveRegions: LiveRegions;
  readonly #renderRoot: RenderRoot;
  readonly #abort = new AbortController();
  readonly #status = make("p", { class: "status", part: "status" });
  readonly #waiting = make("div", { class: "waiting", part: "waiting", hidden: true });
  readonly #bar = make("div", { class: "bar", part: "bar" });
  readonly #settings = make("details", { part: "settings" });
  readonly #heading = make("h2", { part: "heading" });
  readonly #frame = make("div", { class: "frame", part: "frame" });
  #listener!: PageListener;
  #rendered = "";
  #statusUtterance: Utterance | undefined;
  /** The question that was announced while the person was typing. */
  #announcedWhileTyping: string | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #lastTouch = 0;

  constructor(host: EarshotLive) {
    this.#host = host;
    this.#root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    this.#root.adoptedStyleSheets = [styleSheet()];
    this.transcript = new Transcript(
      () => this.#localized.messages,
      () => this.#listener.announcer,
    );
    this.#frame.append(
      this.#status,
      this.#waiting,
      this.#bar,
      this.#heading,
      this.transcript.element,
      this.#settings,
    );
    this.#root.replaceChildren(this.#frame);
    this.#renderRoot = new RenderRoot(host, this.#root);
    this.#keyboard = new KeyboardGuard(() => this.#touch());
    this.#liveRegions = new LiveRegions(
      () => this.#renderRoot.voice,
      () => this.#dialog.content,
    );
    this.#dialog = new QuestionDialog(this.#renderRoot, {
      keyboard: this.#keyboard,
      answer: (input) => this.#listener.answer(input),
      postpone: () => this.#postpone(),
      opened: (dialog) => this.#liveRegions.prepare(dialog),
    });
  }

  start(listener: PageListener): void {
    this.#listener = listener;
    const { signal } = this.#abort;
    window.addEventListener("focus", () => this.#touch(true), { signal });
    document.addEventListener("visibilitychange", () => this.#touch(true), { signal });
    window.addEventListener("keydown", (event) => this.#openByKey(event), { signal });
    this.changed();
  }

  stop(): void {
    this.#abort.abort();
    clearTimeout(this.#retry);
    this.#keyboard.close();
    this.#dialog.close();
    this.#liveRegions.close();
    this.#renderRoot.close();
    this.transcript.close();
    markTitle(this.#host, undefined);
    this.#root.replaceChildren();
  }

  moved(): void {
    this.#dialog.refresh();
  }

  presence(focused: boolean): { readonly at: number; readonly visible: boolean } {
    if (focused) this.#lastTouch = Date.now();
    return { at: this.#lastTouch, visible: document.visibilityState === "visible" };
  }

  say(utterance: Utterance): void {
    this.#liveRegions.say(utterance.runs, utterance.urgency === "critical");
    this.#dispatchAnnounced(utterance, "live-region");
    this.changed();
  }

  event(event: AgentEvent): void {
    this.transcript.event(event);
    this.#host.dispatchEvent(new CustomEvent("earshot-event", { detail: event }));
  }

  note(utterance: Utterance): void {
    const { kind, session_id, runs, asked } = utterance;
    if (STATES.has(kind)) this.#statusUtterance = utterance;
    const shown = asked?.step === "ask" ? this.#listener.announcer.phrases.join(asked.parts) : runs;
    if (asked ? asked.step === "ask" : NOTED.has(kind)) this.transcript.note(session_id, shown, kind);
  }

  changed(): void {
    if (!this.#listener) return;
    this.#render();
    this.#ask();
  }

  get #localized(): LocalizedMessages {
    return messagesFor(this.#listener.settings.languages);
  }

  #dispatchAnnounced(utterance: Utterance, by: EarshotAnnounced["by"]): void {
    const detail: EarshotAnnounced = { utterance, by };
    this.#host.dispatchEvent(new CustomEvent("earshot-announced", { detail, bubbles: true, composed: true }));
  }

  /** Reports the person's presence to the other tabs, throttled unless `always`. */
  #touch(always = false): void {
    if (!always && Date.now() - this.#lastTouch < 1_000 && this.#listener.speaks) return;
    this.#listener.touch(this.presence(always ? document.hasFocus() : true));
  }

  #openByKey(event: KeyboardEvent): void {
    if (event.repeat || !event.altKey || !event.shiftKey || event.ctrlKey || event.metaKey) return;
    // By its letter, or by its position on layouts without that letter.
    if (
      (event.code !== "KeyQ" && event.key.toLowerCase() !== "q") ||
      !this.#listener.open ||
      this.#dialog.element
    )
      return;
    event.preventDefault();
    this.#announcedWhileTyping = this.#listener.open.reply_token;
    this.#openNow = true;
    this.#listener.reopen();
    this.changed();
  }
  #openNow = false;

  #postpone(): void {
    if (!this.#dialog.element) return;
    this.#dialog.close();
    this.#listener.postpone();
    this.#listener.hush(AFTER_FOCUS_MS);
    const { messages } = this.#localized;
    this.#notice(fill(messages.postponed, { key: OPEN_KEY, button: messages.open_question }));
  }

  #notice(text: string): void {
    const { language } = this.#localized;
    this.#listener.notice({
      urgency: "critical",
      runs: [{ text, language, direction: directionOf(language) }],
    });
  }

  #ask(): void {
    const utterance = this.#listener.asked;
    clearTimeout(this.#retry);
    if (!utterance) {
      this.#openNow = false;
      if (!this.#dialog.element) return;
      this.#dialog.close();
      return this.#listener.hush(AFTER_FOCUS_MS);
    }
    const event = this.#listener.announcer.question as QuestionEvent | undefined;
    if (!event) return;
    const wait = this.#dialog.element || this.#openNow ? 0 : this.#keyboard.typingFor();
    if (wait > 0) {
      if (this.#announcedWhileTyping !== utterance.reply_token) {
        this.#announcedWhileTyping = utterance.reply_token;
        this.#notice(fill(this.#localized.messages.waits_typing, { agent: this.#agent, key: OPEN_KEY }));
      }
      this.#retry = setTimeout(() => this.#ask(), wait);
      return;
    }
    // One question at a time on the whole page.
    if (this.#dialog.busy) {
      this.#retry = setTimeout(() => this.#ask(), BUSY_RETRY_MS);
      return;
    }
    this.#openNow = false;
    const localized = this.#localized;
    const before = this.#dialog.shownUtterance;
    this.#dialog.show({
      utterance,
      event,
      localized,
      agent: this.#agent,
      more: this.#listener.announcer.questions - 1,
      phrases: this.#listener.announcer.phrases,
      alone: this.#listener.settings.load === "low",
      direction: directionOf(localized.language) === "rtl" ? "rtl" : "ltr",
    });
    if (before !== utterance.id) this.#dispatchAnnounced(utterance, "dialog");
  }

  get #agent(): string {
    return this.#listener.connection.agent;
  }

  #render(): void {
    const { messages, language } = this.#localized;
    const { connection, settings } = this.#listener;
    this.#frame.lang = language;
    this.#frame.dir = directionOf(language) === "rtl" ? "rtl" : "ltr";
    const status =
      connection.state === "connected" && this.#statusUtterance
        ? runNodes(this.#statusUtterance.runs)
        : [fill(messages[connection.state], { agent: connection.agent, reason: connection.reason ?? "" })];
    if (
      status.map((one) => (typeof one === "string" ? one : one.textContent)).join("") !==
      this.#status.textContent
    )
      this.#status.replaceChildren(...status);
    const open = this.#listener.open !== undefined;
    if (this.#waiting.hidden === open) this.#waiting.hidden = !open;
    markTitle(this.#host, open ? messages.title : undefined);
    const rendered = JSON.stringify([language, settings]);
    if (rendered === this.#rendered) return;
    this.#rendered = rendered;
    this.#heading.textContent = messages.transcript;
    const button = (text: string, press: () => void, keys?: string) => {
      const node = make("button", { type: "button", part: "button", "aria-keyshortcuts": keys }, text);
      node.addEventListener("click", press);
      return node;
    };
    this.#waiting.replaceChildren(
      make("p", {}, messages.waits),
      button(messages.open_question, () => this.#reopen(), OPEN_KEY),
    );
    this.#bar.replaceChildren(
      button(messages.what, () => this.#listener.do("what")),
      button(messages.repeat, () => this.#listener.do("repeat")),
    );
    const focused = deepActive()?.id;
    this.#settings.replaceChildren(
      make("summary", {}, messages.settings),
      settingsForm(settings, this.#localized, (changed) => void this.#listener.set(changed)),
    );
    // The controls were replaced: restore the focus.
    if (focused?.startsWith("set-")) this.#root.getElementById(focused)?.focus();
  }

  #reopen(): void {
    this.#openNow = true;
    this.#listener.reopen();
    this.changed();
  }
}

/** Defines the `<earshot-live>` element. Safe to call more than once. */
export function defineEarshotLive(name = "earshot-live"): void {
  if (typeof customElements === "object" && !customElements.get(name))
    customElements.define(name, EarshotLive);
}
