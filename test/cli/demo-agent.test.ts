/** The demo agent by itself: every scenario to its end, in every language, with answers, without, and stopped. */
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { createDemo, type Demo, piecesOf } from "../../src/cli/demo/agent.ts";
import { addressIn, LANGUAGES, nameIn, numberIn, placeIn, recordIn } from "../../src/cli/demo/scenario.ts";
import { HOUSEHOLD, languageOf, matchScenario, SCENARIOS } from "../../src/cli/demo/scenarios.ts";
import type { Clock } from "../../src/index.ts";
import { type AwaitingClarification, type CoreEvent, parseValue } from "../../src/protocol/index.ts";
import { startLifecycle, stepLifecycle } from "../../src/protocol/lifecycle.ts";
import { createFakeClock, type FakeClock } from "../../src/testing/index.ts";
import { type HubListener, type ListenerOptions, listen } from "../support/hub-listener.ts";

interface World {
  readonly demo: Demo;
  readonly clock: FakeClock;
  readonly ear: HubListener;
}

const failures: string[] = [];
afterEach(() => {
  expect(failures.splice(0)).toEqual([]);
});

function world(options: ListenerOptions = {}): World {
  const clock = createFakeClock();
  const demo = createDemo({
    clock,
    warn: () => undefined,
    failed: (name, error) => failures.push(`${name}: ${String((error as Error).stack ?? error)}`),
  });
  return { demo, clock, ear: listen(demo.producer, options) };
}

const fitting = ({ accepted_response_kinds: [kind] = ["freetext"], choices }: AwaitingClarification) =>
  kind === "numeric"
    ? 4
    : kind === "yes_no"
      ? true
      : kind === "multiple_choice"
        ? choices![1]!.value
        : "Lima";
const agreeable: ListenerOptions = { confirm: () => "accept", clarify: fitting };

/** Ten minutes and a bit are enough for everything that ends by itself. */
async function playOut({ demo, clock }: World): Promise<void> {
  for (let i = 0; i < 700 && demo.running > 0; i++) await clock.advance(1_000);
  expect(demo.running).toBe(0);
}

/** Every event is valid and legal where it stands, and every session has ended. */
function checked({ events }: HubListener): void {
  const sessions = new Map<string, ReturnType<typeof startLifecycle>>();
  for (const event of events) {
    expect(parseValue(event, { mode: "strict" })).toMatchObject({ ok: true });
    const life =
      sessions.get(event.session_id) ??
      startLifecycle({ eventIds: "trusted", replies: "unseen", stateChain: "sampled" });
    const { state, violations } = stepLifecycle(life, event);
    expect(violations).toEqual([]);
    sessions.set(event.session_id, state);
  }
  expect(sessions.size).toBeGreaterThan(0);
  for (const { phase } of sessions.values()) expect(phase).toBe("ended");
}

const typesIn = (events: readonly CoreEvent[]): Set<string> =>
  new Set(events.map(({ type }) => type.replace("aaep:agent.", "")));
const ran = ({ events }: HubListener): string[] =>
  events.flatMap((event) =>
    event.type === "aaep:agent.tool.invoked" && event.irreversible === true ? [event.tool] : [],
  );

describe("every scenario", () => {
  const names = SCENARIOS.map(({ name }) => name);

  it("has a name of its own and a line that says what it is", () => {
    expect(new Set(names).size).toBe(names.length);
    for (const { name, about } of SCENARIOS) {
      expect(name).toMatch(/^[a-z]+(?:-[a-z]+)*$/);
      expect(about).toMatch(/\.$/);
    }
  });

  it.each(names)("%s: plays to its end for somebody who says yes", async (name) => {
    const at = world(agreeable);
    at.demo.play(name);
    await playOut(at);
    checked(at.ear);
  });

  it.each(names)(
    "%s: plays to its end for somebody who says no, and then nothing irreversible runs",
    async (name) => {
      const at = world({ ...agreeable, confirm: () => "reject" });
      at.demo.play(name);
      await playOut(at);
      checked(at.ear);
      expect(ran(at.ear)).toEqual([]);
    },
  );

  it.each(names)("%s: plays to its end for somebody who never answers", async (name) => {
    const at = world();
    at.demo.play(name);
    for (let i = 0; i < 3; i++) await at.clock.advance(600_000);
    await playOut(at);
    checked(at.ear);
    expect(ran(at.ear)).toEqual([]);
  });

  it.each(names)("%s: can be stopped at any time, and runs nothing afterwards", async (name) => {
    for (const after of [0, 1, 400, 1_000, 2_500, 5_000]) {
      const at = world();
      at.demo.play(name);
      await at.clock.advance(after);
      for (const { session_id } of at.ear.events) at.ear.stop(session_id);
      await at.demo.stop();
      await at.clock.advance(60_000);
      expect(at.demo.running).toBe(0);
      checked(at.ear);
    }
  });
});

describe("the edge cases", () => {
  it("gap: a slow listener is told that something was skipped, and is asked in time", async () => {
    const at = world({ ...agreeable, capabilities: { max_events_per_second: 2 } });
    at.demo.play("gap");
    await playOut(at);
    expect(at.ear.events.some(({ extensions }) => extensions?.["earshot"]?.["gap"] !== undefined)).toBe(true);
    expect(typesIn(at.ear.events)).toContain("awaiting.confirmation");
  });

  it("two-questions: both are open at the same time, in two sessions", async () => {
    const at = world();
    at.demo.play("two-questions");
    await at.clock.advance(2_000);
    expect(new Set(at.ear.questions.map(({ session_id }) => session_id)).size).toBe(2);
    await at.demo.stop();
  });

  it("question-withdrawn and dies-mid-question: a listener that heard the question hears its end", async () => {
    for (const name of ["question-withdrawn", "dies-mid-question"]) {
      const at = world();
      at.demo.play(name);
      await at.clock.advance(2_000);
      expect(at.ear.questions).toHaveLength(1);
      await playOut(at);
      expect(at.ear.questions).toEqual([]);
    }
  });

  it("flood: every word arrives, in order", async () => {
    const at = world();
    at.demo.play("flood");
    await playOut(at);
    expect(at.ear.text.match(/\d+/g)).toEqual(Array.from({ length: 4_000 }, (_, i) => String(i + 1)));
  });
});

describe("the household", () => {
  it("exercises all twelve event types, each risk level and each kind of answer", async () => {
    const at = world(agreeable);
    for (const { name } of HOUSEHOLD) {
      at.demo.play(name);
      await playOut(at);
    }
    expect([...typesIn(at.ear.events)].sort()).toEqual(
      [
        "awaiting.clarification",
        "awaiting.confirmation",
        "handoff.requested",
        "output.streaming",
        "progress.updated",
        "session.cancelled",
        "session.completed",
        "session.errored",
        "session.started",
        "state.changed",
        "tool.completed",
        "tool.invoked",
      ].sort(),
    );
    const risks = new Set<unknown>();
    const kinds = new Set<unknown>();
    for (const event of at.ear.events) {
      if (event.type === "aaep:agent.awaiting.confirmation") risks.add(event.risk_level);
      if (event.type === "aaep:agent.awaiting.clarification")
        for (const kind of event.accepted_response_kinds ?? ["freetext"]) kinds.add(kind);
    }
    expect([...risks].sort()).toEqual(["high", "low", "medium"]);
    expect([...kinds].sort()).toEqual(["freetext", "multiple_choice", "numeric", "yes_no"]);
  });

  it("the tour shows all twelve event types by itself", async () => {
    const at = world(agreeable);
    at.demo.play("tour");
    await playOut(at);
    expect(typesIn(at.ear.events).size).toBe(12);
  });

  it.each(LANGUAGES)("speaks %s throughout, in its own words and the library's", async (language) => {
    for (const { name, examples } of HOUSEHOLD) {
      const at = world({ ...agreeable, capabilities: { languages: [language] } });
      const id = at.demo.start(examples![language]!);
      await playOut(at);
      checked(at.ear);
      for (const event of at.ear.events) {
        const { localization_hints: hints } = event as { localization_hints?: { primary_language?: string } };
        expect([name, event.type, hints?.primary_language]).toEqual([name, event.type, language]);
      }
      expect(at.ear.events[0]!.session_id).toBe(id);
    }
  });

  it("a listener with another language than the request hears what happens in its own", async () => {
    const at = world({ ...agreeable, capabilities: { languages: ["fr"] } });
    at.demo.start("Transfiere 200 dólares a mis ahorros");
    await playOut(at);
    expect(at.ear.spoken.join("\n")).toContain("Virer 200 dollars à votre compte d'épargne.");
    expect(at.ear.text).toContain("He simulado transferir 200 dólares");
  });

  it("shows the parameters of the request to the person, and runs only with these", async () => {
    const at = world();
    at.demo.start("Please transfer $1,250.50 to Bob");
    await at.clock.advance(5_000);
    expect(at.ear.spoken.at(-1)).toContain("Transfer 1250.5 dollars to Bob.");
    expect(await at.ear.accept(undefined, { modified_action: { amount: 50 } })).toBe(true);
    await at.clock.advance(1_000);
    expect(at.ear.spoken.at(-1)).toContain("Transfer 50 dollars to Bob.");
    at.ear.accept();
    await playOut(at);
    expect(at.ear.text).toContain("I pretended to transfer 50 dollars to Bob.");
  });

  it("keeps a secret in a request out of everything it sends", async () => {
    const at = world(agreeable);
    at.demo.start("Call a tool with these arguments: url=https://api.example.com, api_key=sk-test-12345");
    await playOut(at);
    expect(JSON.stringify(at.ear.events)).not.toContain("sk-test-12345");
    expect(typesIn(at.ear.events)).toContain("tool.completed");
  });

  it("refuses an empty or too long request, and too many sessions", async () => {
    const { demo, clock } = world();
    expect(() => demo.start("  ")).toThrow("Give a request, such as");
    expect(() => demo.start("x".repeat(5_000))).toThrow("4000 characters");
    expect(() => demo.play("flod")).toThrow('There is no scenario "flod". Did you mean "flood"?');
    for (let i = 0; i < 64; i++) demo.play("silence");
    expect(() => demo.play("silence")).toThrow("64 demo sessions are already running");
    const stopped = demo.stop();
    await clock.settle();
    await stopped;
    expect(demo.running).toBe(0);
  });

  it("is slower or faster on request, and says the same", async () => {
    const told: string[] = [];
    for (const speed of [0.5, 1, 4]) {
      const clock = createFakeClock();
      const demo = createDemo({ clock: clock as Clock, speed });
      const ear = listen(demo.producer);
      demo.start("Explain rainbows");
      let ms = 0;
      for (; demo.running > 0; ms += 100) await clock.advance(100);
      told.push(ear.text);
      expect(ms).toBeGreaterThan(5_000 / speed);
      expect(ms).toBeLessThan(30_000 / speed);
    }
    expect(new Set(told).size).toBe(1);
  });
});

describe("matching a request to a scenario", () => {
  const meant: [text: string, name: string][] = [
    ["Hello", "hello"],
    ["book a room", "room"],
    ["send an email", "mail"],
    ["delete record 12345", "delete"],
    ["ask me where I am first", "weather"],
    ["explain how rainbows form, step by step", "rainbow"],
    ["call a tool that does not exist", "unknown-tool"],
    ["escalate to a human", "human"],
    ["Hello, please respond briefly.", "hello"],
    ["Tell me a short fact about the moon.", "fact"],
    ["Please use a tool to fetch some data, then respond.", "fetch"],
    ["Write a short three-sentence paragraph.", "paragraph"],
    ["Please call a tool that does not exist: 'this_tool_does_not_exist_xyz'.", "unknown-tool"],
    ["Please book a meeting room tomorrow at 2pm. Use a tool that requires confirmation.", "room"],
    ["Please send an email to test@example.com. Use a tool that requires confirmation.", "mail"],
    ["Please delete record ID 12345 (this is high-risk and irreversible).", "delete"],
    ["Please tell me about the weather. Don't assume my location, ask me where I am first.", "weather"],
    ["Please request confirmation for any action you take.", "tidy"],
    ["Please escalate this conversation to a human via handoff.", "human"],
    ["Give me a detailed step-by-step explanation of how rainbows form.", "rainbow"],
    ["Please trigger a deliberate error.", "error"],
    ["Can you send 20 dollars to Maria?", "transfer"],
    ["What's my balance?", "balance"],
    ["write an e-mail to Maria", "mail"],
    ["trasnfer money", "transfer"],
    ["expalin rainbwos", "rainbow"],
    ["question timeout", "question-timeout"],
    ["flood", "flood"],
    ["qwertyuiop", "help"],
    ["🦜", "help"],
    ["what can you do?", "help"],
    ["Hello! Could you book a room?", "room"],
    ["Bonjour, supprime la fiche 12345", "delete"],
    ["hi there, what's my balance", "balance"],
  ];
  it.each(meant)("%s: %s", (text, name) => {
    expect(matchScenario(text).name).toBe(name);
  });

  it.each(LANGUAGES)("every example in %s calls up its scenario, and its language is known", (language) => {
    for (const { name, examples } of HOUSEHOLD) {
      const text = examples![language]!;
      expect([text, matchScenario(text).name]).toEqual([text, name]);
      expect([text, languageOf(text)]).toEqual([text, language]);
    }
  });

  it("maps any text to some scenario, in some language", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        expect(SCENARIOS).toContain(matchScenario(text));
        expect(LANGUAGES).toContain(languageOf(text));
      }),
    );
  });

  it("finds amounts, names, addresses and records as people write them", () => {
    expect(["$500", "1,200 dollars", "1.200,50 €", "٢٥٠ دولار", "５００ドル", "12.5"].map(numberIn)).toEqual([
      500, 1200, 1200.5, 250, 500, 12.5,
    ]);
    expect([numberIn("none"), numberIn("0"), numberIn("99999999999")]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(nameIn("pay 5 to Maria now")).toBe("Maria");
    expect(nameIn("send it to maria@example.com")).toBeUndefined();
    expect(addressIn("mail test@example.com, please")).toBe("test@example.com");
    expect(recordIn("delete record ID 00123")).toBe("00123");
    expect(
      ["Lagos", "in Berlin", "I am in São Paulo.", "I'm in Oslo", "estoy en Lima", "je suis à Lyon"].map(
        placeIn,
      ),
    ).toEqual(["Lagos", "Berlin", "São Paulo", "Oslo", "Lima", "Lyon"]);
  });

  it("pieces are the whole text, in order, and never half a character", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 400 }),
        fc.constantFrom(...LANGUAGES),
        (text, language) => {
          const pieces = piecesOf(text, language);
          expect(pieces.join("")).toBe(text);
          for (const piece of pieces) expect(piece).not.toMatch(/\p{Surrogate}/u);
        },
      ),
    );
  });
});
