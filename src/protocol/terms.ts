/** The terms of a subscription: capability defaults, how two sets compare, how an acceptance reads (5.3, 5.4.4; CON-15). */
import { DEFAULT_INCLUDE, filtersNoWider } from "./filters.ts";
import { isObject } from "./formats.ts";
import type { Boundary, Capabilities, CognitiveLoad, Verbosity } from "./types.ts";

export const VERBOSITIES: readonly Verbosity[] = ["terse", "normal", "detailed"];
const LOADS: readonly CognitiveLoad[] = ["low", "medium", "high"];

/** Asking for this rate lifts the limit: a field cannot be taken back by leaving it out (CON-19). */
export const UNLIMITED = 100_000;

/** Every capability that has a default, with the default where nothing was said. Lists are copies. */
export const withDefaults = (given: Capabilities) => ({
  preferred_verbosity: given.preferred_verbosity ?? "normal",
  languages: [...(given.languages ?? ["en-US"])],
  supports_confirmation_reply: given.supports_confirmation_reply ?? false,
  supports_clarification_reply: given.supports_clarification_reply ?? false,
  coalesce_boundaries: [...(given.coalesce_boundaries ?? (["sentence", "completion"] as const))],
  event_filters: {
    include: [...(given.event_filters?.include ?? [DEFAULT_INCLUDE])],
    exclude: [...(given.event_filters?.exclude ?? [])],
  },
  supported_conformance_levels: [...(given.supported_conformance_levels ?? ([1] as const))],
  supported_extensions: [...(given.supported_extensions ?? [])],
  cognitive_load: given.cognitive_load ?? "medium",
  accept_signed_manifests_only: given.accept_signed_manifests_only ?? false,
});

const CORE_FIELDS = new Set([...Object.keys(withDefaults({})), "max_events_per_second", "pace_wpm"]);

export const isCoreField = (name: string): boolean => CORE_FIELDS.has(name);

/** Extension capabilities: objects under a prefix. Names that reach for a prototype are nobody's prefix. */
export const extensionEntries = (capabilities: Capabilities): [string, Record<string, unknown>][] =>
  Object.entries(capabilities).filter(
    (entry): entry is [string, Record<string, unknown>] =>
      !isCoreField(entry[0]) && !/^(?:__proto__|constructor|prototype)$/.test(entry[0]) && isObject(entry[1]),
  );

/**
 * The fields in which `honored` goes beyond `request`, by the rule of each field (CAP-01 to CAP-12), the request's
 * defaults filled in. A field that `honored` leaves out is as requested. Extension capabilities have rules of their own.
 */
export function noMorePermissive(request: Capabilities, honored: Capabilities): string[] {
  const asked = withDefaults(request);
  const beyond = <T>(given: readonly T[] | undefined, allowed: readonly T[]): boolean =>
    given?.some((one) => !allowed.includes(one)) ?? false;
  const above = <T>(order: readonly T[], given: T | undefined, asked: T): boolean =>
    given !== undefined && order.indexOf(given) > order.indexOf(asked);
  const excess: Record<string, boolean> = {
    max_events_per_second: (honored.max_events_per_second ?? 0) > (request.max_events_per_second ?? Infinity),
    preferred_verbosity: above(VERBOSITIES, honored.preferred_verbosity, asked.preferred_verbosity),
    languages: beyond(honored.languages, asked.languages),
    supports_confirmation_reply:
      (honored.supports_confirmation_reply ?? false) && !asked.supports_confirmation_reply,
    supports_clarification_reply:
      (honored.supports_clarification_reply ?? false) && !asked.supports_clarification_reply,
    coalesce_boundaries: beyond(honored.coalesce_boundaries, asked.coalesce_boundaries),
    event_filters:
      honored.event_filters !== undefined && !filtersNoWider(asked.event_filters, honored.event_filters),
    supported_conformance_levels: beyond(
      honored.supported_conformance_levels,
      asked.supported_conformance_levels,
    ),
    supported_extensions: beyond(honored.supported_extensions, asked.supported_extensions),
    cognitive_load: above(LOADS, honored.cognitive_load, asked.cognitive_load),
    pace_wpm: honored.pace_wpm !== undefined && honored.pace_wpm !== request.pace_wpm,
    accept_signed_manifests_only:
      asked.accept_signed_manifests_only && honored.accept_signed_manifests_only === false,
  };
  return Object.keys(excess).filter((field) => excess[field]);
}

/** What holds on a subscription, nothing left to look up. */
export interface Terms {
  /** Infinity where there is no limit. */
  readonly max_events_per_second: number;
  readonly verbosity: Verbosity;
  /** Whether the listener chose it: at low load only an unchosen one gives way to terse (CON-22). */
  readonly verbosity_given: boolean;
  /** Empty where none of the languages asked for can be served. */
  readonly languages: readonly string[];
  readonly confirmation: boolean;
  readonly clarification: boolean;
  readonly boundaries: readonly Boundary[];
  readonly filters: { readonly include: readonly string[]; readonly exclude: readonly string[] };
  /** Empty where none of the levels asked for is offered. */
  readonly levels: readonly (1 | 2 | 3)[];
  readonly extensions: readonly string[];
  readonly load: CognitiveLoad;
  readonly pace_wpm?: number;
  readonly signed_only: boolean;
  /** What each extension agreed on, by prefix. */
  readonly extension_terms: Readonly<Record<string, Record<string, unknown>>>;
}

/** Absent in the acceptance means as requested, else the default; for languages and levels it means none (CON-15). */
export function resolveTerms(request: Capabilities, honored: Capabilities): Terms {
  const agreed: Capabilities = { ...request, ...honored };
  const filled = withDefaults(agreed);
  const rate = agreed.max_events_per_second ?? UNLIMITED;
  return {
    max_events_per_second: rate >= UNLIMITED ? Infinity : rate,
    verbosity: filled.preferred_verbosity,
    verbosity_given: request.preferred_verbosity !== undefined,
    languages: [...(honored.languages ?? [])],
    confirmation: filled.supports_confirmation_reply,
    clarification: filled.supports_clarification_reply,
    boundaries: filled.coalesce_boundaries,
    filters: filled.event_filters,
    levels: [...(honored.supported_conformance_levels ?? [])],
    extensions: filled.supported_extensions,
    load: filled.cognitive_load,
    ...(agreed.pace_wpm !== undefined && { pace_wpm: agreed.pace_wpm }),
    signed_only: filled.accept_signed_manifests_only,
    extension_terms: Object.fromEntries(extensionEntries(honored)),
  };
}
