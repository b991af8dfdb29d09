/** Agents on other machines are introduced before they are heard; those on one's own need no introduction. */
import { createFileTrustStore, knownProducersPath } from "../../server/index.ts";
import { type Announcer, neutralize } from "../../subscriber/announcer.ts";
import type { KnownOptions } from "../../subscriber/trust.ts";
import type { Io } from "../command.ts";
import { prompt } from "./prompt.ts";
import { readWish } from "./words.ts";

const LOCAL =
  /^(?:unix|pipe|stdio):|^(?:https?|wss?|grpcs?):\/\/(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?:[:/]|$)/iu;

export const isLocal = (address: string): boolean => LOCAL.test(address);

const QUESTIONS = {
  new: "first_met",
  elsewhere: "met_elsewhere",
  unsigned: "met_unsigned",
  other_key: "met_other_key",
} as const;

/** The person's word, in their language; where nobody can be asked, no. */
export function knownAgents(io: Io, { phrases }: Pick<Announcer, "phrases">): KnownOptions {
  return {
    store: createFileTrustStore(knownProducersPath(io.env)),
    async ask({ name, address }, meeting) {
      const place = neutralize(address).text;
      const words = phrases.text(QUESTIONS[meeting], { agent: name, address: place });
      for (;;) {
        const answer = await prompt(io, [`${words} ${phrases.text("answer_yes_no")}`], phrases.language);
        if (answer === undefined) return false;
        const wish = readWish(answer, phrases);
        const kind = wish.do === "answer" ? wish.input.kind : undefined;
        if (kind === "yes" || kind === "no") return kind === "yes";
      }
    },
  };
}
