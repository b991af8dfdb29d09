/**
 * Earshot's own extension (docs/extension.md), prefix `earshot`: resume, resolution notices, more time, status, cancel,
 * follow. A peer that does not know it loses nothing that AAEP 1.0 promises.
 */
export const EXTENSION_PREFIX = "earshot";
export const EXTENSION_URI = "urn:earshot:aaep:v1";

/** What a listener may ask for under `capabilities.earshot`. */
export interface ExtensionCapabilities {
  /** Keep my position for a while when the connection is lost, on any transport. */
  readonly resume?: boolean;
  /** Send questions even though I cannot answer them: I forward them (CNF-31). */
  readonly view_prompts?: boolean;
  /** Leave questions open at least this long (CON-47). */
  readonly minimum_timeout_seconds?: number;
}

/** Where a subscription was. In a request, under `extensions.earshot.resume`: continue after this event. */
export interface ResumePoint {
  readonly subscription_id: string;
  readonly last_event_id?: string | undefined;
}

/** How a question ended. */
export type QuestionOutcome =
  | "accepted"
  | "rejected"
  | "answered"
  | "timed_out"
  | "withdrawn"
  | "disconnected";

/** On a state.changed, under `extensions.earshot`: this question is settled (CON-13). */
export interface Resolves {
  readonly reply_token: string;
  readonly outcome: QuestionOutcome;
}

/** On a prompt or a notice about one, under `extensions.earshot`. */
export interface Deadline {
  readonly reply_token: string;
  readonly seconds_left: number;
  /** How often more time can still be had, and the most there can be in all. */
  readonly extensions_left: number;
  readonly ceiling_seconds: number;
}

/** What we honor of `capabilities.earshot`; the operator's ceiling is said up front (WCAG 2.2.1). */
function negotiateExtension(
  requested: Record<string, unknown>,
  ceiling_seconds = 86_400,
): Record<string, unknown> {
  const minimum = requested["minimum_timeout_seconds"];
  return {
    ...(requested["resume"] === true ? { resume: true } : {}),
    ...(requested["view_prompts"] === true ? { view_prompts: true } : {}),
    ...(Number.isInteger(minimum) && (minimum as number) >= 1
      ? { minimum_timeout_seconds: Math.min(minimum as number, ceiling_seconds), ceiling_seconds }
      : {}),
  };
}

/** Our extension as an agent offers it. */
export const extensionOffer = (ceiling_seconds?: number) => ({
  uri: EXTENSION_URI,
  prefix: EXTENSION_PREFIX,
  negotiate: (requested: Record<string, unknown>) => negotiateExtension(requested, ceiling_seconds),
});

export function resumeRequest(
  extensions: Record<string, Record<string, unknown>> | undefined,
): ResumePoint | undefined {
  const resume = extensions?.[EXTENSION_PREFIX]?.["resume"] as Partial<ResumePoint> | undefined;
  if (typeof resume !== "object" || resume === null || typeof resume.subscription_id !== "string")
    return undefined;
  return {
    subscription_id: resume.subscription_id,
    ...(typeof resume.last_event_id === "string" ? { last_event_id: resume.last_event_id } : {}),
  };
}
