// A person at a terminal: what they hear, line by line, and what counts as their answer.
import { describe, expect, it, vi } from "vitest";
import { helpLines, messagesFor } from "../../src/cli/listen/messages/index.ts";
import { Announcer, textOf, type Utterance } from "../../src/subscriber/announcer.ts";
import { createFakeClock, type FakeClock } from "../../src/testing/clock.ts";
import type { Voice } from "../../src/voices/index.ts";
import { needs } from "../subscriber/needs.ts";
import { lights, sitDown } from "./listen-support.ts";

const QUESTION =
  "Careful, high risk. This cannot be undone. Planner asks for permission: Transfer $500 to savings. If you say yes: Funds move at once. Without an answer within 5 minutes, it will not be done. Say no, or say yes to review and confirm.";
const READ_BACK =
  "You are about to let Planner do this. Careful, high risk. This cannot be undone. Amount: 500. To: savings. To allow it, say confirm. To refuse, say no.";
const AHEAD = "What you typed before the question was finished does not count. Answer now.";
const PIECE =
  "That came in one piece, like a paste, so it was not taken as an answer. Type it, then press Enter.";

describe("allowing something that cannot be undone", () => {
  it("takes two words, the second after the parameters were read back (CNF-39)", async () => {
    const { ask, answer, lines, ran, clock } = await sitDown();
    await ask();
    expect(lines().at(-1)).toBe(QUESTION);
    await answer("yes\r");
    expect(lines().at(-1)).toBe(READ_BACK);
    await answer("yes\r");
    expect(lines().at(-1)).toBe(READ_BACK);
    expect(ran).toEqual([]);
    await answer("confirm\r");
    await clock.advance(1000);
    expect(ran).toEqual([{ amount: 500, to: "savings" }]);
    expect(lines()).toContain("Allowed.");
  });

  it("what leads up to a question is written before it, and nothing after it", async () => {
    const { ask, lines } = await sitDown();
    await ask();
    expect(lines()[0]).toBe("Listening to Planner. Type help and press Enter to learn what you can say.");
    expect(lines()[1]).toBe("Started: Helping you.");
    expect(lines().at(-1)).toBe(QUESTION);
  });

  it("a no is one word, at any moment", async () => {
    const { ask, type, lines, ran } = await sitDown();
    await ask();
    await type("yes\r");
    await type("no\r");
    await type("\r", 1000);
    expect(lines()).toContain("Refused.");
    expect(ran).toEqual([]);
  });

  it("the words of one's own language work, without accents too", async () => {
    const { ask, answer, paste, lines, ran } = await sitDown({ settings: { languages: ["es"] } });
    await ask();
    await paste("si\rsi\r");
    await answer("\r");
    expect(lines().at(-1)).toBe(
      "Eso llegó de una sola vez, como al pegar, así que no se tomó como respuesta. Escríbelo y pulsa Intro.",
    );
    await answer("help\r");
    expect(lines()).toContain("confirmo, confirm: lo permite, después de que se te haya vuelto a leer.");
    await answer("si\r");
    await answer("Confirmo\r");
    expect(ran).toHaveLength(1);
  });
});

describe("what is not an answer", () => {
  it.each([
    ["both steps in one paste", "yes\nconfirm\n"],
    ["the same word twice", "yes\nyes\n"],
    ["marked by the terminal", "\u001b[200~yes\rconfirm\r\u001b[201~"],
  ])("a paste never accepts anything: %s", async (_, text) => {
    for (const spec of [undefined, lights]) {
      const { ask, paste, type, lines, ran, clock } = await sitDown();
      await ask(spec);
      await paste(text);
      expect(lines()).toContain(
        "A text came in one piece, like a paste. It is not sent until you press Enter.",
      );
      // Not even with an Enter of its own.
      await type("\r");
      expect(lines().at(-1)).toBe(PIECE);
      await clock.advance(5000);
      expect(ran).toEqual([]);
      expect(lines().join("\n")).not.toContain("You are about to let");
    }
  });

  it("a phrase in one piece, as dictation sends it, takes two steps whatever is asked: a pasted yes accepts nothing", async () => {
    for (const spec of [undefined, lights]) {
      const { ask, paste, lines, ran, clock } = await sitDown();
      await ask(spec);
      await paste("yes\r");
      await paste("yes\r");
      await clock.advance(5000);
      expect(ran).toEqual([]);
      expect(lines().join("\n")).toContain("You are about to let");
      await paste("confirm\r");
      await clock.advance(1000);
      expect(ran).toHaveLength(1);
    }
  });

  it("typing ahead of a question is thrown away, and the person is told", async () => {
    const { ask, type, lines, ran, clock } = await sitDown();
    await type("ye");
    await ask();
    expect(lines().at(-1)).toBe(AHEAD);
    await type("s\r");
    expect(lines().at(-1)).toBe("That is not an answer to this question.");
    await clock.advance(5000);
    expect(ran).toEqual([]);
  });

  it("a word begun before anyone can have heard the question does not count", async () => {
    const { agent, type, paste, lines, ran, clock } = await sitDown();
    void agent.run({ summary: "Helping you." }, async (session) => {
      await session.tool(lights, () => void ran.push(1));
    });
    // The question is there before a hand can move.
    await clock.advance(0);
    await type("yes\r", 25);
    expect(lines().at(-1)).toBe(AHEAD);
    await paste("");
    expect(ran).toEqual([]);
    await type("yes\r");
    await clock.advance(1000);
    expect(ran).toEqual([1]);
  });

  it("the second step is a question of its own: what was typed during the first does not reach it", async () => {
    const { ask, type, lines, ran, clock } = await sitDown();
    await ask();
    await type("yes\r");
    // A hand that types on without listening.
    await type("confirm\r", 20);
    expect(lines().at(-1)).toBe(AHEAD);
    await clock.advance(5000);
    expect(ran).toEqual([]);
  });

  it("keys that are held down", async () => {
    const { ask, type, lines, ran, clock } = await sitDown({ keys: true });
    await ask();
    for (const key of ["y", "\r", "c", " ", "1", "e"]) {
      for (let i = 0; i < 60; i++) await type(key, 33);
      await type("\u0015");
    }
    await clock.advance(2000);
    expect(ran).toEqual([]);
    expect(lines().join("\n")).not.toContain("You are about to let");
  });

  it("a word that is none", async () => {
    const { ask, type, lines, ran } = await sitDown();
    await type("maybe\r");
    expect(lines().at(-1)).toBe(
      '"maybe" is no word of mine, and nothing is being asked. Type help for my words.',
    );
    await ask();
    await type("ok\r");
    expect(lines().at(-1)).toBe("That is not an answer to this question.");
    await type("confirm\r");
    expect(lines().at(-1)).toBe("That is not an answer to this question.");
    expect(ran).toEqual([]);
  });
});

describe("from a pipe", () => {
  it("nothing grave is allowed, whatever is written; refusing works", async () => {
    const { ask, paste, lines, ran } = await sitDown({ tty: false });
    await ask();
    await paste("yes\n");
    expect(lines().at(-1)).toMatch(
      /^This is irreversible or of high risk, and your input does not come from a keyboard/,
    );
    await paste("confirm\n");
    await paste("yes\nconfirm\n");
    expect(ran).toEqual([]);
    await paste("no\n");
    expect(lines()).toContain("Refused.");
  });

  it("something harmless is allowed by a line of its own that comes after the question", async () => {
    const { ask, paste, ran, lines, clock } = await sitDown({ tty: false });
    await paste("yes\n");
    expect(lines().at(-1)).toBe("There is no open question.");
    await ask(lights);
    await paste("yes\nyes\n");
    expect(ran).toEqual([]);
    await paste("yes\n");
    await clock.advance(1000);
    expect(ran).toHaveLength(1);
  });

  it("a flood of yes, as from `yes`, allows nothing and is told in one line (A05)", async () => {
    const { ask, paste, ran, lines } = await sitDown({ tty: false });
    await ask(lights);
    await paste("yes\n".repeat(10_000));
    expect(ran).toEqual([]);
    expect(lines().at(-1)).toBe(
      "9999 more lines came at once. They were not read, since nobody can have meant them one by one.",
    );
    expect(lines().filter((line) => line === PIECE)).toHaveLength(1);
  });
});

describe("the other words", () => {
  it("clarifications: a choice by number, one's own words, and words that are also commands", async () => {
    const { agent, type, lines, clock } = await sitDown();
    const answers: unknown[] = [];
    void agent.run({ summary: "Booking." }, async (session) => {
      const choices = [
        { label: "Window", value: "w" },
        { label: "Aisle", value: "a" },
      ];
      answers.push(await session.clarify({ question: "Which seat?", choices }));
      answers.push(await session.clarify({ question: "Your name?" }));
      answers.push(await session.clarify({ question: "Another word?" }));
    });
    await clock.advance(1000);
    expect(lines().at(-1)).toContain("1: Window. 2: Aisle.");
    await type("2\r");
    await clock.advance(1000);
    await type("Ada Lovelace\r");
    await clock.advance(1000);
    await type("answer help\r");
    await clock.advance(1000);
    expect(answers).toMatchObject([{ response: "a" }, { response: "Ada Lovelace" }, { response: "help" }]);
  });

  it("more gives more time, repeat and what say it again, history looks back, help lists them all", async () => {
    const { ask, type, lines } = await sitDown();
    await ask();
    await type("more\r");
    await type("\r", 500);
    expect(lines().join("\n")).toMatch(/You now have (?:9|10) minutes/);
    await type("repeat\r");
    expect(lines().at(-1)).toContain("Planner asks for permission: Transfer $500 to savings.");
    await type("what\r");
    expect(lines().at(-2)).toBe("Planner: Waiting for your answer.");
    await type("history 3\r");
    expect(lines().at(-1)).toContain("Planner asks for permission");
    await type("no\r", 500);
    await type("history 9\r");
    expect(lines().slice(-6).join("\n")).toMatch(/asks for permission[\s\S]*\nRefused\.\n/);
    await type("help\r");
    for (const word of ["yes", "confirm", "no", "more", "repeat", "what", "details", "history", "quit"])
      expect(
        lines().some((line) => line.startsWith(word)),
        word,
      ).toBe(true);
  });

  it("pause holds what is not urgent; resume catches up", async () => {
    const { agent, type, lines, clock } = await sitDown();
    await type("pause\r");
    void agent.run(
      { summary: "Working." },
      async (session) => void (await session.say("One. Two. Three. Four.")),
    );
    await clock.advance(2000);
    expect(lines().at(-1)).toBe("Paused. Urgent messages still come through.");
    await type("resume\r");
    expect(lines().join("\n")).toMatch(/While you were away there were \d+ announcements\./);
  });

  it("a line that comes while one types starts on its own, and what was typed stays", async () => {
    const { agent, type, out, clock } = await sitDown({ onLine: () => true });
    await type("hel");
    void agent.run({ summary: "Working." }, async () => undefined);
    await clock.advance(1000);
    expect(out()).toContain("hel\nStarted: Working.\nhel");
    await type("p\r");
    expect(out()).toContain("Type a word, then press Enter.");
  });

  it("hands lines that mean nothing to it to whoever else reads them, an empty one once however long Enter is held", async () => {
    const got: string[] = [];
    const { type, lines, ask } = await sitDown({ onLine: (text) => got.push(text) > 0, greeting: "Hello." });
    expect(lines()[0]).toBe("Hello.");
    await type("book a room\r");
    await type("what\r");
    for (let i = 0; i < 20; i++) await type("\r", 33);
    await ask();
    await type("\r", 1000);
    await type("book another\r");
    expect(got).toEqual(["book a room", ""]);
    expect(lines().at(-1)).toBe("That is not an answer to this question.");
  });
});

describe("single keys", () => {
  it("n refuses, and the rest of the word is no news; yes has none", async () => {
    const { ask, type, lines, ran } = await sitDown({ keys: true });
    await ask();
    await type("yes\r");
    expect(lines().at(-1)).toBe(READ_BACK);
    await type("no\r");
    await type("\r", 500);
    expect(lines()).toContain("Refused.");
    expect(lines().join("\n")).not.toContain("no word of mine");
    expect(ran).toEqual([]);
  });

  it("are off while the agent asks for words", async () => {
    const { agent, type, clock } = await sitDown({ keys: true });
    const answers: unknown[] = [];
    void agent.run({ summary: "Booking." }, async (session) => {
      answers.push(await session.clarify({ question: "Your name?" }));
    });
    await clock.advance(1000);
    await type("nora w\r");
    await clock.advance(1000);
    expect(answers).toMatchObject([{ response: "nora w" }]);
  });
});

describe("one thing at a time (--step)", () => {
  it("nothing new appears until it is asked for; a count waits; what is urgent comes first", async () => {
    const { ask, type, answer, lines, ran } = await sitDown({ step: true });
    const greeting = lines().length;
    await ask();
    expect(lines().slice(greeting)).toEqual([
      "Something waits. Press Enter to read it.",
      "Something urgent waits. Press Enter to read it.",
    ]);
    await type("\r");
    expect(lines().at(-1)).toMatch(/^Careful, high risk\. .* review and confirm\. One more waits\.$/);
    await type("\r");
    expect(lines().at(-1)).toBe("Started: Helping you.");
    await answer("yes\r");
    expect(lines().at(-1)).toBe(READ_BACK);
    await answer("confirm\r");
    expect(lines()).toContain("Allowed.");
    expect(ran).toHaveLength(1);
  });

  it("a question that nobody has read is not answered", async () => {
    const { ask, type, lines, ran, clock } = await sitDown({ step: true });
    await ask();
    await type("yes\r");
    await clock.advance(1000);
    expect(lines().join("\n")).toContain(AHEAD);
    expect(lines().join("\n")).not.toContain("You are about to let");
    expect(ran).toEqual([]);
  });
});

describe("the listener's own words", () => {
  it.each(["en", "es", "fr", "pt", "ar", "ja"])(
    "are there in %s, every one, and the words to type with them",
    (language) => {
      const { phrases } = new Announcer({ languages: [language] });
      const own = messagesFor(phrases);
      expect(own.language).toBe(language);
      const said = Object.values(own).flatMap((one) =>
        typeof one === "string"
          ? [one]
          : typeof one === "function" && one.length === 1 && one !== own.help
            ? [(one as (given: unknown) => string)("Planner")]
            : [],
      );
      for (const text of said) expect(text).not.toMatch(/undefined|^$/u);
      const english = messagesFor(new Announcer({ languages: ["en"] }).phrases);
      if (language !== "en")
        for (const key of Object.keys(own) as (keyof typeof own)[]) expect(own[key]).not.toBe(english[key]);
      const help = helpLines(phrases);
      expect(help).toHaveLength(13);
      for (const word of ["yes", "no", "confirm", "more", "repeat", "what"] as const) {
        expect(help.join("\n")).toContain(phrases.text(`word_${word}`));
        expect(help.join("\n")).toContain(word);
      }
    },
  );

  it("are English where they are not translated, and marked so for the voice", async () => {
    const heard: Utterance[] = [];
    const speak = {
      say: (one: Utterance) => void heard.push(one),
      stop() {},
      can: () => true,
      close: async () => {},
    };
    const { type, clock } = await sitDown({ speak, settings: { languages: ["yo"] } });
    await clock.advance(1000);
    expect(heard[0]!.runs[0]).toMatchObject({
      language: "en",
      text: expect.stringContaining("Listening to"),
    });
    await type("quit\r");
  });
});

describe("leaving", () => {
  it.each([
    ["Ctrl+C", "\u0003", 130],
    ["Ctrl+D", "\u0004", 0],
    ["quit", "quit\r", 0],
  ])("by %s says what becomes of the open question", async (_, keys, code) => {
    const { ask, type, lines, ended, clock, ran } = await sitDown();
    await ask();
    await type(keys);
    await clock.advance(5000);
    expect(await ended).toBe(code);
    expect(lines().slice(-2)).toEqual([
      "You leave this question unanswered: Transfer $500 to savings. Without an answer within 5 minutes, it will not be done.",
      "You stopped listening. The agent goes on without you.",
    ]);
    expect(ran).toEqual([]);
  });

  it("says it in the person's language, and aloud to those who listen", async () => {
    const spoken: string[] = [];
    const speak = {
      say: async (utterance: Utterance) => void spoken.push(textOf(utterance)),
      stop: () => undefined,
      can: () => true,
      close: async () => undefined,
    };
    const { ask, type, lines, ended, clock } = await sitDown({ speak, settings: { languages: ["es"] } });
    await ask();
    await type("\u0003");
    await clock.advance(1000);
    expect(await ended).toBe(130);
    expect(lines().at(-1)).toBe("Has dejado de escuchar. El agente sigue sin ti.");
    expect(spoken.at(-1)).toMatch(
      /^Dejas esta pregunta sin respuesta: .* no se hará\. Has dejado de escuchar\./u,
    );
  });

  it("in mid-word, and where the signal comes from outside", async () => {
    const { type, interrupt, ended, out, clock } = await sitDown();
    await type("ye");
    interrupt();
    await clock.advance(1000);
    expect(await ended).toBe(130);
    expect(out().endsWith("ye\nYou stopped listening. The agent goes on without you.\n")).toBe(true);
  });

  it("a closed pipe ends it without a word, a request to end is no failure", async () => {
    for (const reason of ["closed pipe", "SIGTERM"] as const) {
      const { interrupt, ended, lines, clock } = await sitDown({ tty: false });
      const before = lines().length;
      interrupt(reason);
      await clock.advance(1000);
      expect(await ended).toBe(0);
      expect(lines().length).toBe(reason === "SIGTERM" ? before + 1 : before);
    }
  });
});

describe("for a program (--json)", () => {
  it("every line is an object: events, and what a person would hear; none of it steers a terminal", async () => {
    const { agent, lines, out, clock } = await sitDown({ json: true, tty: false });
    void agent.run({ summary: "Evil \u001b[2J\u009b31m\u202etxt" }, async () => undefined);
    await clock.advance(1000);
    const objects = lines().map((line) => JSON.parse(line) as Record<string, Record<string, unknown>>);
    expect(objects.some(({ event }) => event?.["type"] === "aaep:agent.session.started")).toBe(true);
    expect(objects.some(({ utterance }) => /^Started: Evil/.test(String(utterance?.["text"])))).toBe(true);
    expect(out()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/u);
  });
});

/** A voice that takes as long as it is told to. */
function slowVoice(clock: FakeClock, ms: number) {
  const said: string[] = [];
  let end: (() => void) | undefined;
  const voice: Voice = {
    say(utterance) {
      said.push(textOf(utterance));
      return new Promise((resolve) => {
        const stop = clock.timer(clock.now() + ms, () => resolve());
        end = () => {
          stop();
          resolve();
        };
      });
    },
    stop: () => end?.(),
    can: () => true,
    close: async () => undefined,
  };
  return { voice, said };
}

describe("aloud (--speak)", () => {
  it("a yes counts only once the question was spoken to its end; one before it is cut off by nothing but told, and the question comes again", async () => {
    const clock = createFakeClock();
    const { voice, said } = slowVoice(clock, 10_000);
    const { ask, type, ran, lines, clock: same } = await sitDown({ speak: voice, clock });
    expect(same).toBe(clock);
    await clock.advance(15_000);
    await ask(lights);
    await clock.advance(3000);
    expect(said.at(-1)).toContain("Switch off the lights.");
    await type("yes\r");
    await clock.advance(1000);
    expect(said.at(-1)).toBe(AHEAD);
    expect(ran).toEqual([]);
    await clock.advance(12_000);
    expect(said.at(-1)).toContain("Switch off the lights.");
    await clock.advance(12_000);
    await type("yes\r");
    await clock.advance(1000);
    expect(ran).toHaveLength(1);
    expect(lines().filter((line) => line.includes("Started: Helping you."))).toHaveLength(1);
  });

  it("a no in mid-question silences it and is taken at once", async () => {
    const clock = createFakeClock();
    const { voice, said } = slowVoice(clock, 30_000);
    const { ask, type, ran } = await sitDown({ speak: voice, clock });
    await clock.advance(40_000);
    await ask();
    expect(said.at(-1)).toBe(QUESTION);
    await type("no\r");
    await clock.advance(1000);
    expect(said.at(-1)).toBe("Refused.");
    expect(ran).toEqual([]);
  });

  it("a voice that fails is told of once, and all is written", async () => {
    const clock = createFakeClock();
    const voice: Voice = {
      say: async () => {
        throw new Error("no sound card");
      },
      stop: () => undefined,
      can: () => true,
      close: async () => undefined,
    };
    const { ask, err, lines } = await sitDown({ speak: voice, clock });
    await ask();
    expect(lines()).toContain(QUESTION);
    expect(err().match(/Speech does not work/g)).toHaveLength(1);
  });
});

describe.runIf(needs("lou_translate"))("as braille (--braille 40)", () => {
  it("waits for Enter at every window, and shows what one asked for at once", {
    timeout: 20_000,
  }, async () => {
    const { ask, type, lines, ran, clock } = await sitDown({ braille: 40, step: true });
    // liblouis is a program of its own and takes real time.
    const until = (ready: () => boolean) =>
      vi.waitFor(async () => {
        await clock.settle();
        if (!ready()) throw new Error(lines().join("\n"));
      }, 5000);
    const greeting = () => lines().filter((line) => /[⠁-⣿]/u.test(line));
    await until(() => greeting().length === 1);
    await ask();
    expect(greeting().filter((line) => !/[⠤⠿]$/u.test(line))).toHaveLength(1);
    await type("\r\r\r", 300);
    await until(() => greeting().length >= 3);
    // Every line is exactly one display long, and the question shows its action first.
    for (const line of greeting()) expect([...line]).toHaveLength(40);
    await type("no\r");
    await until(() => (lines().at(-1) ?? "").includes("⠠⠗⠑⠋⠥⠎⠫"));
    expect(ran).toEqual([]);
  });
});
