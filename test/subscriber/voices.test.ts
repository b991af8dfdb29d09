// Voices: terminal lines, speech programs, speech-dispatcher and braille.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { run } from "../../src/subscriber/announcer/utterance.ts";
import { Announcer, type Utterance } from "../../src/subscriber/announcer.ts";
import { createFakeClock } from "../../src/testing/clock.ts";
import { toWindows } from "../../src/voices/braille.ts";
import {
  BrailleDisplay,
  createTerminalVoice,
  espeakCommand,
  macVoices,
  powershellCommand,
  sayCommand,
  speakWith,
  type Voice,
  WAITS,
  WAITS_URGENTLY,
} from "../../src/voices/index.ts";
import { ssipBody, ssipRate } from "../../src/voices/speech-dispatcher.ts";
import { speechRuns } from "../../src/voices/speech-programs.ts";
import { eventsOf } from "./support.ts";

const utterance = (text: string, over: Partial<Utterance> = {}): Utterance => ({
  id: 1,
  kind: "output",
  urgency: "normal",
  words: 1,
  runs: [run(text, "en")],
  ...over,
});

describe("the terminal", () => {
  const lines = async (options: Partial<Parameters<typeof createTerminalVoice>[0]>, ...said: Utterance[]) => {
    const out: string[] = [];
    const voice = createTerminalVoice({ write: (text) => void out.push(text), bell: false, ...options });
    for (const one of said) await voice.say(one);
    return out.join("");
  };

  it("writes one plain line for each, whatever the text tries (A16)", async () => {
    expect(await lines({}, utterance("Hello\nworld\u001b[2J\u001b]0;x\u0007"), utterance("Bye."))).toBe(
      "Hello world 0;x \nBye.\n",
    );
  });

  it("rings for questions and endings, unless told not to", async () => {
    const question = utterance("Pay?", { kind: "question", urgency: "critical" });
    expect(await lines({ bell: true }, question, utterance("Text."))).toBe("\u0007Pay?\nText.\n");
    expect(await lines({ bell: false }, question)).toBe("Pay?\n");
  });

  it("uses bold only when asked, never with NO_COLOR", async () => {
    const urgent = utterance("Now.", { urgency: "critical" });
    expect(await lines({}, urgent)).toBe("Now.\n");
    expect(await lines({ color: true }, urgent)).toBe("\u001b[1mNow.\u001b[22m\n");
    expect(await lines({ color: true, env: { NO_COLOR: "1" } }, urgent)).toBe("Now.\n");
  });

  it("breaks lines only when asked, at blanks, and never inside a character (I18N-12)", async () => {
    const text = "One two three four five.";
    expect(await lines({}, utterance(text))).toBe(`${text}\n`);
    expect(await lines({ width: 10 }, utterance(text))).toBe("One two\nthree four\nfive.\n");
    const family = "👨\u200d👩\u200d👧".repeat(12);
    expect((await lines({ width: 10 }, utterance(family))).split("\n")[0]).toBe(
      "👨\u200d👩\u200d👧".repeat(10),
    );
  });

  it("isolates what runs the other way, and shows text no voice could read", async () => {
    const mixed = utterance("", {
      runs: [
        run("Done: ", "en"),
        { ...run("دُفع الإيجار.", "ar"), kept: true },
        { ...run("Text in Arabic.", "en"), standIn: true },
      ],
    });
    expect(await lines({}, mixed)).toBe("Done: \u2067دُفع الإيجار.\u2069\n");
  });
});

describe("speech by a program", () => {
  it("never puts an agent's text on a command line, only a language and a rate", () => {
    expect(espeakCommand("pt-BR", 200)).toEqual({
      program: "espeak-ng",
      args: ["-v", "pt", "-s", "200", "--stdin"],
    });
    expect(espeakCommand("en; rm -rf /", 9000).args).toEqual(["-s", "450", "--stdin"]);
    expect(espeakCommand("zh-TW", 175, "/tmp/a.wav").args).toEqual([
      "-v",
      "cmn",
      "-s",
      "175",
      "--stdin",
      "-w",
      "/tmp/a.wav",
    ]);
  });

  it("picks a macOS voice by language from what `say -v ?` lists", () => {
    const voices = macVoices(
      "Alice               it_IT    # Ciao\nBad News            en_US    # Hello\nDaniel              en_GB    # Hello\n",
    );
    expect(sayCommand("it", 180, voices)).toEqual({
      program: "say",
      args: ["-v", "Alice", "-r", "180", "-f", "-"],
    });
    expect(sayCommand("en-GB", 180, voices).args).toContain("Daniel");
    expect(sayCommand("yo", 180, voices).args).toEqual(["-r", "180", "-f", "-"]);
  });

  it("speaks on Windows what comes by standard input, in a voice of the language", () => {
    const { program, args } = powershellCommand("es-MX", 275);
    expect(program).toBe("powershell");
    expect(args.slice(0, 3)).toEqual(["-NoProfile", "-NonInteractive", "-Command"]);
    expect(args[3]).toContain("-like 'es*'");
    expect(args[3]).toContain("$s.Rate = 5");
    expect(args[3]).toContain("ReadToEnd()");
    expect(powershellCommand("x'; Remove-Item *", 175).args[3]).not.toContain("Remove-Item");
  });

  it("speaks each run in its language, and what stands in for kept text", () => {
    const runs = [
      run("Done: ", "en"),
      { ...run("Ó ti parí.", "yo"), kept: true as const },
      { ...run(" Text in Yoruba.", "en"), standIn: true as const },
      run(" hola", "es"),
      run(" .", "en"),
    ];
    expect(speechRuns({ runs })).toEqual([
      { text: "Done: Text in Yoruba.", language: "en" },
      { text: "hola", language: "es" },
    ]);
  });

  it("cannot be talked out of a message by a lone dot (SSIP)", () => {
    expect(ssipBody("a\n.\nQUIT\n..b")).toBe("a\r\n..\r\nQUIT\r\n...b");
    expect([80, 175, 450].map(ssipRate)).toEqual([-100, 0, 100]);
  });
});

describe("a voice at work", () => {
  it("says things in order, is interrupted by what is critical, and then says the broken sentence again from its start", async () => {
    const clock = createFakeClock();
    const log: string[] = [];
    let cancel: (() => void) | undefined;
    const voice: Voice = {
      say: ({ runs }) =>
        new Promise((resolve) => {
          log.push(runs.map(({ text }) => text).join(""));
          const stop = clock.timer(clock.now() + 3000, () => resolve());
          cancel = () => {
            stop();
            log.push("(stopped)");
            resolve();
          };
        }),
      stop: () => cancel?.(),
      can: () => true,
      close: async () => undefined,
    };
    const announcer = new Announcer();
    const speaker = speakWith(announcer, voice, clock);
    const event = eventsOf();
    const hear = (one: ReturnType<typeof event>) => {
      announcer.hear(one, clock.now());
      speaker.pump();
    };
    hear(event("session.started", { summary_normal: "One." }));
    hear(event("tool.invoked", { tool: "t", summary_normal: "Two." }));
    await clock.advance(4000);
    hear(event("handoff.requested", { reason: "Help.", target_kind: "human" }));
    await clock.advance(7000);
    expect(log).toEqual([
      "Started: One.",
      "Two.",
      "(stopped)",
      "Planner cannot finish and passes this on to a person: Help.",
      "Two.",
    ]);
    await clock.advance(20_000);
    expect(log.at(-1)).toBe("Still working: Two.");
    await speaker.close();
  });
});

describe("a braille line", () => {
  const text = (cells: string, id: number, urgency: Utterance["urgency"] = "normal") => ({
    utterance: utterance("x", { id, urgency }),
    cells,
  });

  it("never replaces what is being read; a mark shows that something waits, another that it is urgent", () => {
    const display = new BrailleDisplay(10);
    display.add(text("⠁⠃⠉", 1));
    expect(display.line()).toBe("⠁⠃⠉⠀⠀⠀⠀⠀⠀⠀");
    display.add(text("⠙⠑", 2));
    expect(display.line()).toBe(`⠁⠃⠉⠀⠀⠀⠀⠀⠀${WAITS}`);
    display.add(text("⠋", 3, "critical"));
    expect(display.line()).toBe(`⠁⠃⠉⠀⠀⠀⠀⠀⠀${WAITS_URGENTLY}`);
    expect(display.forward()?.id).toBe(1);
    expect(display.line().startsWith("⠋")).toBe(true);
    display.forward();
    expect(display.line()).toBe("⠙⠑⠀⠀⠀⠀⠀⠀⠀⠀");
  });

  it("keeps its place when panned, and cuts at blanks where it can (I18N-12)", () => {
    const display = new BrailleDisplay(8);
    display.add(text("⠁⠁⠁⠀⠃⠃⠃⠀⠉⠉⠉⠉⠉⠉⠉⠉⠉", 1));
    expect(display.line()).toBe("⠁⠁⠁⠀⠃⠃⠃⠀");
    display.forward();
    expect(display.line()).toBe("⠉⠉⠉⠉⠉⠉⠉⠀");
    display.back();
    expect(display.line()).toBe("⠁⠁⠁⠀⠃⠃⠃⠀");
  });

  it("loses no cell of any text", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[⠁⠃⠉⠀]{0,120}$/), fc.integer({ min: 7, max: 40 }), (cells, room) => {
        const windows = toWindows(cells, room);
        return (
          windows.every((one) => one.length <= room) &&
          windows.join("").replaceAll("⠀", "") === cells.replaceAll("⠀", "")
        );
      }),
    );
  });
});
