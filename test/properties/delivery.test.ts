/** Delivery for random events, subscriptions and connection losses (5.3 to 5.9, 8.2; CON-06, 16, 21, 24, 76). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeId } from "../../src/delivery/cursor.ts";
import { applyShape, type Shape, shapeOf } from "../../src/delivery/shape.ts";
import { isCritical } from "../../src/protocol/filters.ts";
import type { Terms } from "../../src/protocol/negotiate.ts";
import type { Capabilities } from "../../src/protocol/types.ts";
import { Ear, isGap, LogText } from "../support/checking-listener.ts";
import { type Listener, REGISTRY, World } from "../support/delivery-harness.ts";
import { termsArbitrary, termsOf } from "../support/terms.ts";
import { type Said, Script, talk } from "../support/text-sessions.ts";

const LONG = process.env["EARSHOT_LONG"] === "1";
const runs = (count: number) => ({
  numRuns: LONG ? count * 20 : count,
});

type Step =
  | { do: "say"; session: number }
  | { do: "pass"; ms: number }
  | { do: "join"; listener: number }
  | { do: "cut"; listener: number; lost: number }
  | { do: "resume"; listener: number; terms: number; told: boolean }
  | { do: "change"; listener: number; terms: number }
  | { do: "block"; listener: number }
  | { do: "unblock"; listener: number }
  | { do: "restart" };

const who = fc.nat(3);
const saying = fc.record({ do: fc.constant("say" as const), session: fc.nat(2) });
const passing = fc.record({
  do: fc.constant("pass" as const),
  ms: fc.constantFrom(0, 1, 50, 400, 1000, 5000),
});
const joining = fc.record({ do: fc.constant("join" as const), listener: who });
/** No faults and no renegotiation. */
const quietly: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: saying },
  { weight: 3, arbitrary: passing },
  { weight: 1, arbitrary: joining },
);
/** The first subscriber loses its connection and resumes under the same, known terms. */
const comeBack: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("cut" as const), listener: fc.constant(0), lost: fc.nat(6) }),
  fc.record({
    do: fc.constant("resume" as const),
    listener: fc.constant(0),
    terms: fc.constant(0),
    told: fc.constant(true),
  }),
  fc.record({ do: fc.constant("restart" as const) }),
);
const quiet: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: quietly },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom("block" as const, "unblock" as const),
      listener: fc.constant(0),
    }),
  },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 30, arbitrary: saying },
  { weight: 8, arbitrary: passing },
  { weight: 2, arbitrary: joining },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("cut" as const), listener: who, lost: fc.nat(6) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("resume" as const),
      listener: who,
      terms: fc.nat(5),
      told: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("change" as const), listener: who, terms: fc.nat(5) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("block" as const), listener: who }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("unblock" as const), listener: who }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
);

/** Always some open text, some pending events and some new ones. */
const fickle: fc.Arbitrary<Step> = fc.oneof(
  { weight: 14, arbitrary: fc.record({ do: fc.constant("say" as const), session: fc.nat(1) }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.constantFrom(1, 100, 400, 1000) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("change" as const),
      listener: fc.constantFrom(0, 2),
      terms: fc.nat(5),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom("block" as const, "unblock" as const),
      listener: fc.constantFrom(0, 2),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("cut" as const),
      listener: fc.constantFrom(0, 2),
      lost: fc.nat(3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("resume" as const),
      listener: fc.constantFrom(0, 2),
      terms: fc.nat(5),
      told: fc.constant(true),
    }),
  },
);

const slowTerms: fc.Arbitrary<Terms> = fc
  .record(
    {
      max_events_per_second: fc.constantFrom(1, 2, 5),
      coalesce_boundaries: fc.constantFrom(["none"], ["word"], ["sentence"], ["paragraph"], ["completion"]),
      supports_confirmation_reply: fc.constant(true),
      supports_clarification_reply: fc.constant(true),
      event_filters: fc.constantFrom(
        { include: ["*"] },
        { include: ["*"] },
        { exclude: ["aaep:agent.tool.*"] },
      ),
    },
    { requiredKeys: ["supports_confirmation_reply", "supports_clarification_reply", "coalesce_boundaries"] },
  )
  .map((capabilities) => termsOf(capabilities as unknown as Capabilities));

const VIEWS = [undefined, undefined, ["sess_s0", "sess_s1"], ["sess_s0"]] as const;

interface Story {
  sessions: Said[][];
  steps: Step[];
  terms: Terms[];
  lagBound: number;
  window: number;
}

const story = (steps: fc.Arbitrary<Step> = step): fc.Arbitrary<Story> =>
  fc
    .record({
      sessions: fc.tuple(talk("s0"), talk("s1", 12), talk("s2", 12)).map((all) => [...all]),
      steps: fc.array(steps, { maxLength: 90, size: "max" }),
      terms: fc.array(termsArbitrary, { minLength: 6, maxLength: 6 }),
      lagBound: fc.constantFrom(256, 256, 6),
      window: fc.constantFrom(100_000, 100_000, 100_000, 12),
    })
    .map((told) => ({ ...told, [fc.toStringMethod]: () => inShort(told) }));

const USUAL = termsOf();

/** A readable counterexample. */
function inShort({ sessions, steps, terms, lagBound, window }: Story): string {
  const lines = sessions.map((all, index) => {
    const said = all.map(({ event, required }) => {
      const { type, chunk, output_id, complete, to_state, language } = event as unknown as Record<
        string,
        unknown
      >;
      const more = [
        chunk === undefined ? "" : JSON.stringify(chunk),
        output_id,
        complete ? "END" : "",
        to_state,
        language,
        required ? "required" : "",
      ];
      return `${(type as string).replace("aaep:agent.", "")} ${more.filter(Boolean).join(" ")}`.trim();
    });
    return `s${index}: ${said.join("; ")}`;
  });
  const acts = steps.map((one) => Object.values(one).join(" "));
  const kept = terms.map(
    (one, index) =>
      `t${index}: ${JSON.stringify(Object.fromEntries(Object.entries(one).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(USUAL[name as keyof Terms]))))}`,
  );
  return [`lag ${lagBound}, window ${window}`, ...lines, acts.join("; "), ...kept].join("\n");
}

interface Played {
  world: World;
  script: Script;
}

interface Stage extends Played {
  say(session: number): Promise<void>;
  do(step: Step): Promise<void>;
}

type Watch = (world: World, said: Said, before: number) => void;

/** Two subscriptions exist from the start; the others join during the story. */
async function start(told: Story, steps: readonly Step[], only?: number, watch?: Watch): Promise<Stage> {
  const world = new World(told);
  const script = new Script();
  const places = told.sessions.map(() => 0);
  const cast = VIEWS.map((view, index) => world.listener(`listener ${index}`, told.terms[index]!, view));
  const on = (index: number): Listener | undefined =>
    only === undefined || only === index ? cast[index] : undefined;
  const stage: Stage = {
    world,
    script,
    async say(session) {
      const said = told.sessions[session]![places[session]!++];
      if (!said) return;
      script.hear(said);
      const before = world.entries.length;
      await world.say(said.event, { required: said.required });
      watch?.(world, said, before);
    },
    async do(one) {
      if (one.do === "say") await stage.say(one.session);
      else if (one.do === "pass") world.pass(one.ms);
      else if (one.do === "restart") world.restart();
      else if (on(one.listener)) await act(world, on(one.listener)!, one, told.terms);
    },
  };
  for (const index of [0, 2]) if (on(index)) world.attach(on(index)!);
  for (const one of steps) await stage.do(one);
  return stage;
}

/** Plays the rest of the story and delivers everything to all subscriptions. */
async function finish(told: Story, stage: Stage, steps: readonly Step[]): Promise<Played> {
  const { world } = stage;
  for (const one of steps) await stage.do(one);
  for (const [session, said] of told.sessions.entries())
    for (let i = 0; i < said.length; i++) await stage.say(session);
  await world.settle();
  for (const listener of world.listeners) {
    if (!listener.attachment && listener.heard.length > 0) world.attach(listener, world.cursorOf(listener));
  }
  await world.settle();
  return stage;
}

const play = async (told: Story, only?: number, watch?: Watch): Promise<Played> =>
  finish(told, await start(told, told.steps, only, watch), []);

async function act(
  world: World,
  listener: Listener,
  one: Exclude<Step, { do: "say" | "pass" | "restart" }>,
  terms: Terms[],
): Promise<void> {
  const isNew = listener.heard.length === 0 && !listener.attachment;
  if (one.do === "join" && isNew) world.attach(listener);
  else if (one.do === "cut" && listener.attachment) world.cut(listener, one.lost);
  else if (one.do === "change" && listener.attachment) world.renegotiate(listener, terms[one.terms]!);
  else if (one.do === "block") listener.blocks = true;
  else if (one.do === "unblock") {
    listener.blocks = false;
    await world.unblock(listener);
  } else if (one.do === "resume" && !isNew && !listener.attachment) {
    const cursor = world.cursorOf(listener);
    if (one.terms > 2) listener.terms = terms[one.terms]!;
    const resume = cursor && (one.told ? cursor : { event_id: cursor.event_id });
    if (resume) world.attach(listener, resume);
    else world.attach(listener);
  }
}

const earsOf = ({ world }: Played) =>
  world.listeners
    .filter(({ moments }) => moments.length > 0)
    .map((listener) => ({ listener, ear: new Ear(listener, world.entries, world.store.identity) }));

describe("whatever is said, cut, blocked, resumed or renegotiated", () => {
  it("each listener gets a legal, strictly valid stream of what was said, once, in order, or is told of its gap (DEL-01, DEL-18, TRN-03, HS-08, HS-16, I18N-09, EVT-17, EVT-18)", async () => {
    await fc.assert(
      fc.asyncProperty(story(), async (told) => {
        const played = await play(told);
        const log = new LogText(played.world.entries);
        for (const [key, text] of played.script.texts) {
          expect((log.texts.get(key) ?? []).join("").normalize("NFC")).toBe(text);
        }
        for (const { listener, ear } of earsOf(played)) {
          expect(ear.complaints).toEqual([]);
          expect(ear.missed).toEqual([]);
          if (!ear.whole) continue;
          for (const [key, points] of log.texts) {
            if (!listener.view.hears({ session_id: key.split(" ")[0] } as never)) continue;
            expect(ear.text(key), `${listener.name}, ${key}`).toBe(points.join(""));
            expect(ear.outputs.get(key)!.complete).toBe(true);
          }
        }
      }),
      runs(150),
    );
  });

  it("loses nothing for listeners that are slow and change their minds all the time (HS-16)", async () => {
    await fc.assert(
      fc.asyncProperty(
        story(fickle),
        fc.array(slowTerms, { minLength: 6, maxLength: 6 }),
        async (told, terms) => {
          const played = await play({ ...told, terms });
          for (const { ear } of earsOf(played)) expect([...ear.complaints, ...ear.missed]).toEqual([]);
        },
      ),
      runs(200),
    );
  });

  it("shares no byte between views, whatever the terms (SEC-15)", async () => {
    await fc.assert(
      fc.asyncProperty(story(), async (told) => {
        // Two subscriptions with equal terms and different sessions.
        const equal = { ...told, terms: told.terms.map((_, index, all) => all[index % 2]!) };
        const { world } = await play(equal);
        expect(world.shared).toEqual([]);
      }),
      runs(60),
    );
  });

  it("gives each listener the same, whether or not there are others (DEL-15)", async () => {
    await fc.assert(
      fc.asyncProperty(story(), fc.nat(3), async (told, index) => {
        const [together, alone] = [await play(told), await play(told, index)];
        const streams = [together, alone].map(({ world }) =>
          world.listeners[index]!.sent.map(({ delivery, at }) => {
            const random = typeof decodeId(world.store.identity, delivery.event_id) === "string";
            return `${at} ${random ? delivery.json.replaceAll(delivery.event_id, "*") : delivery.json}`;
          }),
        );
        expect(streams[0]).toEqual(streams[1]);
      }),
      runs(60),
    );
  });

  it("repeats nothing where the terms of the cursor are known, on this process or another (DEL-16, CON-76)", async () => {
    const change = fc.record({
      live: fc.boolean(),
      lost: fc.nat(6),
      restart: fc.boolean(),
      after: fc.nat(60),
    });
    await fc.assert(
      fc.asyncProperty(
        story(fc.oneof({ weight: 5, arbitrary: quiet }, { weight: 1, arbitrary: comeBack })),
        change,
        async (told, { live, lost, restart, after }) => {
          const [earlier, later] = [told.steps.slice(0, after), told.steps.slice(after)];
          const world = await start(told, earlier);
          const [listener] = world.world.listeners;
          if (!live) {
            if (listener!.attachment) world.world.cut(listener!, lost);
            if (restart) world.world.restart();
            listener!.terms = told.terms[5]!;
            world.world.attach(listener!, world.world.cursorOf(listener!));
          } else if (listener!.attachment) world.world.renegotiate(listener!, told.terms[5]!);
          await finish(
            told,
            world,
            later.filter(
              (one) => one.do === "say" || one.do === "pass" || one.do === "block" || one.do === "unblock",
            ),
          );
          const ear = new Ear(listener!, world.world.entries, world.world.store.identity);
          expect([...ear.complaints, ...ear.missed]).toEqual([]);
          // After an announced gap, the current sentence is delivered from its start.
          const misplaced = listener!.moments.some((one) => one.what === "attach" && one.start === "aged");
          if (!misplaced) expect(ear.overlap).toBe(0);
          const ids = listener!.sent
            .filter(({ delivery }) => delivery.token === undefined)
            .map(({ delivery }) => delivery.event_id);
          expect(new Set(ids).size).toBe(ids.length);
        },
      ),
      runs(150),
    );
  });
});

const limitedTerms = termsArbitrary.map((terms) => ({
  ...terms,
  max_events_per_second: terms.max_events_per_second === Infinity ? 2 : terms.max_events_per_second,
}));

describe("the honored rate", () => {
  it("holds in every window, flushes ahead of critical events within their debt (DEL-05, DEL-06, DEL-08, DEL-12, SEC-07)", async () => {
    await fc.assert(
      fc.asyncProperty(
        story(fc.oneof({ weight: 8, arbitrary: quietly }, { weight: 1, arbitrary: comeBack })),
        limitedTerms,
        async (told, terms) => {
          const { world } = await play({
            ...told,
            terms: told.terms.map((_, index) => (index % 2 ? _ : terms)),
          });
          for (const listener of world.listeners) expect(overspent(listener)).toEqual([]);
        },
      ),
      runs(150),
    );
  });
});

/** Checks a stream against an independent token bucket: events sent too early, and overdrafts. */
function overspent(listener: Listener): string[] {
  const found: string[] = [];
  const moments = [...listener.wire, ...listener.line];
  const pressed = new Set(
    moments.flatMap((one) =>
      one.what !== "sent" || one.delivery.critical || isGap(one.event) ? [one.at] : [],
    ),
  );
  let due = -Infinity;
  let free: number[] = [];
  for (const one of moments) {
    if (one.what !== "sent") {
      due = -Infinity;
      free = [];
      continue;
    }
    const rate = one.terms.max_events_per_second;
    if (one.delivery.critical || rate === Infinity) continue;
    const interval = 1000 / rate;
    const depth = Math.max(1, rate / 100);
    const told =
      one.event.type === "aaep:agent.state.changed" &&
      one.event.from_state === one.event.to_state &&
      !one.delivery.cursor;
    const early = due - (depth - 1) * interval > one.at + 1e-6;
    if (early && !pressed.has(one.at))
      found.push(`${listener.name} at ${one.at}, due ${due}: ${one.delivery.json}`);
    due = Math.max(due, one.at) + (told && pressed.has(one.at) ? 0 : interval);
    if (
      !told &&
      due > one.at + (Math.max(5, rate) + 1) * interval + 1e-6 &&
      !moments.some((other) => other.what === "sent" && other.at === one.at && isGap(other.event))
    ) {
      found.push(`${listener.name} owes too much at ${one.at}: ${one.delivery.json}`);
    }
    if (pressed.has(one.at)) free = [];
    else free = [...free.filter((at) => at > one.at - 1000), one.at];
    if (free.length > Math.max(rate, 1) + (rate > 100 ? depth : 0))
      found.push(`${listener.name}: ${free.length} events in a second at ${one.at}`);
  }
  return found;
}

describe("a critical event", () => {
  it("leaves in the tick it is logged, with all that precedes it before it (DEL-03, DEL-04, CON-06)", async () => {
    await fc.assert(
      fc.asyncProperty(story(quietly), async (told) => {
        await play(told, undefined, (world, { event, required }, before) => {
          const entry = world.entries.slice(before).at(-1);
          if (!entry) return;
          for (const listener of world.listeners) {
            if (!listener.attachment || !listener.view.hears(entry.event as never)) continue;
            const shape = shapeOf(listener.terms, REGISTRY);
            const pressing =
              isCritical(event) ||
              (required && applyShape({ seq: 0, event, required }, shape, undefined)?.urgency === "critical");
            if (!pressing) continue;
            const last = listener.sent.at(-1)!;
            expect([last.at, last.delivery.critical, last.event.session_id]).toEqual([
              world.now,
              true,
              event.session_id,
            ]);
            expect([entry.event.event_id, undefined]).toContain(
              shapeAnswers(shape, event.type) ? last.delivery.event_id : undefined,
            );
            if (
              listener.events.some(isGap) ||
              listener.name !== "listener 0" ||
              !shape.passes("aaep:agent.output.streaming")
            )
              continue;
            const ear = new Ear(listener, world.entries, world.store.identity);
            for (const [key, points] of new LogText(world.entries).texts) {
              if (key.startsWith(`${event.session_id} `)) expect(ear.text(key)).toBe(points.join(""));
            }
          }
        });
      }),
      runs(100),
    );
  });
});

const shapeAnswers = (shape: Shape, type: string): boolean =>
  type === "aaep:agent.awaiting.confirmation"
    ? shape.confirmation
    : type === "aaep:agent.awaiting.clarification"
      ? shape.clarification
      : true;
