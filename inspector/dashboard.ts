/** The page's lists: four columns of received messages, the timeline, findings, and the speech preview. */
import type { AgentEvent, Capabilities } from "../src/protocol/index.ts";
import { Announcer, type Utterance } from "../src/subscriber/announcer.ts";
import { byId, make, timeNode } from "./dom.ts";
import { EventList, type UpdateHold } from "./event-list.ts";
import { Checker, type Finding } from "./findings.ts";
import { type ListenerKind, RAW, READER, termsIn } from "./listeners.ts";
import { type ReceivedMessage, rawText, readableText, shortType } from "./messages.ts";
import { OpenQuestions, type TimelineEntry, timelineEntry } from "./timeline.ts";

interface SpokenEntry {
  readonly at: number;
  readonly utterance: Utterance;
}

/** The sentences a screen reader would speak, as text: the same announcer, without a voice. */
class SpeechPreview {
  readonly #announcer: Announcer;
  readonly #say: (utterance: Utterance, now: number) => void;

  constructor(languages: readonly string[], say: (utterance: Utterance, now: number) => void) {
    this.#announcer = new Announcer({ languages, verbosity: "terse" });
    this.#say = say;
  }

  hear(event: AgentEvent, now: number): void {
    this.#announcer.hear(event, now);
    this.pump(now);
  }

  /** When to call `pump` next, if no event arrives before. */
  wakeAt(now: number): number | undefined {
    return this.#announcer.wakeAt(now);
  }

  pump(now: number): void {
    this.#announcer.tick(now);
    for (;;) {
      const next = this.#announcer.advance(now).find((action) => action.do === "say");
      if (!next) return;
      // Nothing is spoken here, so each utterance ends at once.
      this.#announcer.finished(next.utterance.id, now);
      this.#say(next.utterance, now);
    }
  }
}

class Column {
  readonly list: EventList<ReceivedMessage>;
  readonly #terms = make("p", { class: "terms" }, "Not connected yet.");
  readonly #state = make("p", { class: "state" });

  constructor(home: HTMLElement, { id, name, about }: ListenerKind, hold: UpdateHold) {
    const title = `column-${id}`;
    const items = make("ol");
    const box = make("div", { class: "box" }, items);
    home.append(
      make(
        "section",
        { "aria-labelledby": title, class: "column", id },
        make("h3", { id: title }, name),
        make("p", { class: "hint" }, about),
        this.#terms,
        this.#state,
        box,
      ),
    );
    this.list = new EventList({ box, list: items, title }, hold, id === "raw" ? rawItem : wordsItem);
  }

  terms(terms: Capabilities): void {
    this.#terms.textContent = `Agreed: ${termsIn(terms)}.`;
  }
  state(sentence: string): void {
    this.#state.textContent = sentence;
  }
}

/** The elements of a list in index.html. */
const listElements = (id: string) => ({ box: byId(`${id}-box`), list: byId(id), title: `${id}-title` });

const meta = (at: number, label: string): HTMLElement =>
  make("p", { class: "meta" }, timeNode(at), ` ${label}`);

function wordsItem({ at, event, text }: ReceivedMessage): HTMLElement {
  if (!event) return make("li", {}, meta(at, "unreadable"), make("p", { dir: "auto" }, rawText(text)));
  const words = readableText(event);
  const critical = event.urgency === "critical" ? ", critical" : "";
  return make(
    "li",
    event.urgency === "critical" ? { class: "critical" } : {},
    meta(at, `${shortType(event.type)}${critical}`),
    words.text !== "" && make("p", { lang: words.language, dir: words.direction }, words.text),
  );
}

const rawItem = ({ at, event, text }: ReceivedMessage): HTMLElement =>
  make(
    "li",
    {},
    meta(at, event ? shortType(event.type) : "unreadable"),
    make("pre", { dir: "ltr" }, make("code", {}, rawText(text))),
  );

function timelineItem({ at, what, detail, session_id, language, critical }: TimelineEntry): HTMLElement {
  return make(
    "tr",
    critical ? { class: "critical" } : {},
    make("td", {}, timeNode(at)),
    make("th", { scope: "row" }, what),
    make("td", { lang: language, dir: "auto" }, detail),
    make("td", { class: "session" }, session_id.slice(0, 13)),
  );
}

function saidItem({ utterance }: SpokenEntry): HTMLElement {
  const { runs, urgency } = utterance;
  const words = runs
    .filter(({ standIn }) => !standIn)
    .map(({ text, language, direction }) => make("span", { lang: language, dir: direction }, text));
  return make("li", urgency === "critical" ? { class: "critical" } : {}, ...words);
}

/** The text of a requirement, loaded on first use. */
async function explain(id: string, into: HTMLElement): Promise<void> {
  const { REQUIREMENTS } = await import("../src/conformance/requirements.ts");
  const found = REQUIREMENTS.find((one) => one.id === id);
  into.textContent = found?.text ?? "An Earshot ruling; see PROTOCOL.md for the reasons.";
}

function findingItem({ at, id, kind, message, type }: Finding): HTMLElement {
  const why = make("p", { class: "hint" });
  if (id !== "") void explain(id, why);
  return make(
    "li",
    { class: kind },
    meta(at, [kind, id, type === undefined ? "" : shortType(type)].filter((one) => one !== "").join(", ")),
    make("p", { dir: "auto" }, rawText(message)),
    id !== "" && why,
  );
}

export class Dashboard {
  readonly columns: readonly Column[];
  readonly timeline: EventList<TimelineEntry>;
  readonly findings: EventList<Finding>;
  readonly spoken: EventList<SpokenEntry>;
  readonly #languages: readonly string[];
  readonly #asked: (questions: OpenQuestions) => void;
  #checker = new Checker();
  #preview: SpeechPreview;
  #questions = new OpenQuestions();

  /** `asked` is called when the first open question changes. */
  constructor(kinds: readonly ListenerKind[], hold: UpdateHold, asked: (questions: OpenQuestions) => void) {
    this.#asked = asked;
    const home = byId("columns");
    this.columns = kinds.map((kind) => new Column(home, kind, hold));
    this.#languages = kinds[READER]?.capabilities.languages ?? ["en"];
    this.timeline = new EventList(listElements("timeline"), hold, timelineItem);
    this.findings = new EventList(listElements("findings"), hold, findingItem);
    this.spoken = new EventList(listElements("spoken"), hold, saidItem);
    this.#preview = this.#newPreview();
  }

  /** All lists in page order. */
  get lists(): readonly EventList<never>[] {
    const all = [...this.columns.map(({ list }) => list), this.timeline, this.findings, this.spoken];
    return all as unknown as EventList<never>[];
  }

  clear(): void {
    for (const list of this.lists) list.clear();
    for (const column of this.columns) column.state("");
    this.#checker = new Checker();
    this.#preview = this.#newPreview();
    this.#questions = new OpenQuestions();
    this.#asked(this.#questions);
  }

  add(column: number, message: ReceivedMessage): void {
    this.columns[column]!.list.add(message);
    if (column === RAW) this.#examine(message);
    if (column === READER && message.event) this.#preview.hear(message.event, message.at);
  }

  /** Advances the speech preview: the announcer also speaks when time passes without events. */
  pump(now: number): void {
    this.#preview.pump(now);
  }
  wakeAt(now: number): number | undefined {
    return this.#preview.wakeAt(now);
  }

  #newPreview(): SpeechPreview {
    return new SpeechPreview(this.#languages, (utterance, at) => this.spoken.add({ at, utterance }));
  }

  #examine(message: ReceivedMessage): void {
    for (const finding of this.#checker.check(message)) this.findings.add(finding);
    const { event } = message;
    if (!event) return;
    const entry = timelineEntry(event);
    if (entry) this.timeline.add(entry);
    const before = this.#questions.first;
    this.#questions.hear(event);
    if (this.#questions.first !== before) this.#asked(this.#questions);
  }
}
