/** Difficult questions: withdrawn, unanswered, changed, duplicated, interrupting. */
import type { Scenario, ScenarioContext } from "../scenario.ts";

const CONSEQUENCE =
  "The parcel is sent at once and cannot be called back. In this demo nothing real happens.";

/** A question about an irreversible act, through the gate like any other. */
const sendParcel = (
  context: ScenarioContext,
  to: string,
  more: { timeout_seconds?: number; signal?: AbortSignal } = {},
) =>
  context.session.tool(
    {
      tool: "send_parcel",
      summary: "Sending the parcel.",
      risk: "high",
      irreversible: true,
      params: { to },
      action: (params) => `Send a parcel to ${params.to}.`,
      consequence: CONSEQUENCE,
      labels: { to: "To" },
      ...more,
    },
    () => context.wait(500),
  );

const questionWithdrawn: Scenario = {
  name: "question-withdrawn",
  about: "A question that is withdrawn after three seconds.",
  opening: "Asking something I will take back.",
  language: "en",
  async play(context) {
    const back = new AbortController();
    const asked = sendParcel(context, "Bruno", { signal: back.signal });
    await context.wait(3_000);
    back.abort();
    const sent = await asked;
    await context.say(sent.ran ? "You were faster than I was. I pretended to send it." : sent.summary);
  },
};

const questionTimeout: Scenario = {
  name: "question-timeout",
  about: "A question with fifteen seconds to answer: say nothing, or ask for more time.",
  opening: "Asking something with little time.",
  language: "en",
  async play(context) {
    const sent = await sendParcel(context, "Chidi", { timeout_seconds: 15 });
    await context.say(sent.ran ? "I pretended to send it." : sent.summary);
  },
};

const twoQuestions: Scenario = {
  name: "two-questions",
  about: "Three questions in two sessions at the same time.",
  opening: "Asking about two parcels.",
  language: "en",
  async play(context) {
    const other = context.parallel("Asking about dinner meanwhile.", async (beside) => {
      const spicy = await beside.ask({
        question: "Should dinner be spicy?",
        kinds: ["yes_no"],
        default: false,
      });
      await beside.say(spicy ? "Spicy it is. " : "Not spicy, then. ");
    });
    const [first, second] = await Promise.all([sendParcel(context, "Dalia"), sendParcel(context, "Emeka")]);
    await context.say(`Dalia: ${first.ran ? "pretended to send" : "not sent"}. `);
    await context.say(`Emeka: ${second.ran ? "pretended to send" : "not sent"}. `);
    await other;
  },
};

const questionDuringOutput: Scenario = {
  name: "question-during-output",
  about: "A question that arrives in the middle of a sentence.",
  opening: "Talking, and then asking in between.",
  language: "en",
  async play(context) {
    const talking = context.say(
      "I will tell you a long story about a parcel that travelled around the world and never came back, although everybody waited for it. ",
    );
    await context.wait(700);
    const sent = await sendParcel(context, "Fatima");
    await talking;
    await context.say(sent.ran ? "I pretended to send it. " : `${sent.summary} `);
  },
};

const diesMidQuestion: Scenario = {
  name: "dies-mid-question",
  about: "The agent fails while its question is open.",
  opening: "Asking, and then failing.",
  language: "en",
  async play(context) {
    const asked = sendParcel(context, "Goran").catch(() => undefined);
    await context.wait(3_000);
    await context.session.fail({
      summary: "The agent broke off. Nothing was sent.",
      category: "transient",
      code: "AGENT_FAILED",
      recoverable: true,
      remediation_hint: "Ask again in a moment.",
    });
    await asked;
  },
};

const longQuestion: Scenario = {
  name: "long-question",
  about: "A question with a very long consequence, many values, and a secret one.",
  opening: "Asking a long question.",
  language: "en",
  async play(context) {
    const sent = await context.session.tool(
      {
        tool: "sign_contract",
        summary: "Signing the contract.",
        risk: "high",
        irreversible: true,
        params: {
          provider: "Example Energy",
          months: 24,
          price_cents: 4_599,
          start: "2026-03-01",
          paperless: true,
          pin: "0000",
        },
        action: ({ provider, months }) => `Sign a contract with ${provider} for ${months} months.`,
        consequence:
          "You are bound for two years. The price may rise once a year, by no more than the rise of living costs. If you move house, the contract moves with you where the provider delivers; where it does not, you may leave with one month's notice. Ending it early costs what is left of the basic fee. In this demo nothing real happens.",
        labels: { price_cents: "Price a month", paperless: "Bills by email only", pin: "PIN" },
        display: { price_cents: (cents) => `${(cents / 100).toFixed(2)} dollars` },
        secret: ["pin"],
        modifiable: ["months"],
      },
      () => context.wait(500),
    );
    await context.say(sent.ran ? "I pretended to sign it." : sent.summary);
  },
};

const manyChoices: Scenario = {
  name: "many-choices",
  about: "A question with twenty-six choices.",
  opening: "Offering far too many choices.",
  language: "en",
  async play(context) {
    const choices = Array.from({ length: 26 }, (_, i) => {
      const letter = String.fromCharCode(65 + i);
      return { value: letter.toLowerCase(), label: `Seat ${letter}` };
    });
    const seat = await context.ask({ question: "Which seat would you like?", choices, default: "a" });
    await context.say(`Seat ${String(seat).toUpperCase()}. I pretended to keep it.`);
  },
};

const lookAlike: Scenario = {
  name: "look-alike",
  about: "A question whose recipient has look-alike letters and an invisible character in the name.",
  opening: "Asking about somebody who is not who they seem.",
  language: "en",
  async play(context) {
    // The first letters are Cyrillic, and there is an invisible joiner in the middle.
    const sent = await sendParcel(context, "\u0420\u0430ul\u2060ina");
    await context.say(sent.ran ? "I pretended to send it." : sent.summary);
  },
};

const changedQuestion: Scenario = {
  name: "changed-question",
  about: "A question that is withdrawn and asked again with another value.",
  opening: "Asking, and then changing my mind.",
  language: "en",
  async play(context) {
    const back = new AbortController();
    const first = sendParcel(context, "Hana", { signal: back.signal });
    await context.wait(2_000);
    back.abort();
    if ((await first).ran) return context.say("You were faster than I was. I pretended to send it.");
    const second = await sendParcel(context, "Hana Kovac");
    await context.say(second.ran ? "I pretended to send it." : second.summary);
  },
};

export const QUESTIONS: readonly Scenario[] = [
  questionWithdrawn,
  questionTimeout,
  twoQuestions,
  questionDuringOutput,
  diesMidQuestion,
  longQuestion,
  manyChoices,
  lookAlike,
  changedQuestion,
];
