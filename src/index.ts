/** `earshot`: make an agent audible, answerable and safe. */

export type { ByLanguage, ByVerbosity, Sentence, Summary } from "./producer/envelope.ts";
export type { AcceptHook } from "./producer/gate.ts";
export { ENGLISH, type Phrases, type Refusal, type RefusalOutcome } from "./producer/phrases.ts";
export {
  createProducer,
  type InterruptedSession,
  type Producer,
  type ProducerOptions,
} from "./producer/producer.ts";
export type { Session } from "./producer/session.ts";
export type {
  CancelSpec,
  ClarifyOutcome,
  ClarifySpec,
  ConfirmOutcome,
  ConfirmSpec,
  FailSpec,
  GatedToolSpec,
  HandoffSpec,
  LenientConfirmSpec,
  PlainToolSpec,
  ProgressSpec,
  Ran,
  SayOptions,
  SessionSpec,
  ToolContext,
  ToolOutcome,
} from "./producer/specs.ts";
export { EarshotError, type ErrorCode, type ErrorCodes, type RequirementId } from "./protocol/errors.ts";
export type { Deadline, ExtensionCapabilities, QuestionOutcome, Resolves } from "./protocol/extension.ts";
export type { Clock } from "./protocol/platform.ts";
