/** Changes a person asks for with a yes (CON-73): which can be made, and what comes of them. */
import type { Settlement } from "../hub/questions.ts";
import type { ConfirmationReply } from "../protocol/types.ts";
import type { Asked } from "./asking.ts";
import { freezeParams, type Params } from "./params.ts";
import type { GatedToolSpec } from "./specs.ts";

/** “Yes, but …”: a yes to something else. */
export const wantsChange = (asked: Settlement | Asked): asked is Settlement & { reply: ConfirmationReply } =>
  asked.outcome === "accepted" &&
  (asked.reply as ConfirmationReply | undefined)?.modified_action !== undefined;

/** The parameters after a person's change, if every changed one may be changed and keeps its kind. */
export function applyChange(
  spec: GatedToolSpec<Params>,
  params: Params,
  change: Record<string, unknown>,
): Params | undefined {
  const modifiable: readonly string[] = spec.modifiable ?? [];
  const entries = Object.entries(change);
  const allowed = entries.every(
    ([name, value]) =>
      modifiable.includes(name) && Object.hasOwn(params, name) && kindOf(value) === kindOf(params[name]),
  );
  if (!allowed || entries.length === 0) return undefined;
  try {
    return freezeParams({ ...params, ...change });
  } catch {
    // What no tool could be given, such as 1e999: it came from outside, so it is an answer and not an error.
    return undefined;
  }
}

const kindOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
