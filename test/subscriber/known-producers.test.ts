// The agents a person has met: asked about once, asked again when something changed, refused when trust was withdrawn.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import {
  createFileTrustStore,
  generateSigningKey,
  knownProducersPath,
  signManifest,
} from "../../src/server/index.ts";
import { catalogFor } from "../../src/subscriber/announcer.ts";
import { Subscriber } from "../../src/subscriber/index.ts";
import {
  createMemoryTrustStore,
  forget,
  type KnownOptions,
  keyIdOf,
  originOf,
  type PresentedProducer,
  type Recognition,
  recognize,
  remember,
  requireKnown,
  requireSigned,
  revoke,
} from "../../src/subscriber/trust.ts";
import { createFakeClock } from "../../src/testing/clock.ts";
import { FakeProducer } from "./fake-producer.ts";

const AT = "2026-01-01T00:00:00.000Z";
const met = (over: Partial<PresentedProducer> = {}): PresentedProducer => ({
  agent_id: "planner",
  name: "Planner",
  address: "localhost",
  kid: undefined,
  ...over,
});

const someone = fc.record({
  agent_id: fc.constantFrom("a", "b", "__proto__"),
  name: fc.constantFrom("A", "B"),
  address: fc.constantFrom("here", "there"),
  kid: fc.constantFrom("k1", "k2", undefined),
});

describe("who is known", () => {
  it("is whoever the person agreed to, as they were then, until trust is withdrawn (SEC-05, SEC-11)", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ do: fc.constantFrom("yes", "revoke", "forget"), met: someone })),
        someone,
        (script, last) => {
          let known = [] as ReturnType<typeof remember>;
          for (const one of script) {
            if (one.do === "yes") known = remember(known, one.met, AT);
            else if (one.do === "revoke") known = revoke(known, one.met.agent_id, AT);
            else known = forget(known, one.met.agent_id);
          }
          const mine = script.filter((one) => one.met.agent_id === last.agent_id);
          const since = mine.slice(mine.map((one) => one.do).lastIndexOf("forget") + 1);
          const meeting = recognize(known, last);
          if (since.length === 0) expect(meeting).toBe("new");
          else if (since.at(-1)!.do === "revoke") expect(meeting).toBe("revoked");
          else {
            const agreed = since.filter((one) => one.do === "yes").map((one) => one.met);
            const same = (one: PresentedProducer) =>
              last.kid === undefined
                ? one.kid === undefined && one.address === last.address
                : one.kid === last.kid || one.kid === undefined;
            // Nobody passes for known that was not agreed to in just this way.
            if (meeting === "known") expect(agreed.some(same)).toBe(true);
            expect(meeting).not.toBe("new");
            expect(recognize(remember(known, last, AT), last)).toBe("known");
          }
          expect(new Set(known.map(({ agent_id }) => agent_id)).size).toBe(known.length);
        },
      ),
    );
  });

  it.each<[Partial<PresentedProducer>, Partial<PresentedProducer>, Recognition]>([
    [{}, {}, "known"],
    [{}, { address: "evil.example" }, "elsewhere"],
    [{ kid: "k1" }, { kid: "k1", address: "other.example" }, "known"],
    [{ kid: "k1" }, {}, "unsigned"],
    [{ kid: "k1" }, { kid: "k2" }, "other_key"],
  ])("met as %o and now as %o is %s", (first, now, meeting) => {
    expect(recognize(remember([], met(first), AT), met(now))).toBe(meeting);
  });

  it("is known by a name of its place that a person would say", () => {
    expect(["http://127.0.0.1:4600", "ws://localhost:1/x", "https://[::1]:9"].map(originOf)).toEqual([
      "localhost",
      "localhost",
      "localhost",
    ]);
    expect(originOf("https://bank.example:8443/aaep")).toBe("bank.example:8443");
    expect(originOf("unix:/run/user/1000/planner.sock")).toBe("unix:/run/user/1000/planner.sock");
  });

  it("has a sentence for every meeting", () => {
    const { messages } = catalogFor(["en"]).catalog;
    for (const key of [
      "first_met",
      "first_met_signed",
      "met_elsewhere",
      "met_unsigned",
      "met_other_key",
      "met_revoked",
    ] as const)
      expect(messages[key]).toContain("{agent}");
  });
});

function knowing(producer: FakeProducer, over: Partial<KnownOptions> = {}, yes = true) {
  const asked: string[] = [];
  const store = over.store ?? createMemoryTrustStore();
  const ask = async ({ name, address }: PresentedProducer, meeting: string) => {
    asked.push(`${meeting}: ${name} at ${address}`);
    // While the person thinks, nobody is on the line.
    expect(producer.open).toBe(false);
    return yes;
  };
  const transport = requireKnown(producer.transport, "http://127.0.0.1:4600", {
    store,
    ask,
    timestamp: () => AT,
    ...over,
  });
  const subscriber = new Subscriber(transport, { clock: createFakeClock() });
  return { asked, store, subscriber, transport };
}

describe("a listener that knows whom it hears", () => {
  it("asks about a new agent before a word is heard, once", async () => {
    const producer = new FakeProducer();
    const { asked, store, subscriber } = knowing(producer);
    await subscriber.connect();
    expect(asked).toEqual(["new: Planner at localhost"]);
    expect(producer.sent).toMatchObject([{ type: "subscription.close", subscription_id: "sub_1" }]);
    expect(subscriber.id).toBe("sub_2");
    const again = knowing(producer, { store });
    await again.subscriber.connect();
    expect(again.asked).toEqual([]);
  });

  it("hears nothing of one the person said no to, and asks again the next time", async () => {
    const producer = new FakeProducer();
    const { subscriber, store } = knowing(producer, {}, false);
    const heard: unknown[] = [];
    subscriber.on("event", (event) => void heard.push(event));
    await expect(subscriber.connect()).rejects.toThrow("Planner is not heard: you did not agree to it.");
    producer.say(producer.event("session.started", { summary_normal: "Hear me." }));
    expect(heard).toEqual([]);
    expect(producer.open).toBe(false);
    expect(await store.read()).toEqual([]);
  });

  it("refuses one whose trust was withdrawn, without asking, also when it comes back to a line that dropped", async () => {
    const producer = new FakeProducer();
    const clock = createFakeClock();
    const { store, asked, transport } = knowing(producer);
    const subscriber = await new Subscriber(transport, { clock, random: () => 0 }).connect();
    const ended: string[] = [];
    subscriber.on("closed", ({ message }) => void ended.push(message));
    await store.change((known) => revoke(known, "planner", AT));
    producer.drop();
    await clock.advance(60_000);
    expect(ended).toEqual(["Planner is not heard: you have withdrawn your trust in it."]);
    expect(asked).toHaveLength(1);
  });

  it("verifies a signature it asked for, hears nothing where it does not hold, and knows the agent by its key (SUB-14, A22)", async () => {
    const [good, bad] = [await generateSigningKey("k1"), await generateSigningKey("k1")];
    const producer = new FakeProducer();
    const manifest = {
      "@context": "https://aaep-protocol.org/context/v1",
      type: "aaep:producer.manifest",
      agent_id: "planner",
      aaep_versions_supported: ["1.0.0"],
      conformance_levels_supported: [1, 2, 3],
      transports_supported: ["fake"],
    } as never;
    const signed = async (pair: typeof good) =>
      await signManifest(manifest, { key: pair.privateKey, kid: "k1" }, Math.floor(Date.now() / 1000));
    const trusted = requireSigned(producer.transport, { keys: { keys: [good.publicKey] } });
    const store = createMemoryTrustStore();
    const asked: string[] = [];
    const open = () =>
      new Subscriber(
        requireKnown(trusted, "https://agents.example", {
          store,
          kidOf: keyIdOf,
          ask: async ({ kid }, meeting) => asked.push(`${meeting} ${kid}`) > 0,
        }),
        { clock: createFakeClock() },
      ).connect();
    producer.extra = { signed_manifest: await signed(bad) };
    await expect(open()).rejects.toThrow(/not trusted.*signature does not match/);
    expect(asked).toEqual([]);
    expect(producer.open).toBe(false);
    producer.extra = { signed_manifest: await signed(good) };
    await open();
    expect(producer.requests.every(({ capabilities }) => capabilities.accept_signed_manifests_only)).toBe(
      true,
    );
    expect(asked).toEqual(["new k1"]);
  });
});

describe("the list in a file", () => {
  const made: string[] = [];
  afterEach(() => {
    for (const one of made.splice(0)) rmSync(one, { recursive: true, force: true });
  });
  const place = () => {
    made.push(mkdtempSync(join(tmpdir(), "known-")));
    return join(made.at(-1)!, "deep", "known-producers.json");
  };

  it("is empty at first, outlives the program, and is nobody else's to read", async () => {
    const path = place();
    expect(await createFileTrustStore(path).read()).toEqual([]);
    await createFileTrustStore(path).change((known) => remember(known, met(), AT));
    expect(await createFileTrustStore(path).read()).toEqual([
      { agent_id: "planner", name: "Planner", addresses: ["localhost"], since: AT },
    ]);
    if (process.platform !== "win32") expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("keeps what another program wrote meanwhile, and changes made at once", async () => {
    const path = place();
    const [one, two] = [createFileTrustStore(path), createFileTrustStore(path)];
    await one.read();
    await two.change((known) => revoke(known, "other", AT));
    await Promise.all(
      ["a", "b", "c"].map((agent_id) => one.change((known) => remember(known, met({ agent_id }), AT))),
    );
    expect((await two.read()).map(({ agent_id }) => agent_id).sort()).toEqual(["a", "b", "c", "other"]);
  });

  it.each(["", "{", "[]", '{"known":[{"agent_id":1}]}'])(
    "that cannot be read (%j) is an error, not an empty list",
    async (text) => {
      const path = place();
      const store = createFileTrustStore(path);
      await store.change((known) => revoke(known, "evil", AT));
      writeFileSync(path, text);
      await expect(store.read()).rejects.toThrow(/cannot be read\. Repair it, or delete it/);
      await expect(store.change((known) => known)).rejects.toThrow(/cannot be read/);
      expect(readFileSync(path, "utf8")).toBe(text);
    },
  );

  it("lies where the system keeps a person's settings", () => {
    expect(knownProducersPath({ XDG_CONFIG_HOME: "/c" })).toBe(join("/c", "earshot", "known-producers.json"));
  });
});
