/** Puts the page together: who may see it, where what is shown comes from, and what each control does. */
import { Board } from "./board.ts";
import { type About, Credential, messageOf } from "./credential.ts";
import { byId, saveFile, tellStatus } from "./dom.ts";
import { openElsewhere } from "./elsewhere.ts";
import { shortType } from "./heard.ts";
import { listenerKinds, RAW, termsIn } from "./listeners.ts";
import { openLive } from "./live.ts";
import { Mouth } from "./mouth.ts";
import type { Replay } from "./replay.ts";
import type { Source } from "./source.ts";
import { setUpTermsForm } from "./terms-form.ts";

const kinds = listenerKinds();
const hold = byId<HTMLInputElement>("hold");
const mouth = new Mouth();
const holds = {
  get held() {
    return hold.checked;
  },
};
const board = new Board(kinds, holds, (questions) => mouth.asked(questions));
const credential = new Credential();
let source: Source | undefined;

const on = (id: string, type: string, work: (event: Event) => unknown): void =>
  byId(id).addEventListener(type, (event) => {
    if (type === "submit") event.preventDefault();
    work(event);
  });
const value = (id: string): string => byId<HTMLInputElement>(id).value.trim();

function show(next: Source | undefined, where: string): void {
  source?.stop();
  source = next;
  byId("source").textContent = where;
}

function goLive({ prefix, prompt }: About): void {
  const address = `${location.origin.replace(/^http/, "ws")}${prefix}/ws`;
  show(undefined, "Connecting to the agent of this page.");
  board.clear();
  byId("player").hidden = byId("return").hidden = true;
  show(
    openLive(board, address, kinds, {
      agent: (name) => {
        byId("source").textContent = `Listening to ${name}, at ${location.host}.`;
      },
    }),
    "Connecting to the agent of this page.",
  );
  byId("asking").hidden = prompt === null;
  mouth.address = address;
}

/** What is shown is not the agent of this page: nobody can be asked or answered. */
function leaveAgent(): void {
  byId("asking").hidden = true;
  mouth.address = undefined;
}

async function ask(path: string): Promise<void> {
  const text = value("prompt");
  try {
    const answer = await fetch(path, {
      method: "POST",
      headers: { ...credential.headers, "content-type": "application/json" },
      body: JSON.stringify({ text }),
    });
    tellStatus(answer.ok ? `Asked: ${text}` : await messageOf(answer));
    if (answer.ok) byId<HTMLInputElement>("prompt").value = "";
  } catch {
    tellStatus("The agent does not answer. Is it running?");
  }
}

async function listenElsewhere(): Promise<void> {
  const address = value("address");
  const where = { address, token: value("address-token"), headers: credential.headers };
  tellStatus(`Connecting to ${address}.`);
  const before = source;
  try {
    board.clear();
    leaveAgent();
    before?.stop();
    const opened = await openElsewhere(board, where, kinds);
    show(
      opened.source,
      `Listening to ${opened.agent}, at ${address}, through this machine. It cannot be answered here.`,
    );
    tellStatus(`Listening to ${opened.agent}.`);
  } catch (error) {
    show(undefined, "Listening to nobody.");
    tellStatus((error as Error).message);
  }
  byId("return").hidden = false;
  byId("player").hidden = true;
}

let replay: Replay | undefined;
async function openRecording(file: File): Promise<void> {
  // Only whoever replays needs the engine.
  const { linesIn, Replay } = await import("./replay.ts");
  const lines = linesIn(await file.text());
  if (lines.length === 0) return tellStatus(`${file.name} is empty. Choose a file with one event a line.`);
  leaveAgent();
  show(undefined, "");
  replay = new Replay(board, lines, kinds);
  show(replay, `Replaying ${file.name}: ${lines.length.toLocaleString("en")} lines.`);
  byId("player").hidden = false;
  byId("return").hidden = true;
  tellStatus(`${file.name} is loaded. Step through it with the buttons after the file.`);
}

async function forward(count: number): Promise<void> {
  if (!replay) return;
  const type = await replay.forward(count);
  const place = `${replay.place.toLocaleString("en")} of ${replay.length.toLocaleString("en")}`;
  tellStatus(type === undefined ? "The recording is at its end." : `Event ${place}: ${shortType(type)}.`);
}

let recordedFrom: number | undefined;
function record(): void {
  const { items } = board.columns[RAW]!.rows;
  const button = byId("record");
  if (recordedFrom === undefined) {
    recordedFrom = items.length;
    button.textContent = "Stop recording and save";
    return tellStatus("Recording everything the raw listener gets.");
  }
  // A list that was cleared meanwhile has begun anew.
  const lines = items.slice(recordedFrom > items.length ? 0 : recordedFrom);
  recordedFrom = undefined;
  button.textContent = "Start recording";
  if (lines.length === 0) return tellStatus("Nothing came, so nothing was saved.");
  saveFile("session.jsonl", "application/x-ndjson", lines.map(({ text }) => `${oneLine(text)}\n`).join(""));
  tellStatus(`Saved ${lines.length} events as session.jsonl.`);
}

const oneLine = (text: string): string => text.replaceAll(/[\r\n]+/g, " ");

function exportAll(): void {
  const columns = kinds.map(({ name, capabilities }, index) => ({
    listener: name,
    asked_for: termsIn(capabilities),
    heard: board.columns[index]!.rows.items.map(({ at, text }) => ({ at: new Date(at).toISOString(), text })),
  }));
  const { timeline, findings, spoken } = board;
  const all = { columns, timeline: timeline.items, findings: findings.items, spoken: spoken.items };
  saveFile("inspector.json", "application/json", JSON.stringify(all, null, 1));
  tellStatus("Saved everything as inspector.json.");
}

function setUp(about: About): void {
  const { prompt, example } = about;
  if (prompt !== null) on("prompt-form", "submit", () => ask(prompt));
  byId("prompt-hint").textContent = example === null ? "" : `For example: ${example}`;
  byId("elsewhere").hidden = !about.elsewhere;
  on("hold", "change", () => {
    for (const list of board.lists) list.draw();
  });
  setUpTermsForm(kinds, async (column, wish) => {
    if (!source) throw new Error("Nobody is listening.");
    const agreed = await source.renegotiate(column, wish);
    board.columns[column]!.terms(agreed);
    return agreed;
  });
  on("record", "click", record);
  on("export", "click", exportAll);
  on("file", "change", (event) => {
    const file = (event.target as HTMLInputElement).files?.[0];
    if (file) void openRecording(file);
  });
  on("step", "click", () => forward(1));
  on("step-many", "click", () => forward(100));
  on("to-end", "click", () => forward(Infinity));
  on("restart", "click", () => {
    replay?.restart();
    tellStatus("At the beginning.");
  });
  on("live", "click", () => goLive(about));
  on("return", "click", () => goLive(about));
  on("elsewhere-form", "submit", listenElsewhere);
  goLive(about);
}

async function enter(): Promise<void> {
  const entry = await credential.enter();
  const refused = "refused" in entry ? entry.refused : undefined;
  byId("closed").hidden = refused === undefined;
  byId("open").hidden = refused !== undefined;
  if ("about" in entry) return setUp(entry.about);
  byId("closed-reason").textContent = entry.refused;
  byId("source").textContent = "Not open.";
}

on("token-form", "submit", () => {
  credential.keep(value("token"));
  byId<HTMLInputElement>("token").value = "";
  void enter().then(() => byId("main").focus());
});
void enter();
