/** One session's log under one shape becomes pieces (DEL-11, EVT-17; CON-21, CON-22, CON-41). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createWriter } from "../../test/support/legal-session.ts";
import { termsOf } from "../../test/support/terms.ts";
import { utf8Length } from "../protocol/limits.ts";
import type { AgentEvent, Boundary, Capabilities } from "../protocol/types.ts";
import { Cutter, MAX_CHUNK_BYTES, type Piece } from "./cut.ts";
import { SessionTrack } from "./log-window.ts";
import { shapeOf } from "./shape.ts";

function cut(events: AgentEvent[], terms: Capabilities = {}): Piece[] {
  const track = new SessionTrack("sess_a1");
  const cutter = new Cutter(shapeOf(termsOf(terms)));
  return events.flatMap((event, index) => cutter.cut(track.add({ seq: index + 1, event })));
}

const brief = (pieces: Piece[]) =>
  pieces.map(({ text, event }) =>
    text ? [text.text, text.hint, text.complete] : event.type.replace("aaep:agent.", ""),
  );

function speak(text: string, boundaries: Boundary[], rest: Capabilities = {}) {
  const { say } = createWriter();
  const chunks = [...text].map((chunk, position) => say(chunk, position));
  return brief(cut([...chunks, say("", text.length, true)], { coalesce_boundaries: boundaries, ...rest }));
}

describe("cutting", () => {
  it("is as fine as the finest honored boundary, and names what it ends on (EVT-17)", () => {
    const text = "One two. Three.\n\nFour.";
    expect(speak(text, ["sentence", "completion"])).toEqual([
      ["One two. ", "sentence", false],
      ["Three.\n\n", "sentence", false],
      ["Four.", "completion", true],
    ]);
    expect(speak(text, ["sentence", "paragraph"])[1]).toEqual(["Three.\n\n", "paragraph", false]);
    expect(speak(text, ["completion"])).toEqual([[text, "completion", true]]);
    expect(speak("Hi you", ["word"]).map(([chunk]) => chunk)).toEqual(["Hi ", "you"]);
    expect(speak("Hi", ["none"])).toEqual([
      ["H", "none", false],
      ["i", "none", false],
      ["", "completion", true],
    ]);
  });

  it("is as coarse as may be at low load (CON-22)", () => {
    expect(speak("One. Two. ", ["sentence", "completion"], { cognitive_load: "low" })).toEqual([
      ["One. Two. ", "completion", true],
    ]);
  });

  it("closes open text before a tool, a question, an ending, or leaving writing_output, with the finest honored hint (CON-21)", () => {
    const { say, call, confirm, completed, state } = createWriter();
    for (const closing of [
      call("search"),
      confirm("rpl_1", "Go."),
      completed(),
      state("writing_output", "thinking"),
    ]) {
      const [text, event] = cut([say("Let me check", 0), closing], {
        coalesce_boundaries: ["completion", "sentence"],
        supports_confirmation_reply: true,
      });
      expect(brief([text!])).toEqual([["Let me check", "sentence", false]]);
      expect(event!.event.type).toBe(closing.type);
      expect(event!.seq).toBe(text!.seq);
    }
    expect(brief(cut([say("Let me", 0), createWriter().done("search")]))).toEqual(["tool.completed"]);
  });

  it("closes open text where language or content type change", () => {
    const { say } = createWriter();
    const pieces = cut([say("Hello ", 0), { ...say("ọmọ", 6), language: "yo" }, say("", 9, true)]);
    expect(brief(pieces)).toEqual([
      ["Hello ", "sentence", false],
      ["ọmọ", "sentence", false],
      ["", "completion", true],
    ]);
  });

  it("stays below both size caps, between clusters, with hint none (CON-41)", () => {
    const { say } = createWriter();
    for (const unit of ["a", "é", "日", "👩‍👩‍👧‍👦", "x\u0301"]) {
      const text = unit.repeat(Math.ceil(40_000 / unit.length));
      const pieces = cut([say(text, 0, true)], { coalesce_boundaries: ["completion"] });
      expect(pieces.map(({ text }) => text!.text).join("")).toBe(text);
      expect(
        pieces
          .slice(0, -1)
          .every(({ text: part }) => part!.hint === "none" && part!.text.length % unit.length === 0),
      ).toBe(true);
      for (const { text: part } of pieces) {
        expect(part!.bytes).toBe(utf8Length(part!.text));
        expect(part!.bytes).toBeLessThanOrEqual(MAX_CHUNK_BYTES);
      }
    }
  });

  it("cuts even a cluster that no event could hold", () => {
    const { say } = createWriter();
    const text = `a${"\u0301".repeat(30_000)}b`;
    const pieces = cut([say(text, 0, true)], { coalesce_boundaries: ["completion"] });
    expect(pieces.map(({ text: part }) => part!.text).join("")).toBe(text);
    for (const { text: part } of pieces) expect(part!.bytes).toBeLessThanOrEqual(MAX_CHUNK_BYTES);
  });

  it("keeps the log's id only for an entry that goes out whole (CON-76)", () => {
    const { say, call } = createWriter();
    expect(
      cut([say("One. ", 0), say("Two.", 5, true)], { coalesce_boundaries: ["none"] }).map(
        ({ whole }) => whole,
      ),
    ).toEqual([true, true]);
    expect(cut([say("One. Two", 0), call("search")]).map(({ whole }) => whole)).toEqual([false, false, true]);
  });

  it("sends urgent text at once, alone, whatever the boundaries and filters (DEL-03)", () => {
    const { say } = createWriter();
    const pieces = cut([say("So ", 0), { ...say("fire! run", 3), urgency: "critical" }], {
      coalesce_boundaries: ["completion"],
    });
    expect(pieces.map(({ critical, kind }) => (critical ? kind : "open"))).toEqual([
      "open",
      ...pieces.slice(1).map(() => "single"),
    ]);
    expect(
      pieces
        .slice(1)
        .map(({ text }) => text!.text)
        .join(""),
    ).toBe("fire! run");
    expect(
      cut([{ ...say("Fire!", 0), urgency: "critical" }], { event_filters: { include: [] } }),
    ).toHaveLength(1);
  });

  it("loses and repeats nothing, whatever the boundaries", () => {
    const chunks = fc.array(fc.constantFrom("One. ", "Two", "! ", "日本。", "\n\n", "- a\n", " 3.14 ", "x"), {
      maxLength: 30,
    });
    const boundaries = fc.subarray<Boundary>(["none", "word", "sentence", "paragraph", "completion"], {
      minLength: 1,
    });
    fc.assert(
      fc.property(chunks, boundaries, (said, honored) => {
        const { say } = createWriter();
        let position = 0;
        const events = said.map((chunk) => {
          position += chunk.length;
          return say(chunk, position - chunk.length);
        });
        const pieces = cut([...events, say("", position, true)], { coalesce_boundaries: honored });
        expect(pieces.map(({ text }) => text!.text).join("")).toBe(said.join(""));
        let at = 0;
        for (const { text } of pieces) {
          expect(text!.position).toBe(at);
          at += text!.text.length;
        }
      }),
    );
  });
});
