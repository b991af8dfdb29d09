// An irreversible transfer: it asks first, reads out the values, and runs only after a person approves it.
import assert from "node:assert/strict";
import { createProducer } from "earshot";
import { createFakeClock, listen } from "earshot/testing";

const bank = { savings: 0 };
const clock = createFakeClock();
const agent = createProducer({ agent_id: "com.example.bank", clock, warn: () => {} });

async function transfer(session, amount) {
  const sent = await session.tool(
    {
      tool: "transfer_funds",
      summary: (params) => `Transferring ${params.amount} dollars.`,
      irreversible: true,
      risk: "high",
      params: { amount, to: "savings" },
      display: { amount: (value) => `${value} dollars` },
      modifiable: ["amount"],
      action: (params) => `Transfer ${params.amount} dollars to ${params.to}.`,
      consequence: "The money moves at once and cannot be called back.",
    },
    (params) => {
      bank[params.to] += params.amount;
    },
  );
  await session.say(sent.ran ? "Your savings have grown." : sent.summary);
  return sent;
}

/** Runs one transfer of 500 dollars with a person who answers like this, and prints what the person hears. */
async function story(title, person) {
  const listener =
    person &&
    listen(agent, { clock, capabilities: { event_filters: { exclude: ["aaep:agent.state.changed"] } } });
  const outcome = agent.run({ summary: "Moving money to savings." }, (session) => transfer(session, 500));
  await clock.settle();
  await person?.(listener);
  await clock.settle();
  const sent = await outcome;
  await clock.settle();
  if (listener) console.log(`${title}:\n  ${listener.spoken.join("\n  ")}\n`);
  listener?.close();
  return sent;
}

const no = await story("A no", (listener) => listener.reject());
assert.deepEqual([no.outcome, bank.savings], ["rejected", 0]);

const silence = await story("Silence", () => clock.advance(300_000));
assert.deepEqual([silence.outcome, bank.savings], ["timed_out", 0]);

const gone = await story("Gone", (listener) => listener.close());
assert.deepEqual([gone.outcome, bank.savings], ["disconnected", 0]);

const nobody = await story("Nobody there");
assert.deepEqual([nobody.outcome, bank.savings], ["nobody_to_ask", 0]);

const less = await story("A yes to less", async (listener) => {
  listener.accept(undefined, { modified_action: { amount: 50 } });
  await clock.settle();
  assert.equal(bank.savings, 0, "a change is a new question");
  listener.accept();
});
assert.deepEqual([less.ran, bank.savings], [true, 50]);

const yes = await story("A yes", (listener) => listener.accept());
assert.deepEqual([yes.ran, bank.savings], [true, 550]);
assert.match(no.forModel, /The person declined/);
