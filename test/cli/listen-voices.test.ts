// What the terminal needs of a voice: lines that are written at once keep their order, a display keeps what it has.
import { describe, expect, it } from "vitest";
import { Announcer, textOf, type Utterance } from "../../src/subscriber/announcer.ts";
import { createFakeClock } from "../../src/testing/clock.ts";
import { createBrailleVoice, speakWith } from "../../src/voices/index.ts";
import { eventsOf } from "../subscriber/support.ts";

describe("a voice that is done at once", () => {
  it("says everything in the order it was heard, the question last", () => {
    const said: string[] = [];
    const announcer = new Announcer();
    const clock = createFakeClock();
    const voice = {
      say: (utterance: Utterance) => void said.push(textOf(utterance)),
      stop: () => undefined,
      can: () => true,
      close: async () => undefined,
    };
    const { pump } = speakWith(announcer, voice, clock);
    const event = eventsOf();
    const heard = [
      event("session.started", { summary_normal: "Paying.", requested_by: "user" }),
      event("tool.invoked", { tool: "look", tool_call_id: "call_1", summary_normal: "Looking it up." }),
      event("session.errored", {
        summary_normal: "It broke.",
        error_category: "permanent",
        recoverable: false,
      }),
    ];
    for (const one of heard) {
      announcer.hear(one, clock.now());
      pump();
    }
    expect(said.map((text) => text.split(".")[0])).toEqual([
      "Started: Paying",
      "Looking it up",
      "Failed: It broke",
    ]);
  });
});

describe("a braille line", () => {
  const utterance = (id: number, text: string, urgency: "normal" | "critical"): Utterance => ({
    id,
    kind: "output",
    urgency,
    words: 1,
    runs: [{ text, language: "en", direction: "ltr" }],
  });

  it("shows what was interrupted once, and not again if it was read meanwhile", async () => {
    let line = "";
    const voice = createBrailleVoice({
      translator: { can: () => true, translate: async (text) => text, close: () => undefined },
      width: 40,
      show: (shown) => {
        line = shown;
      },
    });
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    const first = utterance(1, "first", "normal");
    void voice.say(first);
    await settle();
    expect(line).toMatch(/^first/);
    voice.stop();
    void voice.say(utterance(2, "urgent", "critical"));
    await settle();
    // Still under the fingers; read to its end, it makes way.
    expect(line).toMatch(/^first.*⠿$/);
    voice.forward();
    expect(line).toMatch(/^urgent/);
    voice.forward();
    // Said again by whoever interrupted it: it has been read.
    await voice.say(first);
    expect(voice.display.waiting).toBe(0);
    expect(line).toMatch(/^urgent/);
  });
});
