// The in-process transport, with the guarantees every connection gives: order, nothing lost before a close, one reason.
import { expect, it } from "vitest";
import { createProducer, hubOf } from "../../producer/producer.ts";
import type { Delivery, HubPort, Peer, SubscriptionHandle } from "../../protocol/hub-port.ts";
import { LOCAL_USER } from "../../protocol/principal.ts";
import type { SubscriptionRequest } from "../../protocol/types.ts";
import type { ConnectionClosed } from "../client-connection.ts";
import { createMemoryClient } from "./client.ts";

const request: SubscriptionRequest = {
  type: "subscription.request",
  aaep_version: "1.0.0",
  subscriber_id: "test",
  capabilities: { supported_conformance_levels: [1, 2, 3] },
};

const delivery = (json: string): Delivery => ({
  event_id: `evt_${json}`,
  json,
  critical: false,
  cursor: true,
});
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A hub that accepts everyone and hands its peers to the test. */
async function connect() {
  const peers: Peer[] = [];
  const disconnected: Peer[] = [];
  const subscription: SubscriptionHandle = {
    id: "sub_1",
    connect: (peer) => void peers.push(peer),
    disconnect: (peer) => void disconnected.push(peer),
  };
  const hub = {
    subscribe: () => ({ answer: { type: "subscription.accepted", subscription_id: "sub_1" }, subscription }),
    handle: async () => ({ taken: true }),
  } as unknown as HubPort;
  const texts: string[] = [];
  const closed: ConnectionClosed[] = [];
  const connection = await createMemoryClient(hub).open(request, undefined, {
    message: (text) => void texts.push(text),
    closed: (reason) => void closed.push(reason),
  });
  await turn();
  return { peer: peers[0]!, disconnected, texts, closed, connection };
}

it("keeps the order, byte for byte, and never delivers within the sender's call (TRN-03)", async () => {
  const { peer, texts } = await connect();
  const sent = Array.from({ length: 50 }, (_, i) =>
    JSON.stringify({ i, text: `ọmọ 👩‍👩‍👧 ${"x".repeat(i)}\u2028` }),
  );
  for (const json of sent) peer.send(delivery(json));
  expect(texts).toEqual([]);
  await turn();
  expect(texts).toEqual(sent);
});

it("delivers what was sent before a close, and reports the first reason, once", async () => {
  const { peer, texts, closed, disconnected } = await connect();
  peer.send(delivery("last words"));
  peer.close("producer_shutdown");
  peer.close("too_slow");
  peer.send(delivery("too late"));
  await turn();
  expect(texts).toEqual(["last words"]);
  expect(closed).toMatchObject([{ code: "producer_shutdown", reconnect: true }]);
  expect(disconnected).toEqual([peer]);
});

it("delivers nothing after the subscriber has closed it, and tells the hub", async () => {
  const { peer, texts, closed, connection, disconnected } = await connect();
  peer.send(delivery("on its way"));
  connection.close();
  peer.send(delivery("after"));
  await turn();
  expect([texts, closed]).toEqual([[], []]);
  expect(disconnected).toEqual([peer]);
});

it("a hub waits for a peer that applies backpressure, loses nothing, and goes on (DEL-17)", async () => {
  const agent = createProducer({ agent_id: "planner", warn: () => {} });
  const { subscription } = hubOf(agent).subscribe(request, LOCAL_USER, "memory");
  const sent: string[] = [];
  let drained = () => {};
  let most = 0;
  let waiting = 0;
  subscription!.connect({
    send({ json }) {
      most = Math.max(most, ++waiting);
      sent.push((JSON.parse(json) as { type: string }).type.replace("aaep:agent.", ""));
      return new Promise((resolve) => {
        drained = () => {
          waiting--;
          resolve();
        };
      });
    },
    tell: () => undefined,
    close: () => undefined,
  });
  const run = agent.run({ summary: "Counting." }, async (session) => {
    for (const word of ["One. ", "Two. ", "Three. "]) await session.say(word);
  });
  await turn();
  expect(sent).toEqual(["session.started"]);
  await run;
  for (let i = 0; i < 20; i++) {
    drained();
    await turn();
  }
  expect(most).toBe(1);
  expect(sent.at(-1)).toBe("session.completed");
});
