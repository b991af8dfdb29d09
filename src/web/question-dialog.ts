/**
 * A question as a modal dialog (chapter 6, A07): read as a whole when it opens, with the focus on its heading. It cannot
 * be answered by accident: key presses from before do not count, No has its own button, Yes is never the last control,
 * and yes to an irreversible or high-risk act opens a second dialog that reads the parameters back.
 */
import type { AwaitingClarification, AwaitingConfirmation } from "../protocol/types.ts";
import type { AnswerInput, Phrases, Run, Utterance } from "../subscriber/announcer.ts";
import { isGrave } from "../subscriber/announcer.ts";
import { neutralize } from "../text/neutralize.ts";
import { deepActive, make, runNodes } from "./dom.ts";
import type { KeyboardGuard } from "./keyboard-guard.ts";
import { fill, type LocalizedMessages, type PageMessageKey } from "./messages.ts";
import { isReachable, type RenderRoot } from "./render-root.ts";

export type QuestionEvent = AwaitingConfirmation | AwaitingClarification;

export interface QuestionHooks {
  /** Returns false if the input is no answer to the question. */
  answer(input: AnswerInput): boolean;
  postpone(): void;
  /** The dialog has opened and needs live regions. */
  opened(dialog: HTMLElement): void;
  readonly keyboard: KeyboardGuard;
}

export interface QuestionView {
  readonly utterance: Utterance;
  readonly event: QuestionEvent;
  readonly agent: string;
  /** Number of further questions. */
  readonly more: number;
  readonly localized: LocalizedMessages;
  readonly phrases: Phrases;
  /** At low load the dialog fills the screen. */
  readonly alone: boolean;
  readonly direction: "ltr" | "rtl";
}

/** A press this soon after the dialog appeared was not meant for it. */
const ARM_MS = 600;

type Button = readonly [message: PageMessageKey, part: string, press: () => void];

/** The open dialog among all elements on this page: one question at a time. */
let openDialog: QuestionDialog | undefined;

export class QuestionDialog {
  readonly #renderRoot: RenderRoot;
  readonly #hooks: QuestionHooks;
  #dialog: HTMLDialogElement | undefined;
  #shown: QuestionView | undefined;
  /** The first step, to go back to. */
  #first: QuestionView | undefined;
  #returnTo: HTMLElement | undefined;
  #shownUtterance: number | undefined;
  #armedAt = 0;
  /** The current pointer press began too early to be meant for the question. */
  #early = false;
  #sent = false;
  #form: QuestionForm | undefined;
  /** Unsent input, kept while the question is closed. */
  #draft: { readonly reply_token: string | undefined; readonly input: Draft } | undefined;
  readonly #resizes = globalThis.ResizeObserver && new ResizeObserver(() => this.refresh());

  constructor(renderRoot: RenderRoot, hooks: QuestionHooks) {
    this.#renderRoot = renderRoot;
    this.#hooks = hooks;
  }

  /** Whether another element's question is open on this page. */
  get busy(): boolean {
    return openDialog !== undefined && openDialog !== this;
  }

  get element(): HTMLDialogElement | undefined {
    return this.#dialog;
  }
  /** The part that screen readers read, which also holds the live regions. */
  get content(): HTMLElement | undefined {
    return this.#dialog?.querySelector<HTMLElement>("[aria-modal]") ?? undefined;
  }
  /** The id of the utterance shown last. */
  get shownUtterance(): number | undefined {
    return this.#shownUtterance;
  }

  /** Opens the dialog, or shows the next step. Does nothing if it is already shown. */
  show(view: QuestionView): void {
    if (this.#shownUtterance === view.utterance.id) return;
    this.#shownUtterance = view.utterance.id;
    this.#sent = false;
    if (view.utterance.asked!.step === "ask") this.#first = view;
    this.#open(view);
  }

  /** Closes without an answer: the question was settled, or postponed. */
  close(): void {
    const dialog = this.#dialog;
    if (!dialog) return;
    this.#keepDraft();
    if (openDialog === this) openDialog = undefined;
    this.#dialog = this.#shown = this.#shownUtterance = this.#form = undefined;
    this.#resizes?.disconnect();
    dialog.close();
    dialog.remove();
    this.#hooks.keyboard.dialogClosed();
    const back = this.#returnTo;
    this.#returnTo = undefined;
    if (back?.isConnected) back.focus({ preventScroll: true });
  }

  /** Opens the dialog again if the page moved or hid its container, which makes it non-modal or invisible. */
  refresh(): void {
    const dialog = this.#dialog;
    if (!dialog || !this.#shown) return;
    const elsewhere = this.#renderRoot.root !== dialog.getRootNode();
    if (!dialog.matches(":modal") || (elsewhere && !isReachable(dialog))) this.#open(this.#shown);
  }

  #keepDraft(): void {
    if (!this.#form || !this.#shown) return;
    this.#draft = { reply_token: this.#shown.utterance.reply_token, input: this.#form.draft() };
  }

  #open(view: QuestionView): void {
    const before = this.#dialog;
    this.#keepDraft();
    openDialog = this;
    this.#returnTo ??= (deepActive() as HTMLElement | null) ?? undefined;
    this.#shown = view;
    const dialog = this.#build(view);
    this.#dialog = dialog;
    this.#renderRoot.root.append(dialog);
    dialog.showModal();
    this.#resizes?.disconnect();
    this.#resizes?.observe(dialog);
    dialog.querySelector<HTMLElement>("h2")!.focus();
    // A new dialog each time: otherwise screen readers do not read it from its beginning.
    before?.close();
    before?.remove();
    this.#armedAt = performance.now() + ARM_MS;
    this.#early = false;
    this.#hooks.keyboard.dialogOpened(this.#armedAt);
    this.#hooks.opened(this.content!);
  }

  #build(view: QuestionView): HTMLDialogElement {
    const { localized, utterance, direction, alone } = view;
    const second = utterance.asked!.step === "read_back";
    const { messages, language } = localized;
    const title = second ? messages.check_heading : fill(messages.question_from, { agent: view.agent });
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
      view.event.type === "aaep:agent.awaiting.clarification"
        ? questionForm(view.event, localized)
        : undefined;
    this.#form = form;
    if (this.#draft?.reply_token === utterance.reply_token) form?.restore(this.#draft!.input);
    const actions = make("div", { class: "actions", part: "actions" });
    for (const [message, part, press] of this.#buttons(view, form)) {
      const button = make(
        "button",
        { type: "button", part: `button ${part}`, class: part, lang: language },
        messages[message],
      );
      button.addEventListener("click", () => {
        const early = this.#early || performance.now() < this.#armedAt;
        this.#early = false;
        if (!early && !(this.#sent && part !== "later")) press();
      });
      actions.append(button);
    }
    // Two elements: the outer makes everything else inert, the inner is read. With a single element, Chromium reports
    // the dialog to Orca twice, and the question is read twice.
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
      // During composition, Escape belongs to the input method.
      if (event.key !== "Escape" || event.isComposing) return;
      event.preventDefault();
      this.#hooks.postpone();
    });
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.#hooks.postpone();
    });
    // A browser may force the dialog closed; that is not an answer.
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
      const hasButton =
        choices > 0 && (listed.test(text) || text === phrases.text("choices", { count: choices }));
      // Read with the question; visually, the choices are the radio buttons below.
      return make(
        "p",
        { class: grave.has(text) ? "grave" : hasButton ? "heard" : undefined },
        ...runNodes(part),
      );
    });
  }

  /** The order never changes. */
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
      else form.showError();
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

  /** Further presses are ignored until the agent has taken the answer. */
  #send(input: AnswerInput, form?: QuestionForm): void {
    if (this.#sent) return;
    this.#sent = true;
    if (!this.#hooks.answer(input)) {
      this.#sent = false;
      return form?.showError();
    }
    if (!this.#dialog) return;
    const { messages, language } = this.#shown!.localized;
    const sending = make("p", { class: "sending", lang: language }, messages.sending);
    this.#dialog.querySelector(".actions")!.before(sending);
    for (const button of this.#dialog.querySelectorAll("button:not(.later)"))
      button.setAttribute("aria-disabled", "true");
  }

  #goBack(view: QuestionView): void {
    const first = this.#first;
    if (first && first.utterance.reply_token === view.utterance.reply_token) this.#open(first);
  }
}

/** The current input. */
interface Draft {
  readonly text: string;
  readonly chosen: number;
}

interface QuestionForm {
  draft(): Draft;
  restore(draft: Draft): void;
  readonly nodes: readonly HTMLElement[];
  /** The answer; undefined if there is no input yet. */
  read(): AnswerInput | undefined;
  /** Shows at the field that an answer is missing, and moves the focus there. */
  showError(): void;
  readonly yesNo: boolean;
}

/** The fields of a clarification: choices, a number, text or yes and no, as the question accepts (CNF-27). */
function questionForm(event: AwaitingClarification, { messages, language }: LocalizedMessages): QuestionForm {
  const kinds = event.accepted_response_kinds ?? ["freetext"];
  const choices = kinds.includes("multiple_choice") ? (event.choices ?? []) : [];
  const radios = choices.map((_, index) =>
    make("input", { type: "radio", name: "choice", id: `choice-${index}`, value: String(index + 1) }),
  );
  const hints = event.localization_hints?.primary_language;
  const error = make(
    "p",
    { id: "error", part: "error", class: "error", lang: language, hidden: true },
    messages.not_an_answer,
  );
  const nodes: HTMLElement[] = [];
  if (radios.length > 0) {
    const options = radios.map((radio, index) =>
      make(
        "div",
        { class: "choice", part: "choice" },
        radio,
        make("label", { for: radio.id, lang: hints, dir: "auto" }, neutralize(choices[index]!.label).text),
      ),
    );
    nodes.push(
      make("fieldset", { part: "choices" }, make("legend", { lang: language }, messages.choose), ...options),
    );
  }
  const numeric = kinds.includes("numeric") && !kinds.includes("freetext");
  const typed = numeric || kinds.includes("freetext");
  const field = numeric
    ? make("input", { id: "answer", inputmode: "decimal", autocomplete: "off", part: "field" })
    : make("textarea", { id: "answer", rows: "3", part: "field", dir: "auto" });
  if (typed) {
    const label = make(
      "label",
      { for: "answer", lang: language },
      numeric ? messages.your_number : messages.your_answer,
    );
    nodes.push(make("div", { class: "field" }, label, field));
  }
  nodes.push(error);
  const first = radios[0] ?? field;
  return {
    nodes,
    yesNo: kinds.includes("yes_no"),
    draft: () => ({ text: field.value, chosen: radios.findIndex(({ checked }) => checked) }),
    restore({ text, chosen }) {
      field.value = text;
      const radio = radios[chosen];
      if (radio) radio.checked = true;
    },
    read() {
      const text = typed ? field.value.trim() : "";
      if (text !== "") return { kind: "text", text };
      const chosen = radios.find(({ checked }) => checked);
      return chosen && { kind: "text", text: chosen.value };
    },
    showError() {
      error.hidden = false;
      for (const one of [...radios, field]) one.setAttribute("aria-describedby", "error");
      field.setAttribute("aria-invalid", "true");
      first.focus();
    },
  };
}
