/** What is WebSocket's own: the subprotocol, one subscription per connection, frames and fragments (B.2, CON-51, CON-64). */
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { requestWith, TRANSPORTS } from "./raw-clients.ts";
import { bearerOf, closeAll, LOCAL, open, type TestServer } from "./test-server.ts";

afterEach(closeAll);

describe("WebSocket", () => {
  const connect = (server: TestServer, protocol?: string) => {
    const headers = { authorization: `Bearer ${bearerOf(LOCAL)}` };
    return new WebSocket(`ws://127.0.0.1:${server.port}/aaep/v1/ws`, protocol ? [protocol] : [], { headers });
  };

  it("is spoken under the subprotocol aaep.v1, and nothing else: WS-02 (CON-64)", async () => {
    const { server } = await open();
    for (const protocol of [undefined, "aaep.v2", "chat"]) {
      const socket = connect(server, protocol);
      const status = await new Promise((resolve) =>
        socket.on("unexpected-response", (_, response) => resolve(response.statusCode)).on("error", () => {}),
      );
      expect(status).toBe(400);
    }
    const socket = connect(server, "aaep.v1");
    await new Promise((resolve) => socket.on("open", resolve));
    expect(socket.protocol).toBe("aaep.v1");
    socket.terminate();
  });

  it("takes one subscription per connection: a second request is rejected, and the first goes on (CON-51)", async () => {
    const { agent, server } = await open();
    const [, call] = TRANSPORTS[1];
    const caller = await call(server);
    await caller.send(requestWith());
    const rejected = await caller.untilType("subscription.rejected");
    expect(rejected.json.reason_message).toMatch(/one subscription per connection/);
    void agent.run({ summary: "Hello." }, () => {});
    await caller.untilType("aaep:agent.session.completed");
    expect(agent.subscriptions).toBe(1);
  });

  it("anything but a request first is rejected with 4001, and what cannot be read later is passed over: WS-04", async () => {
    const { agent, server } = await open();
    for (const first of [
      "{",
      "[]",
      '{"type":"subscription.close","subscription_id":"sub_1","reason_code":"subscriber_shutdown"}',
    ]) {
      const socket = connect(server, "aaep.v1");
      socket.on("open", () => socket.send(first));
      const messages: string[] = [];
      socket.on("message", (data) => messages.push(String(data)));
      expect(await new Promise((resolve) => socket.on("close", resolve))).toBe(4001);
      expect(JSON.parse(messages[0]!)).toMatchObject({ type: "subscription.rejected" });
    }
    const [, call] = TRANSPORTS[1];
    const caller = await call(server);
    await caller.send([] as object);
    void agent.run({ summary: "Hello." }, () => {});
    await caller.untilType("aaep:agent.session.completed");
  });

  it("a message in fragments is one message, and one beyond the limit closes with 1009 (A11, A19)", async () => {
    const { server } = await open({}, { limits: { bodyBytes: 4_000 } });
    const socket = connect(server, "aaep.v1");
    await new Promise((resolve) => socket.on("open", resolve));
    const text = JSON.stringify(requestWith());
    for (let at = 0; at < text.length; at += 40)
      socket.send(text.slice(at, at + 40), { fin: at + 40 >= text.length });
    const answer = await new Promise((resolve) =>
      socket.once("message", (data) => resolve(JSON.parse(String(data)))),
    );
    expect(answer).toMatchObject({ type: "subscription.accepted" });
    socket.send("x".repeat(5_000));
    expect(await new Promise((resolve) => socket.on("close", resolve))).toBe(1009);
  });

  it("whoever connects and asks for nothing is let go", async () => {
    const { server } = await open({}, { limits: { heartbeatMs: 150 } });
    const socket = connect(server, "aaep.v1");
    expect(await new Promise((resolve) => socket.on("close", resolve))).toBe(4004);
  });
});
