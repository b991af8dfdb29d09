/** `earshot/web`: an agent's voice in a page, as an element or as pieces for a page of your own. */

export type { Token } from "../subscriber/index.ts";
export { defineEarshotLive, type EarshotAnnounced, EarshotLive } from "./element.ts";
export { LiveRegions } from "./live-regions.ts";
export { markdownNodes } from "./markdown.ts";
export { LANGUAGES, loadLanguage } from "./messages.ts";
export {
  type ConnectionState,
  PageListener,
  type PageListenerOptions,
  type PageView,
} from "./page-listener.ts";
export type { PageSettings, Speed } from "./settings.ts";
export { Transcript } from "./transcript.ts";
