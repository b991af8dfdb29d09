/**
 * Existing AAEP test drivers, with --compat: no handshake, `{"kind":"user_input"}` as the first message, and short timeouts. Such
 * a driver takes the first message for its receipt, gives up on a silence of two seconds, and reads only so many events.
 */
import { afterAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { endDemos, type RunningDemo, startDemo } from "./demo-support.ts";

afterAll(endDemos);

type Message = Readonly<Record<string, unknown>>;

interface Driver {
  send(message: Message): Promise<void>;
  /** The next message, or undefined after two seconds of silence. */
  receive(): Promise<Message | undefined>;
  close(): void;
}

const SILENCE_MS = 2_000;
const ENDED = /session\.(completed|errored|cancelled)$/;

class Inbox {
  readonly #messages: Message[] = [];
  #wake: () => void = () => undefined;

  put(text: string): void {
    this.#messages.push(JSON.parse(text) as Message);
    this.#wake();
  }

  async take(): Promise<Message | undefined> {
    if (this.#messages.length === 0)
      await new Promise<void>((resolve) => {
        const silence = setTimeout(resolve, SILENCE_MS);
        this.#wake = () => {
          clearTimeout(silence);
          resolve();
        };
      });
    return this.#messages.shift();
  }
}

async function overHttp({ http }: RunningDemo): Promise<Driver> {
  const inbox = new Inbox();
  const leave = new AbortController();
  // The stream is not waited for: drivers open it and talk at the same time.
  void fetch(`${http}/events`, { signal: leave.signal })
    .then(async (response) => {
      let text = "";
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        const lines = (text + chunk).split("\n");
        text = lines.pop()!;
        for (const line of lines) if (line.startsWith("data: ")) inbox.put(line.slice(6));
      }
    })
    .catch(() => undefined);
  return {
    async send(message) {
      const response = await fetch(`${http}/messages`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(message),
      });
      expect(response.ok).toBe(true);
    },
    receive: () => inbox.take(),
    close: () => leave.abort(),
  };
}

async function overWebSocket({ ws }: RunningDemo): Promise<Driver> {
  const inbox = new Inbox();
  const socket = new WebSocket(ws);
  socket.on("message", (data) => inbox.put(String(data)));
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  return {
    send: async (message) => socket.send(JSON.stringify(message)),
    receive: () => inbox.take(),
    close: () => socket.terminate(),
  };
}

/** Asks for a session and reads at most so many of its events, answering what it was told to answer. */
async function session(
  driver: Driver,
  text: string,
  most: number,
  answers: Readonly<Record<string, Message>> = {},
) {
  await driver.send({ kind: "user_input", text });
  const receipt = await driver.receive();
  expect(receipt).toEqual({ kind: "user_input.received", session_id: expect.stringMatching(/^sess_/) });
  const events: Message[] = [];
  while (events.length < most) {
    const event = await driver.receive();
    if (event === undefined) break;
    if (event["session_id"] !== receipt!["session_id"]) continue;
    events.push(event);
    const type = event["type"] as string;
    if (ENDED.test(type)) break;
    const answer = answers[type];
    if (answer)
      await driver.send({
        ...answer,
        reply_token: event["reply_token"],
        subscription_id: "sub_0123456789abcdef",
        timestamp: new Date().toISOString(),
      });
  }
  return events.map((event) => ({ ...event, type: (event["type"] as string).replace("aaep:agent.", "") }));
}

const decide = (decision: string) => ({
  "aaep:agent.awaiting.confirmation": { type: "confirmation.reply", decision },
});
const typesOf = (events: readonly { type: string }[]) => events.map(({ type }) => type);

describe.concurrent.each([
  ["HTTP", overHttp],
  ["WebSocket", overWebSocket],
] as const)("a driver over %s", (_name, open) => {
  it("gets through its prompts at the demo's own speed, within its timeouts", async () => {
    const demo = await startDemo(["--compat", "--insecure-loopback", "--speed", "1"]);
    const driver = await open(demo);
    const told = async (text: string, most: number, answers = {}) =>
      typesOf(await session(driver, text, most, answers));

    expect(await told("Hello, please respond briefly.", 5)).toEqual([
      "session.started",
      "state.changed",
      "state.changed",
      "output.streaming",
      "session.completed",
    ]);
    expect((await told("Tell me a short fact about the moon.", 15)).at(-1)).toBe("session.completed");
    const tool = await told("Please use a tool to fetch some data, then respond.", 15);
    expect(tool).toEqual(expect.arrayContaining(["tool.invoked", "tool.completed", "session.completed"]));
    const text = await session(driver, "Write a short three-sentence paragraph.", 15);
    expect(text.filter(({ complete }: Message) => complete === true)).toHaveLength(1);
    const missing = await session(driver, "Please call a tool that does not exist: 'xyz'.", 10);
    expect(missing.at(-1)).toMatchObject({ type: "session.errored", urgency: "critical" });

    const booked = await told(
      "Please book a meeting room. Use a tool that requires confirmation.",
      30,
      decide("accept"),
    );
    expect(booked.indexOf("awaiting.confirmation")).toBeLessThan(booked.lastIndexOf("tool.invoked"));
    expect(booked.at(-1)).toBe("session.completed");
    const mail = await told("Please send an email to test@example.com.", 30, decide("reject"));
    expect(mail).toContain("awaiting.confirmation");
    expect(mail).not.toContain("tool.invoked");
    expect(mail.at(-1)).toBe("session.completed");
    const where = await told("Don't assume my location, ask me where I am first.", 30, {
      "aaep:agent.awaiting.clarification": { type: "clarification.reply", response: "Lagos" },
    });
    expect(where).toContain("awaiting.clarification");
    expect(where.at(-1)).toBe("session.completed");
    const handed = await session(driver, "Please escalate this conversation to a human via handoff.", 10);
    expect(handed.find(({ type }) => type === "handoff.requested")).toMatchObject({ urgency: "critical" });
    expect(handed.at(-1)!.type).toBe("session.completed");
    const record = await session(driver, "Please delete record ID 12345 (high-risk and irreversible).", 5);
    expect(record.at(-1)).toMatchObject({
      type: "awaiting.confirmation",
      irreversible: true,
      risk_level: "high",
      default_decision: "reject",
    });
    driver.close();
    expect(await demo.end()).toBe(0);
  }, 60_000);

  it("is told why a request was not taken", async () => {
    const demo = await startDemo(["--compat", "--insecure-loopback"]);
    const driver = await open(demo);
    await driver.send({ kind: "user_input", text: " " });
    expect(await driver.receive()).toEqual({
      kind: "user_input.refused",
      message: expect.stringContaining("Give a request, such as"),
    });
    driver.close();
    expect(await demo.end()).toBe(0);
  });
});

it("ignores user_input without --compat", async () => {
  const demo = await startDemo(["--insecure-loopback"]);
  const body = JSON.stringify({ kind: "user_input", text: "Hello" });
  const answer = await fetch(`${demo.http}/messages`, { method: "POST", body });
  expect(answer.status).toBe(404);
  expect(await demo.end()).toBe(0);
});
