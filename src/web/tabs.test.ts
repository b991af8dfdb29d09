import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Tabs, type TabsHost } from "./tabs.ts";

/** A browser's locks and channels, with messages delivered when the test says so, and tabs that can die without a word. */
function createBrowser() {
  const held = new Map<string, { readonly owner: string }>();
  let waiting: { name: string; owner: string; run: () => Promise<unknown> }[] = [];
  const channels: { owner: string; name: string; onmessage?: (event: { data: unknown }) => void }[] = [];
  const post: (() => void)[] = [];
  const dead = new Set<string>();
  const grant = () => {
    for (const one of [...waiting]) {
      if (held.has(one.name) || dead.has(one.owner)) continue;
      waiting = waiting.filter((other) => other !== one);
      held.set(one.name, { owner: one.owner });
      void one.run().then(() => {
        if (held.get(one.name)?.owner === one.owner) held.delete(one.name);
        post.push(grant);
      });
    }
  };
  const host = (owner: string) =>
    ({
      navigator: {
        locks: {
          request: (name: string, _: unknown, run: () => Promise<unknown>) => {
            waiting.push({ name, owner, run: async () => run() });
            post.push(grant);
            return Promise.resolve();
          },
        },
      },
      BroadcastChannel: class {
        onmessage?: (event: { data: unknown }) => void;
        readonly #entry;
        constructor(name: string) {
          this.#entry = { owner, name } as (typeof channels)[number];
          channels.push(this.#entry);
          const entry = this.#entry;
          Object.defineProperty(this, "onmessage", {
            set: (handler) => {
              entry.onmessage = handler;
            },
          });
        }
        postMessage(data: unknown) {
          for (const other of channels)
            if (other !== this.#entry && other.name === this.#entry.name)
              post.push(() => !dead.has(other.owner) && other.onmessage?.({ data }));
        }
        close() {
          channels.splice(channels.indexOf(this.#entry), 1);
        }
      },
    }) as unknown as TabsHost;
  return {
    host,
    /** Killed: its locks are free, its messages stop, and it says nothing. */
    kill(owner: string) {
      dead.add(owner);
      waiting = waiting.filter((one) => one.owner !== owner);
      for (const [name, lock] of held) if (lock.owner === owner) held.delete(name);
      post.push(grant);
    },
    async settle() {
      for (let quiet = 0; quiet < 3; ) {
        const next = post.shift();
        if (next) next();
        else quiet++;
        await Promise.resolve();
      }
    },
  };
}

type Act = { do: "open" } | { do: "kill" | "touch" | "hide"; tab: number };

describe("the tabs of a browser", () => {
  it("have one that holds the line and one that speaks, however they come, go, die and are looked at (F17)", async () => {
    const act: fc.Arbitrary<Act> = fc.oneof(
      fc.constant<Act>({ do: "open" }),
      fc.record({ do: fc.constantFrom("kill" as const, "touch" as const, "hide" as const), tab: fc.nat(9) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 25 }), async (acts) => {
        const browser = createBrowser();
        const tabs: { id: string; tabs: Tabs; at: number; visible: boolean; led: number }[] = [];
        let time = 0;
        const open = () => {
          const id = `tab${tabs.length}`;
          const one = { id, at: ++time, visible: true, led: 0 } as (typeof tabs)[number];
          one.tabs = new Tabs(
            "agent",
            id,
            { at: one.at, visible: true },
            { lead: () => void one.led++, follow() {}, message() {}, speaker() {} },
            browser.host(id),
          );
          one.tabs.start();
          tabs.push(one);
        };
        const alive = new Set<string>();
        open();
        alive.add("tab0");
        for (const what of acts) {
          if (what.do === "open") {
            open();
            alive.add(tabs.at(-1)!.id);
          } else {
            const one = tabs[what.tab % tabs.length]!;
            if (!alive.has(one.id)) continue;
            if (what.do === "kill") {
              alive.delete(one.id);
              browser.kill(one.id);
            } else {
              one.at = ++time;
              one.visible = what.do === "touch";
              one.tabs.touch({ at: one.at, visible: one.visible });
            }
          }
          await browser.settle();
          const living = tabs.filter(({ id }) => alive.has(id));
          expect(living.filter((one) => one.tabs.leads)).toHaveLength(living.length > 0 ? 1 : 0);
          const visible = living.filter((one) => one.visible).sort((one, other) => other.at - one.at);
          expect(living.filter((one) => one.tabs.speaks).map(({ id }) => id)).toEqual(
            visible.slice(0, 1).map(({ id }) => id),
          );
        }
      }),
      { numRuns: 100 },
    );
  });

  it("are on their own where the browser has no locks", () => {
    let led = 0;
    const alone = new Tabs(
      "agent",
      "tab",
      { at: 1, visible: true },
      { lead: () => void led++, follow() {}, message() {}, speaker() {} },
      { navigator: {} },
    );
    alone.start();
    expect([led, alone.leads, alone.speaks, alone.alone]).toEqual([1, true, true, true]);
  });

  it("are on their own where the browser has locks and channels but denies them", async () => {
    const denied = () => Promise.reject(new DOMException("Not here", "SecurityError"));
    const hosts = [
      { navigator: { locks: { request: denied } }, BroadcastChannel },
      {
        navigator: { locks: { request: denied } },
        BroadcastChannel: class {
          constructor() {
            throw new DOMException("Not here", "SecurityError");
          }
        },
      },
    ] as unknown as TabsHost[];
    for (const host of hosts) {
      let led = 0;
      const events = { lead: () => void led++, follow() {}, message() {}, speaker() {} };
      const alone = new Tabs("agent", "tab", { at: 1, visible: true }, events, host);
      alone.start();
      await Promise.resolve();
      await Promise.resolve();
      expect([led, alone.leads, alone.speaks, alone.alone]).toEqual([1, true, true, true]);
      alone.post("nobody hears it");
      alone.close();
    }
  });
});
