/** One agent on a real server, for each test that asks for one; closed by `closeAll`. */

import { createProducer, type Producer, type ProducerOptions } from "../../src/producer/producer.ts";
import type { ServeOptions } from "../../src/server/index.ts";
import { Hall } from "./hall.ts";

const halls: Hall[] = [];

export async function closeAll(): Promise<void> {
  for (const hall of halls.splice(0)) await hall.close();
}

export async function open(
  producer: Partial<ProducerOptions> = {},
  site: ServeOptions = {},
): Promise<{ agent: Producer; hall: Hall }> {
  const agent = createProducer({ agent_id: "com.example.planner", warn: () => {}, ...producer });
  const hall = await Hall.open(agent, site);
  halls.push(hall);
  return { agent, hall };
}
