import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Delivery, Peer } from "../protocol/hub-port.ts";
import { createNumbering, reorder, type SequenceState } from "./sequence.ts";

interface Heard {
  readonly event_id: string;
  readonly session_id: string;
  readonly sequence_number: number;
}

const places = (): SequenceState => ({ next: new Map(), missed: new Map() });
const event = (session_id: string, event_id: string): Delivery => ({
  event_id,
  critical: false,
  cursor: true,
  json: JSON.stringify({ type: "aaep:agent.progress", session_id, event_id }),
});

function numbered(events: readonly Delivery[], number = createNumbering()): string[] {
  const sent: string[] = [];
  const peer: Peer = { send: ({ json }) => void sent.push(json), tell() {}, close() {} };
  const outer = number(peer);
  for (const one of events) outer.send(one);
  return sent;
}

/** A listener's end, with a clock of its own that is moved by hand. */
function listener(where = places()) {
  const heard: Heard[] = [];
  const closed: string[] = [];
  let ring: (() => void) | undefined;
  const line = reorder(
    {
      message: (text) => void (text.startsWith("{") && heard.push(JSON.parse(text) as Heard)),
      closed: ({ code, reconnect }) => void closed.push(`${code} ${reconnect}`),
    },
    where,
    (_, callback) => {
      ring = callback;
      return () => {
        if (ring === callback) ring = undefined;
      };
    },
  );
  const tooLong = () => {
    const waiting = ring;
    ring = undefined;
    waiting?.();
    return waiting !== undefined;
  };
  return { line, heard, closed, tooLong, ids: () => heard.map(({ event_id }) => event_id) };
}

const sessions = fc.array(fc.constantFrom("sess_a", "sess_b", "sess_c"), { minLength: 1, maxLength: 40 });

describe("a transport that does not keep order", () => {
  it("TRN-04, ENV-24, ENV-25: has every event of a session numbered 0, 1, 2, and an event sent again keeps its number", () => {
    fc.assert(
      fc.property(sessions, (names) => {
        const number = createNumbering();
        const events = names.map((name, i) => event(name, `evt_${i}`));
        const first = numbered(events, number).map((text) => JSON.parse(text) as Heard);
        for (const name of new Set(names)) {
          const own = first.filter(({ session_id }) => session_id === name);
          expect(own.map(({ sequence_number }) => sequence_number)).toEqual(own.map((_, i) => i));
        }
        expect(numbered(events, number).map((text) => JSON.parse(text))).toEqual(first);
      }),
    );
  });

  it("TRN-04, TRN-03: is heard in order whatever overtakes what, each event once", () => {
    fc.assert(
      fc.property(
        sessions.chain((names) => {
          const sent = numbered(names.map((name, i) => event(name, `evt_${i}`)));
          return fc.record({
            sent: fc.constant(sent),
            arriving: fc.shuffledSubarray(sent, { minLength: sent.length, maxLength: sent.length }),
          });
        }),
        ({ sent, arriving }) => {
          const { line, heard, closed, tooLong } = listener();
          for (const text of arriving) line.message(text, true);
          const want = sent.map((text) => JSON.parse(text) as Heard);
          for (const name of new Set(want.map(({ session_id }) => session_id)))
            expect(heard.filter(({ session_id }) => session_id === name)).toEqual(
              want.filter(({ session_id }) => session_id === name),
            );
          expect(heard).toHaveLength(sent.length);
          expect(tooLong()).toBe(false);
          expect(closed).toEqual([]);
        },
      ),
    );
  });

  it("TRN-04: says so when something does not come, and has it sent again on the next line", () => {
    const where = places();
    const number = createNumbering();
    const events = ["a", "b", "c", "d"].map((id) => event("sess_a", id));
    const [first, , third, fourth] = numbered(events, number) as [string, string, string, string];
    const before = listener(where);
    for (const text of [first, fourth, third]) before.line.message(text, true);
    expect(before.ids()).toEqual(["a"]);
    expect(before.tooLong()).toBe(true);
    expect(before.closed).toEqual(["connection_lost true"]);
    // What comes on a line that was given up is not heard: the next one brings it.
    before.line.message(third, true);
    expect(before.ids()).toEqual(["a"]);

    const next = listener(where);
    for (const text of numbered(events.slice(1), number).reverse()) next.line.message(text, true);
    expect(next.ids()).toEqual(["b", "c", "d"]);
    expect(next.closed).toEqual([]);
  });

  it("TRN-04: passes over what is not sent again either, instead of giving up for ever", () => {
    const where = places();
    const number = createNumbering();
    const [, later] = numbered([event("sess_a", "a summary"), event("sess_a", "b")], number) as [
      string,
      string,
    ];
    const before = listener(where);
    before.line.message(later, true);
    before.tooLong();
    expect(before.closed).toEqual(["connection_lost true"]);
    const next = listener(where);
    next.line.message(later, true);
    expect(next.tooLong()).toBe(true);
    expect(next.ids()).toEqual(["b"]);
    expect(next.closed).toEqual([]);
  });

  it("holds only so much: beyond it the line is given up", () => {
    const sent = numbered(Array.from({ length: 1_100 }, (_, i) => event("sess_a", `evt_${i}`)));
    const { line, heard, closed } = listener();
    for (const text of sent.slice(1)) line.message(text, true);
    expect(heard).toEqual([]);
    expect(closed).toEqual(["connection_lost true"]);
  });

  it("lets messages without a number pass, and is quiet once closed", () => {
    const { line, heard, closed } = listener();
    line.message(JSON.stringify({ type: "subscription.close" }), false);
    line.message("no JSON", false);
    line.closed({ code: "producer_closed", reconnect: false, message: "" });
    line.closed({ code: "connection_lost", reconnect: true, message: "" });
    expect(heard).toHaveLength(1);
    expect(closed).toEqual(["producer_closed false"]);
  });
});
