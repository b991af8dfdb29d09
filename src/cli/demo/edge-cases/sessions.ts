/** Sessions that are hard to keep apart or to keep up with: too quick, too quiet, too many, too much alike. */
import type { Act, Scenario } from "../scenario.ts";

const rapidStates: Scenario = {
  name: "rapid-states",
  about: "Two hundred changes of state in a row, some of them unheard of.",
  opening: "Changing my mind all the time.",
  language: "en",
  async play({ session }) {
    const states = ["thinking", "deciding", "calling_tool", "consulting_the_oracle"];
    for (let i = 0; i < 200; i++) await session.state(states[i % states.length]!);
    await session.state("thinking");
  },
};

const silence: Scenario = {
  name: "silence",
  about: "A tool that says nothing for forty-five seconds.",
  opening: "Doing something slow.",
  language: "en",
  async play(act) {
    await act.session.tool(
      { tool: "slow_search", summary: "Searching the archive.", expected_duration_ms: 45_000 },
      () => act.wait(45_000),
    );
    await act.say("Found nothing, as one does.");
  },
};

const toolTimeout: Scenario = {
  name: "tool-timeout",
  about: "A tool that takes too long and is reported so.",
  opening: "Waiting for a tool that does not answer.",
  language: "en",
  async play(act) {
    await act.session
      .tool({ tool: "ask_the_cellar", summary: "Calling the cellar.", timeoutMs: 2_000 }, () =>
        act.wait(60_000_000),
      )
      .catch((error: unknown) => {
        if (act.session.ended) throw error;
      });
    await act.say("Nobody answered in the cellar, so I went on without it.");
  },
};

const parallelTools: Scenario = {
  name: "parallel-tools",
  about: "Three tools at once that end in another order than they began.",
  opening: "Doing three things at once.",
  language: "en",
  async play(act) {
    const look = (tool: string, where: string, ms: number) =>
      act.session.tool({ tool, summary: `Looking ${where}.`, done: `Nothing ${where}.` }, () => act.wait(ms));
    await Promise.all([
      look("look_upstairs", "upstairs", 2_400),
      look("look_downstairs", "downstairs", 1_600),
      look("look_outside", "outside", 800),
    ]);
    await act.say("The keys were in my pocket.");
  },
};

const counting = (name: string) => async (act: Act) => {
  for (const [i, number] of ["one", "two", "three"].entries()) {
    await act.session.progress({ step: i + 1, total_steps: 3, summary: `${name}: ${number}.` });
    await act.wait(800);
  }
  await act.say(`${name} has finished. `);
};

const threeSessions: Scenario = {
  name: "three-sessions",
  about: "Three sessions that talk at the same time.",
  opening: "The first of three.",
  language: "en",
  async play(act) {
    const others = [
      act.beside("The second of three.", counting("The second")),
      act.beside("The third of three.", counting("The third")),
    ];
    await counting("The first")(act);
    await Promise.all(others);
  },
};

const sameWords: Scenario = {
  name: "same-words",
  about: "Two sessions with the same words: duplicates to the ear, and yet two.",
  opening: "Checking the door.",
  language: "en",
  async play(act) {
    const check = async (one: Act) => {
      for (let i = 0; i < 3; i++) {
        await one.session.tool({ tool: "check_door", summary: "Checking the door." }, () => one.wait(500));
      }
      await one.say("The door is shut. The door is shut. ");
    };
    await Promise.all([act.beside("Checking the door.", check), check(act)]);
  },
};

const gap: Scenario = {
  name: "gap",
  about:
    "More than a slow listener can be given before an urgent question: it hears that something was skipped.",
  opening: "Getting ahead of you.",
  language: "en",
  async play(act) {
    const { session } = act;
    for (let i = 1; i <= 60; i++)
      await session.tool({ tool: "look_into_box", summary: `Looking into box ${i}.` }, () => i);
    const agreed = await session.confirm({
      action: "Go on after skipping so much.",
      consequence: "The demo ends a little later. Nothing real happens.",
      risk: "low",
      timeout_seconds: 60,
    });
    await act.say(agreed.accepted ? "Going on. " : `${agreed.summary} `);
  },
};

const tour: Scenario = {
  name: "tour",
  about: "All twelve kinds of event, in three sessions.",
  opening: "A tour of everything an agent can tell you.",
  language: "en",
  async play(act) {
    const { session } = act;
    await session.state("thinking", "Deciding where to begin.");
    await session.progress({ step: 1, total_steps: 3, description: "Packing." });
    await session.tool({ tool: "look_at_map", summary: "Looking at the map." }, () => act.wait(600));
    const name = await act.ask({ question: "What shall I call you?", default: "traveller" });
    const bought = await session.tool(
      {
        tool: "buy_ticket",
        summary: "Buying the ticket.",
        risk: "high",
        irreversible: true,
        params: { from: "Here", to: "There", price: 12 },
        action: ({ to, price }) => `Buy a ticket to ${to} for ${price} dollars.`,
        consequence: "The ticket cannot be given back. In this demo nothing real happens.",
      },
      () => act.wait(600),
    );
    await act.say(
      `Well, ${String(name).slice(0, 100)}: ${bought.ran ? "I pretended to buy it." : bought.summary} `,
    );
    await act.beside("Something that fails.", async (beside) => {
      await beside.wait(500);
      await beside.session.fail({
        summary: "The train is late.",
        category: "transient",
        recoverable: true,
        remediation_hint: "Wait a little.",
      });
    });
    await act.beside("Something that is called off.", async (beside) => {
      await beside.wait(500);
      await beside.session.cancel({
        by: "producer",
        summary: "The museum is closed, so this was called off.",
      });
    });
    await session.handoff({ reason: "A guide knows more than a script.", target_kind: "human" });
    return "The tour is over. Nothing of it was real.";
  },
};

export const SESSIONS: readonly Scenario[] = [
  rapidStates,
  silence,
  toolTimeout,
  parallelTools,
  threeSessions,
  sameWords,
  gap,
  tour,
];
