/** `earshot/protocol`: types, validation and negotiation of AAEP 1.0 messages. No Node-only imports, no eval. */

export * from "../text/language.ts";
export { describeIssues, EarshotError, type ErrorCode, type Issue, ProtocolError } from "./errors.ts";
export * from "./filters.ts";
export {
  EMIT_LIMITS,
  fitsBytes,
  hasDuplicateKeys,
  type Limits,
  RECEIVE_LIMITS,
  utf8Length,
} from "./limits.ts";
export {
  chooseVersion,
  type ExtensionOffer,
  negotiate,
  noMorePermissive,
  type Offer,
  renegotiate,
  resolveTerms,
  type Terms,
} from "./negotiate.ts";
export { isMessage, type Parsed, type ParseOptions, parse, parseValue } from "./parse.ts";
export { createIds, type IdPrefix, type Ids, type RandomBytes, systemRandom } from "./platform.ts";
export * from "./types.ts";
