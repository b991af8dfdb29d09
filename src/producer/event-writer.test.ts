/** Text said token by token, among everything else a session does. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LogEntry } from "../delivery/entry.ts";
import { checkSession } from "../protocol/lifecycle.ts";
import type { OutputStreaming } from "../protocol/types.ts";
import { createMemoryStore } from "../stores/memory.ts";
import { createFakeClock } from "../testing/clock.ts";
import { createProducer } from "./producer.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

function agentWith(append = (_: readonly LogEntry[]): void => {}) {
  const logged: LogEntry[] = [];
  const clock = createFakeClock();
  const store = createMemoryStore();
  const agent = createProducer({
    agent_id: "com.example.stage",
    languages: ["en", "fr"],
    warn: () => {},
    clock,
    store: {
      ...store,
      append: async (entries, facts) => {
        append(entries);
        const first = await store.append(entries, facts);
        logged.push(...structuredClone(entries as LogEntry[]));
        return first;
      },
    },
  });
  return { agent, clock, logged };
}

/** One thing an agent does; nothing at all is a turn of the event loop. */
interface Step {
  readonly output?: number;
  readonly say?: string;
  readonly language?: string | undefined;
  readonly end?: boolean;
  readonly state?: string;
  readonly progress?: boolean;
  readonly tool?: boolean;
  readonly ms?: number;
}

const textOf = (logged: readonly LogEntry[], output_id: string) =>
  logged
    .map(({ event }) => event as OutputStreaming)
    .filter((event) => event.output_id === output_id)
    .map(({ chunk }) => chunk)
    .join("");

describe("text that comes token by token", () => {
  it("is all in the log, in lawful order, whatever else happens in between (SEQ-20 to SEQ-22, ENV-15)", async () => {
    const output = fc.nat({ max: 2 });
    const step: fc.Arbitrary<Step> = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          output,
          say: fc.constantFrom("word ", "é", "e\u0301 ", "👩‍👧 ", "Yes. "),
          language: fc.option(fc.constantFrom("en", "fr"), { freq: 3, nil: undefined }),
        }),
      },
      fc.record({ output, end: fc.constant(true) }),
      fc.constantFrom({ state: "thinking" }, { state: "executing" }, { progress: true }, { tool: true }),
      fc.constantFrom({}, { ms: 20 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const { agent, clock, logged } = agentWith();
        const said = new Map<string, string>();
        await agent.run({ summary: "Talking." }, async (session) => {
          const outputs = [session.output(), session.output({ language: "fr" }), session.output()];
          const over = new Set<number>();
          for (const { output = 0, say, language, end, state, progress, tool, ms } of steps) {
            const one = outputs[output]!;
            if (say !== undefined && !over.has(output)) {
              said.set(one.output_id, (said.get(one.output_id) ?? "") + say);
              void one.say(say, language);
            } else if (end) {
              over.add(output);
              void one.end();
            } else if (state) void session.state(state);
            else if (progress) void session.progress({ description: "Going on." });
            else if (tool) await session.tool({ tool: "search", summary: "Searching." }, () => 1);
            else if (ms) await clock.advance(ms);
            else await turn();
          }
        });
        for (const [id, text] of said) expect(textOf(logged, id)).toBe(text.normalize("NFC"));
        expect(checkSession(logged.map(({ event }) => event))).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });

  it("is refused by name once its output, or its session, has ended (SEQ-21, SEQ-03)", async () => {
    const { agent, logged } = agentWith();
    const session = agent.start({ summary: "Talking." });
    const output = session.output();
    for (const word of ["One ", "two ", "three."]) void output.say(word);
    await output.end();
    await expect(output.say(" Four.")).rejects.toMatchObject({ code: "SEQ-21" });
    expect(textOf(logged, output.output_id)).toBe("One two three.");
    const other = session.output();
    void other.say("Last ");
    void other.say("words.");
    await session.complete();
    await expect(other.say(" More.")).rejects.toMatchObject({ code: "SEQ-03" });
    expect(textOf(logged, other.output_id)).toBe("Last words.");
  });

  it("ends where the log breaks, in the middle of an output too: whoever says more hears of it", async () => {
    let full = false;
    const { agent, logged } = agentWith(() => {
      if (full) throw new Error("ENOSPC");
    });
    const session = agent.start({ summary: "Talking." });
    const output = session.output();
    await output.say("Kept, ");
    full = true;
    await expect(output.say("lost, ")).rejects.toMatchObject({ code: "log_broken" });
    await expect(output.say("and never said. ")).rejects.toMatchObject({ code: "log_broken" });
    expect(session.signal.aborted).toBe(true);
    expect(textOf(logged, output.output_id)).toBe("Kept,");
  });
});
