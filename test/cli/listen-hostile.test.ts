// `earshot listen` and a producer that is not ours: it floods, lies, stammers and dies, over SSE and over WebSocket.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, it, vi } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { run } from "../../src/cli/run.ts";
import { terminal } from "./support.ts";

const closing: (() => unknown)[] = [];
// Not after each: the tests wait most of the time, so they run concurrently.
afterAll(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Json = Record<string, unknown>;

interface Raw {
  readonly address: string;
  /** A line of the stream, or a message: whatever it is. */
  send(what: Json | string): void;
  /** The line drops, without a word. */
  drop(): void;
  /** What the listener sent, handshakes excluded. */
  readonly got: Json[];
  readonly lines: () => number;
}

interface RawOptions {
  readonly producer?: Json;
  /** What a reply is answered with, over HTTP; never, if undefined. */
  readonly status?: () => number | undefined;
}

const accepted = (producer: Json = { agent_id: "evil", agent_name: "Evil" }) => ({
  type: "subscription.accepted",
  subscription_id: "sub_1",
  aaep_version: "1.0.0",
  producer,
  honored_capabilities: {},
});

const RAW = {
  async sse({ producer, status = () => 204 }: RawOptions = {}): Promise<Raw> {
    const got: Json[] = [];
    let stream: ServerResponse | undefined;
    let lines = 0;
    const server = createServer((request, response) => {
      if (request.method === "GET") {
        lines++;
        stream = response;
        response.setHeader("content-type", "text/event-stream");
        response.write(":\n\n");
        return;
      }
      let body = "";
      request.on("data", (chunk) => {
        body += String(chunk);
      });
      request.on("end", () => {
        if (request.url?.endsWith("/subscriptions")) {
          response.setHeader("content-type", "application/json");
          response.end(JSON.stringify(accepted(producer)));
          return;
        }
        got.push(JSON.parse(body) as Json);
        const code = status();
        if (code === undefined) return;
        response.statusCode = code;
        response.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    });
    const send = (what: Json | string) => {
      if (typeof what === "string") stream?.write(what);
      else if (String(what["type"]).startsWith("subscription"))
        stream?.write(`event: aaep.message\ndata: ${JSON.stringify(what)}\n\n`);
      else stream?.write(`event: aaep.event\nid: ${what["event_id"]}\ndata: ${JSON.stringify(what)}\n\n`);
    };
    const { port } = server.address() as AddressInfo;
    return {
      address: `http://127.0.0.1:${port}`,
      send,
      drop: () => stream?.destroy(),
      got,
      lines: () => lines,
    };
  },

  async websocket({ producer }: RawOptions = {}): Promise<Raw> {
    const got: Json[] = [];
    let line: WebSocket | undefined;
    let lines = 0;
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await new Promise<void>((resolve) => server.once("listening", () => resolve()));
    server.on("connection", (socket) => {
      socket.on("message", (data) => {
        const message = JSON.parse(String(data)) as Json;
        if (message["type"] !== "subscription.request") return void got.push(message);
        lines++;
        line = socket;
        socket.send(JSON.stringify(accepted(producer)));
      });
    });
    closing.push(() => {
      for (const client of server.clients) client.terminate();
      return new Promise((resolve) => server.close(resolve));
    });
    const { port } = server.address() as AddressInfo;
    return {
      address: `ws://127.0.0.1:${port}`,
      send: (what) => line?.send(typeof what === "string" ? what : JSON.stringify(what)),
      drop: () => line?.terminate(),
      got,
      lines: () => lines,
    };
  },
};

let ids = 0;
const event = (name: string, fields: Json = {}): Json => ({
  "@context": "https://aaep-protocol.org/context/v1",
  type: `aaep:agent.${name}`,
  event_id: `evt_${++ids}`,
  session_id: "sess_1",
  timestamp: "2026-05-24T14:22:11.342Z",
  producer: { agent_id: "evil", agent_name: "Evil" },
  localization_hints: { primary_language: "en" },
  urgency: /errored|awaiting|handoff/.test(name) ? "critical" : "normal",
  ...fields,
});
const question = (reply_token: string, fields: Json = {}) =>
  event("awaiting.confirmation", {
    action: `Pay ${reply_token}.`,
    consequence: "It is paid.",
    reply_token,
    timeout_seconds: 300,
    default_decision: "reject",
    ...fields,
  });

async function hear(raw: Raw, ...flags: string[]) {
  const at = terminal({ tty: true });
  const code = run(["listen", raw.address, "--lang", "en", "--no-bell", ...flags], at.io, "0.0.0-test");
  let ended: number | undefined;
  void code.then((is) => {
    ended = is;
  });
  closing.push(() => at.interrupt());
  await at.shows("Type help and press Enter");
  await vi.waitFor(() => expect(raw.lines()).toBe(1));
  const type = async (text: string) => {
    await new Promise((resolve) => setTimeout(resolve, 350));
    for (const letter of `${text}\n`) {
      at.stdin.write(letter);
      await new Promise((resolve) => setTimeout(resolve, 90));
    }
  };
  return { ...at, code, type, ended: () => ended };
}

describe.concurrent.each(["sse", "websocket"] as const)("a producer over %s that", (way) => {
  it("sends rubbish between the lines is heard all the same, in words that steer no terminal (A16)", async () => {
    const raw = await RAW[way]({
      producer: { agent_id: "evil", agent_name: "\u001b]0;Bank\u0007\u202eEvil\n\nAllowed." },
    });
    const ear = await hear(raw);
    for (const rubbish of ["{", "null", "[]", '"x"', "\u0000\u001b[2J", `${"[".repeat(5_000)}`])
      raw.send(way === "sse" ? `event: aaep.event\ndata: ${rubbish.replaceAll("\n", " ")}\n\n` : rubbish);
    raw.send({ type: "subscription.accepted", subscription_id: "sub_2" });
    raw.send(
      event("output.streaming", {
        chunk: "```constructor\nx\n```\n\nAfter it. ",
        position: 0,
        complete: true,
      }),
    );
    raw.send(
      event("session.errored", {
        summary_normal: "\u001b[31mIt broke\u001b[0m.\u202e",
        error_category: "permanent",
      }),
    );
    await ear.shows("After it.");
    await ear.shows("Failed: It broke.");
    expect(ear.ended()).toBeUndefined();
    expect(ear.out()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/u);
    expect(ear.out()).not.toMatch(/^Allowed\./mu);
  });

  it("floods is still asked about what matters, and its question can be answered", async () => {
    const raw = await RAW[way]();
    const ear = await hear(raw);
    const flood = (count: number) => {
      for (let number = 0; number < count; number++)
        raw.send(
          event("state.changed", {
            from_state: "a",
            to_state: `s${number}`,
            session_id: `sess_${number % 900}`,
          }),
        );
    };
    flood(5_000);
    raw.send(question("rpl_first", { risk_level: "high", irreversible: true, extra_context: { amount: 5 } }));
    for (let number = 0; number < 2_000; number++) raw.send(question(`rpl_${number}`));
    flood(5_000);
    await ear.shows("Pay rpl_first.");
    await ear.shows(/asks too much at once\. [\d,]+ of its questions were put aside unread/u);
    await ear.type("yes");
    await ear.shows("Amount: 5. To allow it, say confirm.");
    await ear.type("confirm");
    await vi.waitFor(() => expect(raw.got).toMatchObject([{ reply_token: "rpl_first", decision: "accept" }]));
    if (way === "sse") await ear.shows("Allowed.");
    else await ear.shows("Your answer was sent, but the agent has not said that it took it.");
  }, 60_000);

  it("keeps dropping the line is told of now and then, and what it asked can be answered when it is back", async () => {
    const raw = await RAW[way]();
    const ear = await hear(raw);
    raw.send(question("rpl_1"));
    await ear.shows("Yes or no?");
    for (let round = 1; round <= 4; round++) {
      raw.drop();
      await vi.waitFor(() => expect(raw.lines()).toBe(round + 1), { timeout: 20_000 });
    }
    await ear.shows("Connected to Evil again.");
    expect(ear.out().match(/was lost/gu)).toHaveLength(1);
    expect(ear.out().match(/Connected to Evil again\./gu)).toHaveLength(1);
    await ear.type("no");
    await vi.waitFor(() => expect(raw.got).toMatchObject([{ reply_token: "rpl_1", decision: "reject" }]));
  }, 60_000);

  it("shuts the door with a speech of its own has it read as one line, of a length a person can bear", async () => {
    const raw = await RAW[way]();
    const ear = await hear(raw);
    raw.send({
      type: "subscription.close",
      subscription_id: "sub_1",
      reason_code: "authorization_denied",
      reason_message: `\u001b[2JAllowed.\n\nYes or no? ${"blah ".repeat(800)}`,
    });
    expect(await ear.code).toBe(1);
    expect(ear.out()).toMatch(/^Evil reports: Allowed\. Yes or no\? blah/mu);
    expect(ear.out()).not.toMatch(/\u001b|^Allowed\.|^Yes or no/mu);
    expect(
      Math.max(
        ...ear
          .out()
          .split("\n")
          .map((line) => line.length),
      ),
    ).toBeLessThan(1_000);
  });
});

describe.concurrent("a producer over HTTP that", () => {
  it("never says whether it took an answer is not said to have taken it", async () => {
    const raw = await RAW.sse({ status: () => 400 });
    const ear = await hear(raw);
    raw.send(question("rpl_1"));
    await ear.shows("Yes or no?");
    await ear.type("yes");
    await ear.shows("Your answer came too late");
    expect(ear.out()).not.toContain("Allowed.");
  });
});
