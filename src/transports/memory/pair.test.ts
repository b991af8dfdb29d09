/** The memory connection keeps the contract, and the engine can drain into it. */
import { expect, it } from "vitest";
import { connectionContract } from "../../../test/contracts/connection.ts";
import { createScribe, createWriter } from "../../../test/support/legal-session.ts";
import { RAW } from "../../../test/support/terms.ts";
import { viewOf, World } from "../../../test/support/world.ts";
import { createMemoryPair } from "./pair.ts";

connectionContract("memory", async () => createMemoryPair({ most: 4 }));

it("the engine drains into it as into any sink, and waits for a slow reader", async () => {
  const world = new World();
  const { started, progress } = createWriter(createScribe());
  const { server, client } = createMemoryPair({ most: 2 });
  world.engine.attach({ sink: server, terms: RAW, view: viewOf() });
  await world.say(started());
  for (let i = 0; i < 20; i++) await world.say(progress());
  const got: string[] = [];
  client.receive((text) => void got.push(JSON.parse(text).type));
  for (let i = 0; i < 100; i++) await Promise.resolve();
  expect(got).toHaveLength(21);
});
