import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Keyboard, type Typed } from "../../src/cli/listen/terminal-input.ts";
import { KEYS, parseCommand } from "../../src/cli/listen/typed-commands.ts";
import { Announcer, CATALOGS } from "../../src/subscriber/announcer.ts";

/** Letter by letter, as a hand does it. */
function typing(keyboard = new Keyboard(), keys?: ReadonlySet<string>) {
  let now = 0;
  const all: Typed[] = [];
  const piece = (text: string, pause = 100) => {
    now += pause;
    const typed = keyboard.feed(text, now, keys);
    all.push(...typed);
    return typed;
  };
  const type = (text: string) => [...text].flatMap((letter) => piece(letter));
  const lines = () => all.filter((one) => one.do === "line");
  const echo = () => all.map((one) => (one.do === "echo" ? one.text : "")).join("");
  return { piece, type, lines, echo, all, keyboard };
}

describe("a keyboard", () => {
  it("gives what was typed by hand as a line, and shows it", () => {
    const { type, lines, echo } = typing();
    type("yes\r");
    expect(lines()).toEqual([{ do: "line", text: "yes", began: 100, pasted: false, phrase: false }]);
    expect(echo()).toBe("yes\n");
  });

  it("takes back a letter, a word, a line, and wide letters whole", () => {
    const { type, lines, echo } = typing();
    type("yess\u007f\r");
    expect(echo()).toBe("yess\b \b\n");
    type("good no\u0017yes\r");
    type("nonsense\u0015no\r");
    type("はい\u007f\u007fyes\r");
    expect(lines().map(({ text }) => text)).toEqual(["yes", "good yes", "no", "yes"]);
    expect(echo()).toContain("はい\b \b\b \b\b \b\b \byes");
  });

  it("lets nothing through that could steer a terminal, and drops arrow keys", () => {
    const { piece, type, lines, echo } = typing();
    for (const key of [
      "\u001b[A",
      "\u001b[1;5C",
      "\u001bOP",
      "\u001bx",
      "\u001b]0;title\u0007",
      "\t",
      "\u0000",
    ])
      piece(key);
    piece("\u001b[");
    piece("B");
    type("no\r");
    expect(lines()[0]).toMatchObject({ text: "no", pasted: false });
    expect(echo()).toBe("no\n");
  });

  it.each([
    ["one chunk", ["yes\nyes\n"]],
    ["two lines of the two steps", ["yes\r\nconfirm\r\n"]],
    ["a chunk that was cut before its end", ["yes", "\n"]],
    ["a terminal that marks pastes", ["\u001b[200~yes\r\u001b[201~"]],
    ["marks in chunks of their own", ["\u001b[200~", "y", "e", "s", "\r", "\u001b[201~"]],
  ])("never sends a paste by itself: %s", (_, chunks) => {
    const { piece, type, lines, all } = typing();
    for (const chunk of chunks) piece(chunk, 1);
    expect(lines()).toEqual([]);
    expect(all.filter((one) => one.do === "pasted").length).toBeGreaterThan(0);
    type("\r");
    expect(lines()).toMatchObject([{ pasted: true }]);
  });

  it("takes a phrase that comes whole and alone, as dictation sends it, and says how it came", () => {
    const { piece, lines } = typing();
    piece("yes\r");
    piece("confirm\r", 249);
    expect(lines()).toMatchObject([{ text: "yes", pasted: false, phrase: true }]);
    piece("\u0015", 300);
    piece("confirm\r", 300);
    expect(lines().at(-1)).toMatchObject({ text: "confirm", pasted: false, phrase: true });
  });

  it("knows typing from a paste where a slow machine hands over the last letters with Enter", () => {
    const { piece, lines } = typing();
    piece("y");
    piece("es\r");
    expect(lines()).toMatchObject([{ text: "yes", pasted: false }]);
  });

  it("takes a word that an on-screen keyboard completes, with an Enter of its own", () => {
    const { piece, lines } = typing();
    piece("yes ");
    piece("\r");
    expect(lines()).toMatchObject([{ text: "yes", pasted: false }]);
  });

  it("takes no paste for a typed yes or confirm, however it is cut into pieces", () => {
    const word = fc.constantFrom("yes", "confirm", "no", "some text", "", "\u001b[A");
    const lineEnd = fc.constantFrom("\r", "\n", "\r\n");
    fc.assert(
      fc.property(
        fc.array(fc.tuple(word, lineEnd), { minLength: 1, maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 12 })),
        fc.integer({ min: 0, max: 4 }),
        (parts, cuts, pause) => {
          const { piece, lines } = typing();
          let text = parts.flat().join("");
          for (const cut of cuts) {
            piece(text.slice(0, cut), pause);
            text = text.slice(cut);
          }
          if (text !== "") piece(text, pause);
          const sent = lines().filter(({ text: line, pasted }) => !pasted && /yes|confirm/u.test(line));
          // Its beginning may look like a phrase, which accepts nothing alone; what follows never does.
          expect(sent.filter(({ phrase }) => !phrase)).toEqual([]);
          expect(sent.length).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("says Ctrl+C whatever stands on the line, and the end only on an empty one", () => {
    const { type, piece } = typing();
    type("ye");
    expect(piece("\u0004")).toEqual([]);
    expect(piece("\u0003")).toEqual([{ do: "interrupt" }]);
    expect(piece("s\u0003\r")).toContainEqual({ do: "interrupt" });
    expect(typing().piece("\u0004")).toEqual([{ do: "end" }]);
  });

  it("with single keys: each once however long it is held, and none in mid-word", () => {
    const { piece, type, all, lines } = typing(new Keyboard(), new Set(Object.keys(KEYS)));
    piece("1");
    for (let i = 0; i < 50; i++) piece("1", 30);
    expect(all).toEqual([{ do: "key", key: "1" }]);
    piece("1", 800);
    expect(all).toHaveLength(2);
    // "yes" has no key of its own, and its letters do nothing.
    type("yes 1 no\r");
    expect(lines()).toMatchObject([{ text: "yes 1 no" }]);
    expect(all.filter((one) => one.do === "key")).toHaveLength(2);
  });

  it("no single key accepts anything", () => {
    const { phrases } = new Announcer();
    for (const word of Object.values(KEYS)) {
      const wish = parseCommand(word, phrases);
      expect(wish).not.toMatchObject({ input: { kind: "yes" } });
      expect(wish).not.toMatchObject({ input: { kind: "confirm" } });
    }
  });

  it("throws away what stood typed, and says whether that was anything", () => {
    const { type, keyboard, lines } = typing();
    expect(keyboard.discard()).toBe(false);
    type("ye");
    expect(keyboard.line).toBe("ye");
    expect(keyboard.discard()).toBe(true);
    type("s\r");
    expect(lines()).toMatchObject([{ text: "s" }]);
  });
});

describe("the words", () => {
  it.each(CATALOGS.map(({ language }) => language))(
    "mean one thing each in %s, with or without accents and capitals, and English works too",
    (language) => {
      const { phrases } = new Announcer({ languages: [language] });
      for (const word of ["yes", "no", "confirm", "more"] as const) {
        const own = phrases.text(`word_${word}`);
        const bare = own.normalize("NFD").replaceAll(/\p{Mn}/gu, "");
        for (const typed of [own, ` ${own.toUpperCase()} `, bare, word])
          expect(parseCommand(typed, phrases), typed).toEqual({ do: "answer", input: { kind: word } });
      }
      for (const word of ["repeat", "what"] as const)
        for (const typed of [phrases.text(`word_${word}`), word])
          expect(parseCommand(typed, phrases), typed).toEqual({ do: word });
    },
  );

  it("are whole lines: a sentence that begins with one is a sentence", () => {
    const { phrases } = new Announcer();
    for (const text of ["yes please", "no way", "what is the weather", "help me", "y", "ye", "yesyes"])
      expect(parseCommand(text, phrases)).toEqual({ do: "text", text });
    expect(parseCommand("answer no", phrases)).toEqual({ do: "answer", input: { kind: "text", text: "no" } });
    expect(parseCommand("history 50", phrases)).toEqual({ do: "history", count: 50 });
  });
});
