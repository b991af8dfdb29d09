import { it, expect } from "vitest";
import { createProducer } from "../../src/producer/producer.ts";
import { serve } from "../../src/node/serve.ts";
it("smoke", async () => {
  const p = createProducer({ agent_id: "a", agent_name: "A" });
  const s = await serve(p, { port: 0, token_file: false });
  const r = await fetch(`${s.http}/aaep/v1/subscriptions`, { method: "POST", headers: { authorization: `Bearer ${s.token}`, "content-type": "application/json" }, body: JSON.stringify({ type: "subscription.request", aaep_version: "1.0.0", subscriber_id: "x", capabilities: { supports_confirmation_reply: true } }) });
  console.log(r.status, await r.text(), Object.fromEntries(r.headers));
  await s.close();
});
