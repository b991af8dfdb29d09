/** `earshot/voices`: speech, braille and terminal output. Node only; an assistive technology implements `Voice` itself. */

export { type Speaker, speakWith, type Voice } from "../subscriber/voice.ts";
export {
  BrailleDisplay,
  type BrailleOptions,
  type BrailleVoice,
  createBrailleVoice,
  WAITS,
  WAITS_URGENTLY,
} from "./braille.ts";
export { type BrlapiDisplay, type BrlapiOptions, connectBrlapi } from "./brlapi.ts";
export { BRAILLE_TABLES, createLiblouis, type Translator } from "./liblouis.ts";
export { createSpeechDispatcherVoice, type SsipOptions } from "./speech-dispatcher.ts";
export {
  createEspeakVoice,
  createProgramVoice,
  espeakCommand,
  macVoices,
  powershellCommand,
  type SpeechCommand,
  sayCommand,
} from "./speech-programs.ts";
export { createTerminalVoice, type TerminalOptions } from "./terminal.ts";
