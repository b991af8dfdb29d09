// Runs a recipe twice, with a person who says no and with one who says yes, and prints what each hears.
import assert from "node:assert/strict";
import { createProducer } from "earshot";
import { listen } from "earshot/testing";

export async function tryRecipe(help, model) {
  for (const [answer, moved, told] of [
    ["reject", [], "I left your money where it is."],
    ["accept", [{ amount: 500, to: "savings" }], "Your savings have grown by 500 dollars."],
  ]) {
    const transfers = [];
    const agent = createProducer({ agent_id: "com.example.bank", agent_name: "Bank" });
    const listener = listen(agent, { confirm: () => answer });
    await help(agent, { transfer: (p) => transfers.push({ ...p }) }, model, "Move 500 dollars to savings.");
    console.log(`${listener.spoken.join("\n")}\n`);
    assert.deepEqual(transfers, moved);
    assert.equal(listener.spoken.filter((words) => words === told).length, 1);
    assert.equal(listener.spoken.filter((words) => words.startsWith("Question:")).length, 1);
  }
}
