/** Questions of the program itself, before it listens: which agent, and whether to trust one on another machine. */
import { createFileTrustStore, knownProducersPath } from "../../server/index.ts";
import { type Announcer, neutralize } from "../../subscriber/announcer.ts";
import type { KnownOptions } from "../../subscriber/trust.ts";
import { type Io, say } from "../command.ts";
import { messagesIn } from "./messages/index.ts";
import { type InputLine, readInput } from "./terminal-input.ts";
import { parseCommand } from "./typed-commands.ts";

/** Nobody reads a question and starts to answer it in less time. */
const REACTION_MS = 250;

/** Asks for one line. Undefined where there is no terminal, or the person left. Written to standard error: it is not a result. */
export function prompt(
  io: Io,
  lines: readonly string[],
  language = "en",
  now = () => performance.now(),
): Promise<string | undefined> {
  if (!io.stdin.isTTY || !io.stdin.setRawMode || io.signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    for (const line of lines) say(io, line);
    const asked = now();
    const end = (answer: string | undefined) => {
      io.signal.removeEventListener("abort", leave);
      input.close();
      resolve(answer);
    };
    const leave = () => end(undefined);
    const take = ({ text, began, pasted }: InputLine) => {
      if (text === "") return;
      if (pasted) return say(io, messagesIn(language).pieceNoAnswer);
      if (began < asked + REACTION_MS) return say(io, messagesIn(language).typedAhead);
      end(text);
    };
    const input = readInput(io, now, {
      line: take,
      key: () => undefined,
      pasted: () => undefined,
      dropped: () => undefined,
      interrupt: leave,
      end: leave,
      echo: (text) => void io.stderr.write(text),
      keys: () => new Set(),
    });
    io.signal.addEventListener("abort", leave, { once: true });
  });
}

const LOCAL =
  /^(?:unix|pipe|stdio):|^(?:https?|wss?|grpcs?):\/\/(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?:[:/]|$)/iu;

export const isLocal = (address: string): boolean => LOCAL.test(address);

const QUESTIONS = {
  new: "first_met",
  elsewhere: "met_elsewhere",
  unsigned: "met_unsigned",
  other_key: "met_other_key",
} as const;

/** Asks the person, in their language, about agents they have not met; no, where nobody can be asked. */
export function knownAgents(io: Io, { phrases }: Pick<Announcer, "phrases">): KnownOptions {
  return {
    store: createFileTrustStore(knownProducersPath(io.env)),
    async ask({ name, address }, meeting) {
      const shown = neutralize(address).text;
      const words = phrases.text(QUESTIONS[meeting], { agent: name, address: shown });
      for (;;) {
        const answer = await prompt(io, [`${words} ${phrases.text("answer_yes_no")}`], phrases.language);
        if (answer === undefined) return false;
        const command = parseCommand(answer, phrases);
        const kind = command.do === "answer" ? command.input.kind : undefined;
        if (kind === "yes" || kind === "no") return kind === "yes";
      }
    },
  };
}
