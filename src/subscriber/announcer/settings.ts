/** What a person may set, and what an announcer is built with. */
import type { CognitiveLoad, Verbosity } from "../../protocol/types.ts";
import type { AutoAnswer } from "../answers.ts";
import type { SpokenBoundary } from "./output-buffer.ts";

export interface AnnouncerSettings {
  /** Languages the person reads, best first. */
  readonly languages: readonly string[];
  readonly verbosity: Verbosity;
  readonly load: CognitiveLoad;
  /** Another verbosity for some event types. */
  readonly verbosity_by_type: Readonly<Record<string, Verbosity>>;
  readonly pace_wpm: number | undefined;
  /** A word that work goes on, after 15 seconds of silence and then ever more rarely. */
  readonly still_working: boolean;
  /** Where streamed text may be cut; sentences by ear, paragraphs by finger (SUB-17). */
  readonly boundary: SpokenBoundary;
}

export interface AnnouncerOptions extends Partial<AnnouncerSettings> {
  /** Whether there is a voice, or a braille table, for a language. */
  readonly can?: (language: string) => boolean;
  readonly medium?: "voice" | "braille";
  /** None by default. Never a yes to anything irreversible or of high risk (CON-75). */
  readonly auto_answers?: readonly AutoAnswer[];
}

export const defaultSettings = (medium: "voice" | "braille"): AnnouncerSettings => ({
  languages: ["en"],
  verbosity: "normal",
  load: "medium",
  verbosity_by_type: {},
  pace_wpm: undefined,
  still_working: true,
  boundary: medium === "braille" ? "paragraph" : "sentence",
});
