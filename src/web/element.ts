/**
 * `<earshot-live src="…">`: an agent's voice in a page. A transcript to read, what is going on now, questions as
 * dialogs, and settings; everything is announced to whichever screen reader is there. No framework, no HTML strings.
 */

import type { AgentEvent, CognitiveLoad, Verbosity } from "../protocol/types.ts";
import type { Utterance } from "../subscriber/announcer.ts";
import { directionOf } from "../text/language.ts";
import { Announce, deepActive } from "./announce.ts";
import { controls } from "./controls.ts";
import { Ear } from "./ear.ts";
import { Keys } from "./keys.ts";
import { type Wording, wordsFor } from "./languages.ts";
import { Outlet } from "./outlet.ts";
import { QuestionDialog, type QuestionEvent } from "./question.ts";
import { make, runNodes } from "./runs.ts";
import type { EarSettings, Speed } from "./settings.ts";
import type { Token } from "./shared.ts";
import { styleSheet } from "./styles.ts";
import { markTitle } from "./title.ts";
import { Transcript } from "./transcript.ts";
import { fill } from "./words.ts";

/** Announced, with the words and whether a dialog says them: for pages that want to know, and for tests. */
export interface EarshotAnnounced {
  readonly utterance: Utterance;
  readonly by: "mouth" | "dialog";
}

/** What belongs in the transcript besides the agent's own text. */
const NOTED: ReadonlySet<string> = new Set(
  "started completed errored cancelled handoff tool settled answer unknown".split(" "),
);
/** What tells how things stand; the agent's own text does not. */
const STATES: ReadonlySet<string> = new Set(
  "started state progress tool completed errored cancelled handoff unknown".split(" "),
);
/** Another agent's question is open: looked at again this often. */
const BUSY_MS = 500;
/** Focus has moved: the screen reader says where to, and then there is room for more. */
const AFTER_FOCUS_MS = 700;
const OPEN_KEY = "Alt+Shift+Q";

const oneOf = <Value extends string>(
  value: string | null,
  known: readonly Value[],
  otherwise: Value,
): Value => (known.includes(value as Value) ? (value as Value) : otherwise);

/** Where there is no DOM, as on a server that renders pages, the class can still be imported. */
const Base =
  (globalThis as { HTMLElement?: typeof HTMLElement }).HTMLElement ?? (class {} as typeof HTMLElement);

export class EarshotLive extends Base {
  static readonly observedAttributes = ["src", "lang", "verbosity", "load", "speed", "account"];

  /** A bearer token, or how to get one. Set it before the element is put in the page, or set `src` last. */
  token: Token | undefined;
  #ear: Ear | undefined;
  #parts: Parts | undefined;
  #running: string | undefined;

  get ear(): Ear | undefined {
    return this.#ear;
  }

  connectedCallback(): void {
    this.#start();
    this.#parts?.moved();
  }

  disconnectedCallback(): void {
    // Moved within the page, it is back before this runs.
    queueMicrotask(() => !this.isConnected && this.#stop());
  }

  attributeChangedCallback(name: string, before: string | null, now: string | null): void {
    if (before === now || !this.isConnected) return;
    if (name === "src" || name === "account") return this.#start();
    // Only what the page changed: the rest may be what the person has set.
    const { languages, ...others } = this.#settings();
    if (name === "lang") void this.#ear?.set({ languages });
    else void this.#ear?.set({ [name]: others[name as "load"] });
  }

  /** Shows what the person wrote, as a turn of theirs. */
  addTurn(text: string): void {
    this.#parts?.transcript.person(text);
  }

  /** Opens the question that waits, if there is one. */
  openQuestion(): void {
    this.#ear?.reopen();
  }

  #settings(): EarSettings {
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
    if (wanted === this.#running && this.#ear) return;
    this.#stop();
    if (src === null || wanted === undefined) return;
    this.#running = wanted;
    this.#parts = new Parts(this);
    const parts = this.#parts;
    const address = new URL(src, document.baseURI).href.replace(/\/$/, "");
    const account = this.getAttribute("account");
    this.#ear = new Ear(
      {
        address,
        settings: this.#settings(),
        ...(this.token === undefined ? {} : { token: this.token }),
        ...(account === null ? {} : { account }),
        host: window,
        presence: parts.presence(document.hasFocus()),
      },
      {
        say: (utterance) => parts.say(utterance),
        event: (event) => parts.event(event),
        note: (utterance) => parts.note(utterance),
        changed: () => parts.changed(),
      },
    );
    parts.begin(this.#ear);
    void this.#ear.start().then(() => parts.changed());
  }

  #stop(): void {
    this.#ear?.stop();
    this.#parts?.end();
    this.#ear = this.#parts = this.#running = undefined;
  }
}

/** What the element is made of, while it is in a page. */
class Parts {
  readonly transcript: Transcript;
  readonly #host: EarshotLive;
  readonly #root: ShadowRoot;
  readonly #keys: Keys;
  readonly #dialog: QuestionDialog;
  readonly #announce: Announce;
  readonly #outlet: Outlet;
  readonly #stop = new AbortController();
  readonly #status = make("p", { class: "status", part: "status" });
  readonly #waiting = make("div", { class: "waiting", part: "waiting", hidden: true });
  readonly #bar = make("div", { class: "bar", part: "bar" });
  readonly #settings = make("details", { part: "settings" });
  readonly #heading = make("h2", { part: "heading" });
  readonly #frame = make("div", { class: "frame", part: "frame" });
  #ear!: Ear;
  #drawn = "";
  #now: Utterance | undefined;
  /** The question whose coming was announced to someone who was typing. */
  #told: string | undefined;
  #pause: ReturnType<typeof setTimeout> | undefined;
  #lastTouch = 0;

  constructor(host: EarshotLive) {
    this.#host = host;
    this.#root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
    this.#root.adoptedStyleSheets = [styleSheet()];
    this.transcript = new Transcript(
      () => this.#wording.words,
      () => this.#ear.announcer,
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
    this.#outlet = new Outlet(host, this.#root);
    this.#keys = new Keys(() => this.#touch());
    this.#announce = new Announce(
      () => this.#outlet.voice,
      () => this.#dialog.inside,
    );
    this.#dialog = new QuestionDialog(this.#outlet, {
      keys: this.#keys,
      answer: (input) => this.#ear.answer(input),
      postpone: () => this.#postpone(),
      opened: (dialog) => this.#announce.ready(dialog),
    });
  }

  begin(ear: Ear): void {
    this.#ear = ear;
    const { signal } = this.#stop;
    window.addEventListener("focus", () => this.#touch(true), { signal });
    document.addEventListener("visibilitychange", () => this.#touch(true), { signal });
    window.addEventListener("keydown", (event) => this.#openByKey(event), { signal });
    this.changed();
  }

  end(): void {
    this.#stop.abort();
    clearTimeout(this.#pause);
    this.#keys.close();
    this.#dialog.close();
    this.#announce.close();
    this.#outlet.close();
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
    this.#announce.say(utterance.runs, utterance.urgency === "critical");
    this.#tell(utterance, "mouth");
    this.changed();
  }

  event(event: AgentEvent): void {
    this.transcript.event(event);
    this.#host.dispatchEvent(new CustomEvent("earshot-event", { detail: event }));
  }

  note(utterance: Utterance): void {
    const { kind, session_id, runs, asked } = utterance;
    if (STATES.has(kind)) this.#now = utterance;
    const shown = asked?.step === "ask" ? this.#ear.announcer.phrases.join(asked.parts) : runs;
    if (asked ? asked.step === "ask" : NOTED.has(kind)) this.transcript.note(session_id, shown, kind);
  }

  changed(): void {
    if (!this.#ear) return;
    this.#draw();
    this.#ask();
  }

  get #wording(): Wording {
    return wordsFor(this.#ear.settings.languages);
  }

  #tell(utterance: Utterance, by: EarshotAnnounced["by"]): void {
    const detail: EarshotAnnounced = { utterance, by };
    this.#host.dispatchEvent(new CustomEvent("earshot-announced", { detail, bubbles: true, composed: true }));
  }

  /** Looked at, or touched; not with every key, the other tabs have better things to do. */
  #touch(always = false): void {
    if (!always && Date.now() - this.#lastTouch < 1_000 && this.#ear.speaks) return;
    this.#ear.touch(this.presence(always ? document.hasFocus() : true));
  }

  #openByKey(event: KeyboardEvent): void {
    if (event.repeat || !event.altKey || !event.shiftKey || event.ctrlKey || event.metaKey) return;
    // By what is printed on it, or by its place where the layout has no such letter.
    if ((event.code !== "KeyQ" && event.key.toLowerCase() !== "q") || !this.#ear.open || this.#dialog.element)
      return;
    event.preventDefault();
    this.#told = this.#ear.open.reply_token;
    this.#openNow = true;
    this.#ear.reopen();
    this.changed();
  }
  #openNow = false;

  #postpone(): void {
    if (!this.#dialog.element) return;
    this.#dialog.close();
    this.#ear.postpone();
    this.#ear.hush(AFTER_FOCUS_MS);
    const { words } = this.#wording;
    this.#own(fill(words.postponed, { key: OPEN_KEY, button: words.open_question }));
  }

  #own(text: string): void {
    const { language } = this.#wording;
    this.#ear.notice({ urgency: "critical", runs: [{ text, language, direction: directionOf(language) }] });
  }

  #ask(): void {
    const utterance = this.#ear.asked;
    clearTimeout(this.#pause);
    if (!utterance) {
      this.#openNow = false;
      if (!this.#dialog.element) return;
      this.#dialog.close();
      return this.#ear.hush(AFTER_FOCUS_MS);
    }
    const event = this.#ear.announcer.question as QuestionEvent | undefined;
    if (!event) return;
    const wait = this.#dialog.element || this.#openNow ? 0 : this.#keys.typingFor();
    if (wait > 0) {
      if (this.#told !== utterance.reply_token) {
        this.#told = utterance.reply_token;
        this.#own(fill(this.#wording.words.waits_typing, { agent: this.#agent, key: OPEN_KEY }));
      }
      this.#pause = setTimeout(() => this.#ask(), wait);
      return;
    }
    // One question at a time, whoever asks.
    if (this.#dialog.busy) {
      this.#pause = setTimeout(() => this.#ask(), BUSY_MS);
      return;
    }
    this.#openNow = false;
    const wording = this.#wording;
    const before = this.#dialog.given;
    this.#dialog.show({
      utterance,
      event,
      wording,
      agent: this.#agent,
      more: this.#ear.announcer.questions - 1,
      phrases: this.#ear.announcer.phrases,
      alone: this.#ear.settings.load === "low",
      direction: directionOf(wording.language) === "rtl" ? "rtl" : "ltr",
    });
    if (before !== utterance.id) this.#tell(utterance, "dialog");
  }

  get #agent(): string {
    return this.#ear.line.agent;
  }

  #draw(): void {
    const { words, language } = this.#wording;
    const { line, settings } = this.#ear;
    this.#frame.lang = language;
    this.#frame.dir = directionOf(language) === "rtl" ? "rtl" : "ltr";
    const status =
      line.state === "connected" && this.#now
        ? runNodes(this.#now.runs)
        : [fill(words[line.state], { agent: line.agent, reason: line.reason ?? "" })];
    if (
      status.map((one) => (typeof one === "string" ? one : one.textContent)).join("") !==
      this.#status.textContent
    )
      this.#status.replaceChildren(...status);
    const open = this.#ear.open !== undefined;
    if (this.#waiting.hidden === open) this.#waiting.hidden = !open;
    markTitle(this.#host, open ? words.title : undefined);
    const drawn = JSON.stringify([language, settings]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    this.#heading.textContent = words.transcript;
    const button = (text: string, press: () => void, keys?: string) => {
      const node = make("button", { type: "button", part: "button", "aria-keyshortcuts": keys }, text);
      node.addEventListener("click", press);
      return node;
    };
    this.#waiting.replaceChildren(
      make("p", {}, words.waits),
      button(words.open_question, () => this.#reopen(), OPEN_KEY),
    );
    this.#bar.replaceChildren(
      button(words.what, () => this.#ear.do("what")),
      button(words.repeat, () => this.#ear.do("repeat")),
    );
    const focused = deepActive()?.id;
    this.#settings.replaceChildren(
      make("summary", {}, words.settings),
      controls(settings, this.#wording, (changed) => void this.#ear.set(changed)),
    );
    // Words changed under someone's hands: they stay where they were.
    if (focused?.startsWith("set-")) this.#root.getElementById(focused)?.focus();
  }

  #reopen(): void {
    this.#openNow = true;
    this.#ear.reopen();
    this.changed();
  }
}

/** Makes `<earshot-live>` known to this page; once is enough. */
export function defineEarshotLive(name = "earshot-live"): void {
  if (typeof customElements === "object" && !customElements.get(name))
    customElements.define(name, EarshotLive);
}
