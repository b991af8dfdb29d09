/** The sessions in examples/sessions: the demo agent, a listener who answers, and a clock that moves when told to. */
import { createDemo } from "../../src/cli/demo/agent.ts";
import { createFakeClock } from "../../src/testing/index.ts";
import { type ListenerOptions, listen } from "./hub-listener.ts";

interface Story {
  readonly request?: string;
  readonly scenario?: string;
  readonly answers?: ListenerOptions;
}

const yes: ListenerOptions = { confirm: () => "accept" };
const no: ListenerOptions = { confirm: () => "reject" };
const says = (...words: (string | boolean | number)[]): ListenerOptions => ({
  ...yes,
  clarify: () => words.shift(),
});

const STORIES: Readonly<Record<string, Story>> = {
  "transfer-allowed": { request: "Transfer 500 dollars to savings", answers: yes },
  "transfer-refused": { request: "Transfer 500 dollars to savings", answers: no },
  "transfer-unanswered": { request: "Transfer 500 dollars to savings" },
  "book-a-room": { request: "Book a room", answers: yes },
  "dinner-two-answers": { request: "Plan dinner", answers: says("curry", false) },
  "timer-a-number": { request: "Set a timer", answers: says(3) },
  "weather-free-text": { request: "Ask me where I am first", answers: says("Lagos") },
  "rainbow-markdown": { request: "Explain how rainbows form, step by step" },
  "tests-progress-and-code": { request: "Run the tests and fix my code" },
  "handed-to-a-person": { request: "Escalate to a human" },
  "error-with-a-remedy": { request: "Print the letter" },
  "called-off": { request: "Order flowers" },
  "mail-in-spanish": { request: "Envía un correo a Maria", answers: yes },
  "delete-in-french": { request: "Supprime la fiche 12345", answers: no },
  "transfer-in-arabic": { request: "حوّل 500 دولار إلى المدخرات", answers: yes },
  "rainbow-in-japanese": { request: "虹のでき方を順を追って説明して" },
  "all-twelve-events": { scenario: "tour", answers: says("Ada") },
  "question-withdrawn": { scenario: "question-withdrawn" },
  "question-during-output": { scenario: "question-during-output", answers: yes },
  "several-languages": { scenario: "mixed-languages" },
  "hostile-text": { scenario: "hostile-text" },
};

/** The same bytes every time: a recording that is made again is the same. */
function seeded(seed: number): (length: number) => Uint8Array {
  let state = seed;
  return (length) =>
    Uint8Array.from({ length }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state >>> 24;
    });
}

async function record({ request, scenario, answers = {} }: Story, seed: number): Promise<string> {
  const clock = createFakeClock("2026-03-02T09:00:00.000Z");
  const demo = createDemo({ clock, random: seeded(seed), warn: () => undefined });
  const ear = listen(demo.producer, {
    ...answers,
    capabilities: { languages: ["en", "es", "fr", "ar", "ja"] },
  });
  if (request === undefined) demo.play(scenario!);
  else demo.start(request);
  while (demo.running > 0) await clock.advance(1_000);
  return ear.events.map((event) => `${JSON.stringify(event)}\n`).join("");
}

/** File names and contents. */
export async function recordSessions(): Promise<[name: string, text: string][]> {
  const files: [string, string][] = [];
  for (const [i, [name, story]] of Object.entries(STORIES).entries())
    files.push([`${name}.jsonl`, await record(story, i + 1)]);
  return files;
}
