/** `earshot/web`: an agent's voice in a page, as an element or as pieces for a page of your own. */
export { Announce } from "./announce.ts";
export { Ear } from "./ear.ts";
export { defineEarshotLive, type EarshotAnnounced, EarshotLive } from "./element.ts";
export { LANGUAGES, loadLanguage } from "./languages.ts";
export { markdownNodes } from "./markdown.ts";
export type { EarSettings, Speed } from "./settings.ts";
export type { ConnectionState, EarOptions, EarView, Token } from "./shared.ts";
export { Transcript } from "./transcript.ts";
