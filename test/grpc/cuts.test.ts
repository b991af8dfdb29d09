/**
 * The line is cut at a random byte, again and again, while text streams: what `subscribe` hands on is exactly what was
 * said, each word once. 100 cuts in every run, 1,000 in the long one. Without our extension a cut is a fresh start.
 */
import { describe, expect, it } from "vitest";
import type { AgentEvent, OutputStreaming } from "../../src/protocol/types.ts";
import { TRANSFER } from "../support/driver.ts";
import { Bare, Cable, eventually, listen, REQUEST, world } from "./support.ts";

const CUTS = process.env["EARSHOT_LONG"] ? 1_000 : 100;
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
];

/** The same numbers in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("a gRPC line that is cut at random bytes", () => {
  it(`loses no word and repeats none, ${CUTS} times: GRPC-05, TRN-05, TRN-06, HS-20`, async () => {
    const random = seeded(5);
    const here = await world();
    const cable = await Cable.lay(
      () => here.server.port,
      () => 1 + Math.floor(random() * 4_000),
    );
    const sub = await listen(here, { coalesce_boundaries: ["none"] }, cable.url);
    const heard = {
      text: "",
      repeats: 0,
      holes: 0,
      gaps: 0,
      lines: 0,
      completed: false,
      ids: new Set<string>(),
    };
    sub.on("connection", ({ state }) => void (state === "connected" && heard.lines++));
    sub.on("gap", () => heard.gaps++);
    sub.on("event", (event: AgentEvent) => {
      if (heard.ids.has(event.event_id)) heard.repeats++;
      heard.ids.add(event.event_id);
      heard.completed ||= event.type === "aaep:agent.session.completed";
      if (event.type !== "aaep:agent.output.streaming") return;
      const { chunk, position } = event as OutputStreaming;
      if (position !== [...heard.text].length) heard.holes++;
      heard.text += chunk;
    });
    const session = here.producer.start({ summary: "Reading to you." });
    let said = "To begin with: ";
    await session.say(said);
    await eventually(() => heard.text !== "", "a place to come back to");
    cable.cutting = true;
    // The line that is open now was laid before; it goes first.
    cable.cut();
    while (cable.cuts < CUTS) {
      const words = Array.from(
        { length: 1 + Math.floor(random() * 6) },
        () => WORDS[Math.floor(random() * WORDS.length)],
      ).join("");
      said += words;
      await session.say(words);
      // Nobody talks on for ever to somebody who does not hear: a backlog is a place in the log, and the log has an end.
      do await turn();
      while (said.length - heard.text.length > 3_000 && cable.cuts < CUTS);
    }
    cable.cutting = false;
    await session.complete();
    await eventually(() => heard.completed, "all of it", 120_000);
    expect(heard.text.normalize("NFC")).toBe(said.normalize("NFC"));
    expect(heard).toMatchObject({ repeats: 0, holes: 0, gaps: 0 });
    expect(heard.lines).toBeGreaterThan(CUTS / 4);
    if (process.env["EARSHOT_LONG"]) {
      console.log(
        `grpc: ${cable.cuts} cuts, ${heard.lines} lines, ${heard.ids.size} events, ${said.length} characters, 0 lost, 0 repeated`,
      );
    }
  }, 300_000);

  it(`hears an open question again and answers it once, ${CUTS / 10} times: GRPC-05, CNF-08`, async () => {
    const random = seeded(6);
    for (let i = 0; i < CUTS / 10; i++) {
      const here = await world();
      const cable = await Cable.lay(
        () => here.server.port,
        () => 1 + Math.floor(random() * 3_000),
      );
      const sub = await listen(here, {}, cable.url);
      const asked: string[] = [];
      let ran = 0;
      sub.on("confirmation", (ask) => {
        asked.push(ask.event.reply_token);
        void ask.accept().catch(() => {});
      });
      cable.cutting = true;
      cable.cut();
      const result = await here.producer.run({ summary: "Moving money." }, (session) =>
        session.tool(TRANSFER, () => ran++),
      );
      cable.cutting = false;
      expect(result).toMatchObject({ ran: true });
      expect(ran).toBe(1);
      expect(new Set(asked).size).toBe(1);
      expect(asked).toHaveLength(1);
      await sub.close();
      await here.server.close();
    }
  }, 300_000);

  it("starts afresh without our extension, as the spec has it: GRPC-05", async () => {
    const here = await world();
    const cable = await Cable.lay(() => here.server.port);
    const strange = { ...REQUEST, capabilities: { supports_confirmation_reply: true } };
    const options = { token: here.server.token! };
    const first = new Bare({ ...here.server, port: cable.port }, options);
    first.send(strange);
    const { subscription_id } = await first.type("subscription.accepted");
    cable.cut();
    await first.ended;
    await eventually(() => here.producer.subscriptions === 0, "its place is free");
    const second = new Bare({ ...here.server, port: cable.port }, options);
    second.send(strange);
    expect((await second.type("subscription.accepted"))["subscription_id"]).not.toBe(subscription_id);
  });
});
