/** Asking for what the agent does not know (6.5). Without an answer it goes on with what it said it would assume. */
import { responseKind } from "../hub/questions.ts";
import { EarshotError } from "../protocol/errors.ts";
import type { Asking } from "./asking.ts";
import { fingerprintOf } from "./params.ts";
import type { Phrases } from "./phrases.ts";
import type { AskRefusal } from "./refusals.ts";
import type { ClarifyOutcome, ClarifySpec } from "./specs.ts";
import type { Stage } from "./stage.ts";
import { inLanguage } from "./words.ts";

type Silence = "timed_out" | "disconnected" | "nobody_to_ask";

export async function clarify(
  spec: ClarifySpec,
  stage: Stage,
  asking: Asking,
  timeout_seconds: number,
): Promise<ClarifyOutcome> {
  const kinds = spec.kinds ?? (spec.choices ? ["multiple_choice"] : ["freetext"]);
  if (kinds.includes("multiple_choice") !== (spec.choices !== undefined)) {
    throw new EarshotError(
      "CON-29",
      "Choices and the kind multiple_choice belong together: give both, or neither.",
    );
  }
  const accepts = { accepted_response_kinds: [...kinds], ...choicesIn(spec, stage.language) };
  if (spec.default !== undefined && !responseKind(accepts, spec.default)) {
    throw new EarshotError(
      "CON-30",
      "`default` is no answer this question takes: it must fit `kinds` and `choices`.",
    );
  }
  const silence = (phrases: Phrases, outcome: Silence) =>
    `${phrases.unanswered[outcome]} ${spec.default === undefined ? phrases.unanswered.goes_on : phrases.unanswered.assumes}`;
  const words = { question: spec.question, context: spec.context, summary: spec.summary ?? spec.question };
  const { language } = stage.speak(words);
  const tags = new Set(
    spec.choices?.flatMap(({ label }) => (typeof label === "string" ? [] : Object.keys(label))),
  );
  const fingerprint = fingerprintOf("clarify", spec.question, accepts);
  const asked = await asking.ask({
    key: stage.ledger.keyOf(spec.key, fingerprint),
    fingerprint,
    type: "aaep:agent.awaiting.clarification",
    words,
    fields: {
      ...accepts,
      ...choicesIn(spec, language),
      default_response: spec.default === undefined ? undefined : String(spec.default),
    },
    localized: Object.fromEntries([...tags].map((tag) => [tag, choicesIn(spec, tag)])),
    timeout_seconds: spec.timeout_seconds ?? timeout_seconds,
    wait_for_listener_seconds: spec.wait_for_listener_seconds,
    signal: spec.signal,
    subject: "A question",
    nobody: (phrases) => silence(phrases, "nobody_to_ask"),
    verdict: ({ outcome }) => ({
      outcome,
      words: (phrases) =>
        outcome === "timed_out" || outcome === "disconnected"
          ? silence(phrases, outcome)
          : phrases.settled[outcome],
      state: "thinking",
    }),
  });
  if (asked.outcome === "answered" && asked.reply?.type === "clarification.reply") {
    const { response } = asked.reply;
    return { answered: true, response, kind: responseKind(accepts, response)! };
  }
  const outcome = asked.outcome as AskRefusal;
  const summary = stage.ownText((phrases) =>
    outcome === "withdrawn" || outcome === "rejected"
      ? String(phrases.settled.withdrawn)
      : silence(phrases, outcome),
  );
  return { answered: false, outcome, assumed: spec.default, summary };
}

const choicesIn = ({ choices }: ClarifySpec, language: string) =>
  choices
    ? { choices: choices.map(({ value, label }) => ({ value, label: inLanguage(label, language) })) }
    : {};
