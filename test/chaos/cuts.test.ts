/**
 * The line is cut at a random byte, again and again, while text streams: what `subscribe` hands on is exactly what was
 * said, each word once. 100 cuts per transport in every run, 1,000 in the long one.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createProducer } from "../../src/producer/producer.ts";
import type { OutputStreaming } from "../../src/protocol/types.ts";
import { type Serving, serve } from "../../src/server/index.ts";
import { subscribe } from "../../src/subscriber/index.ts";

const CUTS = process.env["EARSHOT_LONG"] ? 1000 : 100;
const WORDS = [
  "Your ",
  "balance ",
  "is ",
  "$4,200.50. ",
  "Ẹ kú àárọ̀! ",
  "日本語です。",
  "👩‍👩‍👧‍👦 ",
  "नमस्ते। ",
  "\n\n",
  "- item\n",
  "and so on, ",
];

/** The same numbers in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Lets so many bytes through towards the listener, then destroys both ends. */
async function cutter(port: number, bytes: () => number | undefined) {
  const sockets = new Set<Socket>();
  let cuts = 0;
  const server = createServer((listener) => {
    const agent = connect(port, "127.0.0.1");
    let left: number | undefined;
    const end = () => {
      listener.destroy();
      agent.destroy();
    };
    for (const socket of [listener, agent]) {
      sockets.add(socket);
      socket.on("error", end).on("close", end);
      socket.on("close", () => sockets.delete(socket));
    }
    listener.on("data", (data) => agent.write(data));
    agent.on("data", (data) => {
      left ??= bytes();
      if (left === undefined) return void listener.write(data);
      const part = data.subarray(0, left);
      left -= part.length;
      // Written first: what comes before the cut must have a chance to arrive.
      if (left > 0) return void listener.write(part);
      cuts++;
      listener.write(part, end);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    port: (server.address() as AddressInfo).port,
    get cuts() {
      return cuts;
    },
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("a line that is cut at random bytes while text streams", () => {
  it.each([
    [
      "sse",
      ({ port, token }: { port: number; token: string }) => ({ address: `http://127.0.0.1:${port}`, token }),
      1,
    ],
    [
      "websocket",
      ({ port, token }: { port: number; token: string }) => ({ address: `ws://127.0.0.1:${port}`, token }),
      2,
    ],
  ] as const)(
    `loses no word and repeats none, over %s: TRN-05, TRN-06, HS-20, WS-06 (${CUTS} cuts)`,
    async (_, addressOf, seed) => {
      const random = seeded(seed);
      const agent = createProducer({ agent_id: "com.example.reader", warn: () => {} });
      const served: Serving = await serve(agent, { port: 0, tokenFile: false });
      cleanups.push(() => served.close());
      let cutting = false;
      // Anywhere: inside the headers, inside the handshake, inside a frame, between two.
      const proxy = await cutter(served.port, () => (cutting ? 1 + Math.floor(random() * 4000) : undefined));
      const { address, token } = addressOf({ port: proxy.port, token: served.token! });
      const heard = { text: "", next: 0, repeats: 0, holes: 0, gaps: 0, ids: new Set<string>(), lines: 0 };
      const sub = await subscribe(address, { token, coalesce_boundaries: ["none"], random: () => 0 });
      cleanups.push(() => sub.close());
      sub.on("connection", ({ state }) => void (state === "connected" && heard.lines++));
      sub.on("gap", () => heard.gaps++);
      let complete = () => {};
      const completed = new Promise<void>((resolve) => {
        complete = resolve;
      });
      sub.on("event", (event) => {
        if (heard.ids.has(event.event_id)) heard.repeats++;
        heard.ids.add(event.event_id);
        if (event.type === "aaep:agent.session.completed") complete();
        if (event.type !== "aaep:agent.output.streaming") return;
        const { chunk, position } = event as OutputStreaming;
        if (position !== heard.next) heard.holes++;
        heard.next = position + [...chunk].length;
        heard.text += chunk;
      });
      const session = agent.start({ summary: "Reading to you." });
      let said = "";
      cutting = true;
      while (proxy.cuts < CUTS) {
        const words = Array.from(
          { length: 1 + Math.floor(random() * 6) },
          () => WORDS[Math.floor(random() * WORDS.length)],
        ).join("");
        said += words;
        await session.say(words);
        // Nobody talks on for ever to somebody who does not hear: a backlog is a place in the log, and the log has an end.
        do await turn();
        while (said.length - heard.text.length > 3000);
      }
      cutting = false;
      await session.complete();
      await completed;
      expect(heard.text.normalize("NFC")).toBe(said.normalize("NFC"));
      expect(heard).toMatchObject({ repeats: 0, holes: 0, gaps: 0 });
      expect(heard.lines).toBeGreaterThan(CUTS / 4);
      if (process.env["EARSHOT_LONG"])
        console.log(
          `${address.split(":")[0]}: ${proxy.cuts} cuts, ${heard.lines} lines, ${heard.ids.size} events, ${said.length} characters, 0 lost, 0 repeated`,
        );
    },
    300_000,
  );
});
