/** `earshot ask`: something for a running demo to do. */

import type { AgentEvent } from "../../protocol/index.ts";
import { neutralize } from "../../subscriber/announcer.ts";
import { type Subscriber, subscribe } from "../../subscriber/index.ts";
import { CommandError, command, EXIT, type Io, print, say, usage } from "../command.ts";
import { askDemo, findDemo } from "../demo/client.ts";

export default command({
  takes: "[request...]",
  most: 64,
  about:
    'Gives the demo agent something to do: a request in your own words, in English, Spanish, French, Arabic or Japanese. What it does is heard wherever somebody listens: "earshot listen". It must be running: "earshot demo".',
  flags: {
    address: { type: "string", value: "URL", help: "Which demo; by default the one that runs for you." },
    token: { type: "string", value: "TOKEN", help: "The demo's token; for your own it is found by itself." },
    scenario: { type: "string", value: "NAME", help: 'Play this instead; "earshot demo --scenario list".' },
    wait: { type: "boolean", help: "Stay until it has ended, and print what it says." },
    json: { type: "boolean", help: "Print the session's id as JSON; with --wait also how it ended." },
  },
  examples: [
    ['earshot ask "Transfer 500 dollars to savings"', "have a transfer offered to whoever listens"],
    ['earshot ask "Explica cómo se forma el arcoíris"', "in Spanish"],
    ['earshot ask --wait "Tell me a short fact about the moon"', "print the answer here"],
    ["earshot ask --scenario flood", "play one of the awkward cases"],
  ],
  exits: [
    [EXIT.ok, "it has begun; with --wait, it has ended well."],
    [EXIT.failed, "it did not begin; with --wait, it failed or was stopped."],
    [EXIT.usage, "the command line is wrong."],
    [EXIT.unreachable, "no demo is running, or it refuses the token."],
  ],
  async run({ args, flags, io }) {
    const text = args.join(" ").trim();
    if ((text === "") === (flags.scenario === undefined))
      throw usage(
        text === ""
          ? 'Say what the demo should do: earshot ask "book a room".'
          : "Give either a request or --scenario, not both.",
      );
    const request = flags.scenario === undefined ? { text } : { scenario: flags.scenario };
    const found = findDemo(io, flags.address, flags.token);
    // Whoever wants to hear everything has to be there before it begins.
    const subscriber = flags.wait ? await hear(found.url, found.token) : undefined;
    try {
      const session_id = await askDemo(found, request, io.signal);
      if (flags.json) print(io, JSON.stringify({ session_id }));
      if (subscriber) return await follow(io, subscriber, session_id, flags.json);
      if (!flags.json) print(io, "The demo has begun. To hear it: npx earshot listen");
      return EXIT.ok;
    } finally {
      await subscriber?.close();
    }
  },
});

/** Only listens: answering is for a person at a listener. */
async function hear(url: string, token: string | undefined): Promise<Subscriber> {
  try {
    return await subscribe(url, {
      subscriber_id: "earshot-ask",
      supports_confirmation_reply: false,
      supports_clarification_reply: false,
      // A demo that is gone does not come back with this session.
      reconnect: false,
      ...(token === undefined ? {} : { token }),
    });
  } catch (error) {
    throw new CommandError(
      `The demo at ${url} cannot be heard: ${(error as Error).message} Start one with "npx earshot demo".`,
      EXIT.unreachable,
    );
  }
}

const ENDED = /^aaep:agent\.session\.(completed|errored|cancelled)$/;

async function follow(io: Io, subscriber: Subscriber, session_id: string, json: boolean): Promise<number> {
  const stop = () => void subscriber.close();
  io.signal.addEventListener("abort", stop, { once: true });
  const speech = new Speech((line) => json || print(io, line));
  for await (const event of subscriber) {
    if (event.session_id !== session_id) continue;
    const { to_state, summary_normal: summary } = event as { to_state?: string; summary_normal?: string };
    speech.hear(event);
    if (to_state === "awaiting_input")
      say(io, "It waits for an answer. Somebody who listens can give one: npx earshot listen");
    const outcome = ENDED.exec(event.type)?.[1];
    if (outcome === undefined) continue;
    speech.end();
    if (json) print(io, JSON.stringify({ session_id, outcome, summary }));
    else print(io, clean(summary ?? outcome));
    return outcome === "completed" ? EXIT.ok : EXIT.failed;
  }
  if (io.signal.aborted) return io.signal.reason === "SIGINT" ? EXIT.interrupted : EXIT.ok;
  throw new CommandError("The demo has gone before it was done.", EXIT.unreachable);
}

const clean = (text: string): string => neutralize(text).text.replaceAll(/\s+/gu, " ").trim();

/** Text as it streams, line by line. */
class Speech {
  readonly #line: (text: string) => void;
  #text = "";

  constructor(line: (text: string) => void) {
    this.#line = line;
  }

  hear(event: AgentEvent): void {
    const { chunk } = event as { chunk?: unknown };
    if (typeof chunk !== "string") return;
    const lines = (this.#text + chunk).split("\n");
    this.#text = lines.pop()!;
    for (const line of lines) this.#print(line);
  }

  end(): void {
    this.#print(this.#text);
    this.#text = "";
  }

  #print(text: string): void {
    const line = clean(text);
    if (line !== "") this.#line(line);
  }
}
