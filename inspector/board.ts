/** Everything that is shown of what was heard: four columns, the timeline, findings, and the spoken preview. */
import type { Capabilities } from "../src/protocol/index.ts";
import type { Utterance } from "../src/subscriber/announcer.ts";
import { byId, make, timeNode } from "./dom.ts";
import { Checker, type Finding } from "./findings.ts";
import { type Heard, rawOf, shortType, wordsOf } from "./heard.ts";
import { type ListenerKind, RAW, READER, termsIn } from "./listeners.ts";
import { type Held, Rows } from "./rows.ts";
import { Preview } from "./spoken.ts";
import { OpenQuestions, type Turn, turnOf } from "./timeline.ts";

interface Said {
  readonly at: number;
  readonly utterance: Utterance;
}

class Column {
  readonly rows: Rows<Heard>;
  readonly #terms = make("p", { class: "terms" }, "Not connected yet.");
  readonly #state = make("p", { class: "state" });

  constructor(home: HTMLElement, { id, name, about }: ListenerKind, hold: Held) {
    const title = `column-${id}`;
    const list = make("ol");
    const box = make("div", { class: "box" }, list);
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
    this.rows = new Rows({ box, list, title }, hold, id === "raw" ? rawItem : wordsItem);
  }

  terms(terms: Capabilities): void {
    this.#terms.textContent = `Agreed: ${termsIn(terms)}.`;
  }
  state(sentence: string): void {
    this.#state.textContent = sentence;
  }
}

/** A list of index.html's own. */
const place = (id: string) => ({ box: byId(`${id}-box`), list: byId(id), title: `${id}-title` });

const meta = (at: number, label: string): HTMLElement =>
  make("p", { class: "meta" }, timeNode(at), ` ${label}`);

function wordsItem({ at, event, text }: Heard): HTMLElement {
  if (!event) return make("li", {}, meta(at, "unreadable"), make("p", { dir: "auto" }, rawOf(text)));
  const words = wordsOf(event);
  const critical = event.urgency === "critical" ? ", critical" : "";
  return make(
    "li",
    event.urgency === "critical" ? { class: "critical" } : {},
    meta(at, `${shortType(event.type)}${critical}`),
    words.text !== "" && make("p", { lang: words.language, dir: words.direction }, words.text),
  );
}

const rawItem = ({ at, event, text }: Heard): HTMLElement =>
  make(
    "li",
    {},
    meta(at, event ? shortType(event.type) : "unreadable"),
    make("pre", { dir: "ltr" }, make("code", {}, rawOf(text))),
  );

function turnItem({ at, what, detail, session_id, language, critical }: Turn): HTMLElement {
  return make(
    "tr",
    critical ? { class: "critical" } : {},
    make("td", {}, timeNode(at)),
    make("th", { scope: "row" }, what),
    make("td", { lang: language, dir: "auto" }, detail),
    make("td", { class: "session" }, session_id.slice(0, 13)),
  );
}

function saidItem({ utterance }: Said): HTMLElement {
  const { runs, urgency } = utterance;
  const words = runs
    .filter(({ standIn }) => !standIn)
    .map(({ text, language, direction }) => make("span", { lang: language, dir: direction }, text));
  return make("li", urgency === "critical" ? { class: "critical" } : {}, ...words);
}

/** What a requirement asks for, fetched once there is something to say about one. */
async function explain(id: string, into: HTMLElement): Promise<void> {
  const { REQUIREMENTS } = await import("../src/conformance/requirements.ts");
  const found = REQUIREMENTS.find((one) => one.id === id);
  into.textContent = found?.text ?? "A ruling of Earshot's; PROTOCOL.md gives its reasons.";
}

function findingItem({ at, id, kind, message, type }: Finding): HTMLElement {
  const why = make("p", { class: "hint" });
  if (id !== "") void explain(id, why);
  return make(
    "li",
    { class: kind },
    meta(at, [kind, id, type === undefined ? "" : shortType(type)].filter((one) => one !== "").join(", ")),
    make("p", { dir: "auto" }, rawOf(message)),
    id !== "" && why,
  );
}

export class Board {
  readonly columns: readonly Column[];
  readonly timeline: Rows<Turn>;
  readonly findings: Rows<Finding>;
  readonly spoken: Rows<Said>;
  readonly #languages: readonly string[];
  readonly #asked: (questions: OpenQuestions) => void;
  #checker = new Checker();
  #preview: Preview;
  #questions = new OpenQuestions();

  /** `asked` hears of the question that waits, and that none does any more. */
  constructor(kinds: readonly ListenerKind[], hold: Held, asked: (questions: OpenQuestions) => void) {
    this.#asked = asked;
    const home = byId("columns");
    this.columns = kinds.map((kind) => new Column(home, kind, hold));
    this.#languages = kinds[READER]?.capabilities.languages ?? ["en"];
    this.timeline = new Rows(place("timeline"), hold, turnItem);
    this.findings = new Rows(place("findings"), hold, findingItem);
    this.spoken = new Rows(place("spoken"), hold, saidItem);
    this.#preview = this.#newPreview();
  }

  /** Everything in order, for a person, a recording or a test. */
  get lists(): readonly Rows<never>[] {
    const all = [...this.columns.map(({ rows }) => rows), this.timeline, this.findings, this.spoken];
    return all as unknown as Rows<never>[];
  }

  clear(): void {
    for (const list of this.lists) list.clear();
    for (const column of this.columns) column.state("");
    this.#checker = new Checker();
    this.#preview = this.#newPreview();
    this.#questions = new OpenQuestions();
    this.#asked(this.#questions);
  }

  hear(column: number, heard: Heard): void {
    this.columns[column]!.rows.add(heard);
    if (column === RAW) this.#examine(heard);
    if (column === READER && heard.event) this.#preview.hear(heard.event, heard.at);
  }

  /** Time passes without events: an announcer may have something to say about that. */
  pump(now: number): void {
    this.#preview.pump(now);
  }
  wakeAt(now: number): number | undefined {
    return this.#preview.wakeAt(now);
  }

  #newPreview(): Preview {
    return new Preview(this.#languages, (utterance, at) => this.spoken.add({ at, utterance }));
  }

  #examine(heard: Heard): void {
    for (const finding of this.#checker.check(heard)) this.findings.add(finding);
    const { event } = heard;
    if (!event) return;
    const turn = turnOf(event);
    if (turn) this.timeline.add(turn);
    const before = this.#questions.first;
    this.#questions.hear(event);
    if (this.#questions.first !== before) this.#asked(this.#questions);
  }
}
