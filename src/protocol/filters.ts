/** Event filters of a subscription (5.3.1.7, 5.5.4; CON-05, CON-14). */

/** What a subscription without filters receives. */
export const DEFAULT_INCLUDE = "aaep:agent.*";

/** Delivered to every subscription regardless of filters and rate limit, even if their urgency is missing (CON-14). */
export const CRITICAL_TYPES: ReadonlySet<string> = new Set([
  "aaep:agent.session.errored",
  "aaep:agent.awaiting.confirmation",
  "aaep:agent.awaiting.clarification",
  "aaep:agent.handoff.requested",
]);

/** Whether an event is critical: delivered to everybody at once, whatever the filters and the rate. */
export const isCritical = (event: { readonly type: string; readonly urgency?: unknown }): boolean =>
  event.urgency === "critical" || CRITICAL_TYPES.has(event.type);

interface Filters {
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
}

/**
 * The types matched by a list of patterns. `covers` says whether the list matches everything that a type or pattern
 * matches. One entry must do so alone: no finite list of longer prefixes adds up to a shorter one.
 */
function patternSet(patterns: readonly string[]): { covers(pattern: string): boolean } {
  const entries = new Set(patterns);
  let shortest = Infinity;
  let longest = 0;
  for (const entry of entries) {
    if (!entry.endsWith("*")) continue;
    shortest = Math.min(shortest, entry.length - 1);
    longest = Math.max(longest, entry.length - 1);
  }
  return {
    covers(pattern) {
      if (entries.has(pattern)) return true;
      const reach = Math.min(longest, pattern.endsWith("*") ? pattern.length - 1 : pattern.length);
      for (let end = shortest; end <= reach; end++) if (entries.has(`${pattern.slice(0, end)}*`)) return true;
      return false;
    },
  };
}

const lists = ({ include = [DEFAULT_INCLUDE], exclude = [] }: Filters) => ({
  include: include.map(compactType),
  exclude: exclude.map(compactType),
});

/** Exclude wins. Critical events bypass filters: the caller handles that. */
export function compileFilters(filters: Filters | undefined): (type: string) => boolean {
  const { include, exclude } = lists(filters ?? {});
  const wanted = patternSet(include);
  const unwanted = patternSet(exclude);
  return (type) => {
    const compact = compactType(type);
    return wanted.covers(compact) && !unwanted.covers(compact);
  };
}

/** Whether filters let an event type through. Critical events bypass filters; see `isCritical`. */
export const typePasses = (filters: Filters | undefined, type: string): boolean =>
  compileFilters(filters)(type);

/**
 * Whether every type that passes `honored` also passes `requested`, decided from the patterns: each honored include is
 * within the requested ones (or excluded again), and everything excluded by the request stays excluded.
 */
export function filtersNoWider(requested: Filters | undefined, honored: Filters | undefined): boolean {
  const asked = lists(requested ?? {});
  const given = lists(honored ?? {});
  const askedOut = patternSet(asked.exclude);
  const givenIn = patternSet(given.include);
  const givenOut = patternSet(given.exclude);
  const allowed = patternSet([...asked.include, ...given.exclude]);
  return (
    given.include.every((one) => allowed.covers(one) && (!askedOut.covers(one) || givenOut.covers(one))) &&
    asked.exclude.every((one) => !givenIn.covers(one) || givenOut.covers(one))
  );
}

const CORE_TYPE = /^https:\/\/aaep-protocol\.org\/(?:types\/|vocab\/v1#)(.+)$/;

/** Both spellings of a core type are the same type (ENV-06, CON-35). */
export function compactType(type: string): string {
  const match = type.charCodeAt(0) === 104 ? CORE_TYPE.exec(type) : null;
  return match ? `aaep:${match[1]}` : type;
}
