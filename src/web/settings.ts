/** What a person sets on a page, and how it is declared to the agent. */
import type { Capabilities, CognitiveLoad, Verbosity } from "../protocol/types.ts";

export type Speed = "slow" | "medium" | "fast";

export interface EarSettings {
  /** Best first. */
  readonly languages: readonly string[];
  readonly verbosity: Verbosity;
  readonly load: CognitiveLoad;
  readonly speed: Speed;
}

/** Announcements a second at most, and the words a minute they are reckoned with: a page is not told when speech ends. */
const SPEEDS: Readonly<Record<Speed, { readonly rate: number; readonly pace: number }>> = {
  slow: { rate: 1, pace: 120 },
  medium: { rate: 3, pace: 300 },
  fast: { rate: 6, pace: 600 },
};

export const paceOf = ({ speed }: EarSettings): number => SPEEDS[speed].pace;

export const rateOf = ({ speed }: EarSettings, honored?: Capabilities): number =>
  Math.min(SPEEDS[speed].rate, honored?.max_events_per_second ?? Infinity);

export const capabilitiesOf = (settings: EarSettings): Capabilities => ({
  languages: [...settings.languages],
  preferred_verbosity: settings.verbosity,
  cognitive_load: settings.load,
  max_events_per_second: SPEEDS[settings.speed].rate,
  pace_wpm: SPEEDS[settings.speed].pace,
  coalesce_boundaries: ["sentence", "completion"],
});
