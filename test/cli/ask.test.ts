/** `earshot ask`: finds the demo, gives it something to do, and says why when it cannot. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { subscribe } from "../../src/subscriber/index.ts";
import { endDemos, environment, startDemo, watch } from "./demo-support.ts";
import { earshot, terminal } from "./support.ts";

afterAll(endDemos);

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

/** Something that answers every request in the same way. */
async function answering(status: number, body: string): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(status, { "content-type": "application/json", connection: "close" }).end(body);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const ask = (argv: readonly string[], env: Record<string, string>) =>
  earshot(["ask", ...argv], "", terminal({ env }));

describe("earshot ask", () => {
  it("finds the demo that runs for this person, and begins a session", async () => {
    const env = environment();
    const demo = await startDemo([], env);
    expect(await ask(["Tell", "me", "a", "fact"], env)).toEqual({
      code: 0,
      out: "The demo has started. To listen: npx earshot listen\n",
      err: "",
    });
    const { code, out } = await ask(["--json", "Hello"], env);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({ session_id: expect.stringMatching(/^sess_/) });
    expect(await ask(["--address", demo.http, "--scenario", "flood"], env)).toMatchObject({
      code: 0,
      err: "",
    });
    expect(await ask(["--address", new URL(demo.http).port, "Hello"], env)).toMatchObject({
      code: 0,
      err: "",
    });
    expect(await demo.end()).toBe(0);
  });

  it("--wait prints what is said, and ends as the session did", async () => {
    const env = environment();
    const demo = await startDemo([], env);
    expect(await ask(["--wait", "Tell me a short fact about the moon"], env)).toEqual({
      code: 0,
      out: "The moon moves away from the earth by almost four centimetres every year.\nThat was all.\n",
      err: "",
    });
    const failed = await ask(["--wait", "Print the letter"], env);
    expect([failed.code, failed.out]).toEqual([1, "The letter was not printed.\n"]);
    const { code, out } = await ask(["--wait", "--json", "--scenario", "cancel"], env);
    expect(code).toBe(1);
    const lines = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toEqual([
      { session_id: lines[0]!["session_id"] },
      {
        session_id: lines[0]!["session_id"],
        outcome: "cancelled",
        summary: expect.stringContaining("closed"),
      },
    ]);
    expect(await demo.end()).toBe(0);
  });

  it("--wait says that somebody has to answer, and never answers itself", async () => {
    const env = environment();
    const demo = await startDemo([], env);
    const subscriber = await subscribe(demo.http, { token: demo.token! });
    subscriber.on("confirmation", (question) => void question.reject());
    const { code, out, err } = await ask(["--wait", "delete record 7"], env);
    expect(code).toBe(0);
    expect(err).toContain("The demo is waiting for an answer. Answer it with: npx earshot listen");
    expect(out).toBe("The answer was no, so it was not done.\nNothing was done.\n");
    await subscriber.close();
    expect(await demo.end()).toBe(0);
  });

  it("shows hostile text without its teeth", async () => {
    const env = environment();
    const demo = await startDemo([], env);
    const { out } = await ask(["--wait", "--scenario", "hostile-text"], env);
    expect(out).toContain("A terminal would turn red here");
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
    expect(await demo.end()).toBe(0);
  });

  it.each([
    [[], 'Say what the demo should do: npx earshot ask "book a room".'],
    [["--scenario", "flood", "hello"], "Give either a request or --scenario, not both."],
    [["--address", "ws://127.0.0.1:1", "hello"], "--address needs the http address of the demo"],
    [["--address", "nowhere", "hello"], 'such as http://127.0.0.1:4600, not "nowhere".'],
  ])("%j is refused with a sentence", async (argv, says) => {
    const { code, out, err } = await ask(argv, environment());
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(says);
  });

  it("says how to start a demo where none answers", async () => {
    const env = environment();
    for (const wait of [[], ["--wait"]]) {
      const { code, err } = await ask([...wait, "--address", "http://127.0.0.1:1", "hello"], env);
      expect(code).toBe(3);
      expect(err).toContain('"npx earshot demo"');
      expect(err).not.toContain("    at ");
    }
  });

  it("says what is wrong with a scenario, a token, or another agent's address", async () => {
    const env = environment();
    const demo = await startDemo([], env);
    const unknown = await ask(["--scenario", "flod"], env);
    expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('Did you mean "flood"?')]);
    const refused = await ask(["--token", "wrong", "hello"], env);
    expect([refused.code, refused.err]).toEqual([3, expect.stringContaining("refused the token")]);
    expect(await demo.end()).toBe(0);
    const other = await ask(["--address", await answering(404, "{}"), "hello"], env);
    expect([other.code, other.err]).toEqual([
      1,
      expect.stringContaining("is not the demo. Start the demo with"),
    ]);
    const broken = await ask(["--address", await answering(500, "<html>"), "hello"], env);
    expect([broken.code, broken.err]).toEqual([1, expect.stringContaining("it answered with status 500")]);
  });

  it("asks which, where several demos run on unusual ports", async () => {
    const env = environment();
    const demos = [await startDemo([], env), await startDemo([], env)];
    const { code, err } = await ask(["hello"], env);
    expect(code).toBe(2);
    for (const { http } of demos) expect(err).toContain(http);
    for (const demo of demos) expect(await demo.end()).toBe(0);
  });

  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 0],
  ] as const)("%s ends the waiting, and the demo goes on", async (signal, code) => {
    const env = environment();
    const demo = await startDemo([], env);
    const waiting = await watch(["ask", "--wait", "--scenario", "long-answer"], env);
    await waiting.shows("Part 1");
    waiting.child.kill(signal);
    expect(await waiting.ended).toBe(code);
    expect((await demo.post({ text: "Hello" })).status).toBe(202);
    expect(await demo.end()).toBe(0);
  });

  it("ends when nobody reads any more", async () => {
    const env = environment();
    const demo = await startDemo([], env);
    const waiting = await watch(["ask", "--wait", "--scenario", "long-answer"], env);
    await waiting.shows("Part 1");
    waiting.child.stdout.destroy();
    expect(await waiting.ended).toBe(0);
    expect(await demo.end()).toBe(0);
  });

  it.each([
    ["SIGTERM", 1, "Stopped."],
    ["SIGKILL", 3, "The demo stopped before the session ended."],
  ] as const)("says so when the demo ends by %s in the middle", async (signal, code, says) => {
    const env = environment();
    const demo = await startDemo([], env);
    const waiting = await watch(["ask", "--wait", "--scenario", "long-answer"], env);
    await waiting.shows("Part 1");
    await demo.end(signal);
    expect(await waiting.ended).toBe(code);
    expect(waiting.out() + waiting.err()).toContain(says);
  });
});
