/** Clients nobody here wrote, each through a whole conversation: subscribe, listen, answer, hear how it went. */
import { fileURLToPath } from "node:url";
import { EventSource } from "eventsource";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { createProducer } from "../../src/producer/producer.ts";
import { TestServer } from "../http/test-server.ts";
import { openTeller, REQUEST, replyTo, type Teller } from "./agent.ts";
import { findProgram, findPython, start } from "./programs.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function teller(): Promise<Teller> {
  const open = await openTeller();
  cleanups.push(() => open.close());
  return open;
}

const HEARD = [
  "aaep:agent.session.started",
  "aaep:agent.output.streaming",
  "aaep:agent.awaiting.confirmation",
  "aaep:agent.tool.invoked",
  "aaep:agent.tool.completed",
  "aaep:agent.session.completed",
];

const curl = findProgram("curl", "curl");
describe.skipIf(curl.skip)(`curl -N${curl.note}`, () => {
  it("holds a whole conversation: SSE-01, SSE-02, SSE-03, SSE-04, TRN-17", async () => {
    const { served, converse } = await teller();
    const common = ["-sS", "-N", "-H", `Authorization: Bearer ${served.token}`];
    const post = async (path: string, message: object) => {
      const call = start(curl.path, [
        ...common,
        "-i",
        "-H",
        "Content-Type: application/json",
        "-d",
        JSON.stringify(message),
        `${served.http}/aaep/v1${path}`,
      ]);
      expect(await call.exit).toBe(0);
      return call.lines.map((line) => line.trimEnd());
    };
    const accepted = await post("/subscriptions", REQUEST);
    expect(accepted[0]).toBe("HTTP/1.1 201 Created");
    const location = accepted.find((line) => /^location:/i.test(line))!.replace(/^location: */i, "");
    const { subscription_id } = JSON.parse(accepted.at(-1) || accepted.at(-2)!);
    const stream = start(curl.path, [
      ...common,
      "-H",
      "Accept: text/event-stream",
      `${served.http}${location}`,
    ]);
    cleanups.push(() => stream.stop());
    await stream.until((line) => line === ": connected");
    const done = converse();
    const isData = (type: string) => (line: string) =>
      line.startsWith("data: ") && line.includes(`"type":"${type}"`);
    const question = JSON.parse((await stream.until(isData("aaep:agent.awaiting.confirmation"))).slice(6));
    expect((await post("/replies", replyTo(question, subscription_id)))[0]).toBe("HTTP/1.1 204 No Content");
    expect(await done).toEqual({ ran: true, moved: [{ amount: 500, to: "savings" }] });
    await stream.until(isData("aaep:agent.session.completed"));
    const fields = stream.lines.map((line) => line.split(":")[0]).filter(Boolean);
    expect(new Set(fields)).toEqual(new Set(["event", "id", "data", "retry"]));
    for (const type of HEARD) expect(stream.lines.some(isData(type))).toBe(true);
    expect((await post("/replies", replyTo(question, subscription_id)))[0]).toBe("HTTP/1.1 400 Bad Request");
  });
});

describe("the eventsource package", () => {
  it("follows the stream by its address alone, drops out and comes back by itself: SSE-05, SSE-08 (CON-52)", async () => {
    const agent = createProducer({ agent_id: "com.example.reader", warn: () => {} });
    const server = await TestServer.open(agent);
    cleanups.push(() => server.close());
    const posted = await server.post("/subscriptions", {
      ...REQUEST,
      capabilities: { coalesce_boundaries: ["none"] },
    });
    // No header of ours: the ticket in the address is all it has.
    const source = new EventSource(`${server.http}${posted.headers.location}`);
    cleanups.push(() => source.close());
    const heard: string[] = [];
    const ids: [string, string][] = [];
    const opened = () => new Promise((resolve) => source.addEventListener("open", resolve, { once: true }));
    const until = (fits: () => boolean) =>
      new Promise<void>((resolve) => {
        const look = () => fits() && resolve();
        source.addEventListener("aaep.event", look);
        look();
      });
    source.addEventListener("aaep.event", ({ data, lastEventId }) => {
      const event = JSON.parse(data);
      if (event.chunk) heard.push(event.chunk);
      if (event.chunk) ids.push([lastEventId, event.event_id]);
    });
    await opened();
    const session = agent.start({ summary: "Reading." });
    await session.say("Before. ");
    await until(() => heard.length > 0);
    const back = opened();
    server.cutAll();
    await session.say("Meanwhile. ");
    await back;
    await session.say("After. ");
    await session.complete();
    await until(() => heard.join("").endsWith("After. "));
    expect(heard.join("")).toBe("Before. Meanwhile. After. ");
    for (const [last, event_id] of ids) expect(last).toBe(event_id);
    expect(agent.subscriptions).toBe(1);
  });
});

describe("the ws package", () => {
  it("holds a whole conversation: WS-01, WS-04, WS-05, WS-07", async () => {
    const { served, converse } = await teller();
    const socket = new WebSocket(served.ws, "aaep.v1", {
      headers: { authorization: `Bearer ${served.token}` },
    });
    const types: string[] = [];
    let done: Promise<unknown> | undefined;
    let id = "";
    const ended = new Promise<number>((resolve) => socket.on("close", resolve));
    socket.on("open", () => socket.send(JSON.stringify(REQUEST)));
    socket.on("message", (data, binary) => {
      expect(binary).toBe(false);
      const message = JSON.parse(String(data));
      types.push(message.type);
      if (message.type === "subscription.accepted") {
        id = message.subscription_id;
        done = converse();
      }
      if (message.type === "aaep:agent.awaiting.confirmation")
        socket.send(JSON.stringify(replyTo(message, id)));
      if (message.type === "aaep:agent.session.completed") {
        socket.send(
          JSON.stringify({
            type: "subscription.close",
            subscription_id: id,
            reason_code: "subscriber_shutdown",
          }),
        );
      }
    });
    expect(await ended).toBe(4005);
    expect(await done).toEqual({ ran: true, moved: [{ amount: 500, to: "savings" }] });
    expect(types).toEqual(expect.arrayContaining(HEARD));
  });
});

const python = findPython("aiohttp");
describe.skipIf(python.skip)(`Python with aiohttp${python.note}`, () => {
  it.each(["sse", "websocket"])("holds a whole conversation over %s", async (transport) => {
    const { served, converse } = await teller();
    const client = start(python.path, [
      fileURLToPath(new URL("client.py", import.meta.url)),
      transport,
      served.http,
      served.token!,
    ]);
    cleanups.push(() => client.stop());
    await client.until((line) => line === "listening");
    expect(await converse()).toEqual({ ran: true, moved: [{ amount: 500, to: "savings" }] });
    await client.until((line) => line === "done");
    expect(await client.exit).toBe(0);
    const types = client.lines.map((line) => line.split(" ")[0]);
    expect(types).toEqual(expect.arrayContaining(HEARD));
    expect(client.lines.find((line) => line.includes("Ẹ kú àárọ̀.".normalize("NFC")))).toBeDefined();
  });
});
