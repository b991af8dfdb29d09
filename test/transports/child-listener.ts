/** A listener that an agent starts: it speaks to its parent over its own stdin and stdout, and says yes to everything. */
import { subscribe } from "../../src/subscriber/index.ts";

const sub = await subscribe("stdio:-", { subscriber_id: "child" });
sub.on("confirmation", (ask) => void ask.accept());
for await (const { type } of sub) if (type === "aaep:agent.session.completed") break;
await sub.close();
