/** What was agreed, seen from the agent's lips to the listener's ear: every capability, honored and no more. */

import { describe, expect, it } from "vitest";
import { hubOf } from "../../src/producer/producer.ts";
import type { Capabilities, SubscriptionAccepted, SubscriptionRejected } from "../../src/protocol/types.ts";
import { type Ear, openWorld, TRANSFER, type World } from "../support/driver.ts";

async function chatter(world: World, seconds: number): Promise<void> {
  const session = world.agent.start({
    summary: { terse: "Busy.", normal: "A busy time.", detailed: "A very busy time." },
  });
  for (let i = 0; i < seconds * 10; i++) {
    void session.say(`Sentence number ${i}. `);
    if (i % 3 === 0) void session.progress({ percent: Math.min(100, i) });
    await world.advance(0.1);
  }
  await session.complete();
  await world.advance(30);
}
const honored = (ear: Ear) => ear.wire.accepted.honored_capabilities;
const subscribe = (world: World, capabilities: Capabilities, aaep_version = "1.0.0") =>
  hubOf(world.agent).subscribe(
    { type: "subscription.request", aaep_version, subscriber_id: "ear", capabilities },
    { id: "ada", role: "reply", audiences: "all" },
    "memory",
  ).answer as Pick<SubscriptionAccepted, "aaep_version"> &
    Pick<SubscriptionRejected, "reason_code" | "reason_message"> & { type: string };

describe("the handshake", () => {
  it("honors every capability and never more than was asked: HS-07, HS-29, CAP-01, CAP-02, CAP-03, CAP-04, CAP-05, CAP-06, CAP-07, CAP-08, CAP-09, CAP-10, CAP-11, CAP-12, I18N-07", async () => {
    const world = await openWorld({ languages: ["de"] });
    const asked: Capabilities = {
      max_events_per_second: 3,
      preferred_verbosity: "terse",
      languages: ["de-CH", "tlh"],
      supports_confirmation_reply: true,
      supports_clarification_reply: false,
      coalesce_boundaries: ["paragraph"],
      event_filters: { include: ["aaep:agent.session.*"], exclude: ["aaep:agent.session.started"] },
      supported_conformance_levels: [2, 3],
      supported_extensions: ["https://unknown.example/v1"],
      cognitive_load: "low",
      pace_wpm: 180,
      accept_signed_manifests_only: false,
    };
    const ear = await world.connect({ capabilities: asked });
    expect(honored(ear)).toEqual({ ...asked, languages: ["de-CH"], supported_extensions: [] });
    expect(ear.wire.accepted.negotiation_notes).toContain("tlh");
  });

  it("ignores what it does not know, refuses what clashes and what it cannot sign: HS-24, HS-25, HS-26, MAN-07, VER-01, VER-03", async () => {
    const twin = { uri: "https://twin.example/v1", prefix: "earshot" };
    const world = await openWorld({ extensions: [twin] });
    expect(subscribe(world, { unknown: { a: 1 } } as Capabilities).type).toBe("subscription.accepted");
    const clash = subscribe(world, { supported_extensions: ["urn:earshot:aaep:v1", twin.uri] });
    expect(clash).toMatchObject({ reason_code: "capabilities_incompatible" });
    expect(clash.reason_message).toContain("earshot");
    expect(subscribe(world, { accept_signed_manifests_only: true }).reason_code).toBe(
      "manifest_signature_required",
    );
    expect(subscribe(world, {}, "2.0.0").reason_code).toBe("version_unsupported");
    expect(subscribe(world, {}, "1.7.0").aaep_version).toBe("1.0.0");
  });
});

describe("what was agreed", () => {
  it("bounds the rate in every second, merges instead of dropping, and never holds up what is critical: DEL-04, DEL-05, DEL-06, DEL-07, DEL-08, DEL-09, DEL-12, DEL-29, SEC-07, CAP-01", async () => {
    const world = await openWorld();
    const ear = await world.connect({ capabilities: { max_events_per_second: 2 } });
    const times: number[] = [];
    let seen = 0;
    const session = world.agent.start({ summary: "Busy." });
    for (let i = 0; i < 200; i++) {
      void session.say(`Sentence number ${i}. `);
      void session.progress({ percent: i / 2 });
      await world.advance(0.05);
      for (; seen < ear.events.length; seen++) times.push(world.clock.now());
    }
    for (const at of times) {
      expect(times.filter((other) => other >= at && other < at + 950).length).toBeLessThanOrEqual(2);
    }
    expect(times.length).toBeLessThanOrEqual(2 * 10 * 1.2);
    const asked = session.confirm({ action: "Do it.", consequence: "It is done." });
    await world.settle();
    expect(ear.types.at(-1)).toBe("awaiting.confirmation");
    await ear.reject();
    await asked;
    await session.complete();
    await world.advance(60);
    const said = ear
      .all("output.streaming")
      .map(({ chunk }) => chunk)
      .join("");
    for (let i = 0; i < 200; i++) expect(said).toContain(`Sentence number ${i}. `.trim());
  });

  it("filters types, and critical events pass all the same: DEL-01, DEL-02, DEL-03, CAP-07", async () => {
    const world = await openWorld();
    const ear = await world.connect({
      extension: false,
      capabilities: {
        event_filters: {
          include: ["aaep:agent.tool.*", "aaep:agent.session.started"],
          exclude: ["aaep:agent.tool.completed"],
        },
      },
    });
    const session = world.agent.start({ summary: "Hello." });
    await session.tool({ tool: "t", summary: "T." }, () => 1);
    await session.handoff({ reason: "Somebody else has to.", target_kind: "human" });
    await session.complete();
    await world.settle();
    expect(ear.types).toEqual(["session.started", "tool.invoked", "handoff.requested"]);
  });

  it("picks the length of what is said and never whether: ENV-21, CAP-02, CAP-06, CAP-10, EVT-17", async () => {
    const world = await openWorld();
    const ears = [];
    for (const preferred_verbosity of ["terse", "normal", "detailed"] as const) {
      ears.push(await world.connect({ capabilities: { preferred_verbosity } }));
    }
    const tokens = await world.connect({ capabilities: { coalesce_boundaries: ["none", "word"] } });
    const calm = await world.connect({ capabilities: { cognitive_load: "low" } });
    await chatter(world, 1);
    expect(new Set(ears.map(({ types }) => types.join())).size).toBe(1);
    expect(ears.map(({ spoken }) => spoken[0])).toEqual(["Busy.", "A busy time.", "A very busy time."]);
    for (const { coalesce_hint } of tokens.all("output.streaming")) expect(coalesce_hint).toBeDefined();
    expect(calm.types).not.toContain("progress.updated");
    expect(calm.spoken[0]).toBe("Busy.");
  });

  it("speaks the first language that can be had, or another, but always speaks: DEL-18, I18N-05, CAP-03", async () => {
    const world = await openWorld({ languages: ["pt-BR"] });
    const ears = await Promise.all(
      [["pt-PT", "en"], ["en-GB"], ["tlh"], ["tlh", "pt"]].map((languages) =>
        world.connect({ capabilities: { languages } }),
      ),
    );
    const session = world.agent.start({ summary: { en: "Hello.", "pt-BR": "Olá." } });
    await session.complete("Only in English.");
    await world.settle();
    expect(ears.map(({ spoken }) => spoken[0])).toEqual(["Hello.", "Hello.", "Hello.", "Olá."]);
    for (const ear of ears) expect(ear.spoken.at(-1)).toBe("Only in English.");
  });

  it("holds for oversize words too: they are cut, never dropped (LIM-06, LIM-09)", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Hello." });
    void session.say(`${"word ".repeat(20_000)}.`);
    const asked = session.confirm({ action: "x".repeat(50_000), consequence: "y".repeat(50_000) });
    await world.settle();
    expect(ear.types.at(-1)).toBe("awaiting.confirmation");
    await ear.reject();
    await asked;
    await session.complete();
    await world.settle();
    expect(
      ear
        .all("output.streaming")
        .map(({ chunk }) => chunk)
        .join(""),
    ).toHaveLength(100_001);
    world.check({ ended: true });
  });
});

describe("tokens", () => {
  it("are 128 random bits, never used twice, and one action has one question open: CNF-07, CNF-08, SEQ-25, SEC-21", async () => {
    const world = await openWorld();
    const ear = await world.connect();
    const session = world.agent.start({ summary: "Moving money." });
    const asked = [
      session.tool(TRANSFER, () => 1),
      session.tool(TRANSFER, () => 2),
      session.tool(TRANSFER, () => 3),
    ];
    for (let i = 1; i <= 3; i++) {
      await world.settle();
      expect(ear.questions).toHaveLength(i);
      expect(ear.question).toMatchObject({
        default_decision: "reject",
        reply_token: expect.stringMatching(/^rpl_[0-9a-f]{32}$/),
      });
      await ear.reject();
    }
    await Promise.all(asked);
    expect(new Set(ear.questions.map(({ reply_token }) => reply_token)).size).toBe(3);
    for (const question of ear.questions) expect(await ear.accept(question)).toBe(false);
    await session.complete();
    world.check({ ended: true });
  });
});
