/**
 * A shape is what a subscription's terms make of an event: which types pass, which words are chosen, in which
 * language, with which extensions, cut where. Two subscriptions with the same shape get the same pieces. Rate and
 * pace are no part of it: they decide when, not what.
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

/** Extension prefixes a producer may use, with the address that declares each. */
export type ExtensionRegistry = Readonly<Record<string, string>>;

export interface Shape {
  /** Equal keys, equal pieces. */
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
const MOST_SHAPES = 4096;

export function shapeOf(terms: Terms, registry: ExtensionRegistry = {}): Shape {
  const honored = BOUNDARIES.filter((boundary) => terms.boundaries.includes(boundary));
  const low = terms.load === "low";
  const boundary = (low ? honored.at(-1) : honored[0]) ?? "sentence";
  const verbosity = low && !terms.verbosity_given ? "terse" : terms.verbosity;
  const prefixes = Object.keys(registry).filter((prefix) => terms.extensions.includes(registry[prefix]!));
  const views = terms.extension_terms["earshot"]?.["view_prompts"] === true;
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
    passes: remembering(compileFilters(terms.filters)),
    low,
    boundary,
    level: BOUNDARIES.indexOf(boundary),
    honored,
    prefixes: new Set(prefixes),
    confirmation,
    clarification,
    hints: new Map(),
  };
  // Shapes come from peers: forget the oldest rather than grow without end. A shape in use stays alive by its users.
  if (shapes.size >= MOST_SHAPES) shapes.delete(shapes.keys().next().value!);
  shapes.set(key, shape);
  return shape;
}

/** Types are few, tokens many: each type is matched once. Types come from peers too, so the memory is bounded. */
function remembering(passes: (type: string) => boolean): (type: string) => boolean {
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

/** The field a name is a variant of, if it is one. Names are few, and come again with every token. */
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

/** The other languages an event's text comes in, found once per event. */
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

/** How one entry looks under a shape: the event to send, or nothing. Text is cut elsewhere; this dresses the rest. */
export function dress(
  entry: LogEntry,
  shape: Shape,
  variants: ReturnType<typeof variantsOf>,
): AgentEvent | undefined {
  const { event } = entry;
  const critical = isCritical(event);
  const insisted = !critical && dropped(event, shape);
  if (insisted && !entry.insist) return undefined;
  if (
    (event.type === "aaep:agent.awaiting.confirmation" && !shape.confirmation) ||
    (event.type === "aaep:agent.awaiting.clarification" && !shape.clarification)
  ) {
    return withoutToken(dressWords(event, shape, variants), event);
  }
  const dressed = localize(dressWords(event, shape, variants), entry);
  return insisted ? { ...dressed, urgency: "critical" } : dressed;
}

/** Labels and choices speak the language the words were chosen in, or stay as they are. */
function localize(event: AgentEvent, { localized }: LogEntry): AgentEvent {
  const fields = localized?.[event.localization_hints?.primary_language?.toLowerCase() ?? ""];
  return fields ? ({ ...event, ...fields } as AgentEvent) : event;
}

/** The words of streamed text are cut elsewhere; what else it carries is dressed like any event. */
export function dressText(
  event: OutputStreaming,
  shape: Shape,
  variants: ReturnType<typeof variantsOf>,
): AgentEvent {
  const plain =
    !variants &&
    event.extensions === undefined &&
    !("summary_terse" in event) &&
    !("summary_detailed" in event);
  return plain ? event : dressWords(event, shape, variants);
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

function dressWords(event: AgentEvent, shape: Shape, variants: ReturnType<typeof variantsOf>): AgentEvent {
  const out: Record<string, unknown> = { ...event };
  if (variants) {
    for (const [tag, texts] of variants) {
      for (const base in texts) delete out[`${base}_${tag.replaceAll("-", "_")}`];
    }
    speak(out, event, shape, variants);
  }
  const keep = SUMMARY[shape.verbosity];
  for (const name of UNWANTED) if (name !== keep && name in out) delete out[name];
  if (event.type !== "aaep:agent.output.streaming")
    out["verbosity"] = keep in out ? shape.verbosity : "normal";
  const extensions = event.extensions;
  if (extensions !== undefined) stripExtensions(out, extensions, shape);
  return out as unknown as AgentEvent;
}

/** Puts the words of the listener's language in place, whole or not at all. */
function speak(
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
  // A summary that this language lacks must not speak another one.
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

/** Who cannot answer still hears what is asked, but never holds the token (CON-01). */
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
