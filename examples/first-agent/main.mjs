// A first agent: it runs a tool and answers. The listener below stands in for a person.
import assert from "node:assert/strict";
import { createProducer } from "earshot";
import { listen } from "earshot/testing";

const agent = createProducer({ agent_id: "com.example.weather", agent_name: "Weather" });
const listener = listen(agent);

await agent.run({ summary: "Looking up the weather." }, async (session) => {
  const { value } = await session.tool({ tool: "forecast", summary: "Asking the weather service." }, () => ({
    sky: "clear",
    degrees: 21,
  }));
  for (const token of [
    "It will be ",
    value.sky,
    ", ",
    `${value.degrees} degrees. `,
    "Enjoy ",
    "your walk!",
  ]) {
    session.say(token);
  }
});

console.log(listener.spoken.join("\n"));
assert.deepEqual(listener.spoken, [
  "Looking up the weather.",
  "Thinking.",
  "Working on it.",
  "Asking the weather service.",
  "Done.",
  "Thinking.",
  "Answering.",
  "It will be clear, 21 degrees.",
  "Enjoy your walk!",
  "Done.",
]);
