/**
 * A question as a dialog (chapter 6, A07): read as a whole when it opens, the focus on its heading, everything else
 * inert. Nothing about it can be answered by accident: no key from before counts, No is a button of its own, Yes is
 * never the last control, and yes to a grave act takes a second dialog that reads the parameters back.
 */
import type { AwaitingClarification, AwaitingConfirmation } from "../protocol/types.ts";
import { isGrave } from "../subscriber/announcer/question-text.ts";
import type { AnswerInput, Phrases, Run, Utterance } from "../subscriber/announcer.ts";
import { deepActive } from "./announce.ts";
import type { Keys } from "./keys.ts";
import type { Wording } from "./languages.ts";
import { isReachable, type Outlet } from "./outlet.ts";
import { type Draft, type QuestionForm, questionForm } from "./question-form.ts";
import { make, runNodes } from "./runs.ts";
import { fill, type WordKey } from "./words.ts";

export type QuestionEvent = AwaitingConfirmation | AwaitingClarification;

export interface QuestionHooks {
  /** False if that is no answer to the question. */
  answer(input: AnswerInput): boolean;
  postpone(): void;
  /** The dialog is open, and its live regions should be. */
  opened(dialog: HTMLElement): void;
  readonly keys: Keys;
}

export interface QuestionView {
  readonly utterance: Utterance;
  readonly event: QuestionEvent;
  readonly agent: string;
  /** Questions after this one. */
  readonly more: number;
  readonly wording: Wording;
  readonly phrases: Phrases;
  /** At low load the question is all there is on the screen. */
  readonly alone: boolean;
  readonly direction: "ltr" | "rtl";
}

/** A press this soon after the dialog appeared was not about what it says. */
const ARM_MS = 600;

type Button = readonly [word: WordKey, part: string, press: () => void];

/** The dialog a person is in, of all agents on this page: one question at a time. */
let taken: QuestionDialog | undefined;

export class QuestionDialog {
  readonly #outlet: Outlet;
  readonly #hooks: QuestionHooks;
  #dialog: HTMLDialogElement | undefined;
  #shown: QuestionView | undefined;
  /** The first step of what is shown, to go back to. */
  #first: QuestionView | undefined;
  #returnTo: HTMLElement | undefined;
  #given: number | undefined;
  #armedAt = 0;
  /** A press that began before it could have been about the question. */
  #early = false;
  #sent = false;
  #form: QuestionForm | undefined;
  /** What was put in before the question went out of sight, unsent. */
  #draft: { readonly reply_token: string | undefined; readonly put: Draft } | undefined;
  readonly #unseen = globalThis.ResizeObserver && new ResizeObserver(() => this.refresh());

  constructor(outlet: Outlet, hooks: QuestionHooks) {
    this.#outlet = outlet;
    this.#hooks = hooks;
  }

  /** Another agent's question is open on this page. */
  get busy(): boolean {
    return taken !== undefined && taken !== this;
  }

  get element(): HTMLDialogElement | undefined {
    return this.#dialog;
  }
  /** What of it is read, and has room for more to be read. */
  get inside(): HTMLElement | undefined {
    return this.#dialog?.querySelector<HTMLElement>("[aria-modal]") ?? undefined;
  }
  /** The utterance that was put last. */
  get given(): number | undefined {
    return this.#given;
  }

  /** Opens it, or shows its next step. The same again changes nothing. */
  show(view: QuestionView): void {
    if (this.#given === view.utterance.id) return;
    this.#given = view.utterance.id;
    this.#sent = false;
    if (view.utterance.asked!.step === "ask") this.#first = view;
    this.#open(view);
  }

  /** Gone without an answer from here: settled, or put off. */
  close(): void {
    const dialog = this.#dialog;
    if (!dialog) return;
    this.#keepDraft();
    if (taken === this) taken = undefined;
    this.#dialog = this.#shown = this.#given = this.#form = undefined;
    this.#unseen?.disconnect();
    dialog.close();
    dialog.remove();
    this.#hooks.keys.gone();
    const back = this.#returnTo;
    this.#returnTo = undefined;
    if (back?.isConnected) back.focus({ preventScroll: true });
  }

  /** The page moved or hid what the dialog is in: then it is open, but not modal, or modal and out of sight. */
  refresh(): void {
    const dialog = this.#dialog;
    if (!dialog || !this.#shown) return;
    const elsewhere = this.#outlet.root !== dialog.getRootNode();
    if (!dialog.matches(":modal") || (elsewhere && !isReachable(dialog))) this.#open(this.#shown);
  }

  #keepDraft(): void {
    if (!this.#form || !this.#shown) return;
    this.#draft = { reply_token: this.#shown.utterance.reply_token, put: this.#form.draft() };
  }

  #open(view: QuestionView): void {
    const before = this.#dialog;
    this.#keepDraft();
    taken = this;
    this.#returnTo ??= (deepActive() as HTMLElement | null) ?? undefined;
    this.#shown = view;
    const dialog = this.#build(view);
    this.#dialog = dialog;
    this.#outlet.root.append(dialog);
    dialog.showModal();
    this.#unseen?.disconnect();
    this.#unseen?.observe(dialog);
    dialog.querySelector<HTMLElement>("h2")!.focus();
    // A new dialog each time: only then does a screen reader read it from its beginning.
    before?.close();
    before?.remove();
    this.#armedAt = performance.now() + ARM_MS;
    this.#early = false;
    this.#hooks.keys.renew(this.#armedAt);
    this.#hooks.opened(this.inside!);
  }

  #build(view: QuestionView): HTMLDialogElement {
    const { wording, utterance, direction, alone } = view;
    const second = utterance.asked!.step === "read_back";
    const { words, language } = wording;
    const title = second ? words.check_heading : fill(words.question_from, { agent: view.agent });
    const heading = make(
      "h2",
      { id: "question", tabindex: "-1", autofocus: true, part: "question-heading", lang: language },
      title,
    );
    const more =
      view.more > 0 &&
      make("p", { part: "more" }, ...runNodes(view.phrases.say("questions_waiting", { count: view.more })));
    const body = make("div", { id: "body", part: "question-body" }, ...this.#paragraphs(view), more);
    const form =
      view.event.type === "aaep:agent.awaiting.clarification" ? questionForm(view.event, wording) : undefined;
    this.#form = form;
    if (this.#draft?.reply_token === utterance.reply_token) form?.restore(this.#draft!.put);
    const actions = make("div", { class: "actions", part: "actions" });
    for (const [word, part, press] of this.#buttons(view, form)) {
      const button = make(
        "button",
        { type: "button", part: `button ${part}`, class: part, lang: language },
        words[word],
      );
      button.addEventListener("click", () => {
        const early = this.#early || performance.now() < this.#armedAt;
        this.#early = false;
        if (!early && !(this.#sent && part !== "later")) press();
      });
      actions.append(button);
    }
    // Two, made at once: the outer keeps everything else out, the inner is what is read. As one, Chromium reports it
    // to Orca twice, and the question is heard twice.
    const asked = make(
      "div",
      {
        role: "alertdialog",
        "aria-modal": "true",
        "aria-labelledby": "question",
        "aria-describedby": "body",
      },
      heading,
      body,
      ...(form?.nodes ?? []),
      actions,
    );
    const dialog = make(
      "dialog",
      {
        "aria-describedby": "question",
        part: "question",
        class: alone ? "alone" : undefined,
        dir: direction,
      },
      asked,
    );
    dialog.addEventListener(
      "pointerdown",
      () => {
        this.#early = performance.now() < this.#armedAt;
      },
      { capture: true },
    );
    dialog.addEventListener("keydown", (event) => {
      // While an input method is composing, Escape is its own.
      if (event.key !== "Escape" || event.isComposing) return;
      event.preventDefault();
      this.#hooks.postpone();
    });
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.#hooks.postpone();
    });
    // A browser may close it by force; that is no answer either.
    dialog.addEventListener("close", () => this.#dialog === dialog && this.#hooks.postpone());
    return dialog;
  }

  #paragraphs({ utterance, event, phrases }: QuestionView): HTMLElement[] {
    const grave = new Set(
      ["risk_high", "irreversible", "mixed_scripts", "hidden_text"].map((key) =>
        phrases.text(key as "risk_high"),
      ),
    );
    const choices = event.type === "aaep:agent.awaiting.clarification" ? (event.choices?.length ?? 0) : 0;
    const listed = /^(?:[1-9]|[1-9][0-9]+)[^0-9]/u;
    return utterance.asked!.parts.map((part) => {
      const text = part.map((run: Run) => run.text).join("");
      const said = choices > 0 && (listed.test(text) || text === phrases.text("choices", { count: choices }));
      // Heard as part of the question; seen, they are the buttons below.
      return make("p", { class: grave.has(text) ? "grave" : said ? "heard" : undefined }, ...runNodes(part));
    });
  }

  /** Always in this order. */
  #buttons(view: QuestionView, form: QuestionForm | undefined): Button[] {
    const { event } = view;
    const deadline = event.extensions?.["earshot"]?.["deadline"] as { extensions_left?: number } | undefined;
    const more: Button[] =
      (deadline?.extensions_left ?? 0) > 0
        ? [["more_time", "more-time", () => void this.#hooks.answer({ kind: "more" })]]
        : [];
    const later: Button = ["later", "later", () => this.#hooks.postpone()];
    if (form) return [...this.#answers(form), ...more, later];
    const refuse: Button = ["refuse", "refuse", () => this.#send({ kind: "no" })];
    const confirmation = event as AwaitingConfirmation;
    if (view.utterance.asked!.step === "read_back") {
      const allow: Button = ["allow_now", "allow", () => this.#send({ kind: "confirm" })];
      return [refuse, allow, ["go_back", "go-back", () => this.#goBack(view)]];
    }
    if (confirmation.allowed_replies?.includes("accept") === false) return [refuse, ...more, later];
    const allow: Button = isGrave(event)
      ? ["check", "check", () => void this.#hooks.answer({ kind: "yes" })]
      : ["allow", "allow", () => this.#send({ kind: "yes" })];
    return [refuse, allow, ...more, later];
  }

  #answers(form: QuestionForm): Button[] {
    const send = () => {
      const input = form.read();
      if (input) this.#send(input, form);
      else form.complain();
    };
    const yesNo: Button[] = form.yesNo
      ? [
          ["no", "no", () => this.#send({ kind: "no" })],
          ["yes", "yes", () => this.#send({ kind: "yes" })],
        ]
      : [];
    const fields = form.nodes.length > 1;
    return [...yesNo, ...(fields ? [["send", "send", send] as Button] : [])];
  }

  /** Decided once: whatever is pressed until the agent has answered changes nothing. */
  #send(input: AnswerInput, form?: QuestionForm): void {
    if (this.#sent) return;
    this.#sent = true;
    if (!this.#hooks.answer(input)) {
      this.#sent = false;
      return form?.complain();
    }
    if (!this.#dialog) return;
    const { words, language } = this.#shown!.wording;
    const sending = make("p", { class: "sending", lang: language }, words.sending);
    this.#dialog.querySelector(".actions")!.before(sending);
    for (const button of this.#dialog.querySelectorAll("button:not(.later)"))
      button.setAttribute("aria-disabled", "true");
  }

  #goBack(view: QuestionView): void {
    const first = this.#first;
    if (first && first.utterance.reply_token === view.utterance.reply_token) this.#open(first);
  }
}
