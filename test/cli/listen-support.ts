/** A person at a terminal in this process: an agent, a subscription, `runTerminalSession` and a clock that moves when told to. */

import { type ListenOptions, runTerminalSession } from "../../src/cli/listen/terminal-session.ts";
import { createProducer, hubOf } from "../../src/producer/producer.ts";
import { Subscriber } from "../../src/subscriber/index.ts";
import { createFakeClock, type FakeClock } from "../../src/testing/clock.ts";
import { createMemoryClient } from "../../src/transports/memory/client.ts";
import { terminal } from "./support.ts";

export const transfer = {
  tool: "transfer",
  risk: "high",
  irreversible: true,
  params: { amount: 500, to: "savings" },
  summary: "Transferring the money.",
  action: (p: { amount: number; to: string }) => `Transfer $${p.amount} to ${p.to}.`,
  consequence: "Funds move at once.",
} as const;

export const lights = {
  tool: "lights",
  risk: "low",
  params: { room: "kitchen" },
  summary: "Switching off the lights.",
  action: "Switch off the lights.",
  consequence: "It gets dark.",
} as const;

export async function sitDown(options: ListenOptions & { tty?: boolean; clock?: FakeClock } = {}) {
  const { tty = true, clock = createFakeClock(), ...rest } = options;
  const agent = createProducer({ agent_id: "planner", agent_name: "Planner", clock });
  const client = createMemoryClient(hubOf(agent));
  const subscriber = await new Subscriber(client, { languages: ["en"], clock }).connect();
  const at = terminal({ tty });
  const ended = runTerminalSession(at.io, subscriber, { bell: false, clock, ...rest });
  await clock.advance(1000);
  const ran: unknown[] = [];
  const type = async (text: string, pause = 90) => {
    for (const letter of text) {
      at.stdin.write(letter);
      await clock.advance(pause);
    }
  };
  return {
    agent,
    clock,
    ended,
    ran,
    subscriber,
    interrupt: at.interrupt,
    err: at.err,
    out: at.out,
    lines: () => at.out().trimEnd().split("\n"),
    /** By hand, letter by letter. */
    type,
    /** By hand, after listening first. */
    async answer(text: string) {
      await clock.advance(400);
      await type(text);
      await clock.advance(400);
    },
    /** In one piece. */
    async paste(text: string) {
      at.stdin.write(text);
      await clock.advance(300);
    },
    /** The agent asks before it acts. */
    async ask(spec: typeof transfer | typeof lights = transfer) {
      void agent.run({ summary: "Helping you." }, async (session) => {
        await session.tool(spec as typeof transfer, (params) => void ran.push(params));
      });
      await clock.advance(1000);
    },
  };
}
