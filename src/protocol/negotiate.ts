/**
 * The producer's side of the handshake (chapter 5, 12.5). Pure: from a request and an offer to an acceptance that never
 * exceeds the request (HS-07), or a rejection that says what to change. Also the terms of a subscription: capability
 * defaults, comparison, and what an acceptance means (5.3, 5.4.4; CON-15).
 */

import { type LanguageOffer, matchLanguage, resolveLanguage, spokenLanguages } from "../text/language.ts";
import { DEFAULT_INCLUDE, filtersNoWider } from "./filters.ts";
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
import { isObject } from "./validate.ts";

const VERBOSITIES: readonly Verbosity[] = ["terse", "normal", "detailed"];
const LOADS: readonly CognitiveLoad[] = ["low", "medium", "high"];

/** Requesting this rate removes the limit: renegotiation cannot remove a field by omitting it (CON-19). */
const UNLIMITED = 100_000;

/** All capabilities with defaults filled in. Lists are copies. */
const withDefaults = (given: Capabilities) => ({
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

const isCoreField = (name: string): boolean => CORE_FIELDS.has(name);

/** Extension capabilities: objects under a prefix. Names such as __proto__ are ignored. */
const extensionEntries = (capabilities: Capabilities): [string, Record<string, unknown>][] =>
  Object.entries(capabilities).filter(
    (entry): entry is [string, Record<string, unknown>] =>
      !isCoreField(entry[0]) && !/^(?:__proto__|constructor|prototype)$/.test(entry[0]) && isObject(entry[1]),
  );

/**
 * The fields in which `honored` exceeds `request`, by the rule of each field (CAP-01 to CAP-12), with the request's
 * defaults filled in. A field missing in `honored` means "as requested". Extensions check their own capabilities.
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

/** The terms of a subscription, with all defaults resolved. */
export interface Terms {
  /** Infinity if unlimited. */
  readonly max_events_per_second: number;
  readonly verbosity: Verbosity;
  /** Whether the subscriber chose it: at low cognitive load only a default becomes terse (CON-22). */
  readonly verbosityGiven: boolean;
  /** Empty if none of the requested languages is available. */
  readonly languages: readonly string[];
  readonly confirmation: boolean;
  readonly clarification: boolean;
  readonly boundaries: readonly Boundary[];
  readonly filters: { readonly include: readonly string[]; readonly exclude: readonly string[] };
  /** Empty if none of the requested levels is offered. */
  readonly levels: readonly (1 | 2 | 3)[];
  readonly extensions: readonly string[];
  readonly load: CognitiveLoad;
  readonly pace_wpm?: number;
  readonly signedOnly: boolean;
  /** The honored capabilities of each extension, by prefix. */
  readonly extensionTerms: Readonly<Record<string, Record<string, unknown>>>;
}

/**
 * A field missing in the acceptance means as requested, else the default; for languages and levels it means none
 * (CON-15).
 */
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

/** What a producer can honor: versions, levels, languages, rates, extensions. */
export interface Offer {
  producer: ProducerIdentity;
  versions: readonly string[];
  levels: readonly (1 | 2 | 3)[];
  languages: LanguageOffer;
  /** The highest rate granted; absent means no limit. */
  max_events_per_second?: number;
  /** Default: all. */
  boundaries?: readonly Boundary[];
  /** Default: all. */
  verbosities?: readonly Verbosity[];
  extensions?: readonly ExtensionOffer[];
  /** Most subscriptions at a time, of all subscribers together. */
  max_subscriptions?: number;
  manifest_uri?: string;
  /** Compact JWS; sent to subscribers that require one. */
  signed_manifest?: string;
  /** Reject a subscriber if none of its languages is available, instead of using another language (CON-20). */
  strictLanguages?: boolean;
  /** Reject a subscriber that shares no conformance level, instead of serving it without one (CON-45). */
  requireReplies?: boolean;
}

/** An extension a producer supports, and how it negotiates it. */
export interface ExtensionOffer {
  uri: string;
  prefix: string;
  /**
   * From the requested capability object to the honored one; undefined or no function means that none is honored. Pure:
   * it runs again at every renegotiation. It explains changes inside lists and objects itself.
   */
  negotiate?: (requested: Record<string, unknown>) => Record<string, unknown> | undefined;
}

type Answer = SubscriptionAccepted | SubscriptionRejected;

/** Answers a subscription request with what the offer can honor: accepted, or rejected with the reason. */
export function negotiate(request: SubscriptionRequest, offer: Offer, subscription_id: string): Answer {
  const version = chooseVersion(request.aaep_version, offer.versions);
  if (version !== undefined) return agree(request.capabilities, offer, subscription_id, version);
  return reject(
    offer,
    "version_unsupported",
    `AAEP ${listed([request.aaep_version])} was requested. This agent supports ${listed(offer.versions)}.` +
      " Send a new request with a supported aaep_version.",
  );
}

/**
 * The fields of `change` replace those of the request entirely; the rest stays, and the result is negotiated again
 * (CON-19). Pass the version agreed at first as `aaep_version`. A rejection leaves the request unchanged.
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
  // Unknown fields have no effect and are not kept, so that repeated changes cannot grow the request without bound.
  const kept = given.filter(
    ([name]) => isCoreField(name) || offer.extensions?.some(({ prefix }) => prefix === name),
  );
  return { answer, request: merge(kept) };
}

/**
 * The version to use, if any: the highest supported one with the same MAJOR and no higher MINOR. PATCH is ignored, and
 * a pre-release matches only itself (CON-39).
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

/** The result for one part of a request: the honored fields, a note on what was not honored, or a rejection. */
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
      "The request requires a signed manifest. This agent has none." +
        " Send a new request without accept_signed_manifests_only if you do not need a signature.",
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
      `The rate is limited to ${granted} events per second; ${wish < Infinity ? wish : "no limit"} was requested.`,
  };
};

// Only the same or a lower verbosity may be honored; if the producer has no text that short, echo the request.
const verbosity: Decide = ({ preferred_verbosity: wish }, { verbosities: written = VERBOSITIES }) => {
  const shorter = VERBOSITIES.slice(0, VERBOSITIES.indexOf(wish) + 1).reverse();
  const served = shorter.find((one) => written.includes(one));
  return {
    honored: { preferred_verbosity: served ?? wish },
    note:
      served !== wish &&
      `Text is not available at verbosity ${wish}; this agent sends ${listed(served ? [served] : written)}.`,
  };
};

const languages: Decide = (asked, { languages: offered, strictLanguages }, request) => {
  const spoken = spokenLanguages(offered);
  const [honored, missing] = split(asked.languages, (tag) => matchLanguage([tag], spoken) !== undefined);
  if (missing.length === 0) return { honored: { languages: honored } };
  if (honored.length > 0)
    return { honored: { languages: honored }, note: `Languages not available: ${listed(missing)}.` };
  const wish = `Text in ${listed(missing)} was requested${request.languages ? "" : " by default"}`;
  if (strictLanguages)
    return {
      refused: `${wish}. This agent speaks ${listed(spoken)}. Send a new request with one of these languages.`,
    };
  return {
    note: `${wish} but is not available; this agent uses ${listed([resolveLanguage(asked.languages, offered)])}.`,
  };
};

const levels: Decide = ({ supported_conformance_levels: wish }, { levels: offered, requireReplies }) => {
  const [honored, missing] = split(wish, (level) => offered.includes(level));
  const compared = `Conformance levels not offered: ${listed(missing)}.`;
  const alternative = `${compared} This agent offers ${listed(offered)}`;
  if (honored.length > 0) {
    return { honored: { supported_conformance_levels: honored }, note: missing.length > 0 && compared };
  }
  if (!requireReplies) return { note: `${alternative}.` };
  return {
    refused: `${alternative} and requires subscribers that can reply. Send a new request with one of these levels.`,
  };
};

const boundaries: Decide = ({ coalesce_boundaries: wish }, { boundaries: offered }) => {
  const [honored, missing] = split(wish, (one) => offered?.includes(one) ?? true);
  const compared = `Text boundaries not available: ${listed(missing)}.`;
  if (honored.length > 0)
    return { honored: { coalesce_boundaries: honored }, note: missing.length > 0 && compared };
  return {
    refused: `${compared} This agent offers ${listed(offered ?? [])}. Send a new request with one of these.`,
  };
};

const extensions: Decide = ({ supported_extensions: wish }, { extensions: offered = [] }) => {
  const [honored, missing] = split(wish, (uri) => offered.some((one) => one.uri === uri));
  const owners = new Map<string, string>();
  for (const { uri, prefix } of offered) {
    const other = owners.get(prefix);
    if (!honored.includes(uri) || other === uri) continue;
    if (other !== undefined) {
      const pair = `The requested extensions ${listed([other, uri])} share the prefix ${listed([prefix])}.`;
      return {
        refused: `${pair} A subscription can use only one of them. Send a new request without the other.`,
      };
    }
    owners.set(prefix, uri);
  }
  return {
    honored: { supported_extensions: honored },
    note: missing.length > 0 && `Extensions not offered: ${listed(missing)}.`,
  };
};

/** Extensions negotiate their own capability objects; those of unknown extensions have no effect (HS-24). */
const extensionCapabilities: Decide = (asked, { extensions: offered = [] }, request) => {
  const honored: Capabilities = {};
  const missing: string[] = [];
  for (const [prefix, wanted] of extensionEntries(request)) {
    // The extension need not be listed, as in 5.3.2, if the prefix is unambiguous.
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
    note: missing.length > 0 && `Capabilities not honored as requested: ${listed(missing.sort())}.`,
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
 * Lists names in a sentence. They come from the peer, so control characters are removed, and number and length are
 * bounded: all sentences together fit the 4096 characters of `negotiation_notes` and `reason_message`.
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
