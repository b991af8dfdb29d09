/** One of several processes that want the same name at the same moment. */

import { createProducer } from "../../src/producer/producer.ts";
import { serveIpc } from "../../src/server/ipc/ipc.ts";

const [directory, at] = process.argv.slice(2);
const agent = createProducer({ agent_id: "com.example.desk", warn: () => {} });
// Spinning, so that all of them start in the same millisecond.
while (Date.now() < Number(at)) {}
try {
  const serving = await serveIpc(agent, { directory: directory!, log: () => {} });
  console.log("won");
  process.stdin.on("end", () => void serving.close()).resume();
} catch (error) {
  console.log((error as { code?: string }).code);
  process.exit(0);
}
