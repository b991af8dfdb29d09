/** What is shown beside the words: labels, values and choices in each listener's language, endings that arrive whole. */
import { describe, expect, it } from "vitest";
import type { AwaitingConfirmation } from "../../src/protocol/types.ts";
import { openWorld, TRANSFER } from "../support/driver.ts";

describe("what is shown beside a question", () => {
  it("is in the language the question is asked in: labels, values said out, and choices (CON-49)", async () => {
    const world = await openWorld({ languages: ["de", "pt-BR"] });
    const ears = await Promise.all(
      [["en"], ["de"], ["pt-BR"]].map((languages) => world.connect({ capabilities: { languages } })),
    );
    const session = world.agent.start({ summary: "Moving money." });
    const outcome = session.tool(
      {
        ...TRANSFER,
        action: { en: "Transfer the money.", de: "Das Geld überweisen.", "pt-BR": "Transferir o dinheiro." },
        consequence: { en: "It is gone.", de: "Es ist weg.", "pt-BR": "Ele se foi." },
        labels: { amount: { en: "Amount", de: "Betrag", "pt-BR": "Valor" }, to: "To" },
        display: {
          amount: (value) => ({ en: `${value} dollars`, de: `${value} Dollar`, "pt-BR": `${value} dólares` }),
        },
      },
      () => 1,
    );
    await world.settle();
    const shown = ears.map(({ question }) => {
      const { params } = (question as AwaitingConfirmation).extra_context as {
        params: { label: string; value: unknown }[];
      };
      return params.map(({ label, value }) => `${label}: ${value}`);
    });
    expect(shown).toEqual([
      ["Amount: 500 dollars", "To: savings"],
      ["Betrag: 500 Dollar", "To: savings"],
      ["Valor: 500 dólares", "To: savings"],
    ]);
    const hashes = ears.map(
      ({ question }) => (question as AwaitingConfirmation).extra_context?.["params_hash"],
    );
    expect(new Set(hashes).size).toBe(1);
    await ears[0]!.reject();
    await outcome;
    const choices = [
      { value: "mo", label: { en: "Monday", de: "Montag" } },
      { value: "tu", label: { en: "Tuesday", de: "Dienstag" } },
    ];
    const asked = session.clarify({ question: { en: "Which day?", de: "Welcher Tag?" }, choices });
    await world.settle();
    expect(ears.map(({ spoken }) => spoken.at(-1))).toEqual([
      "Which day? Choices: Monday, Tuesday.",
      "Welcher Tag? Choices: Montag, Dienstag.",
      "Which day? Choices: Monday, Tuesday.",
    ]);
    await ears[1]!.answer("tu");
    expect(await asked).toMatchObject({ response: "tu" });
    await session.complete();
    world.check({ ended: true });
  });

  it("ends for a slow listener too: how it was settled is never merged into what came after (CON-13)", async () => {
    const world = await openWorld();
    const slow = await world.connect({ capabilities: { max_events_per_second: 1 } });
    const session = world.agent.start({ summary: "Moving money." });
    const outcome = session.tool({ ...TRANSFER, timeout_seconds: 120 }, () => 1);
    await world.advance(10);
    void session.progress({ percent: 1 });
    await world.advance(90.2);
    void session.progress({ percent: 2 });
    await world.advance(0.1);
    await slow.reject();
    await outcome;
    void session.say("Then not.");
    await session.complete();
    await world.advance(20);
    expect(slow.settled.get(slow.question.reply_token)).toBe("rejected");
    expect(slow.spoken).toContain("The answer was no. It will not be done.");
    expect(slow.spoken).toContain("20 seconds left to answer.");
  });
});
