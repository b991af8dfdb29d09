/** `earshot/protocol`: validate, build, negotiate and reason about any AAEP 1.0 message. No Node, no eval. */

export * from "../text/language.ts";
export { compactType } from "./compact-type.ts";
export { describeIssues, EarshotError, ProtocolError } from "./errors.ts";
export * from "./filters.ts";
export { createIds, type IdPrefix, type Ids, type RandomBytes, systemRandom } from "./ids.ts";
export type { Issue } from "./issue.ts";
export {
  EMIT_LIMITS,
  fitsBytes,
  hasDuplicateKeys,
  type Limits,
  RECEIVE_LIMITS,
  utf8Length,
} from "./limits.ts";
export * from "./negotiate.ts";
export { isMessage, type Parsed, type ParseOptions, parse, parseValue } from "./parse.ts";
export * from "./types.ts";
