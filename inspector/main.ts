/** Sets up the page: access, the source of events, and the controls. */
import { type About, Credential, messageOf } from "./credential.ts";
import { Dashboard } from "./dashboard.ts";
import { byId, saveFile, tellStatus } from "./dom.ts";
import { listenerKinds, RAW, setUpTermsForm, termsIn } from "./listeners.ts";
import { shortType } from "./messages.ts";
import type { Replay } from "./replay.ts";
import { openLocalAgent, openRemoteAgent, type Source } from "./sources.ts";
import { SpeechSwitch } from "./speech-switch.ts";

const kinds = listenerKinds();
const hold = byId<HTMLInputElement>("hold");
const speech = new SpeechSwitch();
const holds = {
  get held() {
    return hold.checked;
  },
};
const dashboard = new Dashboard(kinds, holds, (questions) => speech.asked(questions));
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
  dashboard.clear();
  byId("player").hidden = byId("return").hidden = true;
  show(
    openLocalAgent(dashboard, address, kinds, {
      agent: (name) => {
        byId("source").textContent = `Listening to ${name}, at ${location.host}.`;
      },
    }),
    "Connecting to the agent of this page.",
  );
  byId("asking").hidden = prompt === null;
  speech.address = address;
}

/** Another source than the agent of this page: prompts and answers are not possible. */
function leaveAgent(): void {
  byId("asking").hidden = true;
  speech.address = undefined;
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

async function listenToRemoteAgent(): Promise<void> {
  const address = value("address");
  const where = { address, token: value("address-token"), headers: credential.headers };
  tellStatus(`Connecting to ${address}.`);
  const before = source;
  try {
    dashboard.clear();
    leaveAgent();
    before?.stop();
    const opened = await openRemoteAgent(dashboard, where, kinds);
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
  // The delivery engine is loaded only for replays.
  const { linesIn, Replay } = await import("./replay.ts");
  const lines = linesIn(await file.text());
  if (lines.length === 0) return tellStatus(`${file.name} is empty. Choose a file with one event a line.`);
  leaveAgent();
  show(undefined, "");
  replay = new Replay(dashboard, lines, kinds);
  show(replay, `Replaying ${file.name}: ${lines.length.toLocaleString("en")} lines.`);
  byId("player").hidden = false;
  byId("return").hidden = true;
  tellStatus(`${file.name} is loaded. Step through it with the buttons after the file.`);
}

async function forward(count: number): Promise<void> {
  if (!replay) return;
  const type = await replay.forward(count);
  const place = `${replay.position.toLocaleString("en")} of ${replay.length.toLocaleString("en")}`;
  tellStatus(type === undefined ? "The recording is at its end." : `Event ${place}: ${shortType(type)}.`);
}

let recordedFrom: number | undefined;
function record(): void {
  const { items } = dashboard.columns[RAW]!.list;
  const button = byId("record");
  if (recordedFrom === undefined) {
    recordedFrom = items.length;
    button.textContent = "Stop recording and save";
    return tellStatus("Recording everything the raw listener gets.");
  }
  // The list may have been cleared meanwhile.
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
    heard: dashboard.columns[index]!.list.items.map(({ at, text }) => ({
      at: new Date(at).toISOString(),
      text,
    })),
  }));
  const { timeline, findings, spoken } = dashboard;
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
    for (const list of dashboard.lists) list.render();
  });
  setUpTermsForm(kinds, async (column, wish) => {
    if (!source) throw new Error("Nobody is listening.");
    const agreed = await source.renegotiate(column, wish);
    dashboard.columns[column]!.terms(agreed);
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
  on("elsewhere-form", "submit", listenToRemoteAgent);
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
