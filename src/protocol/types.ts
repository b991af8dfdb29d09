/** The types of all AAEP 1.0 messages. The message types are generated; this file groups them. */
import type {
  ClarificationReply,
  ConfirmationReply,
  CoreEventMap,
  ExtensionEvent,
  MessageMap,
} from "./generated/types.ts";

export type * from "./generated/types.ts";

export type CoreEventType = keyof CoreEventMap;
export type CoreEvent = CoreEventMap[CoreEventType];
/** Anything with an envelope: a core event, or one of an extension or a later version. */
export type AgentEvent = CoreEvent | ExtensionEvent;
export type Reply = ConfirmationReply | ClarificationReply;
export type OtherMessage = MessageMap[keyof MessageMap];
export type Message = AgentEvent | OtherMessage;

export type Verbosity = "terse" | "normal" | "detailed";
export type Urgency = "background" | "normal" | "critical";
export type RiskLevel = "low" | "medium" | "high";
export type Boundary = "none" | "word" | "sentence" | "paragraph" | "completion";
export type CognitiveLoad = "low" | "medium" | "high";

export const CORE_CONTEXT = "https://aaep-protocol.org/context/v1";
export const AAEP_VERSION = "1.0.0";

const CORE_TYPE = /^https:\/\/aaep-protocol\.org\/(?:types\/|vocab\/v1#)(.+)$/;

/** Both spellings of a core type are the same type (ENV-06, CON-35). */
export function compactType(type: string): string {
  const match = type.charCodeAt(0) === 104 ? CORE_TYPE.exec(type) : null;
  return match ? `aaep:${match[1]}` : type;
}
