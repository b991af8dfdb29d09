/** Names and sentences of others, fit to stand in one line of ours. */

import { neutralize } from "../../subscriber/announcer.ts";
import type { Subscriber } from "../../subscriber/index.ts";

const LONGEST_NAME = 80;

export const oneLine = (text: string): string => neutralize(text).text.replaceAll(/\s+/gu, " ").trim();

/** Whole characters, so many at most. */
export const shorten = (text: string, most: number): string => Array.from(text).slice(0, most).join("");

export const shortName = (text: string): string => shorten(oneLine(text), LONGEST_NAME);

/** No sentence may end in it: what follows would pass for one of ours. */
export const nameOf = (subscriber: Subscriber): string => {
  const { agent_id, agent_name = "" } = subscriber.accepted.producer;
  return shortName(agent_name.replaceAll(/[.!?:;…。！？：；؟۔]+(?=\s|$)/gu, " ")) || shortName(agent_id);
};
