/**
 * The gate is structural: nothing that is exported leads to the log. From every export of every entry point and from what
 * they make (a producer, a session, a serving agent, a subscriber, a test listener) this walks every property that is
 * reachable: own, inherited, computed by a getter, keyed by a symbol, held in a map or a set. It fails on an append and on
 * the hub, the log and the engine. Stores are excepted: whoever makes one can write to it anyway.
 */
import { afterEach, describe, expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { Engine } from "../../src/delivery/engine.ts";
import { LogWindow } from "../../src/delivery/log-window.ts";
import { Hub } from "../../src/hub/hub.ts";
import { QuestionRegistry } from "../../src/hub/questions.ts";
import { SubscriptionRegistry } from "../../src/hub/subscription.ts";
import * as earshot from "../../src/index.ts";
import { hubOf } from "../../src/producer/producer.ts";
import * as server from "../../src/server/index.ts";
import { createMemoryStore } from "../../src/stores/memory.ts";
import * as subscriber from "../../src/subscriber/index.ts";
import * as testing from "../../src/testing/index.ts";

const INTERNAL = [Hub, Engine, LogWindow, QuestionRegistry, SubscriptionRegistry];
/** Exported classes of `earshot/delivery`: an engine of one's own delivers for nobody's producer. */
const EXPORTED_CLASSES = new Set<unknown>([Engine, LogWindow].map(({ prototype }) => prototype));
const MOST_OBJECTS = 100_000;

const isNative = (value: unknown): boolean =>
  typeof value === "function" && Function.prototype.toString.call(value).includes("[native code]");

/** The forbidden things that are reachable from a value, each with the path to it. */
function forbidden(root: unknown, name: string, except: readonly unknown[] = []): string[] {
  const found: string[] = [];
  const seen = new Set<unknown>([globalThis, process, Object.prototype, Function.prototype, ...except]);
  const queue: [value: unknown, path: string][] = [[root, name]];
  const reach = (value: unknown, path: string) => {
    if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value))
      return;
    seen.add(value);
    queue.push([value, path]);
  };
  for (let next = queue.shift(); next; next = queue.shift()) {
    const [value, path] = next as [object, string];
    if (seen.size > MOST_OBJECTS) throw new Error(`More than ${MOST_OBJECTS} objects, at ${path}.`);
    if (INTERNAL.some((one) => value instanceof one)) found.push(`${path}: ${value.constructor.name}`);
    for (const key of Reflect.ownKeys(value)) {
      const { get } = Reflect.getOwnPropertyDescriptor(value, key)!;
      const at = `${path}.${String(key)}`;
      // A getter of a prototype is read on the instance, by the loop below.
      if (get && key in Object.prototype) continue;
      let held: unknown;
      try {
        held = Reflect.get(value, key);
      } catch {
        continue;
      }
      if (key === "append" && typeof held === "function" && !isNative(held) && !EXPORTED_CLASSES.has(value))
        found.push(at);
      reach(held, at);
    }
    for (let proto = Object.getPrototypeOf(value); proto; proto = Object.getPrototypeOf(proto)) {
      reach(proto, `${path}.[[Prototype]]`);
      for (const key of Reflect.ownKeys(proto)) {
        if (!Reflect.getOwnPropertyDescriptor(proto, key)!.get || proto === Object.prototype) continue;
        try {
          reach(Reflect.get(value, key), `${path}.${String(key)}`);
        } catch {
          // A getter that needs another receiver.
        }
      }
    }
    if (value instanceof Map || value instanceof Set)
      for (const one of value.values()) reach(one, `${path}.values()`);
    if (value instanceof Map) for (const key of value.keys()) reach(key, `${path}.keys()`);
  }
  return found;
}

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

describe("nothing that is exported leads to the log (SEQ-14, CNF-01)", () => {
  // These two need a browser and React; they hold no producer.
  const browserOnly = ["./web/earshot-live.js", "./web/react"];
  const entries = Object.entries(manifest.exports as Record<string, string | { default: string }>).flatMap(
    ([name, target]) =>
      typeof target === "string" || browserOnly.includes(name)
        ? []
        : [[name, target.default.replace("./dist/", "../../src/").replace(/\.js$/, ".ts")] as const],
  );

  it.each(entries)("from the exports of %s", async (name, path) => {
    expect(forbidden(await import(/* @vite-ignore */ path), name)).toEqual([]);
  });

  it("from a producer, its sessions and what they give", async () => {
    const clock = testing.createFakeClock();
    const store = createMemoryStore();
    const producer = earshot.createProducer({ agent_id: "com.example.bank", clock, store, warn: () => {} });
    const listener = testing.listen(producer, { clock, confirm: () => "accept" });
    const session = producer.start({ summary: "Paying the rent." });
    const output = session.output();
    void session.tool(
      {
        tool: "pay",
        summary: "Paying.",
        irreversible: true,
        params: {},
        action: "Pay.",
        consequence: "Paid.",
      },
      (_, context) => cleanups.push(() => expect(forbidden(context, "context")).toEqual([])),
    );
    await clock.settle();
    expect(cleanups).toHaveLength(1);
    for (const [name, value] of Object.entries({ producer, session, output, listener }))
      expect(forbidden(value, name, [store])).toEqual([]);
    // What a transport is handed.
    const { subscription } = producer.port.subscribe(
      { type: "subscription.request", aaep_version: "1.0.0", subscriber_id: "ear", capabilities: {} },
      { id: "ada", role: "reply", audiences: "all" },
      "memory",
    );
    expect(forbidden(subscription, "subscription", [store])).toEqual([]);
  });

  it("from a session that was restored after a restart", async () => {
    const store = createMemoryStore();
    const given = { agent_id: "com.example.bank", store, warn: () => {} };
    const { session_id } = earshot.createProducer(given).start({ summary: "Paying the rent." });
    await new Promise((resolve) => setImmediate(resolve));
    const producer = earshot.createProducer(given);
    expect(producer.interrupted).toMatchObject([{ session_id }]);
    expect(forbidden(producer, "producer", [store])).toEqual([]);
    expect(forbidden(producer.resume(session_id), "session", [store])).toEqual([]);
  });

  it("from a serving agent and a subscriber", async () => {
    const producer = earshot.createProducer({ agent_id: "com.example.bank", warn: () => {} });
    const serving = await server.serve(producer, {
      port: 0,
      unix: false,
      tokenFile: false,
      insecureLoopback: true,
      log: () => {},
    });
    cleanups.push(() => serving.close());
    expect(forbidden(serving, "serving")).toEqual([]);
    const listening = await subscriber.subscribe(`http://127.0.0.1:${serving.port}`, {});
    cleanups.push(() => listening.close());
    expect(forbidden(listening, "subscriber")).toEqual([]);
  });

  it("and the walk finds what is hidden", () => {
    const producer = earshot.createProducer({ agent_id: "com.example.bank", warn: () => {} });
    const hub = hubOf(producer);
    class Base {
      get deep() {
        return { nested: [new Map([[Symbol("key"), { hub }]])] };
      }
    }
    class Derived extends Base {}
    expect(forbidden(new Derived(), "getter").length).toBeGreaterThan(0);
    expect(forbidden({ [Symbol("hidden")]: hub.log }, "symbol")).toEqual(["symbol.Symbol(hidden).append"]);
    expect(forbidden(Object.create({ append: () => {} }), "prototype")).not.toEqual([]);
    expect(
      forbidden(
        Object.assign(() => {}, { engine: hub.engine }),
        "function",
      ),
    ).not.toEqual([]);
  });
});
