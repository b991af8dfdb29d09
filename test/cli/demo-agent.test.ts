/** The demo agent by itself: every scenario to its end, in every language, with answers, without, and stopped. */
import { afterEach, describe, expect, it } from "vitest";
import { createDemo, type Demo } from "../../src/cli/demo/agent.ts";
import { languageOf, matchScenario } from "../../src/cli/demo/match.ts";
import { AWKWARD, HOUSEHOLD, SCENARIOS } from "../../src/cli/demo/scenarios.ts";
import { LANGUAGES } from "../../src/cli/demo/words.ts";
import { type CoreEvent, parseValue } from "../../src/protocol/index.ts";
import { startLifecycle, stepLifecycle } from "../../src/protocol/lifecycle.ts";
import { createFakeClock, type ListenerOptions, listen, type TestListener } from "../../src/testing/index.ts";

const failures: string[] = [];
afterEach(() => {
  expect(failures.splice(0)).toEqual([]);
});

function world(options: ListenerOptions = {}): { demo: Demo; ear: TestListener; clock: ReturnType<typeof createFakeClock> } {
  const clock = createFakeClock();
  const demo = createDemo({
    clock,
    warn: () => undefined,
    failed: (name, error) => failures.push(`${name}: ${String((error as Error).stack ?? error)}`),
  });
  return { demo, clock, ear: listen(demo.producer, options) };
}

const agreeable: ListenerOptions = {
  confirm: () => "accept",
  clarify: ({ accepted_response_kinds: [kind] = ["freetext"], choices }) =>
    kind === "numeric" ? 4 : kind === "yes_no" ? true : kind === "multiple_choice" ? choices![1]!.value : "Lima",
};
const typesOf = (events: readonly CoreEvent[]): string[] => [...new Set(events.map(({ type }) => type))].sort();

/** Ten minutes are enough for everything that ends by itself. */
async function playOut({ demo, clock }: { demo: Demo; clock: ReturnType<typeof createFakeClock> }): Promise<void> {
  for (let i = 0; i < 700 && demo.running > 0; i++) await clock.advance(1_000);
  expect(demo.running).toBe(0);
}

function checked(ear: TestListener): void {
  const sessions = new Map<string, ReturnType<typeof startLifecycle>>();
  for (const event of ear.events) {
    expect(parseValue(event, { mode: "strict" })).toMatchObject({ ok: true });
    const life = sessions.get(event.session_id) ?? startLifecycle({ event_ids: "trusted", replies: "unseen", state_chain: "sampled" });
    const { state, violations } = stepLifecycle(life, event);
    expect(violations).toEqual([]);
    sessions.set(event.session_id, state);
  }
  for (const { phase } of sessions.values()) expect(phase).toBe("ended");
}

describe("every scenario", () => {
  it.each(SCENARIOS.map(({ name }) => name))("%s: plays to its end for somebody who says yes", async (name) => {
    const at = world(agreeable);
    at.demo.play(name);
    await playOut(at);
    checked(at.ear);
  });
});
