/** The types of all AAEP 1.0 messages. The message types are generated; this file groups them. */
import type {
  ClarificationReply,
  ConfirmationReply,
  CoreEventMap,
  ExtensionEvent,
  MessageMap,
} from "./generated/types.ts";

export type * from "./generated/types.ts";

/** The type of a core event, e.g. `aaep:agent.session.started`. */
export type CoreEventType = keyof CoreEventMap;
/** One of the twelve events of AAEP 1.0. */
export type CoreEvent = CoreEventMap[CoreEventType];
/** Anything with an envelope: a core event, or one of an extension or a later version. */
export type AgentEvent = CoreEvent | ExtensionEvent;
/** An answer to a question. */
export type Reply = ConfirmationReply | ClarificationReply;
/** A message that is not an event: handshake, replies, manifest and so on. */
export type OtherMessage = MessageMap[keyof MessageMap];
/** Any AAEP message. */
export type Message = AgentEvent | OtherMessage;

/** How detailed a summary is. */
export type Verbosity = "terse" | "normal" | "detailed";
/** How urgent an event is. Critical events interrupt. */
export type Urgency = "background" | "normal" | "critical";
/** How much harm an action could do. */
export type RiskLevel = "low" | "medium" | "high";
/** Where streamed text may be split. */
export type Boundary = "none" | "word" | "sentence" | "paragraph" | "completion";
/** How much a listener wants to be told: low means fewest announcements. */
export type CognitiveLoad = "low" | "medium" | "high";

/** The JSON-LD context of every AAEP 1.0 event. */
export const CORE_CONTEXT = "https://aaep-protocol.org/context/v1";
/** The AAEP version this library implements. */
export const AAEP_VERSION = "1.0.0";
