// `npm run walks [-- --files]`: how many files of the built package are executed on each walk of docs/architecture.md,
// counted with V8's function coverage. A file counts if one of its functions is called during the walk.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./run.mjs";

if (!existsSync(join(root, "dist/index.js"))) {
  console.error("The package is not built. Run npm run build first.");
  process.exit(2);
}
const { createProducer } = await import("earshot");
const { serve } = await import("earshot/server");
const { subscribe } = await import("earshot/subscriber");
const { Announcer, createListener } = await import("earshot/subscriber/announcer");
const { openEmbeddedStore } = await import("earshot/stores/embedded");
const { createTerminalVoice, speakWith } = await import("earshot/voices");

const inspector = new Session();
inspector.connect();
await inspector.post("Profiler.enable");
await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
const dist = `${pathToFileURL(join(root, "dist")).href}/`;

/** The files with a function called since the last look. A module's own top level runs at import and does not count. */
async function executedFiles() {
  const { result } = await inspector.post("Profiler.takePreciseCoverage");
  return result
    .filter(({ url, functions }) => {
      const called = functions.filter(({ ranges }) => ranges[0].count > 0);
      const isModule = ({ functionName, ranges }) => functionName === "" && ranges[0].startOffset === 0;
      return url.startsWith(dist) && called.some((one) => !isModule(one));
    })
    .map(({ url }) => url.slice(dist.length).replace(/\.js$/, ".ts"))
    .sort();
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
async function until(condition) {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    if (condition()) return;
    await pause(5);
  }
  throw new Error("This walk did not come to its end.");
}

const walks = new Map();
async function walk(name, work) {
  // What came before has ended.
  await pause(60);
  await executedFiles();
  await work();
  walks.set(name, await executedFiles());
}

const identity = { agent_id: `com.example.walks-${process.pid}`, agent_name: "Walks", warn() {} };
const options = { port: 0, tokenFile: false, unix: false, inspector: false, log() {} };
const TRANSFER = {
  tool: "transfer",
  summary: "Transferring.",
  risk: "high",
  irreversible: true,
  params: { amount: 500, to: "savings" },
  action: ({ amount, to }) => `Transfer ${amount} dollars to ${to}.`,
  consequence: "The money moves at once.",
};

async function walkThroughOneSession() {
  const agent = createProducer(identity);
  const server = await serve(agent, options);
  let heard = "";
  const announcer = new Announcer({ languages: ["en"], can: () => true });
  const speaker = speakWith(
    announcer,
    createTerminalVoice({
      write: (text) => {
        heard += text;
      },
    }),
  );
  const listener = createListener(announcer, { changed: speaker.pump });
  let subscriber;
  await walk("handshake", async () => {
    subscriber = await subscribe(server.ws, { token: server.token, languages: ["en"] });
    await pause(20);
  });
  listener.add(subscriber);
  const session = agent.start({ summary: "Planning your week." });
  await session.say("One moment. And another. ");
  await until(() => heard.includes("One moment"));

  await walk("token", async () => {
    for (const token of ["The ", "weather ", "is ", "fine. ", "It ", "stays ", "so. "]) session.say(token);
    await until(() => heard.includes("fine."));
  });

  let ran = 0;
  await walk("approval", async () => {
    const outcome = session.tool(TRANSFER, () => {
      ran++;
    });
    await until(() => heard.includes("Transfer 500 dollars"));
    listener.answer({ kind: "yes" });
    await until(() => heard.includes("say confirm"));
    listener.answer({ kind: "confirm" });
    assert.equal((await outcome).ran, true);
    await pause(50);
  });
  assert.equal(ran, 1);

  let connected = 0;
  subscriber.on("connection", ({ state }) => {
    if (state === "connected") connected++;
  });
  await walk("resume", async () => {
    for (const handle of process._getActiveHandles()) if (handle.remotePort === server.port) handle.destroy();
    await until(() => connected > 0);
    await pause(50);
  });
  await session.complete();
  await listener.close();
  await speaker.close();
  await server.close();
}

async function walkThroughARestart() {
  const directory = mkdtempSync(join(tmpdir(), "earshot-walks-"));
  const store = await openEmbeddedStore({ directory });
  const agent = createProducer({ ...identity, store });
  const server = await serve(agent, options);
  const subscriber = await subscribe(server.ws, { token: server.token, reconnect: false });
  let asked = false;
  subscriber.on("confirmation", () => {
    asked = true;
  });
  const session = agent.start({ summary: "Paying the rent." });
  await session.say("One moment. ");
  void session.tool({ ...TRANSFER, key: "rent" }, () => {});
  await until(() => asked);
  await server.close();
  await store.close();
  let next;
  let reopened;
  await walk("restart", async () => {
    reopened = await openEmbeddedStore({ directory });
    next = createProducer({ ...identity, store: reopened });
    await pause(20);
  });
  assert.equal(next.interrupted.length, 1);
  await next.close();
  await reopened.close();
  rmSync(directory, { recursive: true, force: true });
}

await walkThroughOneSession();
await walkThroughARestart();
for (const name of ["token", "approval", "resume", "handshake", "restart"]) {
  const files = walks.get(name);
  console.log(`${name}: ${files.length} files`);
  if (process.argv.includes("--files")) for (const file of files) console.log(`  src/${file}`);
}
process.exit(0);
