import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { run } from "../../src/cli/run.ts";
import { createProducer } from "../../src/producer/producer.ts";
import { serve } from "../../src/server/index.ts";
import { earshot, runProgram, start, terminal } from "./support.ts";

let runtime: string;
const closing: (() => unknown)[] = [];

beforeEach(() => {
  runtime = mkdtempSync(join(tmpdir(), "earshot-listen-"));
  vi.stubEnv("XDG_RUNTIME_DIR", runtime);
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(runtime, { recursive: true, force: true });
});

async function agentOf(agent_id = "planner", agent_name = "Planner", options = {}) {
  const agent = createProducer({ agent_id, agent_name });
  const served = await serve(agent, { port: 0, ...options });
  closing.push(() => served.close());
  return { agent, served };
}

const env = (more: Record<string, string> = {}) => ({ XDG_RUNTIME_DIR: runtime, ...more });

/** Listens in this process until it is stopped. */
function listening(argv: readonly string[], tty = false, more: Record<string, string> = {}) {
  const at = terminal({ tty, env: env(more) });
  const code = run(["listen", ...argv], at.io, "0.0.0-test");
  return { ...at, code };
}

describe("earshot listen finds the agent", () => {
  it("takes the only one that runs here, its token included, and says who it is", async () => {
    const { agent } = await agentOf();
    const { shows, interrupt, code, out } = listening([]);
    await shows("Listening to Planner. Type help and press Enter to learn what you can say.\n");
    await agent.run(
      { summary: "Planning your week." },
      async (session) => void (await session.say("All set.")),
    );
    await shows("All set.");
    expect(out()).toContain("Started: Planning your week.\n");
    interrupt();
    expect(await code).toBe(130);
    expect(out().endsWith("You stopped listening. The agent goes on without you.\n")).toBe(true);
  });

  it.each(["http", "ws", "unix", "grpc", "port", "name"] as const)("takes an address: %s", async (way) => {
    const { served } = await agentOf("planner", "Planner", { grpc: { port: 0 } });
    const address = way === "port" ? String(served.port) : way === "name" ? "planner" : served[way]!;
    const { shows, interrupt, code } = listening([address]);
    await shows("Listening to Planner.");
    interrupt("SIGTERM");
    expect(await code).toBe(0);
  });

  it("hears several at once, and names who speaks", async () => {
    const one = await agentOf("planner", "Planner");
    const two = await agentOf("bank", "Bank");
    const { shows, interrupt, code } = listening([one.served.http, two.served.ws]);
    await shows("Listening to Planner, Bank.");
    interrupt();
    expect(await code).toBe(130);
  });

  it("--discover lists each once, for people and for programs", async () => {
    const { served } = await agentOf("planner", "Planner");
    const at = terminal({ env: env() });
    expect(await earshot(["listen", "--discover"], "", at)).toMatchObject({
      code: 0,
      out: `1: Planner, ${served.http}\n`,
    });
    const { out } = await earshot(["listen", "--discover", "--json"], "", terminal({ env: env() }));
    expect(JSON.parse(out)).toEqual({ address: served.http, name: "Planner" });
  });

  it("asks which of several, in a terminal; a paste is no choice", async () => {
    await agentOf("bank", "Bank");
    await agentOf("planner", "Planner");
    const real = performance.now.bind(performance);
    let ahead = 0;
    vi.spyOn(performance, "now").mockImplementation(() => real() + ahead);
    const { err, stdin, shows, code, interrupt } = listening([], true);
    await vi.waitFor(() => expect(err()).toContain("Type a number, then press Enter."));
    expect(err()).toMatch(/1: Bank, http.*\n2: Planner, http/);
    stdin.write("1\r");
    await vi.waitFor(() => expect(err()).toContain("1 "));
    stdin.write("\u0015");
    // A hand takes its time.
    ahead += 300;
    stdin.write("2");
    await vi.waitFor(() => expect(err()).toMatch(/2$/));
    ahead += 100;
    stdin.write("\r");
    await shows("Listening to Planner.");
    interrupt();
    expect(await code).toBe(130);
  });

  it("names several where nobody can be asked, and ends", async () => {
    await agentOf("bank", "Bank");
    await agentOf("planner", "Planner");
    const { code, err } = await earshot(["listen"], "", terminal({ env: env() }));
    expect(code).toBe(2);
    expect(err).toMatch(
      /^earshot: Several agents are running\. Choose one, e\.g\. npx earshot listen http:\S+\n1: Bank/,
    );
  });
});

describe("earshot listen meets an agent on another machine", () => {
  /** An address that is no name of this machine's own, with this machine behind it. */
  async function elsewhere() {
    const { served } = await agentOf("planner", "Planner", { hosts: ["0.0.0.0"], tokenFile: false });
    return { address: `http://0.0.0.0:${served.port}`, token: served.token! };
  }

  it("asks before a word of it is heard, remembers a yes, and does not ask again (SEC-11)", async () => {
    const { address, token } = await elsewhere();
    const real = performance.now.bind(performance);
    let ahead = 0;
    vi.spyOn(performance, "now").mockImplementation(() => real() + ahead);
    const at = { XDG_CONFIG_HOME: runtime, EARSHOT_TOKEN: token };
    for (const known of [false, true]) {
      const { err, stdin, shows, code, interrupt } = listening([address], true, at);
      if (!known) {
        await vi.waitFor(() =>
          expect(err()).toContain("You have not heard Planner before. It is at 0.0.0.0"),
        );
        for (const letter of "yes\r") {
          ahead += 300;
          stdin.write(letter);
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
      await shows("Listening to Planner.");
      if (known) expect(err()).not.toContain("before");
      interrupt();
      expect(await code).toBe(130);
    }
  });

  it("where nobody can be asked it is not heard, unless told so", async () => {
    const { address, token } = await elsewhere();
    const at = { XDG_CONFIG_HOME: runtime, EARSHOT_TOKEN: token };
    const { code, err } = await earshot(["listen", address], "", terminal({ env: env(at) }));
    expect(code).toBe(3);
    expect(err).toContain("Planner is not heard: you did not agree to it.");
    expect(err).toContain("--trust");
    const trusted = listening([address, "--trust"], false, at);
    await trusted.shows("Listening to Planner.");
    trusted.interrupt();
    expect(await trusted.code).toBe(130);
  });
});

describe("earshot listen says what is wrong, and what to do", () => {
  const wrong: [string, string[], number, RegExp][] = [
    ["no agent", [], 3, /No agent is running for you on this machine\. Start one with "npx earshot demo"/],
    ["nobody to discover", ["--discover"], 3, /Start one with "npx earshot demo"/],
    [
      "nobody at the port",
      ["http://127.0.0.1:9"],
      3,
      /Nothing answers at http:\/\/127\.0\.0\.1:9.*Is the agent running\?/,
    ],
    ["nobody at the socket", ["unix:/nowhere/a.sock"], 3, /cannot be listened to: /],
    [
      "no address",
      ["ftp://example.com"],
      2,
      /"ftp:\/\/example\.com" is not the address of an agent\. Use http:/,
    ],
    ["no name", ["nobody"], 2, /"nobody" is not an address, and no agent of that name is running/],
    ["cells", ["--braille", "wide"], 2, /--braille needs a whole number from 8 to 200, not "wide"/],
    ["rate", ["--rate", "5"], 2, /--rate needs a whole number from 80 to 450/],
    ["verbosity", ["--verbosity", "chatty"], 2, /--verbosity needs terse, normal or detailed/],
    ["language", ["--lang", "not a tag"], 2, /--lang needs a language tag such as en, es or pt-BR/],
  ];
  it.each(wrong)("%s", async (_, argv, exit, says) => {
    const { code, err, out } = await earshot(["listen", ...argv], "", terminal({ env: env() }));
    expect(err).toMatch(says);
    expect(err).not.toMatch(/\n\s+at /);
    expect(code).toBe(exit);
    expect(out).toBe("");
  });

  it("a token that is missing, and one that is wrong", async () => {
    const { served } = await agentOf("planner", "Planner", { tokenFile: false });
    const missing = await earshot(["listen", served.http], "", terminal({ env: env() }));
    expect(missing).toMatchObject({ code: 3, out: "" });
    expect(missing.err).toContain("requires a token. Give it with --token or EARSHOT_TOKEN");
    for (const [argv, more] of [
      [["--token", "wrong"], {}],
      [[], { EARSHOT_TOKEN: "wrong" }],
    ] as const) {
      for (const address of [served.http, served.ws]) {
        const refused = await earshot(["listen", address, ...argv], "", terminal({ env: env(more) }));
        expect(refused.err).toContain(`${address} refuses this token. Check --token or EARSHOT_TOKEN`);
        expect(refused.code).toBe(3);
      }
    }
    const { shows, interrupt, code } = listening([served.http], false, { EARSHOT_TOKEN: served.token! });
    await shows("Listening to Planner.");
    interrupt();
    expect(await code).toBe(130);
  });

  it("a braille display that is not there: no agent is left waiting", async () => {
    const { agent } = await agentOf();
    vi.stubEnv("BRLAPI_HOST", "127.0.0.1:7");
    const { code, err, out } = await earshot(
      ["listen", "--braille", "display"],
      "",
      terminal({ env: env() }),
    );
    expect(code).toBe(1);
    expect(err).toMatch(/^earshot: .*brltty/i);
    expect(out).toBe("");
    await vi.waitFor(() => expect(agent.subscriptions).toBe(0));
  });

  it("an address that swallows everything: it says so, and Ctrl+C works", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => server.close());
    const { port } = server.address() as { port: number };
    const { err, interrupt, code } = listening([`http://127.0.0.1:${port}`]);
    await vi.waitFor(() => expect(err()).toContain("Still connecting to http://127.0.0.1"), 10_000);
    interrupt();
    expect(await code).toBe(130);
  });

  it("something that answers, but is no agent", async () => {
    const server = createServer((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => server.close());
    const { port } = server.address() as { port: number };
    const { code, err } = await earshot(["listen", `http://127.0.0.1:${port}`], "", terminal({ env: env() }));
    expect(code).toBe(3);
    expect(err).toMatch(/^earshot: .*127\.0\.0\.1/);
  });
});

describe("earshot listen as a program", () => {
  it("without a terminal: reads along, takes a no from a pipe, and ends on Ctrl+C", async () => {
    const { agent, served } = await agentOf();
    const child = await start(["listen", served.http], { env: env() });
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    await vi.waitFor(() => expect(out).toContain("Listening to Planner."), 10_000);
    const ran: unknown[] = [];
    const done = agent.run({ summary: "Deleting." }, async (session) => {
      const spec = {
        tool: "delete",
        risk: "high",
        irreversible: true,
        params: { file: "a" },
        summary: "Deleting.",
        action: "Delete a.",
        consequence: "It is gone.",
      } as const;
      await session.tool(spec, () => void ran.push(1));
    });
    await vi.waitFor(() => expect(out).toContain("Say no, or say yes to review and confirm."), 10_000);
    child.stdin.write("no\n");
    await vi.waitFor(() => expect(out).toContain("Refused."), 10_000);
    await done;
    expect(ran).toEqual([]);
    child.kill("SIGINT");
    expect(await new Promise((resolve) => child.once("close", resolve))).toBe(130);
    expect(out).not.toContain("\u001b");
  });

  it("whose reader has gone ends by itself", async () => {
    const { agent, served } = await agentOf();
    const child = await start(["listen", served.http], { env: env() });
    await new Promise<void>((resolve) => child.stdout.once("data", () => resolve()));
    child.stdout.destroy();
    const closed = new Promise((resolve) => child.once("exit", resolve));
    await agent.run({ summary: "Talking to nobody." }, async (session) => void (await session.say("Hello.")));
    expect(await closed).toBe(0);
  });

  it("says in one line why it cannot start", async () => {
    const { code, out, err } = await runProgram(["listen", "http://127.0.0.1:9"], "", { env: env() });
    expect({ code, out }).toEqual({ code: 3, out: "" });
    expect(err.trim().split("\n")).toHaveLength(1);
  });

  it("says that the agent has gone, and comes back with it", async () => {
    const { served } = await agentOf();
    const { port } = served;
    const { shows, interrupt, code } = listening([`http://127.0.0.1:${port}`]);
    await shows("Listening to Planner.");
    closing.length = 0;
    await served.close();
    await shows("The connection to Planner was lost. Trying again.");
    await agentOf("planner", "Planner", { port });
    await shows("Connected to Planner again.");
    interrupt();
    expect(await code).toBe(130);
  });
});
