/**
 * What was said and done, to be read at one's own pace: one turn per session, each under a heading. It is no live
 * region: words are announced elsewhere, once. What stands is not touched again, so that nobody loses their place.
 */
import type { AgentEvent, OutputStreaming } from "../protocol/types.ts";
import type { Announcer, Run } from "../subscriber/announcer.ts";
import { plainHtml } from "../subscriber/markdown.ts";
import { clean, type MarkdownWords, markdownNodes, plainNodes } from "./markdown.ts";
import { make, runNodes } from "./runs.ts";
import type { Words } from "./words.ts";

/** Turns on the page; older ones go, and a line says so. */
const MOST_TURNS = 100;
/** Text that is still growing is drawn again this often at most. */
const DRAW_MS = 250;

interface Output {
  readonly node: HTMLElement;
  readonly type: string | undefined;
  readonly language: string | undefined;
  next: number;
  /** Blocks that are complete stand; only the last is drawn again. */
  tail: string;
  standing: number;
  complete: boolean;
}

interface Turn {
  readonly node: HTMLElement;
  readonly outputs: Map<string, Output>;
}

export class Transcript {
  readonly element: HTMLElement;
  readonly #turns = new Map<string, Turn>();
  readonly #words: () => Words;
  readonly #announcer: () => Announcer;
  readonly #dirty = new Set<Output>();
  #drawing: ReturnType<typeof setTimeout> | undefined;
  #people = 0;

  constructor(words: () => Words, announcer: () => Announcer) {
    this.element = make("div", { class: "turns", part: "turns" });
    this.#words = words;
    this.#announcer = announcer;
  }

  /** What the person wrote, where the page wants it shown. */
  person(text: string): void {
    const node = this.#section(this.#words().you, "person");
    node.append(...plainNodes(clean(text, undefined)));
    this.#add(`person ${++this.#people}`, { node, outputs: new Map() });
  }

  event(event: AgentEvent): void {
    const turn = this.#turns.get(event.session_id) ?? this.#begin(event);
    if (event.type === "aaep:agent.output.streaming") this.#stream(turn, event as OutputStreaming);
  }

  /** Something the announcer has words for: what was done, asked, decided. */
  note(session_id: string | undefined, runs: readonly Run[], kind: string): void {
    const key = session_id?.slice(session_id.indexOf(" ") + 1) ?? "";
    const turn = this.#turns.get(key) ?? [...this.#turns.values()].at(-1);
    if (!turn) return;
    for (const output of turn.outputs.values()) this.#settle(output);
    turn.node.append(make("p", { class: `note ${kind}`, part: "note" }, ...runNodes(runs)));
  }

  /** What there is of it stands, if it ends where a sentence may end. */
  #settle(output: Output): void {
    if (!/[.!?…:;。！？؟۔।]["'”’»)\]]*\s*$/u.test(output.tail) || /^ {0,3}(?:```|~~~)/mu.test(output.tail))
      return;
    const { complete } = output;
    output.complete = true;
    this.#drawOne(output);
    output.complete = complete;
    this.#dirty.delete(output);
  }

  close(): void {
    clearTimeout(this.#drawing);
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
    if (this.#turns.size <= MOST_TURNS) return;
    const [oldest, { node }] = this.#turns.entries().next().value!;
    this.#turns.delete(oldest);
    node.remove();
    if (!this.element.querySelector(".earlier"))
      this.element.prepend(make("p", { class: "earlier" }, this.#words().earlier));
  }

  #stream({ outputs, node }: Turn, event: OutputStreaming): void {
    const id = event.output_id ?? "";
    let output = outputs.get(id);
    if (!output || (output.complete && event.output_id === undefined)) {
      const language = event.language ?? event.localization_hints?.primary_language;
      output = {
        node: this.#place(node, language),
        type: event.content_type,
        language,
        next: 0,
        tail: "",
        standing: 0,
        complete: false,
      };
      outputs.set(id, output);
    } else if (output.node !== node.lastElementChild && output.tail === "") {
      // Something happened in between: what comes now belongs after it.
      output = { ...output, node: this.#place(node, output.language), standing: 0 };
      outputs.set(id, output);
    }
    // What was sent again after a lost line is known by its position.
    const points = Array.from(event.chunk);
    const heard = Math.max(0, output.next - event.position);
    output.tail += heard === 0 ? event.chunk : points.slice(heard).join("");
    output.next = Math.max(output.next, event.position + points.length);
    output.complete ||= event.complete === true;
    this.#dirty.add(output);
    this.#drawing ??= setTimeout(() => this.#draw(), DRAW_MS);
  }

  #place(turn: HTMLElement, language: string | undefined): HTMLElement {
    const place = make("div", { class: "output", part: "output", lang: language, dir: "auto" });
    turn.append(place);
    return place;
  }

  #draw(): void {
    this.#drawing = undefined;
    for (const output of this.#dirty) this.#drawOne(output);
    this.#dirty.clear();
  }

  #drawOne(output: Output): void {
    const cut = output.complete ? output.tail.length : standsUntil(output.tail);
    while (output.node.childNodes.length > output.standing) output.node.lastChild!.remove();
    output.node.append(...this.#nodes(output, output.tail.slice(0, cut)));
    output.standing = output.node.childNodes.length;
    output.tail = output.tail.slice(cut);
    output.node.append(...this.#nodes(output, output.tail));
  }

  #nodes({ type, language }: Output, text: string): HTMLElement[] {
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
    };
  }
}

/** Up to the last blank line outside code: nothing before it can change any more, unless a list goes on. */
function standsUntil(text: string): number {
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
