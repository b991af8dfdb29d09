/** Sessions that are hard to follow: too fast, too quiet, too many, too similar. */
import type { Scenario, ScenarioContext } from "../scenario.ts";

const rapidStates: Scenario = {
  name: "rapid-states",
  about: "Two hundred state changes in a row, some with unknown states.",
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
  about: "A tool that is silent for forty-five seconds.",
  opening: "Doing something slow.",
  language: "en",
  async play(context) {
    await context.session.tool(
      { tool: "slow_search", summary: "Searching the archive.", expected_duration_ms: 45_000 },
      () => context.wait(45_000),
    );
    await context.say("Found nothing, as one does.");
  },
};

const toolTimeout: Scenario = {
  name: "tool-timeout",
  about: "A tool that times out.",
  opening: "Waiting for a tool that does not answer.",
  language: "en",
  async play(context) {
    await context.session
      .tool({ tool: "ask_the_cellar", summary: "Calling the cellar.", timeoutMs: 2_000 }, () =>
        context.wait(60_000_000),
      )
      .catch((error: unknown) => {
        if (context.session.ended) throw error;
      });
    await context.say("Nobody answered in the cellar, so I went on without it.");
  },
};

const parallelTools: Scenario = {
  name: "parallel-tools",
  about: "Three parallel tools that end in a different order than they started.",
  opening: "Doing three things at once.",
  language: "en",
  async play(context) {
    const look = (tool: string, where: string, ms: number) =>
      context.session.tool({ tool, summary: `Looking ${where}.`, done: `Nothing ${where}.` }, () =>
        context.wait(ms),
      );
    await Promise.all([
      look("look_upstairs", "upstairs", 2_400),
      look("look_downstairs", "downstairs", 1_600),
      look("look_outside", "outside", 800),
    ]);
    await context.say("The keys were in my pocket.");
  },
};

const counting = (name: string) => async (context: ScenarioContext) => {
  for (const [i, number] of ["one", "two", "three"].entries()) {
    await context.session.progress({ step: i + 1, total_steps: 3, summary: `${name}: ${number}.` });
    await context.wait(800);
  }
  await context.say(`${name} has finished. `);
};

const threeSessions: Scenario = {
  name: "three-sessions",
  about: "Three sessions that talk at the same time.",
  opening: "The first of three.",
  language: "en",
  async play(context) {
    const others = [
      context.parallel("The second of three.", counting("The second")),
      context.parallel("The third of three.", counting("The third")),
    ];
    await counting("The first")(context);
    await Promise.all(others);
  },
};

const sameWords: Scenario = {
  name: "same-words",
  about: "Two sessions with the same words, which must not be deduplicated.",
  opening: "Checking the door.",
  language: "en",
  async play(context) {
    const check = async (one: ScenarioContext) => {
      for (let i = 0; i < 3; i++) {
        await one.session.tool({ tool: "check_door", summary: "Checking the door." }, () => one.wait(500));
      }
      await one.say("The door is shut. The door is shut. ");
    };
    await Promise.all([context.parallel("Checking the door.", check), check(context)]);
  },
};

const gap: Scenario = {
  name: "gap",
  about: "More text before an urgent question than a slow listener can be sent: it is told of a gap.",
  opening: "Getting ahead of you.",
  language: "en",
  async play(context) {
    const { session } = context;
    for (let i = 1; i <= 60; i++)
      await session.tool({ tool: "look_into_box", summary: `Looking into box ${i}.` }, () => i);
    const agreed = await session.confirm({
      action: "Go on after skipping so much.",
      consequence: "The demo ends a little later. Nothing real happens.",
      risk: "low",
      timeout_seconds: 60,
    });
    await context.say(agreed.accepted ? "Going on. " : `${agreed.summary} `);
  },
};

const tour: Scenario = {
  name: "tour",
  about: "All twelve kinds of event, in three sessions.",
  opening: "A tour of everything an agent can tell you.",
  language: "en",
  async play(context) {
    const { session } = context;
    await session.state("thinking", "Deciding where to begin.");
    await session.progress({ step: 1, total_steps: 3, description: "Packing." });
    await session.tool({ tool: "look_at_map", summary: "Looking at the map." }, () => context.wait(600));
    const name = await context.ask({ question: "What shall I call you?", default: "traveller" });
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
      () => context.wait(600),
    );
    await context.say(
      `Well, ${String(name).slice(0, 100)}: ${bought.ran ? "I pretended to buy it." : bought.summary} `,
    );
    await context.parallel("Something that fails.", async (beside) => {
      await beside.wait(500);
      await beside.session.fail({
        summary: "The train is late.",
        category: "transient",
        recoverable: true,
        remediation_hint: "Wait a little.",
      });
    });
    await context.parallel("Something that is called off.", async (beside) => {
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
