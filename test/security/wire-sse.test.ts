// A15: no text can pose as a line of the stream, on any framing, for any string there is.
import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeSseEvent, encodeSseMessage } from "../../src/framing/sse.ts";
import { listen, openStream, world } from "./wire-support.ts";

const LINES = [
  "\r",
  "\n",
  "\r\n",
  "\n\n",
  "\u0000",
  "\u2028",
  "\u2029",
  "\u0085",
  "\ufeff",
  "data: x",
  "event: x",
  "id: x",
  "retry: 1",
  ": ",
  '\n\ndata: {"type":"forged"}\n\n',
  "\r\rid:9\r\r",
  "\\n",
  "\\u000a",
  "\u202e",
  "😀",
  "e\u0301",
  '"',
  "\\",
];
const nasty = fc
  .array(fc.oneof(fc.constantFrom(...LINES), fc.string({ unit: "binary", maxLength: 8 })), { maxLength: 12 })
  .map((parts) => parts.join(""));

describe("text with line ends and fields in it", () => {
  const runs = process.env["EARSHOT_LONG"] ? 100_000 : 10_000;

  it(`SSE-03: ${runs.toLocaleString("en")} random strings come back whole, each as one event, with 0 injected fields (A15)`, () => {
    let seen: { event: string | undefined; id: string | undefined; data: string }[] = [];
    let other = 0;
    const parser = createParser({
      onEvent: ({ event, id, data }) => seen.push({ event, id, data }),
      onRetry: () => other++,
      onError: () => other++,
      onComment: () => other++,
    });
    fc.assert(
      fc.property(nasty, fc.boolean(), fc.integer({ min: 1, max: 40 }), (text, cursor, cut) => {
        seen = [];
        const json = JSON.stringify({ type: "aaep:agent.output.streaming", chunk: text, [text]: text });
        const frame = cursor ? encodeSseEvent(json, "evt_1") : encodeSseMessage(json);
        // Fed in pieces, so that no field depends on arriving whole.
        for (let i = 0; i < frame.length; i += cut) parser.feed(frame.slice(i, i + cut));
        expect(seen).toEqual([
          { event: cursor ? "aaep.event" : "aaep.message", id: cursor ? "evt_1" : undefined, data: json },
        ]);
        expect((JSON.parse(seen[0]!.data) as { chunk: string }).chunk).toBe(text);
      }),
      { numRuns: runs, ignoreEqualValues: true },
    );
    expect(other).toBe(0);
  }, 120_000);

  it("SSE-03: as one event each over a real connection, and nothing in between (A15)", async () => {
    const { producer, server } = await world();
    const { stream } = await listen(server);
    const texts = LINES.map((line) => `Before ${line} after.`);
    const session = producer.start({ summary: "Speaking." });
    for (const text of texts) void session.progress({ description: text, percent: 1 });
    await session.complete(`Done ${LINES.join("")}.`).catch(() => session.cancel());
    await stream.until(({ type }) => /session\.(?:completed|cancelled)$/.test(type));

    expect(new Set(stream.frames.map(({ event }) => event))).toEqual(new Set(["aaep.event"]));
    expect(stream.heard.every((event) => event["session_id"] === session.session_id)).toBe(true);
    expect(stream.heard.some(({ type }) => type === "forged")).toBe(false);
    // Every line of the stream is one of these and nothing else; how long to wait is said once, before any event.
    const allowed = /^(?:|:.*|retry: \d+|event: aaep\.event|id: [\w.:-]+|data: \{.*\})$/s;
    for (const line of stream.text.split("\n")) expect(line).toMatch(allowed);
    expect(stream.text.slice(stream.text.indexOf("data: "))).not.toMatch(/^retry:/m);
  });

  it("in Last-Event-ID and the address neither breaks the answer nor the log (A15, A16)", async () => {
    const { server, logs } = await world();
    const { id, stream } = await listen(server);
    for (const last of [
      "%0d%0aset-cookie:x=1",
      "evt_1\u0007",
      "💣".repeat(100),
      "x".repeat(4_000),
      "__proto__",
    ]) {
      const again = await openStream(
        `${server.http}/aaep/v1/events?subscription_id=${id}&last_event_id=${encodeURIComponent(last)}`,
        { token: server.token },
      );
      expect(again.status).toBe(200);
      expect(again.headers["set-cookie"]).toBeUndefined();
    }
    await stream.closed;
    expect(JSON.stringify(logs)).not.toMatch(/set-cookie/i);
  });
});
