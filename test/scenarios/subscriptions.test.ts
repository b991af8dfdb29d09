/** Listeners: handshake, terms, changing them, leaving, and who may hear what (chapter 5). */

import { describe, expect, it } from "vitest";
import { hubOf } from "../../src/producer/producer.ts";
import type { Principal } from "../../src/protocol/principal.ts";
import type { SubscriptionRequest } from "../../src/protocol/types.ts";
import { openWorld, TRANSFER, type World } from "../support/driver.ts";

const ADA: Principal = { id: "ada", role: "reply", audiences: ["adas"] };
const BOB: Principal = { id: "bob", role: "reply", audiences: ["bobs"] };
const request = (fields: Partial<SubscriptionRequest> = {}): SubscriptionRequest => ({
  type: "subscription.request",
  aaep_version: "1.0.0",
  subscriber_id: "ear",
  capabilities: { supports_confirmation_reply: true },
  ...fields,
});
const subscribe = (
  world: World,
  fields?: Partial<SubscriptionRequest>,
  principal = ADA,
  transport = "memory",
) => hubOf(world.agent).subscribe(request(fields), principal, transport);

describe("a request", () => {
  it("is always answered, accepted or rejected: HS-04, HS-05, HS-09, HS-10", async () => {
    const world = await openWorld();
    expect(subscribe(world).answer).toMatchObject({
      type: "subscription.accepted",
      subscription_id: expect.stringMatching(/^sub_[0-9a-f]{32}$/),
      producer: { agent_id: "com.example.planner" },
    });
    expect(subscribe(world, { aaep_version: "99.99.99" }).answer).toMatchObject({
      reason_code: "version_unsupported",
    });
    expect(subscribe(world, { capabilities: { accept_signed_manifests_only: true } }).answer).toMatchObject({
      reason_code: "manifest_signature_required",
    });
  });

  it("beyond the cap of its principal is rejected, and nobody else pays for it (F22)", async () => {
    const world = await openWorld({ hub: { maxSubscriptionsPerPrincipal: 3 } });
    for (let i = 0; i < 3; i++) expect(subscribe(world).subscription).toBeDefined();
    expect(subscribe(world).answer).toMatchObject({ reason_code: "rate_limit", retry_after_seconds: 30 });
    expect(subscribe(world, {}, BOB).subscription).toBeDefined();
    expect(subscribe(world, {}, { ...BOB, id: "carl", maxSubscriptions: 0 }).answer).toMatchObject({
      reason_code: "rate_limit",
    });
  });

  it("finds room where one's own line is long gone, and never where it is not", async () => {
    const world = await openWorld({ hub: { maxSubscriptionsPerPrincipal: 2 } });
    const gone = await world.connect({ principal: ADA, resume: true });
    const here = await world.connect({ principal: ADA });
    await gone.drop();
    await world.advance(31);
    expect((await world.connect({ principal: ADA })).id).toBeDefined();
    expect(hubOf(world.agent).find(gone.id, ADA)).toBeUndefined();
    expect(hubOf(world.agent).find(here.id, ADA)).toBeDefined();
    expect(subscribe(world).answer).toMatchObject({ reason_code: "rate_limit" });
  });

  it("counts as somebody to ask before its stream is open, until it turns out not to come (CON-04)", async () => {
    const world = await openWorld();
    const { subscription } = subscribe(world, {}, { ...ADA, audiences: "all" });
    const session = world.agent.start({ summary: "Moving money." });
    const outcome = session.tool(TRANSFER, () => 1);
    await world.settle();
    expect(session.currentState).toBe("awaiting_input");
    await world.advance(29);
    expect(subscription!.phase).toBe("unopened");
    await world.advance(1);
    expect(subscription!.phase).toBe("closed");
    expect(await outcome).toMatchObject({ outcome: "disconnected" });
    expect(world.agent.subscriptions).toBe(1);
  });

  it("to go on where an earlier subscription was gets that subscription back, if it is one's own", async () => {
    const world = await openWorld();
    const ear = await world.connect({ principal: ADA, resume: true });
    const session = world.agent.start({ summary: "Hello." });
    await world.settle();
    await ear.drop();
    void session.progress({ percent: 50 });
    await world.settle();
    const resume = { subscription_id: ear.id, last_event_id: ear.wire.lastEventId! };
    const extensions = { earshot: { resume } };
    expect(subscribe(world, { extensions }, BOB).subscription?.id).not.toBe(ear.id);
    const back = subscribe(world, { extensions });
    expect(back.answer).toMatchObject({ subscription_id: ear.id });
    expect(back.subscription!.pending).toMatchObject({ lastEventId: ear.wire.lastEventId });
    await world.advance(29);
    expect(back.subscription!.live).toBe(true);
    await world.advance(2);
    expect(back.subscription!.live).toBe(false);
    await world.advance(3_600);
    expect(back.subscription!.phase).toBe("closed");
  });
});

describe("agreed terms", () => {
  it("are kept as agreed, on each subscription by itself: HS-08, HS-27, DEL-15", async () => {
    const world = await openWorld({ max_events_per_second: 5 });
    const slow = await world.connect({
      capabilities: { max_events_per_second: 1, preferred_verbosity: "terse" },
    });
    const picky = await world.connect({
      capabilities: { event_filters: { exclude: ["aaep:agent.state.changed"] } },
    });
    expect(picky.wire.accepted.honored_capabilities.max_events_per_second).toBe(5);
    const session = world.agent.start({ summary: { terse: "Short.", normal: "A longer sentence." } });
    for (let i = 1; i <= 20; i++) {
      void session.progress({ percent: i * 5 });
      await world.advance(0.1);
    }
    await session.complete();
    await world.advance(10);
    expect(slow.all("session.started")[0]).toMatchObject({ summary_terse: "Short.", verbosity: "terse" });
    expect(slow.all("progress.updated").length).toBeLessThanOrEqual(3);
    expect(picky.types).not.toContain("state.changed");
    expect(picky.all("progress.updated").length).toBeGreaterThan(slow.all("progress.updated").length);
    world.check({ ended: true });
  });

  it("change when both agree, and govern every event from then on: HS-14, HS-15, HS-16", async () => {
    const world = await openWorld();
    const ear = await world.connect({
      capabilities: { preferred_verbosity: "terse", max_events_per_second: 50 },
    });
    const session = world.agent.start({ summary: "Hello." });
    const answer = await ear.renegotiate({
      preferred_verbosity: "detailed",
      event_filters: { exclude: ["aaep:agent.progress.*"] },
    });
    expect(answer).toMatchObject({
      type: "subscription.accepted",
      subscription_id: ear.id,
      honored_capabilities: { preferred_verbosity: "detailed", max_events_per_second: 50 },
    });
    void session.progress({ percent: 50 });
    await session.complete({ terse: "Done.", normal: "All done.", detailed: "All of it is done." });
    await world.advance(1);
    expect(ear.types).not.toContain("progress.updated");
    expect(ear.spoken.at(-1)).toBe("All of it is done.");
    const rejected = await ear.renegotiate({ accept_signed_manifests_only: true });
    expect(rejected).toMatchObject({ type: "subscription.rejected" });
    const { length } = ear.events;
    await world.agent.run({ summary: "More." }, () => undefined);
    await world.settle();
    expect(ear.events).toHaveLength(length);
  });

  it("may change the language, for everything said later: I18N-09", async () => {
    const world = await openWorld({ languages: ["de"] });
    const ear = await world.connect({ capabilities: { languages: ["en"] } });
    const session = world.agent.start({ summary: { en: "Hello.", de: "Hallo." } });
    await world.settle();
    await ear.renegotiate({ languages: ["de"] });
    await session.complete({ en: "Goodbye.", de: "Auf Wiederhören." });
    await world.settle();
    expect(ear.all("session.started")[0]).toMatchObject({ summary_normal: "Hello." });
    expect(ear.all("session.completed")[0]).toMatchObject({
      summary_normal: "Auf Wiederhören.",
      localization_hints: { primary_language: "de" },
    });
  });

  it("that give up answering are leaving, and that take it up are joining (CON-01, CON-19)", async () => {
    const world = await openWorld();
    const one = await world.connect();
    const two = await world.connect({ capabilities: { supports_confirmation_reply: false } });
    const session = world.agent.start({ summary: "Moving money." });
    const outcome = session.tool(TRANSFER, () => "done");
    await world.settle();
    expect(two.questions).toEqual([]);
    await two.renegotiate({ supports_confirmation_reply: true });
    expect(two.question).toEqual(one.question);
    await one.renegotiate({ supports_confirmation_reply: false });
    expect(await one.accept()).toBe(false);
    expect(await two.accept()).toBe(true);
    expect(await outcome).toEqual({ ran: true, value: "done" });
    const alone = session.tool(TRANSFER, () => "never");
    await world.settle();
    await two.renegotiate({ supports_confirmation_reply: false });
    expect(await alone).toMatchObject({ outcome: "disconnected" });
    await session.complete();
    world.check();
  });

  it("of somebody else's subscription cannot be touched: SEC-13", async () => {
    const world = await openWorld();
    const ada = await world.connect({ principal: { ...ADA, audiences: "all" } });
    const session = world.agent.start({ summary: "Hello." });
    const foreign = { subscription_id: ada.id };
    const answers = [
      await ada.send(
        { type: "subscription.renegotiate", capabilities: { max_events_per_second: 1 }, ...foreign },
        BOB,
      ),
      await ada.send({ type: "subscription.close", reason_code: "bye", ...foreign }, BOB),
      await ada.send({ type: "earshot:status", ...foreign }, BOB),
      await ada.send({ type: "earshot:follow", sessions: [], ...foreign }, BOB),
      await ada.send({ type: "earshot:cancel", session_id: session.session_id, ...foreign }, BOB),
    ];
    expect(answers[0]).toMatchObject({ answer: { reason_code: "authorization_denied" } });
    expect(answers.slice(1)).toEqual(Array.from({ length: 4 }, () => ({ taken: false })));
    void session.complete();
    await world.settle();
    expect(ada.types.at(-1)).toBe("session.completed");
  });
});

describe("who hears what", () => {
  it("is decided by who they are: an audience's session is for its audience and the operator: SEC-15", async () => {
    const world = await openWorld();
    const ada = await world.connect({ principal: ADA });
    const bob = await world.connect({ principal: BOB });
    const admin = await world.connect({ principal: { id: "root", role: "admin", audiences: [] } });
    const session = world.agent.start({ summary: "For Ada.", audience: ["adas"] });
    await world.agent.run({ summary: "For all." }, () => undefined);
    const late = await world.connect({ principal: BOB });
    await session.complete();
    await world.settle();
    const summaries = (ear: typeof ada) =>
      ear.all("session.started").map(({ summary_normal }) => summary_normal);
    expect(summaries(ada)).toEqual(["For Ada.", "For all."]);
    expect(summaries(admin)).toEqual(["For Ada.", "For all."]);
    expect(summaries(bob)).toEqual(["For all."]);
    for (const ear of [bob, late]) expect(JSON.stringify(ear.events)).not.toContain(session.session_id);
    expect(await bob.status(session.session_id)).toBe(true);
    expect(JSON.stringify(bob.events)).not.toContain(session.session_id);
    expect(await bob.stop(session.session_id)).toBe(false);
    world.check();
  });

  it("can be narrowed to named sessions by the listener, which then no longer counts for the others", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const one = world.agent.start({ summary: "One." });
    const two = world.agent.start({ summary: "Two." });
    const outcome = two.tool(TRANSFER, () => 1);
    await world.settle();
    expect(await ear.follow(one.session_id)).toBe(true);
    expect(await outcome).toMatchObject({ outcome: "disconnected" });
    const { length } = ear.events;
    void two.progress({ percent: 1 });
    await world.settle();
    expect(ear.events).toHaveLength(length);
    void one.progress({ percent: 2 });
    await world.settle();
    expect(ear.events.at(-1)).toMatchObject({ session_id: one.session_id });
    await ear.follow();
    void two.progress({ percent: 3 });
    await world.settle();
    expect(ear.events.at(-1)).toMatchObject({ session_id: two.session_id });
  });
});

describe("leaving", () => {
  it("stops everything at once for the one who leaves and nothing for anybody else: HS-21", async () => {
    const world = await openWorld();
    const one = await world.connect();
    const two = await world.connect();
    const session = world.agent.start({ summary: "Hello." });
    await world.settle();
    await one.close();
    const { length } = one.events;
    await session.complete();
    await world.settle();
    expect(one.events).toHaveLength(length);
    expect(two.types.at(-1)).toBe("session.completed");
    hubOf(world.agent).closeAll("producer_shutdown", "The agent is shutting down.");
    await world.settle();
    expect(two.wire.messages.at(-1)).toMatchObject({
      type: "subscription.close",
      reason_code: "producer_shutdown",
    });
    expect(two.wire.closed).toBe("producer_shutdown");
    expect(world.agent.subscriptions).toBe(0);
  });

  it("and coming back on a second line closes the first, and nothing is heard twice", async () => {
    const world = await openWorld();
    const ear = await world.connect({ resume: true });
    const session = world.agent.start({ summary: "Hello." });
    await world.settle();
    await ear.reconnect(ear.wire.lastEventId);
    await session.complete();
    await world.settle();
    expect(ear.all("session.completed")).toHaveLength(1);
  });
});
