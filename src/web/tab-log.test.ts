import { describe, expect, it } from "vitest";
import type { AgentEvent } from "../protocol/types.ts";
import { keepInLog } from "./tabs.ts";

describe("what a new tab is told", () => {
  it("has a bound, and an open question outlives any amount of text", () => {
    const log: AgentEvent[] = [];
    const event = (type: string) => ({ type }) as AgentEvent;
    keepInLog(log, event("aaep:agent.output.streaming"));
    keepInLog(log, event("aaep:agent.awaiting.confirmation"));
    for (let count = 0; count < 5_000; count++) keepInLog(log, event("aaep:agent.output.streaming"));
    expect(log).toHaveLength(2_000);
    expect(log[0]!.type).toBe("aaep:agent.awaiting.confirmation");
    for (let count = 0; count < 5_000; count++) keepInLog(log, event("aaep:agent.state.changed"));
    expect(log).toHaveLength(2_000);
  });
});
