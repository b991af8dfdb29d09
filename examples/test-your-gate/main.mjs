// Testing your own gate in five lines: a scripted listener that says yes or no, and a fake clock.
import assert from "node:assert/strict";
import { createProducer } from "earshot";
import { createFakeClock, listen } from "earshot/testing";

/** Your agent. */
export async function cleanUp(agent, files) {
  return agent.run({ summary: "Cleaning up." }, (session) =>
    session.tool(
      {
        tool: "delete_files",
        summary: "Deleting the files.",
        irreversible: true,
        params: { files },
        action: (params) => `Delete ${params.files.length} files for good.`,
        consequence: "They cannot be brought back.",
      },
      (params) => params.files.length,
    ),
  );
}

// With node:test or any other runner, each of these is a test.
const tests = {
  "a yes deletes": async () => {
    const agent = createProducer({ agent_id: "tidy" });
    const listener = listen(agent, { confirm: () => "accept" });
    assert.deepEqual(await cleanUp(agent, ["a", "b"]), { ran: true, value: 2 });
    assert.ok(listener.spoken.some((line) => line.startsWith("Question: Delete 2 files for good.")));
  },
  "a no does not": async () => {
    const agent = createProducer({ agent_id: "tidy" });
    listen(agent, { confirm: () => "reject" });
    assert.equal((await cleanUp(agent, ["a"])).outcome, "rejected");
  },
  "silence does not": async () => {
    const clock = createFakeClock();
    const agent = createProducer({ agent_id: "tidy", clock });
    listen(agent);
    const outcome = cleanUp(agent, ["a"]);
    await clock.advance(300_000);
    assert.equal((await outcome).outcome, "timed_out");
  },
};

for (const [name, test] of Object.entries(tests)) {
  await test();
  console.log(`ok: ${name}`);
}
