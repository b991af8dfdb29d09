/** Names and sentences of others, fit to stand in one line of ours. */
import type { Subscriber } from "../../connect/index.ts";
import { neutralize } from "../../subscriber/announcer.ts";

const LONGEST_NAME = 80;

export const oneLine = (text: string): string => neutralize(text).text.replaceAll(/\s+/gu, " ").trim();

export const shortName = (text: string): string => oneLine(text).slice(0, LONGEST_NAME);

export const nameOf = (subscriber: Subscriber): string => {
  const { agent_id, agent_name } = subscriber.accepted.producer;
  return shortName(agent_name ?? agent_id);
};
