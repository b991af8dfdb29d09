/** The terms of a subscription: capability defaults, how two sets compare, how an acceptance reads (5.3, 5.4.4; CON-15). */

import { type LanguageOffer, matchLanguage, resolveLanguage, spokenLanguages } from "../text/language.ts";
import { DEFAULT_INCLUDE, filtersNoWider } from "./filters.ts";
import { isObject } from "./formats.ts";
import {
  AAEP_VERSION,
  type Boundary,
  type Capabilities,
  type CognitiveLoad,
  type ProducerIdentity,
  type SubscriptionAccepted,
  type SubscriptionRejected,
  type SubscriptionRequest,
  type Verbosity,
} from "./types.ts";

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
  readonly verbosityGiven: boolean;
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
  readonly signedOnly: boolean;
  /** What each extension agreed on, by prefix. */
  readonly extensionTerms: Readonly<Record<string, Record<string, unknown>>>;
}

/** Absent in the acceptance means as requested, else the default; for languages and levels it means none (CON-15). */
export function resolveTerms(request: Capabilities, honored: Capabilities): Terms {
  const agreed: Capabilities = { ...request, ...honored };
  const filled = withDefaults(agreed);
  const rate = agreed.max_events_per_second ?? UNLIMITED;
  return {
    max_events_per_second: rate >= UNLIMITED ? Infinity : rate,
    verbosity: filled.preferred_verbosity,
    verbosityGiven: request.preferred_verbosity !== undefined,
    languages: [...(honored.languages ?? [])],
    confirmation: filled.supports_confirmation_reply,
    clarification: filled.supports_clarification_reply,
    boundaries: filled.coalesce_boundaries,
    filters: filled.event_filters,
    levels: [...(honored.supported_conformance_levels ?? [])],
    extensions: filled.supported_extensions,
    load: filled.cognitive_load,
    ...(agreed.pace_wpm !== undefined && { pace_wpm: agreed.pace_wpm }),
    signedOnly: filled.accept_signed_manifests_only,
    extensionTerms: Object.fromEntries(extensionEntries(honored)),
  };
}

/**
 * The producer's side of the handshake (chapter 5, 12.5): from what a listener asks and what we offer to an
 * acceptance that never goes beyond the request (HS-07), or a rejection that says how to do better. Pure.
 */

export interface Offer {
  producer: ProducerIdentity;
  versions: readonly string[];
  levels: readonly (1 | 2 | 3)[];
  languages: LanguageOffer;
  /** The most ever granted; absent, a listener may go unlimited. */
  max_events_per_second?: number;
  /** All, unless said otherwise. */
  boundaries?: readonly Boundary[];
  /** All, unless said otherwise. */
  verbosities?: readonly Verbosity[];
  extensions?: readonly ExtensionOffer[];
  /** Subscriptions there may be at a time, of all listeners together. */
  max_subscriptions?: number;
  manifest_uri?: string;
  /** Compact JWS; sent to listeners that insist on one. */
  signed_manifest?: string;
  /** Reject a listener none of whose languages is spoken, instead of serving it in another (CON-20). */
  strictLanguages?: boolean;
  /** Reject a listener that shares no conformance level, instead of serving it without one (CON-45). */
  requireReplies?: boolean;
}

export interface ExtensionOffer {
  uri: string;
  prefix: string;
  /**
   * From the capability object asked for to the one honored; undefined, or no function: none is. Pure: it is asked
   * again at every renegotiation. What it makes of values inside lists and objects it should explain itself.
   */
  negotiate?: (requested: Record<string, unknown>) => Record<string, unknown> | undefined;
}

type Answer = SubscriptionAccepted | SubscriptionRejected;

export function negotiate(request: SubscriptionRequest, offer: Offer, subscription_id: string): Answer {
  const version = chooseVersion(request.aaep_version, offer.versions);
  if (version !== undefined) return agree(request.capabilities, offer, subscription_id, version);
  return reject(
    offer,
    "version_unsupported",
    `AAEP ${listed([request.aaep_version])} was asked for. This agent speaks ${listed(offer.versions)}.` +
      " Ask again with an aaep_version it speaks.",
  );
}

/**
 * Fields that `change` names replace those asked for so far, whole; the rest stays, and the sum is negotiated anew
 * (CON-19). Pass the version agreed at first as `aaep_version`. A rejection leaves the request as it was.
 */
export function renegotiate(
  previous: { readonly request: Capabilities; readonly aaep_version?: string },
  change: Capabilities,
  offer: Offer,
  subscription_id: string,
): { answer: Answer; request: Capabilities } {
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  const merge = (entries: [string, unknown][]): Capabilities => ({
    ...previous.request,
    ...Object.fromEntries(entries),
  });
  const version = previous.aaep_version ?? offer.versions[0] ?? AAEP_VERSION;
  const answer = agree(merge(given), offer, subscription_id, version);
  if (answer.type === "subscription.rejected") return { answer, request: previous.request };
  // What nobody here understands has no effect now or later, so it is not remembered: changes cannot pile up.
  const kept = given.filter(
    ([name]) => isCoreField(name) || offer.extensions?.some(({ prefix }) => prefix === name),
  );
  return { answer, request: merge(kept) };
}

/**
 * The version to speak, if there is one: the highest supported of the same MAJOR and no higher MINOR. PATCH plays
 * no part, and a pre-release is only ever matched by itself (CON-39).
 */
export function chooseVersion(requested: string, supported: readonly string[]): string | undefined {
  const wanted = readVersion(requested);
  if (!wanted) return undefined;
  if (wanted.prerelease) return supported.find((version) => version === requested);
  let best: ReturnType<typeof readVersion> = null;
  for (const version of supported) {
    const one = readVersion(version);
    if (!one || one.prerelease || one.major !== wanted.major || one.minor > wanted.minor) continue;
    if (!best || one.minor > best.minor || (one.minor === best.minor && one.patch > best.patch)) best = one;
  }
  return best?.version;
}

function readVersion(version: string) {
  const parts = /^(\d+)\.(\d+)\.(\d+)(-.+)?$/.exec(version);
  return parts && { version, major: +parts[1]!, minor: +parts[2]!, patch: +parts[3]!, prerelease: parts[4] };
}

/** What becomes of one part of a request: the fields honored, a sentence on what is missing, or a refusal. */
interface Outcome {
  honored?: Capabilities;
  note?: string | false;
  refused?: string | false;
}
type Decide = (asked: ReturnType<typeof withDefaults>, offer: Offer, request: Capabilities) => Outcome;

function agree(request: Capabilities, offer: Offer, subscription_id: string, aaep_version: string): Answer {
  const asked = withDefaults(request);
  const signed = asked.accept_signed_manifests_only;
  if (signed && offer.signed_manifest === undefined) {
    return reject(
      offer,
      "manifest_signature_required",
      "Only a signed manifest was to be accepted. This agent has none." +
        " Ask again without accept_signed_manifests_only if you can do without a signature.",
    );
  }
  const outcomes = DECISIONS.map((decide) => decide(asked, offer, request));
  const refusal = outcomes.find(({ refused }) => refused)?.refused;
  if (refusal) return reject(offer, "capabilities_incompatible", refusal);
  const notes = outcomes.flatMap(({ note }) => note || []).join(" ");
  return {
    type: "subscription.accepted",
    subscription_id,
    aaep_version,
    producer: { ...offer.producer },
    honored_capabilities: Object.assign({}, ...outcomes.map(({ honored }) => honored)),
    ...(offer.manifest_uri !== undefined && { manifest_uri: offer.manifest_uri }),
    ...(signed && { signed_manifest: offer.signed_manifest! }),
    ...(notes !== "" && { negotiation_notes: notes }),
  };
}

const rate: Decide = (
  _,
  { max_events_per_second: cap = Infinity },
  { max_events_per_second: wish = Infinity },
) => {
  const granted = Math.min(wish, cap < UNLIMITED ? Math.max(1, Math.floor(cap)) : Infinity);
  return {
    honored: granted < Infinity ? { max_events_per_second: granted } : {},
    note:
      granted < wish &&
      `The rate here is at most ${granted} per second; ${wish < Infinity ? wish : "no limit"} was asked for.`,
  };
};

// Only the same or less may be honored; where nothing that short is written, the wish still says best what is meant.
const verbosity: Decide = ({ preferred_verbosity: wish }, { verbosities: written = VERBOSITIES }) => {
  const shorter = VERBOSITIES.slice(0, VERBOSITIES.indexOf(wish) + 1).reverse();
  const served = shorter.find((one) => written.includes(one));
  return {
    honored: { preferred_verbosity: served ?? wish },
    note:
      served !== wish &&
      `Text is not written in ${wish} form here; it comes as ${listed(served ? [served] : written)}.`,
  };
};

const languages: Decide = (asked, { languages: offered, strictLanguages }, request) => {
  const spoken = spokenLanguages(offered);
  const [honored, missing] = split(asked.languages, (tag) => matchLanguage([tag], spoken) !== undefined);
  if (missing.length === 0) return { honored: { languages: honored } };
  if (honored.length > 0)
    return { honored: { languages: honored }, note: `Languages not spoken here: ${listed(missing)}.` };
  const wish = `Text in ${listed(missing)} ${request.languages ? "was asked for" : "is assumed where no language is named"}`;
  if (strictLanguages)
    return { refused: `${wish}. This agent speaks ${listed(spoken)}. Ask again with one of its languages.` };
  return {
    note: `${wish} and cannot be had here; it comes in ${listed([resolveLanguage(asked.languages, offered)])}.`,
  };
};

const levels: Decide = ({ supported_conformance_levels: wish }, { levels: offered, requireReplies }) => {
  const [honored, missing] = split(wish, (level) => offered.includes(level));
  const compared = `Conformance levels not offered here: ${listed(missing)}.`;
  const alternative = `${compared} This agent offers ${listed(offered)}`;
  if (honored.length > 0) {
    return { honored: { supported_conformance_levels: honored }, note: missing.length > 0 && compared };
  }
  if (!requireReplies) return { note: `${alternative}.` };
  return { refused: `${alternative} and needs listeners that can answer. Ask again with one of its levels.` };
};

const boundaries: Decide = ({ coalesce_boundaries: wish }, { boundaries: offered }) => {
  const [honored, missing] = split(wish, (one) => offered?.includes(one) ?? true);
  const compared = `Text is not cut at these boundaries here: ${listed(missing)}.`;
  if (honored.length > 0)
    return { honored: { coalesce_boundaries: honored }, note: missing.length > 0 && compared };
  return { refused: `${compared} This agent cuts at ${listed(offered ?? [])}. Ask again with one of these.` };
};

const extensions: Decide = ({ supported_extensions: wish }, { extensions: offered = [] }) => {
  const [honored, missing] = split(wish, (uri) => offered.some((one) => one.uri === uri));
  const owners = new Map<string, string>();
  for (const { uri, prefix } of offered) {
    const other = owners.get(prefix);
    if (!honored.includes(uri) || other === uri) continue;
    if (other !== undefined) {
      const pair = `The extensions ${listed([other, uri])} were asked for and share the prefix ${listed([prefix])}.`;
      return { refused: `${pair} A subscription can have only one of them. Ask again without the other.` };
    }
    owners.set(prefix, uri);
  }
  return {
    honored: { supported_extensions: honored },
    note: missing.length > 0 && `Extensions not offered here: ${listed(missing)}.`,
  };
};

/** Extensions answer for their own capability objects; what nobody answers for stays without effect (HS-24). */
const extensionCapabilities: Decide = (asked, { extensions: offered = [] }, request) => {
  const honored: Capabilities = {};
  const missing: string[] = [];
  for (const [prefix, wanted] of extensionEntries(request)) {
    // A listener may leave the extension unlisted, as in 5.3.2, as long as the prefix says which one is meant.
    const named = offered.filter((one) => one.prefix === prefix);
    const extension =
      named.length > 1 ? named.find(({ uri }) => asked.supported_extensions.includes(uri)) : named[0];
    const terms = extension?.negotiate?.(wanted);
    if (terms) honored[prefix] = terms;
    else missing.push(prefix);
    for (const [name, value] of Object.entries(terms ? wanted : {})) {
      if (!Object.hasOwn(terms!, name) || (typeof value !== "object" && terms![name] !== value))
        missing.push(`${prefix}.${name}`);
    }
  }
  return {
    honored,
    note: missing.length > 0 && `Capabilities not honored as asked: ${listed(missing.sort())}.`,
  };
};

const echoes: Decide = (asked, _, { pace_wpm }) => ({
  honored: {
    supports_confirmation_reply: asked.supports_confirmation_reply,
    supports_clarification_reply: asked.supports_clarification_reply,
    event_filters: asked.event_filters,
    cognitive_load: asked.cognitive_load,
    ...(pace_wpm !== undefined && { pace_wpm }),
    accept_signed_manifests_only: asked.accept_signed_manifests_only,
  },
});

const DECISIONS = [rate, verbosity, languages, boundaries, levels, extensions, echoes, extensionCapabilities];

const reject = (
  { manifest_uri }: Offer,
  reason_code: SubscriptionRejected["reason_code"],
  reason_message: string,
): SubscriptionRejected => ({
  type: "subscription.rejected",
  reason_code,
  reason_message,
  ...(manifest_uri !== undefined && { alternative_manifest_uri: manifest_uri }),
});

function split<T>(items: readonly T[], keep: (item: T) => boolean): [kept: T[], dropped: T[]] {
  return [items.filter(keep), items.filter((item) => !keep(item))];
}

const MOST_LISTED = 8;

/**
 * Names in a sentence. They come from the peer, so control characters go, and number and length are bounded: however
 * long a request, all sentences about it fit the 4096 characters of `negotiation_notes` and `reason_message`.
 */
function listed(items: readonly (string | number)[]): string {
  const names = items.slice(0, MOST_LISTED).map((item) => {
    const text = String(item).slice(0, 160).replace(/\p{C}/gu, "");
    return text.length > 80 ? `${[...text].slice(0, 80).join("")}…` : text;
  });
  if (items.length > MOST_LISTED) names.push(`${items.length - MOST_LISTED} more`);
  const last = names.pop() ?? "none";
  return names.length > 0 ? `${names.join(", ")} and ${last}` : last;
}
