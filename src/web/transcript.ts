/**
 * What was said and done, to be read at one's own pace: one turn per session, each under a heading. Not a live region:
 * announcements are made in live-regions.ts. Finished blocks are not changed again, so that readers keep their place.
 */
import type { AgentEvent, OutputStreaming } from "../protocol/types.ts";
import type { Announcer, Run } from "../subscriber/announcer.ts";
import { plainHtml } from "../text/markdown.ts";
import { make, runNodes } from "./dom.ts";
import { clean, type MarkdownWords, markdownNodes, plainNodes } from "./markdown.ts";
import type { PageMessages } from "./messages.ts";

/** Older turns are removed, and a sentence says so. */
const MAX_TURNS = 100;
/** Throttles rendering of growing text. */
const RENDER_MS = 250;

interface OutputBlock {
  readonly node: HTMLElement;
  readonly type: string | undefined;
  readonly language: string | undefined;
  next: number;
  /** Text of the last, unfinished block, which is rendered again as it grows. */
  tail: string;
  /** Number of finished child nodes. */
  finished: number;
  complete: boolean;
}

interface Turn {
  readonly node: HTMLElement;
  readonly outputs: Map<string, OutputBlock>;
}

/** The transcript of a page: one turn per session, to be read at one's own pace. */
export class Transcript {
  readonly element: HTMLElement;
  readonly #turns = new Map<string, Turn>();
  readonly #messages: () => PageMessages;
  readonly #announcer: () => Announcer;
  readonly #dirty = new Set<OutputBlock>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #personTurns = 0;

  constructor(messages: () => PageMessages, announcer: () => Announcer) {
    this.element = make("div", { class: "turns", part: "turns" });
    this.#messages = messages;
    this.#announcer = announcer;
  }

  /** A turn of the person, if the page shows them. */
  person(text: string): void {
    const node = this.#section(this.#messages().you, "person");
    node.append(...plainNodes(clean(text, undefined)));
    this.#add(`person ${++this.#personTurns}`, { node, outputs: new Map() });
  }

  event(event: AgentEvent): void {
    const turn = this.#turns.get(event.session_id) ?? this.#begin(event);
    if (event.type === "aaep:agent.output.streaming") this.#stream(turn, event as OutputStreaming);
  }

  /** An announcement: what was done, asked or decided. */
  note(session_id: string | undefined, runs: readonly Run[], kind: string): void {
    const key = session_id?.slice(session_id.indexOf(" ") + 1) ?? "";
    const turn = this.#turns.get(key) ?? [...this.#turns.values()].at(-1);
    if (!turn) return;
    for (const output of turn.outputs.values()) this.#finish(output);
    turn.node.append(make("p", { class: `note ${kind}`, part: "note" }, ...runNodes(runs)));
  }

  /** Finishes the last block if it ends like a sentence. */
  #finish(output: OutputBlock): void {
    if (!/[.!?…:;。！？؟۔।]["'”’»)\]]*\s*$/u.test(output.tail) || /^ {0,3}(?:```|~~~)/mu.test(output.tail))
      return;
    const { complete } = output;
    output.complete = true;
    this.#renderOutput(output);
    output.complete = complete;
    this.#dirty.delete(output);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #begin(event: AgentEvent): Turn {
    const { agent_name, agent_id } = event.producer;
    const name = clean(agent_name ?? agent_id, undefined).slice(0, 80);
    const turn = { node: this.#section(name, "agent"), outputs: new Map() };
    this.#add(event.session_id, turn);
    return turn;
  }

  #section(title: string, who: string): HTMLElement {
    return make(
      "section",
      { class: `turn ${who}`, part: `turn ${who}` },
      make("h3", { part: "turn-heading" }, make("span", { dir: "auto" }, title)),
    );
  }

  #add(key: string, turn: Turn): void {
    this.#turns.set(key, turn);
    this.element.append(turn.node);
    if (this.#turns.size <= MAX_TURNS) return;
    const [oldest, { node }] = this.#turns.entries().next().value!;
    this.#turns.delete(oldest);
    node.remove();
    if (!this.element.querySelector(".earlier"))
      this.element.prepend(make("p", { class: "earlier" }, this.#messages().earlier));
  }

  #stream({ outputs, node }: Turn, event: OutputStreaming): void {
    const id = event.output_id ?? "";
    let output = outputs.get(id);
    if (!output || (output.complete && event.output_id === undefined)) {
      const language = event.language ?? event.localization_hints?.primary_language;
      output = {
        node: this.#append(node, language),
        type: event.content_type,
        language,
        next: 0,
        tail: "",
        finished: 0,
        complete: false,
      };
      outputs.set(id, output);
    } else if (output.node !== node.lastElementChild && output.tail === "") {
      // A note was added in between: further text goes after it.
      output = { ...output, node: this.#append(node, output.language), finished: 0 };
      outputs.set(id, output);
    }
    // Deduplicate text that was sent again after a reconnect, by its position.
    const points = Array.from(event.chunk);
    const overlap = Math.max(0, output.next - event.position);
    output.tail += overlap === 0 ? event.chunk : points.slice(overlap).join("");
    output.next = Math.max(output.next, event.position + points.length);
    output.complete ||= event.complete === true;
    this.#dirty.add(output);
    this.#timer ??= setTimeout(() => this.#render(), RENDER_MS);
  }

  #append(turn: HTMLElement, language: string | undefined): HTMLElement {
    const block = make("div", { class: "output", part: "output", lang: language, dir: "auto" });
    turn.append(block);
    return block;
  }

  #render(): void {
    this.#timer = undefined;
    for (const output of this.#dirty) this.#renderOutput(output);
    this.#dirty.clear();
  }

  #renderOutput(output: OutputBlock): void {
    const cut = output.complete ? output.tail.length : finishedUntil(output.tail);
    while (output.node.childNodes.length > output.finished) output.node.lastChild!.remove();
    output.node.append(...this.#nodes(output, output.tail.slice(0, cut)));
    output.finished = output.node.childNodes.length;
    output.tail = output.tail.slice(cut);
    output.node.append(...this.#nodes(output, output.tail));
  }

  #nodes({ type, language }: OutputBlock, text: string): HTMLElement[] {
    const safe = clean(type === "text/html" ? plainHtml(text) : text, language);
    if (type === "text/plain" || type === "text/html") return plainNodes(safe);
    return markdownNodes(safe, 3, this.#markdownWords());
  }

  #markdownWords(): MarkdownWords {
    const { phrases } = this.#announcer();
    return {
      image: (text) => phrases.text("image", { text }),
      code: (language, count) =>
        language === "" ? phrases.text("code", { count }) : phrases.text("code_in", { language, count }),
      task: (done, text) => phrases.text(done ? "task_done" : "task_open", { text }),
    };
  }
}

/** Index of the last blank line outside code and lists: text before it can no longer change. */
function finishedUntil(text: string): number {
  let cut = 0;
  let fenced = false;
  let at = 0;
  let listed = false;
  for (const line of text.split("\n")) {
    const end = at + line.length + 1;
    if (/^ {0,3}(?:```|~~~)/u.test(line)) fenced = !fenced;
    if (line.trim() === "" && !fenced && end <= text.length && !listed) cut = end;
    else if (line.trim() !== "") listed = /^\s*(?:[-*+•]|\d{1,9}[.)])\s|^\s{2,}\S/u.test(line);
    at = end;
  }
  return cut;
}
