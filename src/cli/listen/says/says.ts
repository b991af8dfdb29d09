/**
 * The listener's own words about typing and leaving, one file per language. What agents do is told by the announcer,
 * from its own catalogs. The words a person types are the catalogs' too; English ones always work as well.
 */
export interface Says {
  readonly language: string;
  greeting(names: string): string;
  greetingKeys(names: string): string;
  readonly typedAhead: string;
  readonly pieceWaits: string;
  readonly pieceNoAnswer: string;
  readonly pipedNoYes: string;
  dropped(count: number): string;
  unknown(word: string): string;
  gone(name: string): string;
  readonly answerWaits: string;
  readonly speechFailed: string;
  readonly nothingWaits: string;
  readonly waits: string;
  readonly urgentWaits: string;
  /** Follows another sentence. */
  moreWait(count: number): string;
  readonly noPages: string;
  readonly left: string;
  /** `word`: what a person types, in their language and in English where that differs. */
  help(word: (name: "yes" | "no" | "confirm" | "more" | "repeat" | "what") => string): readonly string[];
  readonly stepHelp: string;
  readonly brailleHelp: string;
  readonly keyHelp: string;
}
