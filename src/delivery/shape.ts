/**
 * A shape is the part of a subscription's terms that decides what it gets: which types pass its filters, verbosity,
 * language, extensions, and where text is cut. Subscriptions with the same shape get the same pieces. Rate limit and
 * pace are not part of it: they decide when.
 */
import { compileFilters, isCritical } from "../protocol/filters.ts";
import type { Terms } from "../protocol/negotiate.ts";
import {
  type AgentEvent,
  type Boundary,
  CORE_CONTEXT,
  type OutputStreaming,
  type StateChanged,
  type Verbosity,
} from "../protocol/types.ts";
import { localizationHints, matchLanguage, VARIANT_BASES } from "../text/language.ts";
import type { LogEntry } from "./entry.ts";

/** Extension prefixes in use, with the URI that declares each. */
export type ExtensionRegistry = Readonly<Record<string, string>>;

/** How a subscription wants its events: verbosity, languages, filters, boundaries. Equal shapes share their bytes. */
export interface Shape {
  /** Subscriptions with equal keys share bytes, so every field that changes what is sent must be part of the key. */
  readonly key: string;
  readonly verbosity: Verbosity;
  readonly languages: readonly string[];
  readonly passes: (type: string) => boolean;
  readonly low: boolean;
  /** Where text is cut: the finest honored boundary, or the coarsest at low load (CON-21, CON-22). */
  readonly boundary: Boundary;
  /** The boundary as a number: 0 cuts everywhere, 4 only at the end. */
  readonly level: number;
  readonly honored: readonly Boundary[];
  readonly prefixes: ReadonlySet<string>;
  readonly confirmation: boolean;
  readonly clarification: boolean;
  readonly hints: Map<string, AgentEvent["localization_hints"]>;
}

export const BOUNDARIES: readonly Boundary[] = ["none", "word", "sentence", "paragraph", "completion"];

const shapes = new Map<string, Shape>();
const MAX_SHAPES = 4096;

/** The shape that follows from a subscription's terms. */
export function shapeOf(terms: Terms, registry: ExtensionRegistry = {}): Shape {
  const honored = BOUNDARIES.filter((boundary) => terms.boundaries.includes(boundary));
  const low = terms.load === "low";
  const boundary = (low ? honored.at(-1) : honored[0]) ?? "sentence";
  const verbosity = low && !terms.verbosityGiven ? "terse" : terms.verbosity;
  const prefixes = Object.keys(registry).filter((prefix) => terms.extensions.includes(registry[prefix]!));
  const views = terms.extensionTerms["earshot"]?.["view_prompts"] === true;
  const confirmation = terms.confirmation || views;
  const clarification = terms.clarification || views;
  const { include, exclude } = terms.filters;
  const key = JSON.stringify([
    verbosity,
    terms.languages,
    [...include].sort(),
    [...exclude].sort(),
    low,
    boundary,
    honored,
    prefixes.sort(),
    confirmation,
    clarification,
  ]);
  const known = shapes.get(key);
  if (known) return known;
  const shape: Shape = {
    key,
    verbosity,
    languages: terms.languages,
    passes: memoize(compileFilters(terms.filters)),
    low,
    boundary,
    level: BOUNDARIES.indexOf(boundary),
    honored,
    prefixes: new Set(prefixes),
    confirmation,
    clarification,
    hints: new Map(),
  };
  // Peers choose shapes, so the cache is bounded. A shape in use is kept alive by its lanes.
  if (shapes.size >= MAX_SHAPES) shapes.delete(shapes.keys().next().value!);
  shapes.set(key, shape);
  return shape;
}

/** Each type is matched once: types are few, tokens many. Peers choose types too, so the cache is bounded. */
function memoize(passes: (type: string) => boolean): (type: string) => boolean {
  const known = new Map<string, boolean>();
  return (type) => {
    let verdict = known.get(type);
    if (verdict === undefined) {
      verdict = passes(type);
      if (known.size < 256) known.set(type, verdict);
    }
    return verdict;
  };
}

/** The field that a name is a language variant of, or "". Cached: names repeat with every token. */
const bases = new Map<string, string>();
function baseOf(key: string): string {
  let base = bases.get(key);
  if (base === undefined) {
    base =
      VARIANT_BASES.find(
        (name) => key.length > name.length && key.startsWith(name) && key[name.length] === "_",
      ) ?? "";
    if (bases.size < 1000) bases.set(key, base);
  }
  return base;
}

/** The language variants of an event's text fields, found once per event. */
export function variantsOf(
  event: AgentEvent,
): ReadonlyMap<string, Readonly<Record<string, string>>> | undefined {
  let found: Map<string, Record<string, string>> | undefined;
  for (const key in event) {
    const value = (event as Record<string, unknown>)[key];
    if (typeof value !== "string" || key.length < 9 || key.charCodeAt(0) === 64) continue;
    const base = baseOf(key);
    if (base === "") continue;
    const tag = key.slice(base.length + 1).replaceAll("_", "-");
    found ??= new Map();
    const texts = found.get(tag) ?? {};
    texts[base] = value;
    found.set(tag, texts);
  }
  return found;
}

/** The event to send for an entry under a shape, or undefined if the shape drops it. Streamed text is cut in cut.ts. */
export function applyShape(
  entry: LogEntry,
  shape: Shape,
  variants: ReturnType<typeof variantsOf>,
): AgentEvent | undefined {
  const { event } = entry;
  const critical = isCritical(event);
  const raised = !critical && dropped(event, shape);
  if (raised && !entry.required) return undefined;
  if (
    (event.type === "aaep:agent.awaiting.confirmation" && !shape.confirmation) ||
    (event.type === "aaep:agent.awaiting.clarification" && !shape.clarification)
  ) {
    return withoutToken(applyShapeToFields(event, shape, variants), event);
  }
  const shaped = localize(applyShapeToFields(event, shape, variants), entry);
  return raised ? { ...shaped, urgency: "critical" } : shaped;
}

/** Labels and choices in the language chosen for the text, if available. */
function localize(event: AgentEvent, { localized }: LogEntry): AgentEvent {
  const fields = localized?.[event.localization_hints?.primary_language?.toLowerCase() ?? ""];
  return fields ? ({ ...event, ...fields } as AgentEvent) : event;
}

/** The other fields of a text chunk, treated like those of any event. */
export function applyShapeToText(
  event: OutputStreaming,
  shape: Shape,
  variants: ReturnType<typeof variantsOf>,
): AgentEvent {
  const plain =
    !variants &&
    event.extensions === undefined &&
    !("summary_terse" in event) &&
    !("summary_detailed" in event);
  return plain ? event : applyShapeToFields(event, shape, variants);
}

function dropped(event: AgentEvent, shape: Shape): boolean {
  if (!shape.passes(event.type)) return true;
  if (!shape.low || event.urgency !== "background") return false;
  if (event.type === "aaep:agent.progress.updated") return true;
  if (event.type !== "aaep:agent.state.changed") return false;
  const { from_state, to_state } = event as StateChanged;
  return from_state !== "awaiting_input" && to_state !== "awaiting_input";
}

const SUMMARY: Record<Verbosity, string> = {
  terse: "summary_terse",
  normal: "summary_normal",
  detailed: "summary_detailed",
};
const UNWANTED = ["summary_terse", "summary_detailed"];

function applyShapeToFields(
  event: AgentEvent,
  shape: Shape,
  variants: ReturnType<typeof variantsOf>,
): AgentEvent {
  const out: Record<string, unknown> = { ...event };
  if (variants) {
    for (const [tag, texts] of variants) {
      for (const base in texts) delete out[`${base}_${tag.replaceAll("-", "_")}`];
    }
    chooseLanguage(out, event, shape, variants);
  }
  const keep = SUMMARY[shape.verbosity];
  for (const name of UNWANTED) if (name !== keep && name in out) delete out[name];
  if (event.type !== "aaep:agent.output.streaming")
    out["verbosity"] = keep in out ? shape.verbosity : "normal";
  const extensions = event.extensions;
  if (extensions !== undefined) stripExtensions(out, extensions, shape);
  return out as unknown as AgentEvent;
}

/** Replaces the text fields by the variants of the subscription's language: all of them or none. */
function chooseLanguage(
  out: Record<string, unknown>,
  event: AgentEvent,
  shape: Shape,
  variants: NonNullable<ReturnType<typeof variantsOf>>,
): void {
  const primary = event.localization_hints?.primary_language ?? "und";
  const complete = [...variants.keys()].filter((tag) => {
    const texts = variants.get(tag)!;
    return ["summary_normal", "action", "consequence", "question", "reason"].every(
      (base) => !(base in event) || base in texts,
    );
  });
  const available = [primary, ...complete];
  const memo = available.join();
  let hints = shape.hints.get(memo);
  if (!hints) {
    const tag = matchLanguage(shape.languages, available)?.available ?? primary;
    hints = localizationHints(tag, available);
    if (shape.hints.size > 256) shape.hints.clear();
    shape.hints.set(memo, hints);
  }
  out["localization_hints"] = hints;
  const texts = variants.get(hints!.primary_language!);
  if (!texts) return;
  // Drop summaries without a variant in this language: they would be in another one.
  for (const name of UNWANTED) if (!(name in texts)) delete out[name];
  for (const base in texts) out[base] = texts[base];
}

function stripExtensions(
  out: Record<string, unknown>,
  extensions: Record<string, Record<string, unknown>>,
  shape: Shape,
): void {
  const kept = Object.entries(extensions).filter(([prefix]) => shape.prefixes.has(prefix));
  if (kept.length === Object.keys(extensions).length) return;
  if (kept.length > 0) {
    out["extensions"] = Object.fromEntries(kept);
  } else {
    delete out["extensions"];
    if (!(out["type"] as string).startsWith("aaep:")) return;
    out["@context"] = CORE_CONTEXT;
  }
}

/** A subscription that cannot reply gets the question as a notice, without its token (CON-01). */
function withoutToken(words: AgentEvent, event: AgentEvent): AgentEvent {
  const notice: Record<string, unknown> = {
    "@context": CORE_CONTEXT,
    type: "aaep:agent.state.changed",
    event_id: event.event_id,
    session_id: event.session_id,
    timestamp: event.timestamp,
    producer: event.producer,
    urgency: "critical",
    verbosity: words.verbosity,
    localization_hints: words.localization_hints,
    from_state: "awaiting_input",
    to_state: "awaiting_input",
  };
  for (const name of [
    "aaep_version",
    "correlation_id",
    "summary_terse",
    "summary_normal",
    "summary_detailed",
  ]) {
    const value = (words as Record<string, unknown>)[name];
    if (value !== undefined) notice[name] = value;
  }
  notice["summary_normal"] ??=
    (words as Record<string, unknown>)["action"] ?? (words as Record<string, unknown>)["question"];
  return notice as unknown as AgentEvent;
}
