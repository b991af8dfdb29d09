/** `earshot ask`: gives the running demo a request. */

import type { AgentEvent } from "../../protocol/index.ts";
import { neutralize } from "../../subscriber/announcer.ts";
import { type Subscriber, subscribe } from "../../subscriber/index.ts";
import { CommandError, command, EXIT, type Io, print, say, usage } from "../command.ts";
import { askDemo, findDemo } from "../demo/client.ts";

export default command({
  takes: "[request...]",
  most: 64,
  about:
    'Gives the demo agent a request in your own words, in English, Spanish, French, Arabic or Japanese. Everyone who listens hears what it does: "earshot listen". The demo must be running: "earshot demo".',
  flags: {
    address: {
      type: "string",
      value: "URL",
      help: "Address of the demo. Default: the one that runs for you.",
    },
    token: {
      type: "string",
      value: "TOKEN",
      help: "Bearer token for the demo. For your own demo it is found automatically.",
    },
    scenario: {
      type: "string",
      value: "NAME",
      help: 'Play this scenario instead; "earshot demo --scenario list" lists them.',
    },
    wait: { type: "boolean", help: "Wait until the session has ended, and print what the agent says." },
    json: { type: "boolean", help: "Print the session id as JSON; with --wait also how it ended." },
  },
  examples: [
    [
      'earshot ask "Transfer 500 dollars to savings"',
      "ask for a transfer; a listener is asked to approve it",
    ],
    ['earshot ask "Explica cómo se forma el arcoíris"', "in Spanish"],
    ['earshot ask --wait "Tell me a short fact about the moon"', "print the answer here"],
    ["earshot ask --scenario flood", "play a scenario"],
  ],
  exits: [
    [EXIT.ok, "the session has started; with --wait, it has completed."],
    [EXIT.failed, "the session did not start; with --wait, it failed or was cancelled."],
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
    // Subscribed first, so that nothing of the session is missed.
    const subscriber = flags.wait ? await subscribeTo(found.url, found.token) : undefined;
    try {
      const session_id = await askDemo(found, request, io.signal);
      if (flags.json) print(io, JSON.stringify({ session_id }));
      if (subscriber) return await follow(io, subscriber, session_id, flags.json);
      if (!flags.json) print(io, "The demo has started. To listen: npx earshot listen");
      return EXIT.ok;
    } finally {
      await subscriber?.close();
    }
  },
});

/** Subscribes without reply support: a person at a listener answers. */
async function subscribeTo(url: string, token: string | undefined): Promise<Subscriber> {
  try {
    return await subscribe(url, {
      subscriber_id: "earshot-ask",
      supports_confirmation_reply: false,
      supports_clarification_reply: false,
      // A restarted demo does not have this session.
      reconnect: false,
      ...(token === undefined ? {} : { token }),
    });
  } catch (error) {
    throw new CommandError(
      `The demo at ${url} cannot be reached: ${(error as Error).message} Start one with "npx earshot demo".`,
      EXIT.unreachable,
    );
  }
}

const ENDED = /^aaep:agent\.session\.(completed|errored|cancelled)$/;

async function follow(io: Io, subscriber: Subscriber, session_id: string, json: boolean): Promise<number> {
  const stop = () => void subscriber.close();
  io.signal.addEventListener("abort", stop, { once: true });
  const printer = new LinePrinter((line) => json || print(io, line));
  for await (const event of subscriber) {
    if (event.session_id !== session_id) continue;
    const { to_state, summary_normal: summary } = event as { to_state?: string; summary_normal?: string };
    printer.add(event);
    if (to_state === "awaiting_input")
      say(io, "The demo is waiting for an answer. Answer it with: npx earshot listen");
    const outcome = ENDED.exec(event.type)?.[1];
    if (outcome === undefined) continue;
    printer.end();
    if (json) print(io, JSON.stringify({ session_id, outcome, summary }));
    else print(io, clean(summary ?? outcome));
    return outcome === "completed" ? EXIT.ok : EXIT.failed;
  }
  if (io.signal.aborted) return io.signal.reason === "SIGINT" ? EXIT.interrupted : EXIT.ok;
  throw new CommandError("The demo stopped before the session ended.", EXIT.unreachable);
}

const clean = (text: string): string => neutralize(text).text.replaceAll(/\s+/gu, " ").trim();

/** Prints streamed text line by line. */
class LinePrinter {
  readonly #line: (text: string) => void;
  #text = "";

  constructor(line: (text: string) => void) {
    this.#line = line;
  }

  add(event: AgentEvent): void {
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
