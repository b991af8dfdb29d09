/** An agent on the log on disk, for tests that break what is under it. */
import { expect } from "vitest";
import { createRecord } from "../../src/hub/record.ts";
import type { LogStore } from "../../src/hub/store.ts";
import { createProducer } from "../../src/producer/producer.ts";
import type { Session } from "../../src/producer/session.ts";
import type { Clock } from "../../src/protocol/platform.ts";
import { type EmbeddedStoreOptions, openEmbeddedStore } from "../../src/stores/embedded/index.ts";
import { createFakeClock } from "../../src/testing/index.ts";

/** With its record; on a clock of its own, which begins at a time or is given. */
export async function open(
  directory: string,
  options: Partial<EmbeddedStoreOptions> = {},
  at?: string | Clock,
) {
  const warned: string[] = [];
  const warn = (sentence: string) => void warned.push(sentence);
  const store = await openEmbeddedStore({ directory, warn, ...options });
  const record = createRecord({ store, warn });
  const clock = createFakeClock(typeof at === "string" ? at : undefined);
  const agent = createProducer({
    agent_id: "org.example.bank",
    store: record.store,
    audit: record.audit,
    clock: typeof at === "object" ? at : clock,
    warn,
  });
  return { store, record, clock, agent, warned };
}

/** A real disk takes its time: each turn waits for what is under way. */
export async function until(store: Pick<LogStore, "append">, done: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1000 && !done(); turn++) await store.append([]);
  expect(done()).toBe(true);
}

export const transfer = (session: Session, done: unknown[], amount = 500) =>
  session.tool(
    {
      tool: "transfer",
      key: "the transfer",
      risk: "high",
      irreversible: true,
      params: { amount },
      summary: "Transferring.",
      action: ({ amount }) => `Transfer ${amount} dollars.`,
      consequence: "Funds move at once.",
    },
    ({ amount }) => void done.push(amount),
  );
