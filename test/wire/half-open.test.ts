/** A listener over SSE whose machine fell asleep: what the system's table says of it reaches its stream (F15). */
import { expect, it, vi } from "vitest";
import type { Ends } from "../../src/node/unanswered.ts";
import { call, listen, openStream, world } from "../security/wire-support.ts";

const watched = vi.hoisted(() => new Map<Ends, () => void>());

// Half a connection cannot be made on one machine; what finds it is proven in src/node/unanswered.test.ts.
vi.mock("../../src/node/unanswered.ts", () => ({
  createWatch: () => ({
    add(ends: Ends, lost: () => void) {
      watched.set(ends, lost);
      return () => watched.delete(ends);
    },
    look: async () => {},
  }),
}));

it("F15: its stream is let go, and it goes on where it was when it wakes up", async () => {
  const { server, producer } = await world();
  const { stream, id } = await listen(server);
  const other = await listen(server);
  const session = producer.start({ summary: "Working." });
  const started = await stream.of("aaep:agent.session.started");
  await other.stream.of("aaep:agent.session.started");
  expect(watched.size).toBe(2);
  const [[ends, lost]] = watched as unknown as [[Ends, () => void]];
  expect(ends.remotePort).toBeGreaterThan(0);

  lost();
  await stream.closed;
  expect(watched.size).toBe(1);
  expect(other.stream.ended).toBe(false);
  const { text } = await call(`${server.http}/metrics`, { token: server.token });
  expect(text).toContain('earshot_disconnects_total{reason="unreachable"} 1');

  await session.say("Meanwhile.");
  await session.complete();
  const back = await openStream(`${server.http}/aaep/v1/events?subscription_id=${id}`, {
    token: server.token,
    headers: { "last-event-id": String(started["event_id"]) },
  });
  expect(await back.of("aaep:agent.output.streaming")).toMatchObject({ chunk: "Meanwhile." });
  expect(back.heard.map(({ type }) => type)).not.toContain("aaep:agent.session.started");
});
