// What the WebSocket binding does, over gRPC: from the handshake to the end, with one of our own listeners or a bare one.
import * as grpc from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { EXTENSION_URI } from "../../src/protocol/extension.ts";
import type { AgentEvent } from "../../src/protocol/types.ts";
import { asBytes, MANIFEST_PATH } from "../../src/transports/grpc/library.ts";
import { decodeJson } from "../../src/transports/grpc/protobuf.ts";
import { closeOf } from "../../src/transports/grpc/status.ts";
import { TRANSFER } from "../support/driver.ts";
import { admitted, Bare, Cable, eventually, listen, REQUEST, world } from "./support.ts";

const RESUMING = {
  ...REQUEST,
  capabilities: {
    ...REQUEST.capabilities,
    coalesce_boundaries: ["none"],
    max_events_per_second: 100_000,
    earshot: { resume: true },
  },
};

const short = ({ type }: { type: string }) => type.replace("aaep:agent.", "");

describe("a subscription over gRPC", () => {
  it("is asked for first, answered in full, and hears a session in order, byte for byte: GRPC-01, GRPC-03, TRN-03, CON-53", async () => {
    const here = await world();
    const listener = await listen(here, { coalesce_boundaries: ["none"] });
    expect(listener.accepted.honored_capabilities).toMatchObject({ supports_confirmation_reply: true });
    const heard: AgentEvent[] = [];
    listener.on("event", (event) => heard.push(event));
    await here.producer.run({ summary: "Planning your week." }, async (session) => {
      await session.tool({ tool: "fetch", summary: "Checking your balance." }, () => 7);
      await session.say("Ẹ kú àárọ̀ 👩‍👩‍👧\u2028. ");
    });
    await eventually(() => heard.map(short).includes("session.completed"), "the end");
    expect(heard.map(short).filter((type) => type !== "state.changed")).toEqual([
      "session.started",
      "tool.invoked",
      "tool.completed",
      "output.streaming",
      "output.streaming",
      "session.completed",
    ]);
    const said = heard.flatMap((event) => ("chunk" in event ? [String(event["chunk"])] : [])).join("");
    expect(said).toBe("Ẹ kú àárọ̀ 👩‍👩‍👧\u2028. ".normalize("NFC"));
  });

  it("answers a question on the same stream, and what was approved runs once: GRPC-03, TRN-09", async () => {
    const here = await world();
    const listener = await listen(here);
    listener.on("confirmation", (ask) => void ask.accept());
    const ran: unknown[] = [];
    const result = await here.producer.run({ summary: "Moving money." }, (session) =>
      session.tool(TRANSFER, (params) => void ran.push(params)),
    );
    expect(result).toMatchObject({ ran: true });
    expect(ran).toEqual([{ amount: 500, to: "savings" }]);
  });

  it("goes by the JSON where message_type says something else, or nothing: GRPC-02, CON-63", async () => {
    const { server, producer } = await world();
    const bare = new Bare(server);
    bare.send(REQUEST, "confirmation.reply");
    const { subscription_id } = await bare.type("subscription.accepted");
    const running = producer.run({ summary: "Moving money." }, (session) =>
      session.tool(TRANSFER, () => "moved"),
    );
    const { reply_token } = await bare.type("aaep:agent.awaiting.confirmation");
    const timestamp = new Date().toISOString();
    bare.send(
      { type: "confirmation.reply", subscription_id, reply_token, decision: "accept", timestamp },
      "",
    );
    expect(await running).toMatchObject({ ran: true });
  });

  it("names every message's type in message_type, the JSON's own: GRPC-02", async () => {
    const { server, producer } = await world();
    const bare = new Bare(server);
    const hints: [string, string][] = [];
    bare.call.on("data", (bytes: Buffer) => {
      const hint = bytes.subarray(bytes.lastIndexOf(0x12) + 2).toString();
      hints.push([hint, JSON.parse(Buffer.from(decodeJson(bytes)!).toString()).type]);
    });
    bare.send(REQUEST);
    await bare.type("subscription.accepted");
    await producer.run({ summary: "Hello." }, async (session) => void (await session.say("Hi. ")));
    await bare.type("aaep:agent.session.completed");
    expect(hints.length).toBeGreaterThan(4);
    for (const [hint, type] of hints) expect(hint).toBe(type);
  });

  it("is one to a stream: a second request is rejected, and the first goes on: CON-51, TRN-18", async () => {
    const { server, producer } = await world();
    const bare = await admitted(server);
    bare.send({ ...REQUEST, subscriber_id: "another" });
    expect(await bare.type("subscription.rejected")).toMatchObject({
      reason_code: "capabilities_incompatible",
    });
    expect(producer.subscriptions).toBe(1);
    await producer.run({ summary: "Still here." }, async () => {});
    await bare.type("aaep:agent.session.completed");
  });

  it.each([
    [
      "a version nobody speaks",
      { ...REQUEST, aaep_version: "9.0.0" },
      "version_unsupported",
      grpc.status.FAILED_PRECONDITION,
    ],
    [
      "a signed manifest where there is none",
      { ...REQUEST, capabilities: { ...REQUEST.capabilities, accept_signed_manifests_only: true } },
      "manifest_signature_required",
      grpc.status.FAILED_PRECONDITION,
    ],
    ["no name", { ...REQUEST, subscriber_id: undefined }, "unknown", grpc.status.INVALID_ARGUMENT],
    [
      "something else first",
      { type: "subscription.close", subscription_id: "x", reason_code: "bye" },
      "unknown",
      grpc.status.INVALID_ARGUMENT,
    ],
  ])(
    "that asks with %s is rejected in words, then by status and trailers: GRPC-03, CON-63",
    async (_, request, reason, status) => {
      const { server } = await world();
      const bare = new Bare(server);
      bare.send(request);
      expect(await bare.type("subscription.rejected")).toMatchObject({ reason_code: reason });
      expect(await bare.ended).toMatchObject({ code: status });
      expect(await bare.trailer("aaep-close-reason")).toBe("rejected");
      expect(await bare.trailer("aaep-rejection-reason")).toBe(reason);
      expect(await bare.trailer("aaep-reconnect")).toBe("false");
    },
  );

  it("that is one too many is told so by RESOURCE_EXHAUSTED", async () => {
    const principal = { id: "one", role: "reply", audiences: "all", maxSubscriptions: 1 } as const;
    const { server } = await world({ auth: () => principal });
    await admitted(server);
    const bare = new Bare(server);
    bare.send(REQUEST);
    expect(await bare.type("subscription.rejected")).toMatchObject({ reason_code: "rate_limit" });
    expect((await bare.ended).code).toBe(grpc.status.RESOURCE_EXHAUSTED);
  });

  it("is renegotiated while it runs, and ends when the new terms cannot be met: HS-14", async () => {
    const here = await world();
    const listener = await listen(here);
    const renewed = await listener.renegotiate({ max_events_per_second: 3 });
    expect(renewed.honored_capabilities.max_events_per_second).toBe(3);
    const bare = await admitted(here.server);
    const capabilities = { accept_signed_manifests_only: true };
    bare.send({ type: "subscription.renegotiate", subscription_id: bare.id, capabilities });
    await bare.type("subscription.rejected");
    expect((await bare.ended).code).toBe(grpc.status.FAILED_PRECONDITION);
  });

  it("is closed by the listener with OK, and its place is free at once: TRN-07, TRN-08", async () => {
    const { server, producer } = await world();
    const bare = await admitted(server);
    bare.send({ type: "subscription.close", subscription_id: bare.id, reason_code: "subscriber_shutdown" });
    expect((await bare.ended).code).toBe(grpc.status.OK);
    expect(await bare.trailer("aaep-close-reason")).toBe("subscriber_closed");
    expect(producer.subscriptions).toBe(0);
  });

  it("of a listener that vanishes without our extension is over: TRN-08, HS-20", async () => {
    const { server, producer } = await world();
    const bare = new Bare(server);
    bare.send({ ...REQUEST, capabilities: { supports_confirmation_reply: true } });
    await bare.type("subscription.accepted");
    bare.call.cancel();
    await eventually(() => producer.subscriptions === 0, "nobody listens");
  });

  it("goes on listening when the caller has ended its half, and refuses one that ended it before asking", async () => {
    const { server, producer } = await world();
    const bare = await admitted(server);
    bare.call.end();
    await producer.run({ summary: "Still talking." }, async () => {});
    await bare.type("aaep:agent.session.completed");
    const mute = new Bare(server);
    mute.call.end();
    expect((await mute.ended).code).toBe(grpc.status.INVALID_ARGUMENT);
  });

  it("that is never asked for ends by itself", async () => {
    const { server } = await world({ limits: { requestMs: 50 } });
    const bare = new Bare(server);
    expect((await bare.ended).code).toBe(grpc.status.INVALID_ARGUMENT);
    expect(await bare.trailer("aaep-close-reason")).toBe("protocol_violation");
  });
});

describe("a line over gRPC that drops", () => {
  it("comes back where it was; an open question is heard again and answered once: GRPC-05", async () => {
    const here = await world();
    const cable = await Cable.lay(() => here.server.port);
    const listener = await listen(here, {}, cable.url);
    const asked: string[] = [];
    const states: string[] = [];
    listener.on("connection", ({ state }) => states.push(state));
    let answer: (() => unknown) | undefined;
    listener.on("confirmation", (ask) => {
      asked.push(ask.event.reply_token);
      answer = () => ask.accept();
    });
    const running = here.producer.run({ summary: "Moving money." }, (session) =>
      session.tool(TRANSFER, () => 1),
    );
    await eventually(() => asked.length === 1, "the question");
    cable.cut();
    await eventually(() => states.join() === "lost,connected", "the line is back");
    await answer!();
    expect(await running).toMatchObject({ ran: true });
    expect(asked).toHaveLength(1);
  });

  it("ends at its deadline and goes on in another stream, exactly: GRPC-05", async () => {
    const here = await world();
    const { createGrpcClient } = await import("../../src/transports/grpc/client.ts");
    const { Subscriber } = await import("../../src/subscriber/subscriber.ts");
    const transport = createGrpcClient({
      url: here.server.address,
      token: here.server.token!,
      deadlineMs: 400,
    });
    const listener = await new Subscriber(transport, {
      random: () => 0,
      coalesce_boundaries: ["none"],
    }).connect();
    let lines = 0;
    let text = "";
    listener.on("connection", ({ state }) => void (state === "connected" && lines++));
    listener.on("event", (event) => {
      if ("chunk" in event) text += event["chunk"];
    });
    const session = here.producer.start({ summary: "Counting." });
    let said = "";
    for (let i = 0; lines < 3; i++) {
      said += `${i} `;
      await session.say(`${i} `);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await session.complete();
    await eventually(() => text === said, "all of it");
    await listener.close();
  });

  it("and nobody says so is found dead by the pings of both sides: GRPC-05, TRN-07, TRN-08", async () => {
    const here = await world({ limits: { heartbeatMs: 300 } });
    const cable = await Cable.lay(() => here.server.port);
    const stranger = new Bare({ ...here.server, port: cable.port });
    stranger.send({ ...REQUEST, capabilities: {} });
    await stranger.type("subscription.accepted");
    // Quiet is not dead: for several heartbeats nothing is said, and nobody is let go.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(here.producer.subscriptions).toBe(1);
    const listener = await listen(here, { silenceMs: 1_200 }, cable.url);
    const states: string[] = [];
    listener.on("connection", ({ state }) => states.push(state));
    cable.freeze();
    await eventually(() => here.producer.subscriptions === 1, "the server has noticed");
    await eventually(() => states.join() === "lost,connected", "the listener has noticed, and is back");
  });

  it("finds the server gone, waits, and comes back to the next one on that port: GRPC-05, TRN-07", async () => {
    const first = await world();
    const cable = await Cable.lay(() => port);
    let port = first.server.port;
    const token = "one-token-for-both-servers";
    const here = await world({ token });
    port = here.server.port;
    const listener = await listen(here, { token }, cable.url);
    const states: string[] = [];
    listener.on("connection", ({ state }) => states.push(state));
    await here.server.close();
    await eventually(() => states[0] === "lost", "lost");
    const { serveGrpc } = await import("../../src/server/grpc/grpc.ts");
    const next = await serveGrpc(here.producer, { port: 0, token, log: () => {} });
    port = next.port;
    await eventually(() => states.at(-1) === "connected", "connected again");
    const heard: AgentEvent[] = [];
    listener.on("event", (event) => heard.push(event));
    await here.producer.run({ summary: "Back." }, async () => {});
    await eventually(() => heard.map(short).includes("session.completed"), "the end");
    await listener.close();
    await next.close();
  });
});

describe("a gRPC server", () => {
  it("that shuts down tells everyone to come back, lets the last words out, and frees its port: TRN-07", async () => {
    const { server, producer } = await world();
    const bare = new Bare(server);
    bare.send(RESUMING);
    await bare.type("subscription.accepted");
    const stranger = new Bare(server);
    stranger.send({ ...REQUEST, capabilities: {} });
    await stranger.type("subscription.accepted");
    const session = producer.start({ summary: "Interrupted." });
    await session.say("Last words. ");
    await server.close();
    expect(await bare.ended).toMatchObject({ code: grpc.status.UNAVAILABLE });
    expect(await bare.trailer("aaep-close-reason")).toBe("producer_shutdown");
    expect(await bare.trailer("aaep-reconnect")).toBe("true");
    expect(bare.messages.at(-1)).toMatchObject({
      type: "earshot:closing",
      reason_code: "producer_shutdown",
      reconnect: true,
    });
    expect(stranger.messages.at(-1)).toMatchObject({
      type: "subscription.close",
      reason_code: "producer_shutdown",
    });
    expect(bare.messages.map(short)).toContain("session.started");
    const { serveGrpc } = await import("../../src/server/grpc/grpc.ts");
    const again = await serveGrpc(producer, { port: server.port, log: () => {} });
    await expect(serveGrpc(producer, { port: server.port, log: () => {} })).rejects.toMatchObject({
      code: "port_in_use",
    });
    await again.close();
  });

  it("shows its manifest to whoever asks, without credentials: GRPC-01, GRPC-02", async () => {
    const { server } = await world();
    const client = new grpc.Client(`127.0.0.1:${server.port}`, grpc.credentials.createInsecure());
    const bytes = await new Promise<Buffer>((resolve, reject) =>
      client.makeUnaryRequest(MANIFEST_PATH, asBytes, asBytes, Buffer.alloc(0), (error, value) =>
        error ? reject(error) : resolve(value!),
      ),
    );
    client.close();
    const manifest = JSON.parse(Buffer.from(decodeJson(bytes)!).toString());
    expect(manifest).toMatchObject({
      type: "aaep:producer.manifest",
      agent_id: "bank",
      transports_supported: ["grpc"],
    });
    expect(manifest.extensions_supported).toContain(EXTENSION_URI);
  });

  it("waits for a slow reader, piles up no more than a few messages for it, and lets go of one that never reads: TRN-08, DEL-17", async () => {
    const { server, producer, logs } = await world({ limits: { blockedMs: 300 } });
    const window = { "grpc-node.flow_control_window": 65_535 };
    const slow = new Bare(server, { options: window });
    slow.send(RESUMING);
    await slow.type("subscription.accepted");
    slow.call.pause();
    const quick = new Bare(server);
    quick.send(RESUMING);
    await eventually(() => logs.filter(({ event }) => event === "stream_opened").length === 2, "both listen");
    const session = producer.start({ summary: "A lot to say." });
    for (let i = 0; i < 600; i++) {
      await session.say(`${i} ${"x".repeat(8_000)}. `);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await session.complete();
    await quick.type("aaep:agent.session.completed");
    await eventually(() => logs.some(({ event }) => event === "stream_closed"), "the slow one is let go");
    // It wakes too late for the words, in time to learn that it was let go, and may come back.
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    slow.call.resume();
    const { code, details, metadata } = await slow.ended;
    const reason = closeOf(code, details, (name) => metadata.get(name)[0]?.toString());
    expect(reason).toMatchObject({ code: "connection_lost", reconnect: true });
    expect(slow.messages.length).toBeLessThan(100);
  });
});
