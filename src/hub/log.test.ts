/** The way into the log (CON-10, CON-46; log, then deliver). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createScribe, createWriter } from "../../test/support/legal-session.ts";
import { encodeEventId } from "../delivery/cursor.ts";
import type { LogEntry } from "../delivery/entry.ts";
import { createMemoryStore } from "../stores/memory.ts";
import { createLog } from "./log.ts";

function openLog(store = createMemoryStore()) {
  const logged: LogEntry[] = [];
  store.follow(1, (entries) => void logged.push(...entries));
  const log = createLog({ store });
  const say = async (event: object, options = {}) => {
    const { event_id: _, ...rest } = event as Record<string, unknown>;
    await log.append(rest, options);
  };
  return { log, logged, say, store };
}

const brief = (entries: LogEntry[]) =>
  entries.map(({ event }) =>
    "chunk" in event ? [event.chunk, event.position, event.complete] : event.type.replace("aaep:agent.", ""),
  );

describe("the log", () => {
  it("gives each entry the next place and an id of its own, and delivers nothing before it is kept", async () => {
    let keep = () => {};
    const store = createMemoryStore();
    const slow = {
      ...store,
      append: (entries: readonly LogEntry[]) =>
        new Promise<number>((resolve) => {
          keep = () => resolve(store.append(entries));
        }),
    };
    const { logged, say } = openLog(slow);
    const { started } = createWriter();
    const done = say(started());
    await Promise.resolve();
    expect(logged).toEqual([]);
    keep();
    await done;
    expect(logged.map(({ seq }) => seq)).toEqual([1]);
  });

  it("normalizes text and never splits a cluster; positions count code points from the start of the output (EVT-18, CON-10)", async () => {
    const { logged, say } = openLog();
    const writer = createWriter();
    for (const chunk of ["e", "\u0301a", "👩\u200d", "👧", "b"]) await say(writer.say(chunk, 0));
    await say(writer.say("", 0, true));
    expect(brief(logged)).toEqual([
      ["é", 0, false],
      ["a", 1, false],
      ["👩\u200d👧", 2, false],
      ["b", 5, true],
    ]);
  });

  it("releases what it held back before what must come after it, at that time (ENV-15)", async () => {
    const { logged, say } = openLog();
    const { say: speak, call, done, wait } = createWriter();
    await say(speak("Hi", 0));
    wait(50);
    await say(done("search"));
    wait(50);
    const closing = call("search");
    await say(closing);
    expect(brief(logged)).toEqual([["H", 0, false], "tool.completed", ["i", 1, false], "tool.invoked"]);
    expect(logged[2]!.event.timestamp).toBe(closing.timestamp);
  });

  it("closes what a session leaves open, before its end (CON-46)", async () => {
    const { logged, say } = openLog();
    const { say: speak, completed } = createWriter();
    await say(speak("Hi", 0, false, "out_1"));
    await say(speak("x", 0, false, "out_2"));
    await say(completed());
    expect(brief(logged)).toEqual([["H", 0, false], ["i", 1, true], ["x", 0, true], "session.completed"]);
  });

  it("holds nothing that whoever gave it could change afterwards, and gives its own id whatever was given", async () => {
    const step = fc.record({
      output_id: fc.constantFrom("out_1", "out_2"),
      chunk: fc.constantFrom("Hi", "e", "\u0301", "👩\u200d", "word ", ""),
      complete: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
      language: fc.oneof({ weight: 4, arbitrary: fc.constant("en") }, fc.constant("fr")),
      event_id: fc.option(fc.constantFrom("evt_forged", ""), { nil: undefined }),
      call: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const [fresh, reused] = [openLog(), openLog()];
        const { say, call, completed } = createWriter();
        const one: Record<string, unknown> = {};
        const append = async (event: object) => {
          await fresh.log.append({ ...event });
          for (const name of Object.keys(one)) delete one[name];
          await reused.log.append(Object.assign(one, event));
          one["session_id"] = one["output_id"] = one["chunk"] = "changed";
        };
        for (const { output_id, chunk, complete, language, event_id, call: called } of steps) {
          const { event_id: _, ...event } = say(chunk, 0, complete, output_id);
          await append({ ...event, language, ...(event_id === undefined ? {} : { event_id }) });
          if (called) await append(call("search"));
        }
        await append(completed());
        const ids = fresh.logged.map(({ event }) => event.event_id);
        expect(ids).toEqual(fresh.logged.map(({ seq }) => encodeEventId(fresh.store.identity, seq)));
        const told = (logged: LogEntry[]) => logged.map(({ event }) => ({ ...event, event_id: "" }));
        expect(told(reused.logged)).toEqual(told(fresh.logged));
      }),
    );
  });

  it("says on every entry who may hear it (SEC-15)", async () => {
    const { logged, say } = openLog();
    const { started, progress } = createWriter();
    const open = createWriter(createScribe({ tag: "b2" }));
    await say(started(), { audience: ["ward"] });
    await say(progress());
    await say(open.started());
    expect(logged.map(({ audience }) => audience)).toEqual([["ward"], ["ward"], undefined]);
  });

  it("takes nothing more once the store has failed: a hole would be worse than silence", async () => {
    const store = createMemoryStore();
    const failure = new Error("ENOSPC");
    let fails = true;
    const { logged, say } = openLog({
      ...store,
      append: (entries) => (fails ? Promise.reject(failure) : store.append(entries)),
    });
    const { started, progress } = createWriter();
    const both = [say(started()), say(progress())];
    for (const one of both) await expect(one).rejects.toMatchObject({ code: "log_broken", cause: failure });
    fails = false;
    await expect(say(progress())).rejects.toMatchObject({ code: "log_broken" });
    expect(logged).toEqual([]);
  });
});
