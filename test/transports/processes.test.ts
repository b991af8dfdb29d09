/** Peers nobody here wrote, and processes that are really processes: Python, a shell, a child, a parent. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createProducer } from "../../src/producer/producer.ts";
import { parse } from "../../src/protocol/parse.ts";
import { serveIpc } from "../../src/server/ipc/ipc.ts";
import { serveStdio } from "../../src/server/stdio/stdio.ts";
import { subscribe } from "../../src/subscriber/index.ts";
import { TRANSFER } from "../support/driver.ts";
import { REQUEST, until } from "./raw.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const PYTHON = "/usr/bin/python3";
const hasPython = spawnSync(PYTHON, ["--version"]).status === 0;
const outdir = join(root, "node_modules/.cache/earshot-desk");
const agentFile = join(outdir, `agent-${process.pid}.mjs`);
const listenerFile = join(outdir, `child-listener-${process.pid}.mjs`);
const contenderFile = join(outdir, `contender-${process.pid}.mjs`);
let directory = "";

beforeAll(async () => {
  mkdirSync(outdir, { recursive: true });
  for (const outfile of [agentFile, listenerFile, contenderFile]) {
    const source = basename(outfile).replace(`-${process.pid}.mjs`, ".ts");
    await build({
      entryPoints: [join(root, "test/transports", source)],
      outfile,
      bundle: true,
      format: "esm",
      platform: "node",
      packages: "external",
      logLevel: "warning",
    });
  }
  directory = mkdtempSync(join(tmpdir(), "desk-"));
});
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
  for (const file of [agentFile, listenerFile, contenderFile]) rmSync(file, { force: true });
});

/** A program's output, as it comes. */
function watch(child: ChildProcess) {
  const said = { out: "", err: "", code: undefined as number | null | undefined };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    said.out += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said.err += text;
  });
  child.on("close", (code) => {
    said.code = code;
  });
  return said;
}

describe.runIf(hasPython)("the Python listener, with nothing but its standard library", () => {
  it.each([
    { framing: "a length prefix", flags: [], answer: "yes" },
    { framing: "a length prefix", flags: [], answer: "no" },
    { framing: "lines", flags: ["--lines"], answer: "yes" },
    { framing: "lines", flags: ["--lines"], answer: "no" },
  ])(
    "goes through a whole bank transfer, framed by $framing, and says $answer: IPC-09, TRN-02, TRN-17",
    async ({ flags, answer }) => {
      const agent = createProducer({ agent_id: "com.example.bank", agent_name: "Bank", warn: () => {} });
      const serving = await serveIpc(agent, { directory: join(directory, "aaep"), log: () => {} });
      // Without a path: it finds the agent by the directory that is the contract.
      const child = spawn(PYTHON, [join(root, "examples/python-listener/listener.py"), ...flags], {
        env: { ...process.env, XDG_RUNTIME_DIR: directory, EARSHOT_ANSWER: answer, PYTHONUTF8: "1" },
      });
      const said = watch(child);
      await until(() => agent.subscriptions === 1 || said.code !== undefined, "the listener");
      let moved = 0;
      await agent.run({ summary: "Moving money." }, async (session) => {
        const sent = await session.tool(TRANSFER, () => ++moved);
        await session.say(sent.ran ? "Done. Your savings have grown. Ẹ ṣé!" : "Nothing was moved.");
      });
      await until(() => said.code !== undefined, "its end");
      expect(said).toMatchObject({ code: 0, err: "" });
      expect(moved).toBe(answer === "yes" ? 1 : 0);
      expect(said.out).toContain("Listening to Bank.");
      expect(said.out).toContain("Question: Transfer 500 dollars to savings.");
      expect(said.out).toContain("The money moves at once and cannot be called back.");
      expect(said.out).toMatch(/amount: 500/i);
      expect(said.out).toContain(answer === "yes" ? "Ẹ ṣé!" : "Nothing was moved.");
      expect(said.out.trim().endsWith("The session is over.")).toBe(true);
      await until(() => agent.subscriptions === 0, "it left");
      await serving.close();
    },
  );
});

describe("stdio, between real processes", () => {
  const ask = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "aaep.subscribe", params: REQUEST });

  it("works in a plain shell pipeline, one JSON object per line, and stdout is clean: RPC-01, RPC-02, RPC-04", () => {
    // The shell reads the question's token out of the line and answers, as anyone at a terminal could.
    const script = `
      cd "$DIR" && mkfifo ask
      "$NODE" "$AGENT" < ask 2> err | while IFS= read -r line; do
        printf '%s\\n' "$line"
        case $line in
          *'"result":{"type":"subscription.accepted"'*) id=$(printf '%s' "$line" | sed 's/.*"subscription_id":"\\([^"]*\\)".*/\\1/') ;;
          *'"type":"aaep:agent.awaiting.confirmation"'*)
            token=$(printf '%s' "$line" | sed 's/.*"reply_token":"\\([^"]*\\)".*/\\1/')
            printf '{"jsonrpc":"2.0","method":"aaep.reply","params":{"type":"confirmation.reply","reply_token":"%s","decision":"accept","subscription_id":"%s","timestamp":"%s"}}\\n' "$token" "$id" "$(date -u +%Y-%m-%dT%H:%M:%S.000Z)" >&3 ;;
        esac
      done 3> ask &
      printf '%s\\n' "$ASK" > ask
      wait
      cat err >&2`;
    const { stdout, stderr, status } = spawnSync("/bin/sh", ["-c", script], {
      encoding: "utf8",
      timeout: 30_000,
      env: { ...process.env, DIR: directory, NODE: process.execPath, AGENT: agentFile, ASK: ask },
    });
    expect(status, stderr).toBe(0);
    expect(stdout.endsWith("\n")).toBe(true);
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({ jsonrpc: "2.0", id: 1, result: { type: "subscription.accepted" } });
    const events = lines.filter(({ method }) => method === "aaep.event").map(({ params }) => params);
    for (const event of events)
      expect(parse(JSON.stringify(event), { mode: "tolerant" })).toMatchObject({ ok: true, kind: "event" });
    expect(events.at(-1).type).toBe("aaep:agent.session.completed");
    expect(lines.at(-1)).toMatchObject({ method: "aaep.close", params: { type: "subscription.close" } });
    expect(stdout).not.toContain("library says hello");
    expect(stderr).toContain("A library says hello");
    expect(stderr).toContain("Not even a line");
    expect(stderr).toContain("moved 1");
  });

  it("the end of the listener is the end of the subscription, at once, with the default applied: RPC-05 (CON-04)", async () => {
    const child = spawn(process.execPath, [agentFile], { stdio: ["pipe", "pipe", "pipe"] });
    const said = watch(child);
    child.stdin!.write(`${ask}\n`);
    await until(() => said.out.includes("awaiting.confirmation"), "the question");
    child.stdin!.end();
    child.stdout!.destroy();
    await until(() => said.err.includes("moved 0"), `the default (${said.err})`);
    expect(said.err).toContain("not run: disconnected");
    await until(() => said.code !== undefined || child.exitCode !== null, "its end");
    expect(child.exitCode).toBe(0);
  });

  it("JSON-RPC errors speak of JSON-RPC alone, a rejection is a result, and pings are answered (CON-62)", async () => {
    const child = spawn(process.execPath, [agentFile], { stdio: ["pipe", "pipe", "ignore"] });
    const said = watch(child);
    const lines = [
      "not json",
      "[]",
      '{"jsonrpc":"2.0","id":2,"method":"aaep.nothing"}',
      '{"jsonrpc":"2.0","id":3,"method":"aaep.subscribe","params":[]}',
      '{"jsonrpc":"2.0","id":"p","method":"aaep.ping"}',
      '{"jsonrpc":"2.0","method":"aaep.nothing"}',
    ];
    for (const line of lines) child.stdin!.write(`${line}\n`);
    child.stdin!.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: 4, method: "aaep.subscribe", params: { ...REQUEST, aaep_version: "7.0.0" } })}\n`,
    );
    await until(() => said.out.includes("subscription.rejected"), "the rejection");
    const answers = said.out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(answers).toMatchObject([
      { id: null, error: { code: -32700 } },
      { id: null, error: { code: -32600 } },
      { id: 2, error: { code: -32601 } },
      { id: 3, error: { code: -32602 } },
      { id: "p", result: {} },
      { id: 4, result: { type: "subscription.rejected", reason_code: "version_unsupported" } },
    ]);
    child.kill();
  });

  it("an agent is started by its address, answered, and gone when the listener closes: RPC-02, RPC-05", async () => {
    const sub = await subscribe(`stdio:"${process.execPath}" "${agentFile}"`, { subscriber_id: "spawner" });
    const types: string[] = [];
    sub.on("confirmation", (ask) => void ask.accept());
    for await (const event of sub) {
      types.push(event.type.replace("aaep:agent.", ""));
      if (event.type === "aaep:agent.session.completed") break;
    }
    expect(types).toContain("tool.completed");
    await sub.close();
  });

  it.runIf(hasPython)(
    "the producer may be the parent, and the listener a child in another language: RPC-05",
    async () => {
      const listener = `
import json, sys
def send(**message): print(json.dumps(dict(jsonrpc="2.0", **message)), flush=True)
send(id=1, method="aaep.subscribe", params=${JSON.stringify(REQUEST).replaceAll("true", "True")})
for line in sys.stdin:
    message = json.loads(line)
    if message.get("id") == 1: subscription = message["result"]["subscription_id"]
    event = message.get("params", {})
    if event.get("type") == "aaep:agent.awaiting.confirmation":
        send(method="aaep.reply", params=dict(type="confirmation.reply", reply_token=event["reply_token"], decision="accept", subscription_id=subscription, timestamp=event["timestamp"]))
    if event.get("type") == "aaep:agent.session.completed":
        send(method="aaep.close", params=dict(type="subscription.close", subscription_id=subscription, reason_code="subscriber_shutdown"))
        break
`;
      const agent = createProducer({ agent_id: "com.example.bank", agent_name: "Bank", warn: () => {} });
      const child = spawn(PYTHON, ["-c", listener], { stdio: ["pipe", "pipe", "inherit"] });
      const serving = serveStdio(agent, { input: child.stdout, output: child.stdin, log: () => {} });
      await until(() => agent.subscriptions === 1, "the child");
      const outcome = await agent.run({ summary: "Moving money." }, (session) =>
        session.tool(TRANSFER, () => "moved"),
      );
      expect(outcome).toMatchObject({ ran: true, value: "moved" });
      await serving.closed;
      expect(agent.subscriptions).toBe(0);
    },
  );

  it("a listener that its agent started speaks to its parent, at the address stdio:- (RPC-05)", async () => {
    const agent = createProducer({ agent_id: "com.example.bank", agent_name: "Bank", warn: () => {} });
    const child = spawn(process.execPath, [listenerFile], { stdio: ["pipe", "pipe", "inherit"] });
    const ended = new Promise((resolve) => child.on("exit", resolve));
    const serving = serveStdio(agent, { input: child.stdout, output: child.stdin, log: () => {} });
    await until(() => agent.subscriptions === 1, "the child");
    const outcome = await agent.run({ summary: "Moving money." }, (session) =>
      session.tool(TRANSFER, () => "moved"),
    );
    expect(outcome).toMatchObject({ ran: true, value: "moved" });
    await serving.closed;
    expect(await ended).toBe(0);
  });
});

describe.runIf(hasPython)("a name that a dead agent left behind", () => {
  it("goes to exactly one of six processes that start at once, and everybody finds that one (A23)", async () => {
    const place = join(directory, "contest");
    mkdirSync(place, { mode: 0o700 });
    const path = join(place, "com.example.desk.sock");
    for (let round = 0; round < 4; round++) {
      spawnSync(PYTHON, [
        "-c",
        `import socket; s = socket.socket(socket.AF_UNIX); s.bind(${JSON.stringify(path)}); s.listen()`,
      ]);
      const at = String(Date.now() + 700);
      const children = Array.from({ length: 6 }, () => spawn(process.execPath, [contenderFile, place, at]));
      const said = children.map(watch);
      await until(() => said.every(({ out }) => out.endsWith("\n")), "all have tried");
      const results = said.map(({ out }) => out.trim());
      expect(results.filter((result) => result === "won")).toHaveLength(1);
      expect(results.filter((result) => result === "socket_in_use")).toHaveLength(5);
      const sub = await subscribe(`unix:${path}`);
      expect(readdirSync(place).sort()).toEqual(["com.example.desk.json", "com.example.desk.sock"]);
      await sub.close();
      for (const child of children) child.stdin.end();
      await until(() => said.every(({ code }) => code !== undefined), "all have ended");
      expect(readdirSync(place)).toEqual([]);
    }
  });
});
