/** `earshot`: make an agent audible, answerable and safe. */
export { EarshotError } from "./protocol/errors.ts";
export type { Clock } from "./protocol/clock.ts";
export { createProducer, type Producer, type ProducerOptions } from "./producer/producer.ts";
export type { Refusal, RefusalOutcome } from "./producer/refusals.ts";
export type { AcceptHook, Session } from "./producer/session.ts";
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
export type { ByLanguage, ByVerbosity, Sentence, Summary } from "./producer/words.ts";
