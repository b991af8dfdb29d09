/** The bindings as the appendix has them (B.1, B.2): one table of behaviours, each over SSE and over WebSocket. */

import { afterEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { hubOf } from "../../src/producer/producer.ts";
import type { Principal } from "../../src/protocol/principal.ts";
import { useVirtualTime } from "../support/time.ts";
import { type Frame, type RawClient, requestWith, TRANSPORTS } from "./raw-clients.ts";
import { closeAll, LOCAL, open } from "./test-server.ts";

afterEach(closeAll);

const EXTENDED = requestWith({
  capabilities: {
    supports_confirmation_reply: true,
    supports_clarification_reply: true,
    supported_extensions: ["urn:earshot:aaep:v1"],
    earshot: { resume: true },
  },
});
const TRANSFER = {
  tool: "transfer_funds",
  summary: "Transferring 500 dollars to savings.",
  risk: "high",
  irreversible: true,
  params: { amount: 500, to: "savings" },
  action: "Transfer 500 dollars to savings.",
  consequence: "The money moves at once.",
} as const;
const idOf = ({ answer }: RawClient): string => (answer as { subscription_id: string }).subscription_id;
const replyTo = (question: Frame, caller: RawClient, decision = "accept") => ({
  type: "confirmation.reply",
  reply_token: question.json.reply_token,
  decision,
  subscription_id: idOf(caller),
  timestamp: new Date().toISOString(),
});
const eventsOf = (caller: RawClient) => caller.frames.filter(({ name }) => name === "aaep.event");
const isText = (end: string) => (frame: Frame) => String(frame.json.chunk ?? "").endsWith(end);

describe.each(TRANSPORTS)("over %s", (transport, call) => {
  it("a request is always answered, and a rejection says why in the binding's own way too: HS-04 (CON-64, CON-65)", async () => {
    const { server } = await open({ hub: { maxSubscriptionsPerPrincipal: 1 } });
    const accepted = await call(server);
    expect(accepted.answer).toMatchObject({
      type: "subscription.accepted",
      producer: { agent_id: "com.example.planner" },
    });
    if (transport === "sse") {
      expect(accepted.posted).toMatchObject({
        status: 201,
        headers: { "content-type": "application/json; charset=utf-8" },
      });
      expect(accepted.posted!.headers.location).toContain(
        `/aaep/v1/events?subscription_id=${idOf(accepted)}`,
      );
    }
    const rejections: [object, Principal, string, number][] = [
      [requestWith({ aaep_version: "99.0.0" }), { ...LOCAL, id: "b" }, "version_unsupported", 400],
      [
        requestWith({ capabilities: { accept_signed_manifests_only: true } }),
        { ...LOCAL, id: "c" },
        "manifest_signature_required",
        409,
      ],
      [requestWith(), LOCAL, "rate_limit", 429],
    ];
    for (const [request, principal, reason_code, status] of rejections) {
      const rejected = await call(server, { request, principal });
      expect(rejected.answer).toMatchObject({ type: "subscription.rejected", reason_code });
      if (transport === "websocket") expect(await rejected.ended).toMatchObject({ code: 4001 });
      else expect(rejected.posted!.status).toBe(status);
      if (transport === "sse" && status === 429)
        expect(Number(rejected.posted!.headers["retry-after"])).toBeGreaterThan(0);
    }
  });

  it("events come in order and byte for byte, one message per frame, whatever is in them: TRN-01, TRN-02, TRN-03, WS-03", async () => {
    const { agent, server } = await open();
    const [one, two] = [await call(server), await call(server)];
    const session = agent.start({ summary: "Zeilen\nund \u2028 Trenner: ọmọ 👩‍👩‍👧" });
    for (let i = 0; i < 20; i++)
      void session.progress({
        step: i + 1,
        total_steps: 20,
        description: `data: ${i}\r\nid: forged\n\nevent: aaep.message`,
      });
    await session.complete();
    for (const caller of [one, two]) await caller.untilType("aaep:agent.session.completed");
    const [texts, same] = [one, two].map((caller) => eventsOf(caller).map(({ text }) => text));
    expect(texts).toEqual(same);
    for (const text of texts!) expect(text).toBe(JSON.stringify(JSON.parse(text)));
    const steps = eventsOf(one).flatMap(({ json }) => json.progress?.step ?? []);
    expect(steps).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
    if (transport === "sse") for (const { id, json } of eventsOf(one)) expect(id).toBe(json.event_id);
  });

  it("messages of 64 KiB pass in both directions, and so do those of nearly a megabyte: TRN-12, LIM-08", async () => {
    const { agent, server } = await open();
    const caller = await call(server);
    const session = agent.start({ summary: "Long." });
    const { json: started } = await caller.untilType("aaep:agent.session.started");
    for (const size of [65_536, 1_000_000]) {
      const filler = "ọ".repeat(Math.floor(size / 3));
      const { event_id: _, ...event } = {
        ...started,
        type: "aaep:agent.tool.invoked",
        tool: "read",
        tool_call_id: `call_${size}`,
        args_summary: filler,
      };
      await hubOf(agent).append(event);
      const { json } = await caller.until((frame) => frame.json.tool_call_id === `call_${size}`);
      expect(json.args_summary).toBe(filler);
      const request = requestWith({ extensions: { "com.example": { filler } } });
      expect((await call(server, { request, principal: { ...LOCAL, id: `big-${size}` } })).answer.type).toBe(
        "subscription.accepted",
      );
    }
    expect(session.ended).toBe(false);
  });

  it("a question is answered on the way back, and only once: TRN-09 (CON-11)", async () => {
    const { agent, server } = await open();
    const caller = await call(server);
    const ran: unknown[] = [];
    const done = agent.run({ summary: "Saving." }, (session) =>
      session.tool(TRANSFER, (params) => void ran.push(params)),
    );
    const question = await caller.untilType("aaep:agent.awaiting.confirmation");
    const posted = await caller.send(replyTo(question, caller));
    await done;
    expect(ran).toEqual([{ amount: 500, to: "savings" }]);
    await caller.untilType("aaep:agent.session.completed");
    if (transport === "sse") expect(posted!.status).toBe(204);
    const again = await caller.send(replyTo(question, caller, "reject"));
    await server.settle();
    expect(ran).toHaveLength(1);
    if (again) expect(again).toMatchObject({ status: 400, body: '{"error":"reply_not_accepted"}' });
  });

  it("every reply that does not count looks the same, byte for byte: CNF-16 (CON-11, A02)", async () => {
    const { agent, server } = await open();
    const caller = await call(server);
    const other = await call(server, { principal: { ...LOCAL, id: "other" } });
    void agent.run({ summary: "Saving." }, (session) => session.tool(TRANSFER, () => "ran"));
    const question = await caller.untilType("aaep:agent.awaiting.confirmation");
    const reply = replyTo(question, caller);
    const wrong: object[] = [
      { ...reply, reply_token: `rpl_${"0".repeat(32)}` },
      { ...reply, reply_token: "guess" },
      { ...reply, subscription_id: idOf(other) },
      { ...reply, subscription_id: "sub_unknown" },
      { ...reply, decision: "perhaps" },
      { ...reply, subscription_id: undefined },
      {
        type: "clarification.reply",
        reply_token: reply.reply_token,
        response: "yes",
        subscription_id: reply.subscription_id,
        timestamp: reply.timestamp,
      },
    ];
    if (transport === "sse") {
      const answers = [];
      for (const message of wrong) answers.push(await server.post("/replies", message));
      expect(
        new Set(
          answers.map(({ status, body, headers }) =>
            JSON.stringify([status, body, { ...headers, date: "" }]),
          ),
        ).size,
      ).toBe(1);
      expect(answers[0]).toMatchObject({ status: 400, body: '{"error":"reply_not_accepted"}' });
    } else {
      const { length } = caller.frames;
      for (const message of wrong) await caller.send(message);
      await server.settle();
      expect(caller.frames).toHaveLength(length);
    }
    await caller.send(reply);
    await caller.until(({ json }) => json.type === "aaep:agent.tool.completed");
  });

  it("renegotiating is answered in place, and a rejected one ends the subscription (CON-64, CON-65)", async () => {
    const { agent, server } = await open();
    const caller = await call(server);
    const change = (capabilities: object) => ({
      type: "subscription.renegotiate",
      subscription_id: idOf(caller),
      capabilities,
    });
    const posted = await caller.send(change({ event_filters: { exclude: ["aaep:agent.progress.*"] } }));
    if (posted) expect(posted.status).toBe(200);
    else
      await caller.until(
        (frame) => frame.json.type === "subscription.accepted" && frame !== caller.frames[0],
      );
    void agent.run({ summary: "Counting." }, (session) => session.progress({ percent: 50 }));
    await caller.untilType("aaep:agent.session.completed");
    expect(caller.frames.map(({ json }) => json.type)).not.toContain("aaep:agent.progress.updated");
    const rejected = await caller.send(change({ accept_signed_manifests_only: true }));
    if (rejected) expect(rejected).toMatchObject({ status: 409 });
    else {
      await caller.untilType("subscription.rejected");
      expect(await caller.ended).toEqual({ code: 4004, reason: "The subscription was rejected." });
    }
    expect(agent.subscriptions).toBe(0);
  });

  it("a listener leaves by a message, and the line ends with it: TRN-07", async () => {
    const { agent, server } = await open();
    const caller = await call(server);
    const posted = await caller.send({
      type: "subscription.close",
      subscription_id: idOf(caller),
      reason_code: "subscriber_shutdown",
    });
    if (posted) expect(posted.status).toBe(204);
    else expect(await caller.ended).toMatchObject({ code: 4005 });
    expect(agent.subscriptions).toBe(0);
  });

  it("the agent's own end of it is said first, with the reason and what to do: TRN-07, HS-19", async () => {
    const { agent, server } = await open();
    const caller = await call(server);
    hubOf(agent).closeAll("producer_shutdown", "The agent is shutting down.");
    const { code, reason } = await caller.ended;
    const close = caller.frames.find(({ json }) => json.type === "subscription.close")!;
    expect(close).toMatchObject({
      name: "aaep.message",
      id: undefined,
      json: { reason_code: "producer_shutdown" },
    });
    if (transport === "websocket") expect(code).toBe(1012);
    else {
      expect(reason).toBe("producer_shutdown");
      expect(caller.frames.at(-1)).toMatchObject({
        id: undefined,
        json: { type: "earshot:closing", reconnect: true },
      });
    }
  });

  it("a line that drops without a word is noticed by both, and frees what it held: TRN-07, TRN-08, HS-20", async () => {
    const { agent, server } = await open({ hub: { graceSeconds: 0, resumeSeconds: 0 } });
    const caller = await call(server);
    const other = await call(server);
    const asked = agent.run({ summary: "Saving." }, (session) => session.tool(TRANSFER, () => "ran"));
    const [question] = await Promise.all(
      [caller, other].map((one) => one.untilType("aaep:agent.awaiting.confirmation")),
    );
    caller.drop();
    other.drop();
    expect(await asked).toMatchObject({ ran: false, outcome: "disconnected" });
    expect(await caller.ended).toBeDefined();
    expect(question).toBeDefined();
    await vi.waitFor(() => expect(agent.subscriptions).toBe(0));
  });

  it("goes on exactly after the last event, without a word twice: TRN-05, SSE-05, WS-06 (CON-16)", async () => {
    const { agent, server } = await open();
    const first = await call(server, { request: EXTENDED });
    const session = agent.start({ summary: "Reading." });
    await session.say("One. ");
    await session.say("Two. ");
    const { json } = await first.until(isText("One. "));
    first.drop();
    await first.ended;
    await session.say("Three. ");
    await session.complete();
    const second = await call(server, {
      request: EXTENDED,
      resume: { subscription_id: idOf(first), last_event_id: json.event_id },
    });
    await second.untilType("aaep:agent.session.completed");
    expect(idOf(second)).toBe(idOf(first));
    const chunks = eventsOf(second).flatMap(({ json: { chunk } }) => chunk ?? []);
    expect(chunks.join("")).toBe("Two. Three. ");
    expect(eventsOf(second).map(({ json: { event_id } }) => event_id)).not.toContain(json.event_id);
  });

  it("a line that dropped before anything was heard has missed nothing when it comes back: TRN-05, HS-20", async () => {
    const { agent, server } = await open();
    const first = await call(server, { request: EXTENDED });
    first.drop();
    await first.ended;
    await agent.run({ summary: "Reading." }, (session) => session.say("Said in between. "));
    const second = await call(server, { request: EXTENDED, resume: { subscription_id: idOf(first) } });
    await agent.run({ summary: "After." }, () => {});
    await second.until(({ json }) => json.summary_normal === "After.");
    expect(
      eventsOf(second)
        .map(({ json: { chunk } }) => chunk ?? "")
        .join(""),
    ).toBe("Said in between. ");
  });

  it("a place that is not ours, forged or too old is answered with where things stand, and a gap: SSE-06 (F20, CON-26)", async () => {
    const { agent, server } = await open();
    const session = agent.start({ summary: "Reading." });
    await session.say("One. ");
    const ids = [
      "evt_forged",
      "evt_0000000000000000000000000000000000",
      "../../etc/passwd",
      `evt_${"Z".repeat(40)}`,
    ];
    for (const last_event_id of ids) {
      const first = await call(server, { request: EXTENDED });
      first.drop();
      await first.ended;
      const caller = await call(server, {
        request: EXTENDED,
        resume: { subscription_id: idOf(first), last_event_id },
      });
      const standing = await caller.untilType("aaep:agent.state.changed");
      expect(standing.id).toBeUndefined();
      expect(standing.json).toMatchObject({
        session_id: session.session_id,
        from_state: "writing_output",
        to_state: "writing_output",
      });
      expect(standing.json.extensions.earshot.standing).toBe(true);
      caller.drop();
      await caller.ended;
    }
  });

  it("a second line for one subscription takes over, and the first is told: TRN-18", async () => {
    const { agent, server } = await open();
    const first = await call(server, { request: EXTENDED });
    const second = await call(server, { request: EXTENDED, resume: { subscription_id: idOf(first) } });
    const { code, reason } = await first.ended;
    if (transport === "websocket")
      expect({ code, reason }).toEqual({
        code: 4000,
        reason: "The same subscription was opened again elsewhere.",
      });
    else expect(first.frames.at(-1)!.json).toMatchObject({ reason_code: "replaced", reconnect: false });
    void agent.run({ summary: "Hello." }, () => {});
    await second.untilType("aaep:agent.session.completed");
    expect(eventsOf(first)).toEqual([]);
    expect(agent.subscriptions).toBe(1);
  });

  it("somebody else's subscription cannot be opened or resumed, and looks like one that never was (SEC-13)", async () => {
    const { agent, server } = await open();
    const mine = await call(server, { request: EXTENDED });
    const thief = { ...LOCAL, id: "thief" };
    const stolen = await call(server, {
      request: EXTENDED,
      principal: thief,
      resume: { subscription_id: idOf(mine) },
    }).catch((error: Error) => error);
    if (transport === "sse") expect(stolen).toMatchObject({ message: "The stream was refused with 410." });
    else expect(idOf(stolen as RawClient)).not.toBe(idOf(mine));
    void agent.run({ summary: "Hello." }, () => {});
    await mine.untilType("aaep:agent.session.completed");
  });

  it("a credential that runs out ends the line, and says to sign in again (F18)", async () => {
    const { server } = await open();
    const time = useVirtualTime();
    const expiresAt = Date.now() + 60_000;
    const caller = await call(server, { principal: { ...LOCAL, expiresAt } });
    await time.skip(60_000);
    const { code, reason } = await caller.ended;
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAt);
    if (transport === "websocket")
      expect({ code, reason }).toEqual({
        code: 4002,
        reason: "The credentials have expired. Sign in again and reconnect.",
      });
    else
      expect(caller.frames.at(-1)!.json).toMatchObject({
        reason_code: "credential_expired",
        reconnect: true,
      });
  });

  it("a listener without credentials is refused before anything is read: TRN-10", async () => {
    const { agent, server } = await open();
    if (transport === "sse") {
      const posted = await server.post("/subscriptions", "not even JSON", LOCAL, {
        authorization: "Bearer x",
      });
      expect(posted).toMatchObject({
        status: 401,
        headers: { "www-authenticate": expect.stringMatching(/^Bearer/) },
      });
    } else {
      const socket = new WebSocket(`ws://127.0.0.1:${server.port}/aaep/v1/ws`, "aaep.v1");
      expect(await new Promise((resolve) => socket.on("close", resolve))).toBe(4002);
    }
    expect(agent.subscriptions).toBe(0);
  });
});
