/** Our clients with agents of other people's: the specification leaves them free where ours is definite. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { WebSocketServer } from "ws";
import { subscribe } from "../../src/subscriber/index.ts";
import { later } from "../security/wire-support.ts";

const PRODUCER = { agent_id: "other" };
const ACCEPTED = {
  type: "subscription.accepted",
  subscription_id: "sub_other",
  aaep_version: "1.0.0",
  producer: PRODUCER,
  honored_capabilities: {},
};
const QUESTION = {
  "@context": "https://aaep-protocol.org/context/v1",
  type: "aaep:agent.awaiting.confirmation",
  event_id: "evt_000001",
  session_id: "sess_other",
  timestamp: "2026-01-01T12:00:00Z",
  producer: PRODUCER,
  urgency: "critical",
  action: "Send it.",
  consequence: "It is sent.",
  summary_normal: "Send it?",
  reply_token: "rpl_other",
  timeout_seconds: 60,
  default_decision: "reject",
  risk_level: "low",
  irreversible: false,
};

/** An agent that says one thing and answers every reply with this status. */
async function otherAgent({ status = 204, named = true } = {}): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    if (request.url!.endsWith("/subscriptions")) {
      response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify(ACCEPTED));
    } else if (request.url!.endsWith("/replies")) {
      response.writeHead(status).end();
    } else {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const name = named ? "event: aaep.event\n" : "";
      response.write(`${name}id: ${QUESTION.event_id}\ndata: ${JSON.stringify(QUESTION)}\n\n`);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  later(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("over SSE", () => {
  it.each([
    [204, true],
    // It arrived; whether it counted, the next change of state will tell.
    [200, undefined],
    [202, undefined],
    [400, false],
  ])("a reply that is answered with %s was taken: %s (SSE-04)", async (status, taken) => {
    const sub = await subscribe(await otherAgent({ status }));
    later(() => sub.close());
    const answered = await new Promise((resolve) => {
      sub.on("confirmation", (question) => resolve(question.accept()));
    });
    expect(answered).toBe(taken);
  });

  it("events without a name are heard all the same: SSE-03", async () => {
    const sub = await subscribe(await otherAgent({ named: false }));
    later(() => sub.close());
    const action = await new Promise((resolve) => {
      sub.on("confirmation", (question) => resolve(question.event.action));
    });
    expect(action).toBe("Send it.");
  });
});

describe("over WebSocket", () => {
  it("an agent that never pings is asked whether it is there, and kept (F15)", async () => {
    const server = new WebSocketServer({
      port: 0,
      host: "127.0.0.1",
      handleProtocols: () => "aaep.v1",
    });
    await new Promise((resolve) => server.once("listening", resolve));
    let pings = 0;
    const asked = new Promise<void>((resolve) => {
      server.on("connection", (socket) => {
        socket.on("message", () => socket.send(JSON.stringify(ACCEPTED)));
        socket.on("ping", () => ++pings === 6 && resolve());
      });
    });
    later(() => {
      for (const socket of server.clients) socket.terminate();
      server.close();
    });
    const states: string[] = [];
    const sub = await subscribe(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`, {
      silenceMs: 300,
    });
    later(() => sub.close());
    sub.on("connection", ({ state }) => states.push(state));
    // Six times half of what it waits for: three silences would have been over.
    await asked;
    expect(states).toEqual([]);
  });
});
