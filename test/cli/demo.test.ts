/** `earshot demo`: for scripts, for people at a terminal, and for whoever reads its output through a pipe. */
import { readdirSync } from "node:fs";
import { createServer } from "node:net";
import { afterAll, describe, expect, it } from "vitest";
import { run } from "../../src/cli/run.ts";
import type { AgentEvent } from "../../src/protocol/index.ts";
import { type ConnectOptions, subscribe } from "../../src/subscriber/index.ts";
import { endDemos, environment, ownRuntime, type RunningDemo, startDemo, watch } from "./demo-support.ts";
import { earshot, terminal } from "./support.ts";

afterAll(endDemos);

/** Nobody types faster. */
const KEYSTROKE_MS = 60;
const ENDED = /session\.(completed|errored|cancelled)$/;

/** Hears at an address until a session has ended, answering yes. */
async function hear(
  address: string,
  options: ConnectOptions,
  start: () => Promise<string>,
): Promise<AgentEvent[]> {
  const subscriber = await subscribe(address, options);
  subscriber.on("confirmation", (ask) => void ask.accept());
  const id = await start();
  const events: AgentEvent[] = [];
  for await (const event of subscriber) {
    if (event.session_id !== id) continue;
    events.push(event);
    if (ENDED.test(event.type)) break;
  }
  await subscriber.close();
  return events;
}

const begun = async (response: Response): Promise<string> => {
  expect(response.status).toBe(202);
  const { session_id } = (await response.json()) as { session_id: string };
  expect(session_id).toMatch(/^sess_/);
  return session_id;
};

const token = ({ token: own }: RunningDemo) => (own === null ? {} : { token: own });

describe("earshot demo --json", () => {
  it("prints exactly one line once it is ready, keeps its log to standard error, and ends cleanly", async () => {
    const runtime = ownRuntime();
    const demo = await startDemo([], environment(runtime));
    const { out: _, ...ready } = demo;
    expect(JSON.parse(demo.out())).toEqual({
      http: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      ws: `${ready.http.replace("http", "ws")}/aaep/v1/ws`,
      unix: expect.stringMatching(/^unix:\//),
      grpc: expect.stringMatching(/^grpc:\/\/127\.0\.0\.1:\d+$/),
      token: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    await begun(await demo.post({ text: "flood" }));
    expect(readdirSync(runtime).some((name) => name.startsWith("earshot-demo-"))).toBe(true);
    expect(await demo.end("SIGTERM")).toBe(0);
    expect(demo.out().split("\n")).toEqual([expect.stringMatching(/^\{.*\}$/), ""]);
    for (const line of demo.err().trim().split("\n")) expect(JSON.parse(line)).toHaveProperty("level");
    expect(demo.err()).not.toContain(ready.token);
    // Nothing is left behind: no store, no socket, no token.
    const left = readdirSync(runtime, { recursive: true, encoding: "utf8" });
    expect(left.filter((name) => !/^(?:earshot|aaep)$/.test(name))).toEqual([]);
  });

  it("ends on Ctrl+C too, with its own code, even while a question is open", async () => {
    const demo = await startDemo();
    const subscriber = await subscribe(demo.http, token(demo));
    const asked = new Promise((resolve) => subscriber.on("confirmation", resolve));
    await begun(await demo.post({ text: "delete record 12345" }));
    await asked;
    expect(await demo.end("SIGINT")).toBe(130);
    await subscriber.close();
  });

  it("can be heard and answered over every transport it names", async () => {
    const demo = await startDemo();
    for (const address of [demo.http, demo.ws, demo.unix!, demo.grpc!]) {
      const events = await hear(address, token(demo), async () =>
        begun(await demo.post({ text: "Book a room" })),
      );
      expect([address, events.at(-1)!.type]).toEqual([address, "aaep:agent.session.completed"]);
      expect(events.some(({ type }) => type === "aaep:agent.tool.invoked")).toBe(true);
    }
    expect(await demo.end()).toBe(0);
  });

  it("says what to do about a request it cannot take", async () => {
    const demo = await startDemo();
    const refused = async (body: unknown, ...more: [string?]) => {
      const response = await demo.post(body, ...more);
      return [response.status, await response.text()] as const;
    };
    const bad: [body: unknown, says: string][] = [
      ["{", "The body is not JSON."],
      ["", "The body is not JSON."],
      ["null", "Give either text or scenario."],
      [[], "Give either text or scenario."],
      [{ text: 5 }, "Send JSON such as"],
      [{ text: "hello", scenario: "flood" }, "Give either text or scenario."],
      [{ text: "   " }, "Give a request, such as"],
      [{ text: "x".repeat(10_000) }, "4000 characters"],
      [{ scenario: "flod" }, 'Did you mean \\"flood\\"?'],
    ];
    for (const [body, says] of bad) {
      const [status, text] = await refused(body);
      expect([body, status]).toEqual([body, 400]);
      expect(text).toContain(says);
      expect(JSON.parse(text)).toHaveProperty("error");
    }
    expect((await refused({ text: "hello" }, "wrong"))[0]).toBe(401);
    expect(
      (await fetch(`${demo.http}/demo/sessions`, { headers: { authorization: `Bearer ${demo.token}` } }))
        .status,
    ).toBe(405);
    expect((await fetch(`${demo.http}/.well-known/aaep-manifest.json`)).status).toBe(200);
    expect(await demo.end()).toBe(0);
  });

  it("needs no token with --insecure-loopback, and says so", async () => {
    const demo = await startDemo(["--insecure-loopback"]);
    expect(demo.token).toBeNull();
    expect(demo.err()).toContain("anyone on this machine may listen");
    const events = await hear(demo.ws, {}, async () => begun(await demo.post({ text: "Hello" }, null)));
    expect(events.at(-1)!.type).toBe("aaep:agent.session.completed");
    expect(await demo.end()).toBe(0);
  });

  it("--data keeps the log where it is told to, and finds it again", async () => {
    const data = ownRuntime();
    for (let i = 0; i < 2; i++) {
      const demo = await startDemo(["--data", data]);
      const events = await hear(demo.http, token(demo), async () =>
        begun(await demo.post({ text: "Hello" })),
      );
      expect(events.at(-1)!.type).toBe("aaep:agent.session.completed");
      expect(await demo.end()).toBe(0);
      expect(readdirSync(data).length).toBeGreaterThan(0);
    }
  });

  it("resumes after it was killed: the question is the same, and a yes runs the act once", async () => {
    const data = ownRuntime();
    const first = await startDemo(["--data", data]);
    const before = await subscribe(first.http, { ...token(first), reconnect: false });
    const asked = new Promise<string>((resolve) =>
      before.on("confirmation", ({ event }) => resolve(event.reply_token)),
    );
    const session_id = await begun(await first.post({ text: "Transfer 750 dollars to savings" }));
    const reply_token = await asked;
    await first.end("SIGKILL");
    await before.close();

    const second = await startDemo(["--data", data]);
    const tokens: string[] = [];
    const subscriber = await subscribe(second.http, token(second));
    subscriber.on("confirmation", (ask) => {
      tokens.push(ask.event.reply_token);
      void ask.accept();
    });
    const events: AgentEvent[] = [];
    for await (const event of subscriber) {
      if (event.session_id === session_id) events.push(event);
      if (event.session_id === session_id && ENDED.test(event.type)) break;
    }
    await subscriber.close();
    expect(new Set(tokens)).toEqual(new Set([reply_token]));
    expect(events.at(-1)!.type).toBe("aaep:agent.session.completed");
    const transfers = events.filter(
      (event) =>
        event.type === "aaep:agent.tool.invoked" && (event as { irreversible?: boolean }).irreversible,
    );
    expect(transfers).toHaveLength(1);
    expect(JSON.stringify(events)).toContain("I pretended to transfer 750 dollars to your savings account.");
    expect(await second.end()).toBe(0);
  });

  it("refuses a second demo on the same store with a message, and the first continues", async () => {
    const data = ownRuntime();
    const demo = await startDemo(["--data", data]);
    const second = await watch(["demo", "--port", "0", "--json", "--data", data]);
    expect(await second.ended).toBe(1);
    expect(second.err()).toMatch(/^earshot: .*[a-z]/m);
    expect(second.err()).not.toContain("    at ");
    expect(second.out()).toBe("");
    await begun(await demo.post({ text: "Hello" }));
    expect(await demo.end()).toBe(0);
  });

  it("--scenario plays as soon as a listener connects, and not before", async () => {
    const demo = await startDemo(["--scenario", "tour"]);
    const subscriber = await subscribe(demo.ws, token(demo));
    subscriber.on("confirmation", (ask) => void ask.accept());
    subscriber.on("clarification", (ask) => void ask.answer("Ada"));
    const types = new Set<string>();
    let first: AgentEvent | undefined;
    for await (const event of subscriber) {
      first ??= event;
      types.add(event.type);
      if (event.session_id === first.session_id && ENDED.test(event.type)) break;
    }
    expect(first!.type).toBe("aaep:agent.session.started");
    expect(types.size).toBe(12);
    await subscriber.close();
    expect(await demo.end()).toBe(0);
  });

  it("ends when its output pipe is closed", async () => {
    const demo = await watch(["demo", "--port", "0", "--json"]);
    demo.child.stdout.destroy();
    expect(await demo.ended).toBe(0);
  });
});

describe("earshot demo without a terminal", () => {
  it("says in plain words what is running and what to paste", async () => {
    const demo = await watch(["demo", "--port", "0"]);
    const out = await demo.shows("npx earshot ask");
    expect(out).toContain("a household assistant that follows a script. Nothing it does is real.");
    const http = /http:\/\/127\.0\.0\.1:\d+/.exec(out)![0];
    expect(out).toContain(`npx earshot listen ${http}\n`);
    expect(out).toContain(`npx earshot ask "book a room" --address ${http}\n`);
    demo.child.kill("SIGTERM");
    expect(await demo.ended).toBe(0);
  });

  it("uses another port if the default one is in use, and says so", async () => {
    // Either this test has the port or somebody else does.
    const holder = createServer().on("error", () => undefined);
    await new Promise<void>((resolve) => {
      holder.once("error", () => resolve());
      holder.listen(4600, "127.0.0.1", resolve);
    });
    const demo = await watch(["demo"]);
    expect(await demo.shows("npx earshot ask")).toMatch(/Port 4600 is in use, so it uses port \d+\.\n/);
    demo.child.kill("SIGTERM");
    expect(await demo.ended).toBe(0);
    await new Promise((resolve) => holder.close(resolve));
  });

  it("never uses another port than the given one", async () => {
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, "127.0.0.1", resolve));
    const { port } = holder.address() as { port: number };
    const demo = await watch(["demo", "--port", String(port)]);
    expect(await demo.ended).toBe(1);
    expect(demo.err()).toContain(`earshot: Port ${port} on 127.0.0.1 is already in use.`);
    await new Promise((resolve) => holder.close(resolve));
  });

  it("names every scenario, also into a pipe that is closed", async () => {
    const { code, out } = await earshot(["demo", "--scenario", "list"]);
    expect(code).toBe(0);
    for (const name of ["transfer", "flood", "question-withdrawn", "hostile-text"])
      expect(out).toContain(`  ${name}: `);
    const asJson = await earshot(["demo", "--scenario", "list", "--json"]);
    expect(JSON.parse(asJson.out)).toContainEqual(expect.objectContaining({ name: "hello" }));
    const piped = await watch(["demo", "--scenario", "list"]);
    piped.child.stdout.destroy();
    expect(await piped.ended).toBe(0);
  });

  it.each([
    [["--port", "x"], '--port needs a whole number from 0 to 65535, not "x".'],
    [["--port", "70000"], '--port needs a whole number from 0 to 65535, not "70000".'],
    [["--speed", "0"], '--speed needs a number above 0 and up to 1000, such as 2 or 0.5, not "0".'],
    [["--speed", "fast"], "--speed needs a number above 0"],
    [["--scenario", "flod"], 'There is no scenario "flod". Did you mean "flood"?'],
    [["--lang", "!"], "--lang needs a language tag"],
    [["please"], 'demo takes no arguments, but got "please".'],
  ])("%j is refused with a sentence", async (flags, says) => {
    const { code, err, out } = await earshot(["demo", ...flags]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(says);
  });

  it("reports that a file is not a directory for the log", async () => {
    const { code, err, out } = await earshot(["demo", "--port", "0", "--data", "package.json"]);
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/^earshot: The log cannot be stored in \S+package\.json: .* Name a directory/);
  });
});

describe("earshot demo in a terminal", () => {
  function sitDown(...flags: string[]) {
    const at = terminal({ tty: true, env: environment() });
    const ended = run(["demo", "--port", "0", "--speed", "20", ...flags], at.io, "0.0.0-test");
    /** As fingers do: what comes faster is taken for a paste, which is no answer. */
    const type = async (text: string) => {
      for (const letter of `${text}\r`) {
        at.stdin.write(letter);
        await new Promise((resolve) => setTimeout(resolve, KEYSTROKE_MS));
      }
    };
    return { ...at, ended, type };
  }

  it("speaks first, offers the transfer on Enter, takes the no, and ends with Ctrl+C", async () => {
    const at = sitDown();
    await at.shows("Press Enter for a bank transfer.");
    await at.shows("Hello, I am the Earshot demo: a script");
    await at.shows("That was all.");
    await at.type("");
    await at.shows("Transfer 500 dollars to your savings account.");
    await at.shows("Say no, or say yes to review and confirm.");
    await at.type("no");
    await at.shows("The answer was no, so it was not done.");
    await at.shows("Nothing was done.");
    expect(at.out()).not.toContain("Transferring now.");
    at.interrupt("SIGINT");
    expect(await at.ended).toBe(130);
    expect(at.out()).toContain("The demo has ended.");
    expect(at.out()).not.toContain("goes on without you");
  });

  it("takes a typed request in the person's own words", async () => {
    const at = sitDown();
    await at.shows("That was all.");
    await at.type("plan dinner");
    await at.shows("Which dish would you like?");
    await at.shows("the agent assumes: Lentil soup.");
    at.interrupt("SIGTERM");
    expect(await at.ended).toBe(0);
  });

  it("speaks the person's language, by flag or as their system has it", async () => {
    const at = sitDown("--lang", "es");
    await at.shows("Hola, soy la demostración de Earshot");
    await at.type("");
    await at.shows("Transferir 500 dólares a tu cuenta de ahorros.");
    at.interrupt("SIGTERM");
    expect(await at.ended).toBe(0);
    expect(at.out()).not.toContain("Thinking.");
  });

  it("plays a scenario in place of the greeting", async () => {
    const at = sitDown("--scenario", "fact");
    await at.shows("The moon moves away from the earth");
    expect(at.out()).not.toContain("Hello, I am");
    await at.type("quit");
    expect(await at.ended).toBe(0);
  });

  it("says an assumed yes or no as a word", async () => {
    const at = sitDown("--scenario", "two-questions");
    await at.shows("the agent assumes: no.");
    at.interrupt("closed pipe");
    expect(await at.ended).toBe(0);
  });
});
