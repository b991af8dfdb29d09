/** `earshot/voices`: where words end up. Node only; an assistive technology brings its own `Voice` instead. */

export { type Speaker, speakWith, type Voice } from "../subscriber/voice.ts";
export { type BrailleOptions, type BrailleVoice, createBrailleVoice } from "./braille.ts";
export { BrailleDisplay, WAITS, WAITS_URGENTLY } from "./braille-display.ts";
export { type BrlapiDisplay, type BrlapiOptions, connectBrlapi } from "./brlapi.ts";
export { BRAILLE_TABLES, createLiblouis, type Translator } from "./liblouis.ts";
export {
  createEspeakVoice,
  createProgramVoice,
  espeakCommand,
  macVoices,
  powershellCommand,
  type SpeechCommand,
  sayCommand,
} from "./programs.ts";
export { createSpeechDispatcherVoice, type SsipOptions } from "./ssip.ts";
export { createTerminalVoice, type TerminalOptions } from "./terminal.ts";
