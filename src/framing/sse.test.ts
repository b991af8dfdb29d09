import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeSseEvent } from "./sse.ts";

function read(text: string) {
  const heard: { event: string | undefined; id: string | undefined; data: string }[] = [];
  createParser({ onEvent: ({ event, id, data }) => heard.push({ event, id, data }) }).feed(text);
  return heard;
}

describe("an SSE event", () => {
  it("SSE-03: carries its id, its name and one line of JSON", () => {
    expect(encodeSseEvent('{"a":1}', "evt_1")).toBe('event: aaep.event\nid: evt_1\ndata: {"a":1}\n\n');
    expect(encodeSseEvent('{"a":1}', undefined)).toBe('event: aaep.event\ndata: {"a":1}\n\n');
  });

  it("drops an id that would break the line or be void, and is heard all the same (A09)", () => {
    for (const id of ["a\nb", "a\rdata: forged", "a\r\n\r\nevent: x", "a\0b", "\n"])
      expect(read(encodeSseEvent("{}", id))).toEqual([{ event: "aaep.event", id: undefined, data: "{}" }]);
  });

  it("is always one event with the same data, whatever the id", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.json(), (id, json) => {
        const heard = read(encodeSseEvent(JSON.stringify({ json }), id));
        expect(heard.map(({ data }) => data)).toEqual([JSON.stringify({ json })]);
      }),
    );
  });
});
