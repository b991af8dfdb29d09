// A02, A03, CON-11, CON-28, F24: who may answer over the wire, and how little a refusal tells.

import { describe, expect, it } from "vitest";
import { hubOf } from "../../src/producer/producer.ts";
import { createIds } from "../../src/protocol/platform.ts";
import {
  ask,
  asked,
  call,
  dial,
  listen,
  people,
  REQUEST,
  raw,
  reply,
  sendReply,
  world,
} from "./wire-support.ts";

const PEOPLE = people({ alice: {}, bob: {}, carol: { role: "listen", audiences: ["alice"] } });
const GENEROUS = { hub: { replyLimit: { burst: 1_000_000, refillMs: 3_000 } } };
const limited = (burst: number) => ({ hub: { replyLimit: { burst, refillMs: 60_000 } } });
const spare = createIds();

/** One POST by hand, so that the answer is compared byte by byte; only the clock may differ. */
async function rawReply(port: number, token: string, body: string): Promise<string> {
  const head = `POST /aaep/v1/replies HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n`;
  return (await raw(port, head + body)).replace(/^Date: .*\r\n/im, "");
}

describe("a reply that does not count", () => {
  it("CNF-15, CNF-16, SEC-04: is answered with the same bytes whatever was wrong with it (A02, CON-11)", async () => {
    const { producer, server } = await world(PEOPLE, GENEROUS);
    const mine = await listen(server, "alice");
    const other = await listen(server, "alice");
    const bobs = await listen(server, "bob");
    const { session, outcome } = ask(producer, ["alice"]);
    const token = await asked(mine.stream, session.session_id);
    await asked(other.stream, session.session_id);
    const used = ask(producer, ["alice"]);
    const usedToken = await asked(mine.stream, used.session.session_id);
    expect((await sendReply(server, "alice", reply(usedToken, mine.id, { decision: "reject" }))).status).toBe(
      204,
    );
    await used.outcome;
    const text = (value: unknown) => JSON.stringify(value);
    const whole = text(reply(token, mine.id));
    const wrong: Record<string, [who: string, body: string]> = {
      "a token nobody was sent": ["alice", text(reply(spare("rpl"), mine.id))],
      "another user": ["bob", text(reply(token, bobs.id))],
      "another user's subscription": ["bob", text(reply(token, mine.id))],
      "a subscription that does not exist": ["alice", text(reply(token, spare("sub")))],
      "a used token": ["alice", text(reply(usedToken, mine.id))],
      "a token in another spelling": ["alice", text(reply(token.toUpperCase(), mine.id))],
      "a malformed token": ["alice", text(reply("rpl_x", mine.id))],
      "no decision": ["alice", text({ ...reply(token, mine.id), decision: undefined })],
      "a decision nobody offered": ["alice", text(reply(token, mine.id, { decision: "maybe" }))],
      "an unknown field": ["alice", text(reply(token, mine.id, { admin: true }))],
      "the wrong kind of reply": [
        "alice",
        text({ ...reply(token, mine.id), type: "clarification.reply", response: "yes", decision: undefined }),
      ],
      "a decision given twice": [
        "alice",
        whole.replace('"decision":"accept"', '"decision":"reject","decision":"accept"'),
      ],
      "a time long before the question (F24)": [
        "alice",
        text(reply(token, mine.id, { timestamp: "2020-01-01T00:00:00.000Z" })),
      ],
      "a time long after it": [
        "alice",
        text(reply(token, mine.id, { timestamp: "2099-01-01T00:00:00.000Z" })),
      ],
      "a prototype": ["alice", whole.replace("{", '{"__proto__":{"role":"admin"},')],
    };
    const seen = new Map<string, string[]>();
    for (const [name, [who, body]] of Object.entries(wrong)) {
      const bytes = await rawReply(server.port, who, body);
      seen.set(bytes, [...(seen.get(bytes) ?? []), name]);
    }
    expect([...seen.values()]).toEqual([Object.keys(wrong)]);
    expect([...seen.keys()][0]).toMatch(/^HTTP\/1\.1 400 [\s\S]*\{"error":"reply_not_accepted"\}/);

    // None of it used the token up.
    expect((await sendReply(server, "alice", whole)).status).toBe(204);
    expect(await outcome).toMatchObject({ accepted: true });
  });

  it("CNF-16: looks the same once its question has timed out or was withdrawn (CON-12)", async () => {
    const { producer, server } = await world(PEOPLE, GENEROUS);
    const mine = await listen(server, "alice");
    const { session, outcome } = ask(producer, ["alice"]);
    const token = await asked(mine.stream, session.session_id);
    await session.cancel();
    await outcome.catch(() => {});
    const late = await rawReply(server.port, "alice", JSON.stringify(reply(token, mine.id)));
    const invented = await rawReply(server.port, "alice", JSON.stringify(reply(spare("rpl"), mine.id)));

    expect(late).toBe(invented);
  });

  it("SEC-04: is turned away beyond a documented rate per person, right answers and wrong ones alike (A02)", async () => {
    const { producer, server, logs } = await world(PEOPLE, limited(5));
    const mine = await listen(server, "alice");
    const again = await listen(server, "alice");
    const bobs = await listen(server, "bob");
    const { session } = ask(producer, ["alice", "bob"]);
    const token = await asked(mine.stream, session.session_id);
    await asked(bobs.stream, session.session_id);
    // From two subscriptions: it is the person who is counted.
    const guesses = [mine, again, mine, again, mine].map(({ id }) => JSON.stringify(reply(spare("rpl"), id)));
    for (const guess of guesses)
      expect(await rawReply(server.port, "alice", guess)).toMatch(/^HTTP\/1\.1 400 /);
    const answers = [
      await rawReply(server.port, "alice", JSON.stringify(reply(token, mine.id))),
      await rawReply(server.port, "alice", JSON.stringify(reply(spare("rpl"), mine.id))),
      await rawReply(server.port, "alice", JSON.stringify(reply(token, spare("sub")))),
      await rawReply(server.port, "alice", "not even JSON"),
    ];

    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toMatch(/^HTTP\/1\.1 429 /);
    expect(answers[0]).toMatch(/^retry-after: 60\r$/im);
    expect(logs.filter(({ event }) => event === "reply_refused")).toHaveLength(5);
    // Nobody else is held up by it.
    expect((await sendReply(server, "bob", reply(token, bobs.id))).status).toBe(204);
  });

  it("CNF-15, SEC-04: is passed over in silence on a WebSocket, beyond the rate right answers too, and the line stays open (A02)", async () => {
    const { producer, server } = await world(PEOPLE, limited(3));
    const wire = await dial(server.ws, { token: "alice" });
    wire.send(REQUEST);
    const { subscription_id } = await wire.of("subscription.accepted");
    const bobs = await listen(server, "bob");
    const { session, outcome } = ask(producer, ["alice", "bob"]);
    const token = await asked(wire, session.session_id);
    await asked(bobs.stream, session.session_id);
    const before = wire.heard.length;
    for (let i = 0; i < 3; i++) wire.send(reply(spare("rpl"), String(subscription_id)));
    wire.send(reply(token, String(subscription_id)));
    // Whatever was going to be said about them would come before the answer to this.
    wire.send({
      type: "subscription.renegotiate",
      subscription_id,
      capabilities: { preferred_verbosity: "terse" },
    });
    await wire.until((one) => one.type === "subscription.accepted" && wire.heard.indexOf(one) >= before);

    expect(wire.heard.slice(before).map(({ type }) => type)).toEqual(["subscription.accepted"]);
    // Had the right one counted, this would come too late.
    expect((await sendReply(server, "bob", reply(token, bobs.id, { decision: "reject" }))).status).toBe(204);
    expect(await outcome).toMatchObject({ accepted: false });
  });

  it("CNF-10: is not even looked at without credentials: 401 comes before the token is read (CON-54)", async () => {
    const { producer, server } = await world(PEOPLE);
    const mine = await listen(server, "alice");
    const { session, outcome } = ask(producer, ["alice"]);
    const token = await asked(mine.stream, session.session_id);
    const right = await sendReply(server, undefined, reply(token, mine.id));
    const wrong = await sendReply(server, "nobody", reply(spare("rpl"), mine.id));

    expect(right.status).toBe(401);
    expect({ ...right.headers, date: "" }).toEqual({ ...wrong.headers, date: "" });
    expect(right.text).toBe(wrong.text);
    expect((await sendReply(server, "alice", reply(token, mine.id))).status).toBe(204);
    await outcome;
  });
});

describe("the matrix of senders", () => {
  it("CNF-19, SEC-03, SEC-13: a token counts from its person's subscription that was sent it, and from nowhere else (A03, CON-28)", async () => {
    const { producer, server } = await world(PEOPLE, GENEROUS);
    const listeners = {
      alice: [await listen(server, "alice"), await listen(server, "alice")],
      bob: [await listen(server, "bob"), await listen(server, "bob")],
      carol: [await listen(server, "carol")],
    };
    const sessions = {
      alices: ask(producer, ["alice"]),
      bobs: ask(producer, ["bob"]),
      shared: ask(producer, ["alice", "bob"]),
    };
    const hearing = { alices: listeners.alice[0]!, bobs: listeners.bob[0]!, shared: listeners.alice[0]! };
    const tokens: Record<string, string> = {};
    for (const [name, { session }] of Object.entries(sessions)) {
      tokens[name] = await asked(hearing[name as keyof typeof hearing].stream, session.session_id);
    }
    // Everyone has heard everything they may hear.
    for (const [who, all] of Object.entries(listeners)) {
      for (const { stream } of all) {
        if (who !== "carol") await asked(stream, sessions.shared.session.session_id);
      }
    }
    const right = (who: string, name: string, owner: string) =>
      who === owner && who !== "carol" && (name === "shared" || (name === "alices") === (who === "alice"));
    let tried = 0;
    for (const who of ["alice", "bob", "carol"]) {
      for (const [owner, all] of Object.entries(listeners)) {
        for (const { id } of all) {
          for (const [name, token] of Object.entries(tokens)) {
            if (right(who, name, owner)) continue;
            const { status } = await sendReply(server, who, reply(token, id));
            expect({ who, owner, name, status }).toEqual({ who, owner, name, status: 400 });
            tried++;
          }
        }
      }
    }
    expect(tried).toBe(45 - 8);
    // Afterwards each is still open, and its own person's answer is taken once.
    for (const [name, who] of [
      ["alices", "alice"],
      ["bobs", "bob"],
      ["shared", "bob"],
    ] as const) {
      const { id } = listeners[who][1]!;
      expect((await sendReply(server, who, reply(tokens[name]!, id))).status).toBe(204);
      expect((await sendReply(server, who, reply(tokens[name]!, id))).status).toBe(400);
      expect(await sessions[name].outcome).toMatchObject({ accepted: true });
    }
  });

  it("SEC-13: somebody who may only listen is never sent a token and cannot answer with a leaked one", async () => {
    const { producer, server } = await world(PEOPLE, GENEROUS);
    const carol = await listen(server, "carol");
    const alice = await listen(server, "alice");
    const { session } = ask(producer, ["alice"]);
    const token = await asked(alice.stream, session.session_id);
    await carol.stream.until((one) => one["session_id"] === session.session_id);

    expect((await sendReply(server, "carol", reply(token, carol.id))).status).toBe(400);
    expect(
      (carol.accepted["honored_capabilities"] as Record<string, unknown>)["supports_confirmation_reply"],
    ).toBe(false);
  });

  it("SEC-13: a subscription id opens nobody else's stream, and ends or changes nobody else's subscription", async () => {
    const { server } = await world(PEOPLE);
    const alice = await listen(server, "alice");
    const stolen = await call(`${server.http}/aaep/v1/events?subscription_id=${alice.id}`, { token: "bob" });
    const never = await call(`${server.http}/aaep/v1/events?subscription_id=${spare("sub")}`, {
      token: "bob",
    });
    const close = await sendReply(server, "bob", {
      type: "subscription.close",
      subscription_id: alice.id,
      reason_code: "done",
    });
    const change = await sendReply(server, "bob", {
      type: "subscription.renegotiate",
      subscription_id: alice.id,
      capabilities: { preferred_verbosity: "terse" },
    });

    expect([stolen.status, stolen.text]).toEqual([never.status, never.text]);
    expect(stolen.status).toBe(410);
    expect(close.status).toBe(400);
    expect(change.status).toBe(403);
    expect(alice.stream.ended).toBe(false);
  });
});

describe("what else names a question or a session", () => {
  it("SEC-13: more time, cancelling, status and following work for one's own only, and a refusal is the same as ever (A03)", async () => {
    const { producer, server } = await world(PEOPLE, GENEROUS);
    const alice = await listen(server, "alice");
    const bob = await listen(server, "bob");
    const carol = await listen(server, "carol");
    const { session } = ask(producer, ["alice"]);
    const { session_id } = session;
    const reply_token = await asked(alice.stream, session_id);
    const foreign = await rawReply(server.port, "bob", JSON.stringify(reply(spare("rpl"), bob.id)));
    const tries: [who: string, subscription_id: string][] = [
      ["bob", bob.id],
      ["bob", alice.id],
      ["carol", carol.id],
      ["carol", alice.id],
    ];
    for (const [who, subscription_id] of tries) {
      for (const message of [
        { type: "earshot:more_time", subscription_id, reply_token },
        { type: "earshot:more_time", subscription_id, reply_token: spare("rpl") },
        { type: "earshot:cancel", subscription_id, session_id },
        { type: "earshot:cancel", subscription_id, session_id: spare("sess") },
      ]) {
        expect(await rawReply(server.port, who, JSON.stringify(message))).toBe(foreign);
      }
    }
    // Following somebody else's session is allowed and brings nothing.
    await sendReply(server, "bob", {
      type: "earshot:follow",
      subscription_id: bob.id,
      sessions: [session_id],
    });
    await sendReply(server, "bob", { type: "earshot:status", subscription_id: bob.id, session_id });
    await session.progress({ description: "Half.", percent: 50 });
    await alice.stream.of("aaep:agent.progress.updated");
    expect(bob.stream.heard.filter((one) => one["session_id"] === session_id)).toEqual([]);
    expect(session.ended).toBe(false);

    const more = await sendReply(server, "alice", {
      type: "earshot:more_time",
      subscription_id: alice.id,
      reply_token,
    });
    const stop = await sendReply(server, "alice", {
      type: "earshot:cancel",
      subscription_id: alice.id,
      session_id,
    });
    expect([more.status, stop.status]).toEqual([204, 204]);
    await alice.stream.of("aaep:agent.session.cancelled");
  });

  it("SEC-04: guessing tokens by asking for more time is held to the same rate (A02)", async () => {
    const { server } = await world(PEOPLE, limited(3));
    const alice = await listen(server, "alice");
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) {
      const guess = { type: "earshot:more_time", subscription_id: alice.id, reply_token: spare("rpl") };
      statuses.push((await sendReply(server, "alice", guess)).status);
    }
    expect(statuses).toEqual([400, 400, 400, 429, 429]);
  });
});

describe("guessing", () => {
  const rounds = process.env["EARSHOT_LONG"] ? 40 : 4;
  const guesses = 25_000;
  it(`SEC-03: ${(rounds * guesses).toLocaleString("en")} guesses at a token are refused, every one, and the right one is not (A02)`, async () => {
    // Time moves on so fast that the throttle forgives every guess: only the token itself is in the way.
    let now = 0;
    const clock = { now: () => now, timestamp: () => new Date().toISOString(), timer: () => () => {} };
    const { producer, server } = await world(PEOPLE, { clock, questions: { timeout_seconds: 86_400 } });
    const principal = { id: "alice", role: "reply", audiences: ["alice"] } as const;
    const mine = await listen(server, "alice");
    let accepted = 0;
    for (let round = 0; round < rounds; round++) {
      const session = producer.start({ summary: "Moving money.", audience: ["alice"] });
      const outcome = session.confirm({
        action: "Transfer.",
        consequence: "Funds move.",
        timeout_seconds: 86_400,
      });
      const token = await asked(mine.stream, session.session_id);
      const taken = async (reply_token: string): Promise<boolean> => {
        const handled = await hubOf(producer).handle(reply(reply_token, mine.id) as never, principal);
        return "taken" in handled && handled.taken;
      };
      for (let i = 0; i < guesses; i++) {
        now += 3_001;
        // Near misses too: one digit off is as wrong as any.
        if (await taken(i % 2 === 0 ? spare("rpl") : off(token, i))) accepted++;
      }
      expect(await taken(token)).toBe(true);
      expect(await outcome).toMatchObject({ accepted: true });
      await session.complete();
    }
    expect(accepted).toBe(0);
  });
});

/** The token with one hex digit changed. */
function off(token: string, i: number): string {
  const at = 4 + (i % 32);
  const digit = ((Number.parseInt(token[at]!, 16) + 1 + (i % 15)) % 16).toString(16);
  return token.slice(0, at) + digit + token.slice(at + 1);
}
