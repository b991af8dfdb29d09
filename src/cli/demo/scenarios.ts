/** Every scenario there is, the household's first. Help comes last: what calls up nothing else gets it. */

import { EarshotError } from "../../index.ts";
import { nearest } from "../arguments.ts";
import { OUTPUTS } from "./awkward/outputs.ts";
import { QUESTIONS } from "./awkward/questions.ts";
import { SESSIONS } from "./awkward/sessions.ts";
import { balance, transfer } from "./household/bank.ts";
import { dinner, room, timer } from "./household/calendar.ts";
import { fetchData, tests } from "./household/code.ts";
import { deletion, tidy } from "./household/files.ts";
import { mail } from "./household/mail.ts";
import { human, weather } from "./household/people.ts";
import { rainbow } from "./household/rainbow.ts";
import { fact, hello, help, paragraph } from "./household/talk.ts";
import { calledOff, printer, unknownTool } from "./household/trouble.ts";
import type { Scenario } from "./scenario.ts";

export const HOUSEHOLD: readonly Scenario[] = [
  transfer,
  hello,
  rainbow,
  deletion,
  mail,
  room,
  weather,
  human,
  balance,
  dinner,
  timer,
  tidy,
  tests,
  unknownTool,
  fetchData,
  printer,
  calledOff,
  fact,
  paragraph,
  help,
];

export const AWKWARD: readonly Scenario[] = [...QUESTIONS, ...OUTPUTS, ...SESSIONS];

export const SCENARIOS: readonly Scenario[] = [...HOUSEHOLD, ...AWKWARD];

export function scenarioNamed(name: string): Scenario {
  const found = SCENARIOS.find((scenario) => scenario.name === name);
  if (found) return found;
  const names = SCENARIOS.map((scenario) => scenario.name);
  const near = nearest(name, names);
  throw new EarshotError(
    "unknown_scenario",
    `There is no scenario "${name}".${near ? ` Did you mean "${near}"?` : ""} "earshot demo --scenario list" names them all.`,
  );
}
