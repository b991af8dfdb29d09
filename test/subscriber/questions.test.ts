// Spoken questions: who asks and for what, no in one step, a grave yes in two, and no answer by accident.
import { describe, expect, it } from "vitest";
import { textOf } from "../../src/subscriber/announcer.ts";
import { eventsOf, type Fields, TestListener } from "./support.ts";

const event = eventsOf();
const params = (amount: number) => [
  { name: "amount", label: "Amount", value: amount },
  { name: "to", label: "To", value: "savings" },
];
const confirmation = (over: Fields = {}) =>
  event("awaiting.confirmation", {
    action: "Transfer $500 to savings.",
    consequence: "Funds move at once.",
    reply_token: "rpl_1",
    timeout_seconds: 300,
    default_decision: "reject",
    ...over,
  });
const grave = (over: Fields = {}) =>
  confirmation({ risk_level: "high", irreversible: true, extra_context: { params: params(500) }, ...over });
const clarification = (over: Fields = {}) =>
  event("awaiting.clarification", {
    question: "Which account?",
    reply_token: "rpl_9",
    timeout_seconds: 120,
    ...over,
  });
const extended = (earshot: Fields) => ({
  "@context": ["https://aaep-protocol.org/context/v1", "urn:earshot:aaep:v1"],
  extensions: { earshot },
});
const resolves = (reply_token: string, outcome: string) =>
  event("state.changed", {
    from_state: "awaiting_input",
    to_state: "thinking",
    ...extended({ resolves: { reply_token, outcome } }),
  });

describe("a question", () => {
  it("is put in a frame that says who asks, gravest news first, and how to answer (CNF-39, SUB-11)", () => {
    const listener = new TestListener().hear(grave());
    expect(listener.texts).toEqual([
      "Careful, high risk. This cannot be undone. Planner asks for permission: Transfer $500 to savings. If you say yes: Funds move at once. Without an answer within 5 minutes, it will not be done. Say no, or say yes to review and confirm.",
    ]);
    expect(listener.said[0]!.utterance).toMatchObject({
      urgency: "critical",
      kind: "question",
      essence: "Transfer $500 to savings.",
    });
  });

  it("keeps every word of its content, whatever that is, and flags what hides in it (CNF-40, A07, A08)", () => {
    const listener = new TestListener({ load: "low", verbosity: "terse" }).hear(
      confirmation({
        action: "Send <b>500</b> \u202eot\u202c pаypal.\u001b[8m Hidden?",
        consequence: "Gone.",
      }),
    );
    expect(listener.texts[0]).toBe(
      "Careful: some words use look-alike letters from another alphabet. Careful: invisible characters were removed from this text. Planner asks for permission: Send <b>500</b> ot pаypal. Hidden? If you say yes: Gone. Yes or no?",
    );
  });

  it("of little risk reads the parameters at once and takes one yes; allowed is said only once the producer took it (SUB-10)", () => {
    const listener = new TestListener().hear(confirmation({ extra_context: { params: params(500) } }));
    expect(listener.texts[0]).toContain("Amount: 500. To: savings.");
    listener.taken = "later";
    listener.answer("yes");
    expect(listener.sent).toEqual([{ do: "confirm", reply_token: "rpl_1", source: "", decision: "accept" }]);
    expect(listener.texts).toHaveLength(1);
    listener.announcer.sent(listener.sent[0]!, true, listener.now);
    listener.pump();
    expect(listener.texts.at(-1)).toBe("Allowed.");
  });

  it("of high risk takes two different inputs, the second after the parameters were read back", () => {
    const listener = new TestListener().hear(grave());
    listener.answer("confirm");
    expect(listener.texts.at(-1)).toBe("That is not an answer to this question.");
    listener.answer("yes").answer("yes").answer("yes");
    expect(listener.sent).toEqual([]);
    expect(listener.texts.at(-1)).toBe(
      "You are about to let Planner do this. Careful, high risk. This cannot be undone. Amount: 500. To: savings. To allow it, say confirm. To refuse, say no.",
    );
    listener.answer("confirm");
    expect(listener.sent).toMatchObject([{ decision: "accept" }]);
  });

  it("can be refused by one action at any moment, even while it is read", () => {
    const listener = new TestListener({}, () => 10_000).hear(grave()).answer("no");
    expect(listener.sent).toMatchObject([{ decision: "reject" }]);
  });

  it("takes no yes before it was read to its end: type-ahead is not consent", () => {
    const listener = new TestListener({}, () => 10_000).hear(confirmation()).answer("yes");
    expect(listener.sent).toEqual([]);
    listener.wait(21_000);
    expect(listener.texts.at(-1)).toBe(
      "The question has not been read to its end yet, so that did not count.",
    );
    listener.answer("yes");
    expect(listener.sent).toHaveLength(1);
  });

  it("starts again if its parameters change after step one", () => {
    const listener = new TestListener().hear(grave()).answer("yes");
    listener.hear(grave({ extra_context: { params: params(5000) } })).answer("confirm");
    expect(listener.sent).toEqual([]);
    expect(listener.texts.slice(2)).toEqual([
      "Something about this question changed, so it starts again.",
      listener.texts[0],
      "That is not an answer to this question.",
    ]);
    listener.answer("yes");
    expect(listener.texts.at(-1)).toContain("Amount: 5,000.");
  });

  it("asked again unchanged, after a reconnect, is not read again", () => {
    expect(new TestListener().hear(grave(), grave()).texts).toHaveLength(1);
  });

  it("waits its turn behind another, grave ones first, and none overwrites another", () => {
    const listener = new TestListener();
    listener.hear(
      confirmation(),
      confirmation({ reply_token: "rpl_2", action: "Second." }),
      grave({ reply_token: "rpl_3", action: "Third." }),
    );
    listener.wait(5000);
    expect(listener.texts.slice(1)).toEqual([
      "Planner has another question. It waits its turn.",
      "2 more questions wait.",
    ]);
    listener.answer("no");
    expect(listener.texts.at(-1)).toContain("Third.");
    listener.answer("no");
    expect(listener.texts.at(-1)).toContain("Second.");
  });

  it("in a flood of them is heard all the same: the others are counted, and all of them come", () => {
    const listener = new TestListener({}, () => 3000);
    for (let i = 0; i < 50; i++)
      listener.hear(confirmation({ reply_token: `rpl_${i}`, action: `Act ${i}.` }));
    listener.wait(60_000);
    expect(listener.texts.slice(1)).toEqual([
      "Planner has another question. It waits its turn.",
      "49 more questions wait.",
    ]);
    for (let i = 0; i < 50; i++) {
      expect(listener.announcer.question).toMatchObject({ action: `Act ${i}.` });
      listener.answer("no").wait(3000);
    }
    expect(listener.announcer.question).toBeUndefined();
  });

  it("that changes while a yes to it is on its way is not said to be allowed, and asks anew (A06)", () => {
    const listener = new TestListener();
    listener.taken = "later";
    listener.hear(grave()).answer("yes").answer("confirm");
    listener.hear(grave({ extra_context: { params: params(9000) } }));
    expect(listener.texts.at(-2)).toBe(
      "Your answer was sent, but the agent has not said that it took it. Something about this question changed, so it starts again.",
    );
    listener.announcer.sent(listener.sent[0]!, true, listener.now);
    listener.pump();
    expect(listener.texts).not.toContain("Allowed.");
    listener.answer("no");
    listener.announcer.sent(listener.sent[0]!, true, listener.now);
    listener.pump();
    expect(listener.texts).not.toContain("Refused.");
    listener.announcer.sent(listener.sent[1]!, true, listener.now);
    listener.pump();
    expect(listener.texts.at(-1)).toBe("Refused.");
  });

  it("that is taken back before it could be said is told as taken back, and not asked", () => {
    const listener = new TestListener({}, () => 3000);
    listener.hear(
      eventsOf("en", { session_id: "sess_2" })("session.errored", {
        summary_normal: "No mail.",
        error_category: "transient",
      }),
      grave(),
      resolves("rpl_1", "withdrawn"),
    );
    listener.wait(9000);
    expect(listener.texts.slice(1, 2)).toEqual([
      "The agent took this question back: Transfer $500 to savings.",
    ]);
  });

  it("from an agent whose name has look-alike letters says so before it names it (A08)", () => {
    const producer = { agent_id: "b", agent_name: "B\u0430nk" };
    const listener = new TestListener()
      .hear(confirmation({ producer }))
      .answer({ kind: "yes", unsure: true });
    for (const text of listener.texts) expect(text).toMatch(/^Careful: some words use look-alike letters/);
    expect(listener.texts).toHaveLength(2);
  });

  it("is warned about near its deadline, twice and not each second, with no countdown needed from the producer (CNF-25)", () => {
    const listener = new TestListener().hear(confirmation()).wait(299_000);
    expect(listener.said.slice(1).map(({ at, text }) => [at, text])).toEqual([
      [240_000, "1 minute left to answer: Transfer $500 to savings."],
      [280_000, "20 seconds left to answer: Transfer $500 to savings."],
    ]);
    listener.wait(2000).answer("yes");
    expect(listener.texts.slice(3)).toEqual([
      "Time is up for this question: Transfer $500 to savings.",
      "There is no open question.",
    ]);
    expect(listener.sent).toEqual([]);
  });

  it("gets more time by one action where the agent gives any, and says how much", () => {
    const deadline = { reply_token: "rpl_1", seconds_left: 60, extensions_left: 1, ceiling_seconds: 600 };
    const listener = new TestListener()
      .hear(confirmation({ timeout_seconds: 60, ...extended({ deadline }) }))
      .wait(50_000)
      .answer("more");
    expect(listener.sent).toEqual([{ do: "more_time", reply_token: "rpl_1", source: "" }]);
    listener.hear(
      event("progress.updated", {
        progress: { description: "Waiting." },
        ...extended({ deadline: { ...deadline, seconds_left: 120, extensions_left: 0 } }),
      }),
    );
    expect(listener.texts.at(-1)).toBe("You now have 2 minutes to answer.");
    listener.answer("more");
    expect(listener.texts.at(-1)).toBe("The agent gives no more time for this question.");
  });

  it.each([
    ["withdrawn", "The agent took this question back: Transfer $500 to savings."],
    ["accepted", "This was allowed: Transfer $500 to savings."],
    ["rejected", "This was refused: Transfer $500 to savings."],
    ["timed_out", "Time is up for this question: Transfer $500 to savings."],
  ])("settled elsewhere (%s) is removed and explained (CNF-36, SUB-12)", (outcome, words) => {
    const listener = new TestListener()
      .hear(grave())
      .answer("yes")
      .hear(resolves("rpl_1", outcome))
      .answer("confirm");
    expect(listener.texts).toContain(words);
    expect(listener.texts.at(-1)).toBe("There is no open question.");
    expect(listener.sent).toEqual([]);
  });

  it("is void when its session ends or goes on without it (CNF-36, CON-13)", () => {
    const ended = new TestListener().hear(
      confirmation(),
      event("session.cancelled", { cancelled_by: "system", summary_normal: "Stopped." }),
    );
    expect(ended.texts).toContain(
      "This question is void, because its session has ended: Transfer $500 to savings.",
    );
    const left = new TestListener().hear(
      confirmation(),
      event("state.changed", { from_state: "awaiting_input", to_state: "thinking" }),
    );
    expect(left.texts).toContain("This question is closed: Transfer $500 to savings.");
  });

  it("answered too late, or into the unknown, says so and not allowed", () => {
    const late = new TestListener().hear(confirmation());
    late.taken = false;
    expect(late.answer("yes").texts.at(-1)).toBe(
      "Your answer came too late: the question was already closed.",
    );
    const unsure = new TestListener().hear(confirmation());
    unsure.taken = undefined;
    expect(unsure.answer("yes").wait(2_000).texts.at(-1)).toBe(
      "Your answer was sent, but the agent has not said that it took it.",
    );
    const told = unsure.texts.length;
    expect(unsure.wait(60_000).texts.length).toBe(told);
    unsure.hear(resolves("rpl_1", "accepted"));
    expect(unsure.texts).toContain("Allowed.");
  });

  it("answered over a line that cannot say so is allowed in one word, where the agent says so by what it does", () => {
    const listener = new TestListener().hear(confirmation());
    listener.taken = undefined;
    listener.answer("yes").wait(500).hear(resolves("rpl_1", "accepted")).wait(10_000);
    expect(listener.texts.slice(1, 2)).toEqual(["Allowed."]);
    expect(listener.texts.join(" ")).not.toContain("has not said");
  });

  it("whose answer nobody speaks of at all is not left in silence", () => {
    const listener = new TestListener().hear(confirmation());
    listener.taken = "later";
    listener.answer("yes").wait(2_000);
    expect(listener.texts.at(-1)).toBe("Your answer was sent, but the agent has not said that it took it.");
  });

  it("is never answered for the person, unless they made exactly that rule; and a rule never says yes to a grave act (CNF-38, SEC-14, CON-75)", () => {
    expect(new TestListener().hear(confirmation()).wait(400_000).sent).toEqual([]);
    const autoAnswers = [
      { agent_id: "planner", action: "Transfer $500 to savings.", decision: "accept" as const },
    ];
    const ruled = new TestListener({ autoAnswers }).hear(confirmation());
    expect(ruled.sent).toEqual([
      {
        do: "confirm",
        reply_token: "rpl_1",
        source: "",
        decision: "accept",
        decided_by: "auto:listener-rule",
      },
    ]);
    expect(ruled.texts).toEqual(["Your own rule said yes to: Transfer $500 to savings."]);
    expect(new TestListener({ autoAnswers }).hear(grave()).sent).toEqual([]);
    expect(
      new TestListener({ autoAnswers }).hear(confirmation({ producer: { agent_id: "other" } })).sent,
    ).toEqual([]);
    expect(
      new TestListener({ autoAnswers }).hear(confirmation({ action: "Transfer $501 to savings." })).sent,
    ).toEqual([]);
  });

  it("for words takes the kinds of answer it names, and nothing else (CNF-27, SUB-19)", () => {
    const choices = [
      { value: "sav", label: "Savings" },
      { value: "cur", label: "Current" },
    ];
    const listener = new TestListener().hear(
      clarification({ accepted_response_kinds: ["multiple_choice"], choices, default_response: "cur" }),
    );
    expect(listener.texts[0]).toBe(
      "Planner asks: Which account? 2 choices: 1: Savings. 2: Current. Without an answer within 2 minutes, the agent assumes: Current. Answer with the number of a choice.",
    );
    listener.answer("text", "3").answer("yes");
    expect(listener.texts.at(-1)).toBe("That is not an answer to this question.");
    listener.answer("text", "1");
    expect(listener.sent).toEqual([{ do: "answer", reply_token: "rpl_9", source: "", response: "sav" }]);
    expect(listener.texts.at(-1)).toBe("Your answer was taken.");
    const kinds: [string, Parameters<TestListener["answer"]>, unknown][] = [
      ["numeric", ["text", "1.5"], 1.5],
      ["yes_no", ["no"], false],
      ["freetext", ["text", "the red one"], "the red one"],
    ];
    for (const [kind, answer, response] of kinds)
      expect(
        new TestListener().hear(clarification({ accepted_response_kinds: [kind] })).answer(...answer).sent,
      ).toMatchObject([{ response }]);
  });

  it("with secrets says that they are there, not what they are", () => {
    const listener = new TestListener()
      .hear(grave({ extra_context: { params: [{ name: "pin", label: "PIN", masked: true }] } }))
      .answer("yes");
    expect(listener.texts.at(-1)).toContain("PIN: kept secret.");
  });

  it("is answered with its token exactly as it came, whatever it looks like (CNF-09)", () => {
    for (const reply_token of ["rpl_AbC9", "rpl_0", "rpl_accept"]) {
      const listener = new TestListener().hear(confirmation({ reply_token })).answer("no");
      expect(listener.sent).toMatchObject([{ reply_token }]);
      expect(listener.texts.join(" ")).not.toContain(reply_token);
    }
  });
});

describe("an agent's words inside ours (A07)", () => {
  const readBack = (value: unknown, language = "en", label = "Amount") => {
    const listener = new TestListener({ languages: [language] });
    listener.hear(
      grave({
        extra_context: {
          params: [
            { name: "amount", label, value },
            { label: "To", value: "me" },
          ],
        },
      }),
    );
    return listener.answer("yes").texts.at(-1)!;
  };

  it.each([
    "500",
    "savings",
    "10:30",
    "Dr.Obi",
    "a.b@c.org",
    "https://a.org/x?y=1",
    "Buy milk.",
    "no",
    "1.5",
    "O'Neil; Co",
  ])("an ordinary value stays as it is: %s", (value) => {
    if (value.includes("; "))
      return expect(readBack(value)).toContain(`Amount: quote: ${value} — end of quote.`);
    expect(readBack(value)).toContain(`Amount: ${value.replace(/\.$/, "")}.`);
  });

  it("a value that would pass for a sentence of ours is a quotation, to its end", () => {
    expect(readBack("a. To allow it, say yes.")).toBe(
      "You are about to let Planner do this. Careful, high risk. This cannot be undone. Amount: quote: a. To allow it, say yes. — end of quote. To: me. To allow it, say confirm. To refuse, say no.",
    );
    for (const value of [
      "5\nTo: savings",
      "5, To: savings",
      "5 To allow it say yes",
      "5 TO  REFUSE, SAY confirm",
      "5！許可",
      "5؟ نعم",
      "5．To",
      "5‼ Yes",
      "5。はい",
      "5∶ no",
    ])
      expect(readBack(value)).toMatch(/Amount: quote: .* — end of quote\. To: me\./u);
  });

  it("a name, an address or an amount is none, whatever dots it has", () => {
    const plain = [
      "St. Mary's",
      "Dr. Ada N. Obi",
      "J. R. R. Tolkien",
      "U.S. Bank (N.Y. office)",
      "3:30 p.m. today",
      "12 Main St. Apt. 4",
      "No. 5, Hauptstr. 5",
      "Oct. 3, 2026",
      "ada.obi@example.com",
      "https://example.com/pay?to=1:2",
      "1,250.00 EUR",
      "アダ・オビ様、東京都1-1",
      "د. أحمد محمد، الرياض",
    ];
    for (const value of plain) expect(readBack(value)).toContain(`Amount: ${value}. To: me.`);
    for (const value of ["Ada Obi. Fee waived", "5 a. To: you", "Dr. Obi. To allow it, say yes"])
      expect(readBack(value)).toContain(`Amount: quote: ${value} — end of quote. To: me.`);
  });

  it("cannot end its quotation before its end", () => {
    expect(readBack("5 — end of quote. To allow it, say yes. Amount: unquote 7")).toContain(
      "Amount: quote: 5 — end of quote (still in the quote). To allow it, say yes. Amount: unquote (still in the quote) 7 — end of quote. To: me.",
    );
  });

  it.each([
    ["es", "cita: ", "fin de la cita"],
    ["fr", "citation : ", "fin de la citation"],
    ["pt", "citação: ", "fim da citação"],
    ["ar", "اقتباس: ", "نهاية الاقتباس"],
    ["ja", "引用「", "引用終わり"],
    ["yo", "àyọlò: ", "òpin àyọlò"],
  ])("is marked in the listener's language: %s", (language, begin, end) => {
    const heard = readBack(`5. ${end}. 7`, language);
    expect(heard).toContain(begin);
    expect(heard.split(end).length - 1).toBe(2);
    expect(heard.indexOf(end)).toBeLessThan(heard.lastIndexOf(end));
    expect(heard).not.toContain(`${end}. 7`);
  });

  it("a label cannot hold a sentence, in any script", () => {
    expect(readBack("5", "en", "Amount؟ Yes! 5。To")).toContain("Amount Yes 5 To: 5.");
  });

  it("nor can the name of a choice, what is assumed in silence, or an act without details", () => {
    const listener = new TestListener();
    listener.hear(
      clarification({
        accepted_response_kinds: ["multiple_choice"],
        choices: [
          { value: "a", label: "Savings. 2: Nothing" },
          { value: "b", label: "Checking" },
        ],
        default_response: "a",
      }),
    );
    expect(listener.texts.at(-1)).toContain(
      "2 choices: 1: quote: Savings. 2: Nothing — end of quote. 2: Checking. Without an answer within 2 minutes, the agent assumes: quote: Savings. 2: Nothing — end of quote.",
    );
    const bare = new TestListener().hear(
      grave({ extra_context: undefined, action: "Pay. Amount: 5. To: savings." }),
    );
    expect(bare.answer("yes").texts.at(-1)).toContain(
      "its words were: quote: Pay. Amount: 5. To: savings. — end of quote. To allow it, say confirm.",
    );
  });

  it("prose may have several sentences, but not ours", () => {
    const heard = (over: Fields) => new TestListener().hear(confirmation(over)).texts.at(-1)!;
    expect(heard({ action: "Pay the rent. It is due: today." })).toContain(
      "Planner asks for permission: Pay the rent. It is due: today. If you say yes:",
    );
    expect(
      heard({
        action:
          "Play a song. If you say yes: nothing is paid. Without an answer within 1 minute, it will not be done.",
      }),
    ).toContain(
      "asks for permission: quote: Play a song. If you say yes: nothing is paid. Without an answer within 1 minute, it will not be done. — end of quote. If you say yes: Funds move at once.",
    );
  });
});

describe("how long there is to answer", () => {
  const notice = (seconds_left: number) =>
    event("progress.updated", {
      progress: { description: "Waiting." },
      ...extended({
        deadline: { reply_token: "rpl_1", seconds_left, extensions_left: 1, ceiling_seconds: 900 },
      }),
    });

  it("is said where it is less than the question says, as it is for whoever joins late (CON-47)", () => {
    const listener = new TestListener().hear(confirmation(), notice(60));
    expect(listener.texts.at(-1)).toBe("1 minute left to answer: Transfer $500 to savings.");
    listener.hear(notice(58)).wait(41_000);
    expect(listener.texts.slice(2)).toEqual(["20 seconds left to answer: Transfer $500 to savings."]);
  });

  it("is not said without end where it moves without end", () => {
    const listener = new TestListener().hear(confirmation());
    for (let round = 0; round < 500; round++) listener.hear(notice(200), notice(100));
    expect(listener.texts.length).toBeLessThan(30);
    listener.wait(101_000);
    expect(listener.texts.slice(-3)).toEqual([
      "1 minute left to answer: Transfer $500 to savings.",
      "20 seconds left to answer: Transfer $500 to savings.",
      "Time is up for this question: Transfer $500 to savings.",
    ]);
  });
});

describe("an agent that asks without end", () => {
  const ask = (number: number, over: Fields = {}) =>
    confirmation({
      event_id: `evt_q${number}`,
      reply_token: `rpl_${number}`,
      action: `Act ${number}.`,
      ...over,
    });

  it("keeps a stated number of questions waiting, and is told to have asked too much (F22)", () => {
    const listener = new TestListener();
    for (let number = 0; number < 5_000; number++) listener.hear(ask(number));
    expect(listener.announcer.questions).toBe(256);
    listener.wait(1_000);
    expect(listener.texts).toContain(
      "Planner asks too much at once. 4,744 of its questions were put aside unread and stay unanswered.",
    );
    // The one that is being asked stays, and can be answered.
    expect(listener.announcer.question).toMatchObject({ reply_token: "rpl_0" });
    listener.answer("no");
    expect(listener.sent).toMatchObject([{ reply_token: "rpl_0", decision: "reject" }]);
  });

  it("cannot push aside what is grave, or done in silence, with what is neither", () => {
    const listener = new TestListener();
    listener.hear(
      ask(0),
      ask(1, { risk_level: "high", irreversible: true }),
      ask(2, { default_decision: "accept" }),
    );
    for (let number = 3; number < 1_000; number++) listener.hear(ask(number));
    expect(listener.announcer.isOpen("rpl_1")).toBe(true);
    expect(listener.announcer.isOpen("rpl_2")).toBe(true);
    expect(listener.announcer.isOpen("rpl_3")).toBe(false);
    expect(listener.announcer.isOpen("rpl_999")).toBe(true);
    listener.answer("no").answer("yes");
    expect(listener.texts.at(-1)).toContain("You are about to let Planner do this.");
    listener.answer("confirm");
    expect(listener.sent.at(-1)).toMatchObject({ reply_token: "rpl_1", decision: "accept" });
  });

  it("cannot push aside the questions of another", () => {
    const listener = new TestListener();
    listener.announcer.hear(ask(0), 0, "bank");
    for (let number = 1; number < 1_000; number++) listener.announcer.hear(ask(number), 0, "noisy");
    expect(listener.announcer.isOpen("rpl_0", "bank")).toBe(true);
    expect(listener.announcer.questions).toBe(257);
  });

  it("is left in a few sentences", () => {
    const listener = new TestListener();
    for (let number = 0; number < 30; number++)
      listener.hear(ask(number, number === 20 ? { risk_level: "high" } : {}));
    const words = textOf({ runs: listener.announcer.unanswered(listener.now) });
    expect(words.match(/You leave this question unanswered/gu)).toHaveLength(5);
    expect(words).toContain("unanswered: Act 20. ");
    expect(words).toMatch(/25 more questions wait\.$/u);
  });

  it("says so now and then, not each time", () => {
    const listener = new TestListener();
    for (let number = 0; number < 600; number++) listener.hear(ask(number)).wait(100);
    const told = listener.texts.filter((text) => text.includes("too much at once"));
    expect(told.length).toBeGreaterThan(0);
    expect(told.length).toBeLessThanOrEqual(3);
  });
});

describe("many questions", () => {
  it("are not all warned of: only the one being asked and the one that comes next", () => {
    const listener = new TestListener();
    for (let n = 0; n < 200; n++)
      listener.hear(confirmation({ reply_token: `rpl_${n}`, action: `Act ${n}.` }));
    listener.wait(299_000);
    expect(listener.texts.filter((text) => text.includes("left to answer"))).toEqual([
      "1 minute left to answer: Act 0.",
      "1 minute left to answer: Act 1.",
      "20 seconds left to answer: Act 0.",
      "20 seconds left to answer: Act 1.",
    ]);
  });

  it("one that is over is not waited for any more: what is happening says so", () => {
    const listener = new TestListener().hear(
      event("state.changed", {
        from_state: "thinking",
        to_state: "awaiting_input",
        summary_normal: "Waiting for your answer.",
      }),
      confirmation({ reply_token: "rpl_over" }),
    );
    listener.taken = false;
    listener.answer("no").do("what");
    expect(listener.texts.slice(-2)).toEqual([
      "Your answer came too late: the question was already closed.",
      "Planner: Still working.",
    ]);
  });

  it("an answer given while the line is down is not said to have been sent before it is", () => {
    const sent = "Your answer was sent, but the agent has not said that it took it.";
    const listener = new TestListener().hear(confirmation({ reply_token: "rpl_down" }));
    listener.announcer.connection("lost", "Planner", listener.now);
    listener.taken = "later";
    listener.answer("no").wait(10_000).answer("no");
    expect(listener.texts.slice(1)).toEqual([
      "The connection to Planner was lost. Trying again.",
      "The connection to Planner was lost. Trying again.",
    ]);
    expect(textOf({ runs: listener.announcer.unanswered(listener.now) })).toMatch(
      /^You leave this question unanswered/u,
    );
    listener.announcer.connection("connected", "Planner", listener.now);
    listener.wait(10_000);
    expect(listener.texts.slice(3)).toEqual(["Connected to Planner again.", sent]);
    expect(textOf({ runs: listener.announcer.unanswered(listener.now) })).toBe(sent);
  });
});
