/** `earshot/web`: an agent's voice in a page, as an element or as pieces for a page of your own. */
export { Ear } from "./ear.ts";
export { defineEarshotLive, type EarshotAnnounced, EarshotLive } from "./element.ts";
export { LiveRegions } from "./live-regions.ts";
export { markdownNodes } from "./markdown.ts";
export { LANGUAGES, loadLanguage } from "./messages.ts";
export type { EarSettings, Speed } from "./settings.ts";
export type { ConnectionState, EarOptions, EarView, Token } from "./shared.ts";
export { Transcript } from "./transcript.ts";
