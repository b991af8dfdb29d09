/**
 * `earshot/delivery`: fan-out from one log to many subscriptions, each by its own terms. Pure; the clock is passed in.
 */

export { createSegmenter, type Segmenter, segmentText } from "../text/segmenter/segmenter.ts";
export { type Cursor, decodeId, encodeEventId } from "./cursor.ts";
export type { Sink } from "./drain.ts";
export { LONGEST_PAUSE_MS } from "./drain.ts";
export { type Attachment, type AttachOptions, Engine, type EngineOptions } from "./engine.ts";
export type { LogEntry, LogIdentity } from "./entry.ts";
export type { LaneDelivery, View } from "./lane.ts";
export { closesText, isTerminal, type SessionTrack } from "./log-window.ts";
export { ENGLISH_WORDS, type GapReason, type NoticeWords } from "./notices.ts";
export { createOutputText, type OutputText } from "./output-text.ts";
export { type ExtensionRegistry, type Shape, shapeOf } from "./shape.ts";
