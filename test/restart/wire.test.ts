/**
 * The same over real lines: a process is cut off in the middle of a sentence and a question, another one takes its
 * place, and everyone who listened goes on listening. Nobody has to do anything.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createProducer } from "../../src/producer/producer.ts";
import type { AgentEvent, OutputStreaming } from "../../src/protocol/types.ts";
import { serve } from "../../src/server/index.ts";
import { createMemoryStore } from "../../src/stores/memory.ts";
import { subscribe } from "../../src/subscriber/index.ts";
import { TRANSFER } from "../support/driver.ts";

/** A principal may have 64 subscriptions. */
const LISTENERS = process.env["EARSHOT_LONG"] === "1" ? 60 : 10;

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** One address, whoever answers there now. */
async function doorTo() {
  const sockets = new Set<Socket>();
  let target: number | undefined;
  const server = createServer((listener) => {
    if (target === undefined) return void listener.destroy();
    const agent = connect(target, "127.0.0.1");
    for (const [socket, other] of [
      [listener, agent],
      [agent, listener],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    target = undefined;
    for (const socket of sockets) socket.destroy();
  };
  cleanups.push(async () => {
    cut();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    open: (port: number) => {
      target = port;
    },
  };
}

const until = async (condition: () => boolean) => {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
};

describe("a process that is replaced while people listen", () => {
  it.each(["http", "ws"] as const)(
    "keeps every listener's place over %s, asks nobody twice, and runs once (F01, SSE-05, HS-20, CON-04)",
    async (scheme) => {
      const store = createMemoryStore();
      let alive = 1;
      const door = await doorTo();
      const live = async (life: number) => {
        const agent = createProducer({
          agent_id: "com.example.bank",
          warn: () => {},
          // What a dead process still writes reaches no disk.
          store: {
            ...store,
            append: (...given) => (alive === life ? store.append(...given) : new Promise<never>(() => {})),
            follow: (from, receive) =>
              store.follow(from, (entries) => {
                if (alive === life) receive(entries);
              }),
          },
        });
        // The same people before and after: a token of one run would be another one in the next.
        const auth = () => ({ id: "ada", role: "reply", audiences: "all" }) as const;
        const serving = await serve(agent, { port: 0, tokenFile: false, auth, log: () => {} });
        cleanups.push(() => serving.close());
        door.open(serving.port);
        return agent;
      };
      const first = await live(1);
      const address = `${scheme}://127.0.0.1:${door.port}`;
      const ears = await Promise.all(
        Array.from({ length: LISTENERS }, async () => {
          const ear = await subscribe(address, {
            token: "ada",
            supports_confirmation_reply: true,
            random: () => 0,
          });
          const heard: AgentEvent[] = [];
          let gaps = 0;
          let lines = 0;
          ear.on("connection", ({ state }) => void (state === "connected" && lines++));
          ear.on("event", (event) => heard.push(event));
          ear.on("gap", () => gaps++);
          cleanups.push(() => ear.close());
          return { ear, heard, gaps: () => gaps, lines: () => lines };
        }),
      );
      const questions = ears.map(() => new Set<string>());
      const asks: (() => Promise<unknown>)[] = [];
      for (const [i, { ear }] of ears.entries()) {
        ear.on("confirmation", (ask) => {
          questions[i]!.add(ask.event.reply_token);
          asks.push(() => ask.accept());
        });
      }
      const session = first.start({ summary: "Paying the rent." });
      for (let i = 0; i < 50; i++) void session.say(`Sentence ${i}. `);
      let ran = 0;
      void session.tool(TRANSFER, () => void ran++);
      await until(() => questions.every(({ size }) => size === 1));
      // The power goes.
      alive = 0;
      door.cut();
      alive = 2;
      const second = await live(2);
      const again = second.resume(session.session_id);
      const outcome = again.tool(TRANSFER, () => void ran++);
      for (let i = 50; i < 100; i++) void again.say(`Sentence ${i}. `);
      await until(() => ears.every(({ lines }) => lines() > 0));
      // It is the same question still: nobody's device asks again.
      await asks[0]!();
      expect(await outcome).toMatchObject({ ran: true });
      await again.complete();
      await until(() => ears.every(({ heard }) => heard.at(-1)?.type === "aaep:agent.session.completed"));
      const said = Array.from({ length: 100 }, (_, i) => `Sentence ${i}. `).join("");
      for (const [i, { heard, gaps }] of ears.entries()) {
        expect(gaps()).toBe(0);
        expect(questions[i]!.size).toBe(1);
        const text = heard
          .filter(({ type }) => type === "aaep:agent.output.streaming")
          .map((event) => (event as OutputStreaming).chunk)
          .join("");
        // The blank after the last sentence had not been said when the power went.
        expect(text.replaceAll(" ", "")).toBe(said.replaceAll(" ", ""));
      }
      expect(ran).toBe(1);
    },
    30_000,
  );
});
