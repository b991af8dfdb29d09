/**
 * Lines that drop at any byte, again and again. With our resume everything is heard exactly once, open questions
 * included, and nothing is said twice; without it, a drop ends the subscription as the specification says.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, describe, expect, it } from "vitest";
import { createProducer } from "../../src/producer/producer.ts";
import type { OutputStreaming } from "../../src/protocol/types.ts";
import { serveIpc } from "../../src/server/ipc/ipc.ts";
import { serveStdio } from "../../src/server/stdio/stdio.ts";
import { Subscriber } from "../../src/subscriber/subscriber.ts";
import type { ClientTransport } from "../../src/transports/client-connection.ts";
import { createIpcClient } from "../../src/transports/ipc/client.ts";
import { createStdioClient } from "../../src/transports/stdio/client.ts";
import { TRANSFER } from "../support/driver.ts";
import { until } from "./raw.ts";

const CUTS = process.env["EARSHOT_LONG"] ? 1_000 : 100;
const tidy: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const one of tidy.splice(0).reverse()) await one();
});

/** Small, fast, and the same every time (mulberry32). */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % sides;
  };
}

/** A wire between two sockets that passes a random number of bytes, in random pieces, and breaks. */
async function fragileWire(to: string, at: string, roll: (sides: number) => number, most: () => boolean) {
  const state = { cuts: 0 };
  const wire = createServer((near: Socket) => {
    const far = connect(to);
    let left = most() ? Number.POSITIVE_INFINITY : 1 + roll(roll(3) === 0 ? 400 : 12_000);
    const cut = () => {
      if (left !== Number.NEGATIVE_INFINITY && Number.isFinite(left)) state.cuts++;
      left = Number.NEGATIVE_INFINITY;
      near.destroy();
      far.destroy();
    };
    const pass = (from: Socket, into: Socket) =>
      from.on("data", (chunk) => {
        for (let i = 0; i < chunk.length && left > 0; ) {
          const piece = chunk.subarray(i, Math.min(i + 1 + roll(2_000), i + left, chunk.length));
          into.write(piece);
          i += piece.length;
          left -= piece.length;
        }
        if (left <= 0) cut();
      });
    pass(near, far);
    pass(far, near);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on("error", () => {});
      one.on("close", () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => wire.listen(at, resolve));
  tidy.push(() => void wire.close());
  return state;
}

describe.each(["length-prefix", "ndjson"] as const)(
  "a Unix socket, framed by %s, that is cut %s times at random",
  (framing) => {
    it(`with our resume comes back exactly: every word once, each question asked and answered once: TRN-05, TRN-06, IPC-11 (CON-16)`, {
      timeout: 300_000,
    }, async () => {
      const directory = mkdtempSync(join(tmpdir(), "cuts-"));
      tidy.push(() => rmSync(directory, { recursive: true, force: true }));
      const agent = createProducer({ agent_id: "com.example.cuts", agent_name: "Cuts", warn: () => {} });
      const serving = await serveIpc(agent, { directory, log: () => {} });
      tidy.push(() => serving.close());
      const roll = dice(framing.length);
      const through = join(directory, "w.sock");
      const wire = await fragileWire(serving.path, through, roll, () => wire?.cuts >= CUTS);

      const sub = new Subscriber(createIpcClient({ path: through, framing }), { random: () => 0.001 });
      for (let tries = 0; ; tries++) {
        try {
          await sub.connect();
          break;
        } catch (error) {
          if (tries > 50) throw error;
        }
      }
      const ids = new Set<string>();
      let twice = 0;
      let text = "";
      let gaps = 0;
      const asked: string[] = [];
      sub.on("event", (event) => {
        twice += Number(ids.has(event.event_id));
        ids.add(event.event_id);
        if (event.type === "aaep:agent.output.streaming") text += (event as OutputStreaming).chunk;
      });
      sub.on("gap", () => void gaps++);
      sub.on("confirmation", (ask) => {
        asked.push(ask.event.reply_token);
        void ask.accept().catch(() => undefined);
      });
      let said = "";
      let ran = 0;
      let questions = 0;
      for (let round = 0; wire.cuts < CUTS; round++) {
        if (round > 20 * CUTS) throw new Error(`Only ${wire.cuts} cuts.`);
        await agent.run({ summary: `Round ${round}.` }, async (session) => {
          for (let i = 0; i < 8; i++) {
            const words = `Round ${round}, sentence ${i}, with ${"words ".repeat(roll(40))}in it. `;
            said += words;
            await session.say(words);
            if (roll(3) === 0) await new Promise((resolve) => setImmediate(resolve));
          }
          if (round % 4 === 0) {
            questions++;
            const outcome = await session.tool(TRANSFER, () => ++ran);
            expect(outcome).toMatchObject({ ran: true });
          }
        });
      }
      await until(() => text.length >= said.length, `all words (${text.length} of ${said.length})`, 30_000);
      expect(text).toBe(said);
      expect({ twice, gaps }).toEqual({ twice: 0, gaps: 0 });
      expect(ran).toBe(questions);
      expect(new Set(asked).size).toBe(asked.length);
      expect(asked).toHaveLength(questions);
      expect(wire.cuts).toBeGreaterThanOrEqual(CUTS);
      await sub.close();
    });
  },
);

describe("without resume", () => {
  interface Place {
    readonly name: string;
    open(
      agent: ReturnType<typeof createProducer>,
    ): Promise<() => { transport: ClientTransport; cut: () => void }>;
  }
  const unix = (framing: "length-prefix" | "ndjson"): Place => ({
    name: `unix socket, ${framing}`,
    async open(agent) {
      const directory = mkdtempSync(join(tmpdir(), "cuts-"));
      tidy.push(() => rmSync(directory, { recursive: true, force: true }));
      const serving = await serveIpc(agent, { directory, log: () => {} });
      tidy.push(() => serving.close());
      return () => {
        let line: { close(): void } | undefined;
        const inner = createIpcClient({ path: serving.path, framing });
        const transport: ClientTransport = {
          name: "ipc",
          async open(...given) {
            const opened = await inner.open(...given);
            line = opened;
            return opened;
          },
        };
        return { transport, cut: () => line?.close() };
      };
    },
  });
  const stdio: Place = {
    name: "stdio",
    async open(agent) {
      return () => {
        const [there, back] = [new PassThrough(), new PassThrough()];
        serveStdio(agent, { input: there, output: back, log: () => {} });
        return {
          transport: createStdioClient({
            pipes: () => ({ input: back, output: there, close: () => void there.end() }),
          }),
          cut: () => void there.destroy(),
        };
      };
    },
  };

  it.each([unix("length-prefix"), unix("ndjson"), stdio])(
    "$name: each of many drops ends the subscription, defaults its question at once, and the next handshake starts afresh: TRN-08, CNF-37, IPC-11, RPC-05",
    { timeout: 120_000 },
    async ({ open }) => {
      const agent = createProducer({ agent_id: "com.example.cuts", agent_name: "Cuts", warn: () => {} });
      const dial = await open(agent);
      const roll = dice(7);
      const seen = new Set<string>();
      for (let i = 0; i < CUTS; i++) {
        const { transport, cut } = dial();
        const sub = new Subscriber(transport, { reconnect: false, earshot: { resume: false } } as never);
        let heard = 0;
        sub.on("event", () => void heard++);
        await sub.connect();
        expect(seen.has(sub.id)).toBe(false);
        seen.add(sub.id);
        const session = agent.start({ summary: "Moving money." });
        let ran = 0;
        const outcome = session.tool(TRANSFER, () => ++ran);
        const enough = roll(4);
        await until(() => heard >= enough, "a few events");
        cut();
        expect(["disconnected", "nobody_to_ask"]).toContain(
          ((await outcome) as { outcome?: string }).outcome,
        );
        expect(ran).toBe(0);
        await until(() => agent.subscriptions === 0, "the subscription is gone");
        await session.complete();
      }
    },
  );
});
