/** Random sessions: valid ones are accepted wherever the stream starts, and every injected fault is reported. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createScribe,
  createWriter,
  EXTENSIONS,
  isEvent,
  legalScript,
  legalSession,
  resolved,
} from "../../test/support/legal-session.ts";
import {
  type CheckOptions,
  checkSession,
  checkStream,
  gapLifecycle,
  type Lifecycle,
  type LifecycleInput,
  type LifecycleOptions,
  startLifecycle,
  stepLifecycle,
} from "./lifecycle.ts";
import { parseValue } from "./parse.ts";
import type { AgentEvent, StateChanged } from "./types.ts";

const seen = { replies: "seen" } as const;
const mid = { joined: "mid" } as const;

function fold(events: Iterable<LifecycleInput>, state: Lifecycle = startLifecycle()): Lifecycle {
  let next = state;
  for (const event of events) next = stepLifecycle(next, event).state;
  return next;
}

function checkRest(state: Lifecycle, rest: Iterable<LifecycleInput>): string[] {
  const found: string[] = [];
  let next = state;
  for (const event of rest) {
    const step = stepLifecycle(next, event);
    next = step.state;
    for (const { id } of step.violations) found.push(id);
  }
  return found;
}

const RUNS = { numRuns: 300 };
const bothWays = fc.constantFrom<LifecycleOptions>({}, seen);
const anyScript = fc
  .record({ numbered: fc.boolean(), extension: fc.boolean() })
  .chain((options) => legalScript(options));

it("a state is a value: stepping twice from one state gives the same answer, whatever happened in between", () => {
  fc.assert(
    fc.property(legalScript({ moves: 15 }), legalScript({ moves: 15 }), fc.nat(), (script, other, at) => {
      const cut = at % script.length;
      const state = fold(script.slice(0, cut));
      const before = checkRest(state, script.slice(cut));
      checkRest(state, other);
      expect(checkRest(state, script.slice(cut))).toEqual(before);
      expect(before).toEqual([]);
    }),
  );
});

describe("a legal session", () => {
  it("is made of strictly valid events", () => {
    fc.assert(
      fc.property(anyScript, (script) => {
        for (const event of script.filter(isEvent)) {
          const parsed = parseValue(event, { mode: "strict", extensions: EXTENSIONS });
          expect(parsed.ok ? [] : parsed.issues).toEqual([]);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("breaks no rule, whether replies are seen or not", () => {
    fc.assert(
      fc.property(anyScript, bothWays, (script, options) => {
        expect(checkSession(script, { ...options, ended: true })).toEqual([]);
        expect(checkSession(script.filter(isEvent), { ended: true })).toEqual([]);
      }),
      RUNS,
    );
  });

  it("breaks no rule when joined midway", () => {
    fc.assert(
      fc.property(anyScript, bothWays, fc.nat(), (script, options, at) => {
        const suffix = script.slice(at % script.length);
        expect(checkSession(suffix, { ...options, ...mid, ended: true })).toEqual([]);
      }),
      RUNS,
    );
  });

  it("breaks no rule when a part of it is missed and said to be", () => {
    fc.assert(
      fc.property(anyScript, bothWays, fc.nat(), fc.nat(), (script, options, a, b) => {
        const [from, to] = [a % script.length, b % script.length].sort((x, y) => x - y) as [number, number];
        const state = gapLifecycle(fold(script.slice(0, from), startLifecycle(options)));
        expect(checkRest(state, script.slice(to))).toEqual([]);
      }),
      RUNS,
    );
  });

  it("breaks no rule when some types are filtered out, joined midway or not", () => {
    const filtered = fc.tuple(anyScript, fc.func(fc.boolean()), bothWays, fc.nat());
    fc.assert(
      fc.property(filtered, ([script, visible, options, at]) => {
        const events = script.filter((one) => !isEvent(one) || visible(one.type));
        expect(checkSession(events, { ...options, visible, ended: true })).toEqual([]);
        const suffix = events.slice(at % (events.length + 1));
        expect(checkSession(suffix, { ...options, ...mid, visible, ended: true })).toEqual([]);
      }),
      RUNS,
    );
  });

  it("breaks no rule when its states are merged or dropped", () => {
    fc.assert(
      fc.property(
        anyScript,
        bothWays,
        fc.infiniteStream(fc.constantFrom("keep", "merge", "drop")),
        (script, options, fates) => {
          const sampled: LifecycleInput[] = [];
          let from: string | undefined;
          for (const one of script) {
            const event = one as StateChanged;
            const fate = event.type === "aaep:agent.state.changed" ? fates.next().value : "keep";
            if (fate === "drop") continue;
            if (fate === "merge") {
              from ??= event.from_state;
              continue;
            }
            const isMerged = event.type === "aaep:agent.state.changed" && from !== undefined;
            sampled.push(isMerged ? { ...event, from_state: from! } : one);
            if (isMerged) from = undefined;
          }
          expect(checkSession(sampled, { ...options, stateChain: "sampled", ended: true })).toEqual([]);
        },
      ),
      RUNS,
    );
  });

  it("breaks no rule when sessions are interleaved", () => {
    const pair = fc.tuple(
      legalScript({ tag: "a1" }),
      legalScript({ tag: "b2" }),
      fc.infiniteStream(fc.boolean()),
      bothWays,
    );
    fc.assert(
      fc.property(pair, ([a, b, turns, options]) => {
        const [left, right] = [[...a], [...b]];
        const mixed: LifecycleInput[] = [];
        while (left.length + right.length > 0) {
          const side = (turns.next().value && left.length > 0) || right.length === 0 ? left : right;
          mixed.push(side.shift()!);
        }
        expect(checkStream(mixed, { ...options, ended: true })).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});

interface Fault {
  what: string;
  id: string;
  /** Violations that may follow from the fault; any other would be a false report. */
  also?: string[];
  options?: CheckOptions;
  /** `at` is a random place after the start and before the end. */
  inject(script: readonly LifecycleInput[], at: number, w: ReturnType<typeof createWriter>): LifecycleInput[];
}

/** Inserts events into a script, each with the timestamp of the previous one. */
function insert(script: readonly LifecycleInput[], at: number, ...added: LifecycleInput[]): LifecycleInput[] {
  const { timestamp } = script.slice(0, at).filter(isEvent).at(-1)!;
  const timed = added.map((one) => (isEvent(one) ? { ...one, timestamp } : one)) as LifecycleInput[];
  return [...script.slice(0, at), ...timed, ...script.slice(at)];
}

const numbered = (
  script: readonly LifecycleInput[],
  number: (i: number) => number | undefined,
): LifecycleInput[] =>
  script.filter(isEvent).map((event, i) => {
    const sequence_number = number(i);
    return sequence_number === undefined ? event : ({ ...event, sequence_number } as AgentEvent);
  });

const FAULTS: Fault[] = [
  { what: "no start", id: "SEQ-01", inject: (script) => script.slice(1) },
  { what: "two starts", id: "SEQ-01", inject: (script, at, w) => insert(script, at, w.started()) },
  { what: "no end", id: "SEQ-02", options: { ended: true }, inject: (script) => script.slice(0, -1) },
  { what: "two ends", id: "SEQ-02", inject: (script, _, w) => insert(script, script.length, w.cancelled()) },
  {
    what: "a late start",
    id: "SEQ-03",
    also: ["SEQ-01", "ENV-15"],
    inject: (script, at) => [
      ...script.slice(1, at),
      ...script.slice(at, at + 1),
      script[0]!,
      ...script.slice(at + 1),
    ],
  },
  {
    what: "an event after the end",
    id: "SEQ-03",
    inject: (script, _, w) => insert(script, script.length, w.progress()),
  },
  {
    what: "a success after a failure",
    id: "SEQ-04",
    inject: (script, _, w) => insert(script.slice(0, -1), script.length - 1, w.errored(), w.completed()),
  },
  {
    what: "a first state that is not idle",
    id: "SEQ-05",
    inject: (script, _, w) => insert(script, 1, w.state("deciding", "idle")),
  },
  {
    what: "a state out of nowhere",
    id: "SEQ-06",
    also: ["SEQ-19"],
    inject: (script, at, w) => {
      const current = fold(script.slice(0, at)).currentState!;
      return insert(script, at, w.state(current, "here"), w.state("elsewhere", current));
    },
  },
  {
    what: "a completion by itself",
    id: "SEQ-09",
    inject: (script, at, w) => insert(script, at, w.done("absent", "call_x")),
  },
  {
    what: "a call left open",
    id: "SEQ-10",
    inject: (script, at, w) => insert(script, at, w.call("search", "call_x")),
  },
  {
    what: "a call completed twice",
    id: "SEQ-10",
    inject: (script, at, w) =>
      insert(script, at, w.call("search", "call_x"), w.done("search", "call_x"), w.done("search", "call_x")),
  },
  {
    what: "a call id used twice",
    id: "SEQ-11",
    inject: (script, at, w) =>
      insert(script, at, ...[1, 2].flatMap(() => [w.call("search", "call_x"), w.done("search", "call_x")])),
  },
  {
    what: "a call that changes its name",
    id: "SEQ-11",
    inject: (script, at, w) => insert(script, at, w.call("search", "call_x"), w.done("fetch", "call_x")),
  },
  {
    what: "an irreversible call nobody was asked about",
    id: "SEQ-14",
    inject: (script, _, w) => insert(script, 1, w.call("wipe", "call_x", true), w.done("wipe", "call_x")),
  },
  {
    what: "an irreversible call that took silence for a yes",
    id: "SEQ-14",
    also: ["SEQ-19"],
    options: seen,
    inject: (script, at, w) =>
      insert(
        script,
        at,
        w.confirm("rpl_x", "Wipe it.", "call_x"),
        resolved("rpl_x", "timeout_accept"),
        w.call("wipe", "call_x", true),
        w.done("wipe", "call_x"),
      ),
  },
  {
    what: "one yes for two calls",
    id: "SEQ-14",
    options: seen,
    inject: (script, _, w) =>
      insert(
        script,
        1,
        w.state("idle", "awaiting_input"),
        w.confirm("rpl_x", "Wipe it."),
        resolved("rpl_x", "accept"),
        w.state("awaiting_input", "idle"),
        ...["call_x", "call_y"].flatMap((id) => [w.call("wipe", id, true), w.done("wipe", id)]),
      ),
  },
  {
    what: "a call after a no",
    id: "SEQ-16",
    also: ["SEQ-19"],
    options: seen,
    inject: (script, at, w) =>
      insert(
        script,
        at,
        w.confirm("rpl_x", "Wipe it.", "call_x"),
        resolved("rpl_x", "reject"),
        w.call("wipe", "call_x"),
        w.done("wipe", "call_x"),
      ),
  },
  {
    what: "the same question twice",
    id: "SEQ-25",
    also: ["SEQ-19"],
    inject: (script, at, w) =>
      insert(script, at, w.confirm("rpl_x", "Wipe it."), w.confirm("rpl_y", "Wipe it.")),
  },
  {
    what: "an output left open",
    id: "SEQ-20",
    inject: (script, at, w) => insert(script, at, w.say("Hm", 0, false, "out_x")),
  },
  {
    what: "a chunk after the last",
    id: "SEQ-21",
    inject: (script, at, w) =>
      insert(script, at, w.say("Hm", 0, true, "out_x"), w.say("Oh", 2, true, "out_x")),
  },
  {
    what: "a chunk that goes back",
    id: "SEQ-22",
    inject: (script, at, w) =>
      insert(script, at, w.say("Hm", 5, false, "out_x"), w.say("Oh", 3, true, "out_x")),
  },
  {
    what: "two texts in one place",
    id: "SEQ-22",
    inject: (script, at, w) =>
      insert(script, at, w.say("Hm", 5, false, "out_x"), w.say("Oh", 5, true, "out_x")),
  },
  {
    what: "an event id used twice",
    id: "ENV-10",
    inject: (script, at, w) =>
      insert(script, at, { ...w.progress(), event_id: (script[0] as AgentEvent).event_id }),
  },
  {
    what: "an event from the past",
    id: "ENV-15",
    inject: (script, at, w) => [
      ...script.slice(0, at),
      { ...w.progress(), timestamp: "2026-05-24T14:22:11.341Z" },
      ...script.slice(at),
    ],
  },
  { what: "numbers from 1", id: "ENV-24", inject: (script) => numbered(script, (i) => i + 1) },
  {
    what: "a missing number",
    id: "ENV-24",
    inject: (script) => numbered(script, (i) => (i === 0 ? 0 : i + 1)),
  },
  {
    what: "an unnumbered event",
    id: "ENV-25",
    inject: (script) => numbered(script, (i) => (i === 1 ? undefined : i)),
  },
];

describe("a fault in a legal session", () => {
  it.each(FAULTS.map((fault) => [fault.what, fault.id, fault] as const))(
    "(%s) is named as %s",
    (_, id, { inject, options, also = [] }) => {
      fc.assert(
        fc.property(legalScript(), fc.nat(), (script, n) => {
          const at = 1 + (n % (script.length - 1));
          const faulty = inject(script, at, createWriter(createScribe({ tag: "fault" })));
          const sameSession = faulty.map((one) => (isEvent(one) ? { ...one, session_id: "sess_a1" } : one));
          const found = new Set(checkSession(sameSession as LifecycleInput[], options).map((one) => one.id));
          expect([...found]).toContain(id);
          expect([id, ...also]).toEqual(expect.arrayContaining([...found]));
        }),
        { numRuns: 100 },
      );
    },
  );
});

describe("names and sentences", () => {
  it("are there for every violation", () => {
    fc.assert(
      fc.property(
        fc.array(legalSession({ moves: 10 }), { minLength: 1, maxLength: 3 }),
        fc.nat(),
        (sessions, seed) => {
          // The same tag makes these one session full of duplicates, which must be reported and never throw.
          const jumble = sessions
            .flat()
            .sort((a, b) => ((a.event_id.length * seed) % 7) - ((b.event_id.length * seed) % 5));
          for (const { id, event_id, message } of checkSession(jumble, { ended: true })) {
            expect(id).toMatch(/^(SEQ|ENV|CNF)-\d\d$/);
            expect(jumble.some((one) => one.event_id === event_id)).toBe(true);
            expect(message).toMatch(/^\S.*[.]$/);
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});
