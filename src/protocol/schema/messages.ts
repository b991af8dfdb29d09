/** Handshake (chapter 5), replies (chapter 6) and manifest (5.10). For three of them AAEP has no schema (CON-18). */
import {
  anyString,
  CORE_CONTEXT,
  closed,
  extensionFields,
  flag,
  id,
  integer,
  label,
  language,
  list,
  openObject,
  producerIdentity,
  type Schema,
  SEMVER,
  timestamp,
  uri,
  word,
} from "./shapes.ts";

const version = (description: string): Schema => ({ type: "string", pattern: SEMVER, description });
const SUBSCRIPTION_ID = id("sub", "The subscription.");
const PATTERNS = list(label(256, "An event type, or a prefix ending in *."), { unique: true }, "Patterns.");

const capabilityProperties: Record<string, Schema> = {
  max_events_per_second: integer(1, 100_000, "Most non-critical events per second; absent means no limit."),
  preferred_verbosity: word(["terse", "normal", "detailed"], "Which summaries to send."),
  languages: list(
    language("A BCP 47 tag."),
    { min: 1, max: 32, unique: true },
    "Languages that can be spoken or shown, best first.",
  ),
  supports_confirmation_reply: flag("Whether yes/no questions can be answered here."),
  supports_clarification_reply: flag("Whether open questions can be answered here."),
  coalesce_boundaries: list(
    word(["none", "word", "sentence", "paragraph", "completion"], "A boundary."),
    { min: 1, max: 5, unique: true },
    "Where streamed text may be cut.",
  ),
  event_filters: {
    ...closed(
      { include: PATTERNS, exclude: PATTERNS },
      [],
      "Which event types to send; exclude wins; critical ones always come.",
    ),
    $name: "EventFilters",
    $tolerate: { additionalProperties: "CON-38" },
  },
  supported_conformance_levels: list(
    { type: "integer", enum: [1, 2, 3], description: "A level." },
    { min: 1, max: 3, unique: true },
    "Conformance levels implemented.",
  ),
  supported_extensions: list(
    uri("An extension's namespace."),
    { max: 64, unique: true },
    "Extensions understood.",
  ),
  cognitive_load: word(["low", "medium", "high"], "How many announcements a person wants: low is fewest."),
  pace_wpm: integer(50, 1000, "Speaking rate of this subscriber in words per minute."),
  accept_signed_manifests_only: flag("Refuse producers that cannot sign their manifest."),
};

const capabilities: Schema = {
  $name: "Capabilities",
  type: "object",
  properties: capabilityProperties,
  additionalProperties: { type: "object" },
  $tolerate: { additionalProperties: "CON-38" },
  description:
    "What a subscriber supports, or what the producer promises to honor. Extensions add objects under their prefix.",
};

const dropsUnknown = (schema: Schema): Schema => ({
  ...schema,
  $tolerate: { ...schema.$tolerate, additionalProperties: "CON-38" },
});

const REASON_CODES = [
  "version_unsupported",
  "manifest_signature_required",
  "capabilities_incompatible",
  "rate_limit",
  "authentication_required",
  "authorization_denied",
  "transport_unavailable",
  "unknown",
];

const titled = (title: string, schema: Schema): Schema => ({ title, ...schema });

export const messages: Record<string, Schema> = {
  "subscription.request": titled(
    "SubscriptionRequest",
    dropsUnknown(
      closed(
        {
          type: { const: "subscription.request" },
          aaep_version: version("The requested AAEP version."),
          subscriber_id: label(256, "Stable name of the listener."),
          subscriber_name: label(256, "Name a person would recognise.", 0),
          subscriber_version: label(64, "Version of the listener.", 0),
          subscriber_manifest_uri: uri("Where the listener describes itself."),
          correlation_id: anyString("Links the request to traces outside AAEP."),
          capabilities,
          extensions: extensionFields("Extension data, keyed by prefix."),
        },
        ["type", "aaep_version", "subscriber_id", "capabilities"],
        "A subscriber requests a subscription (5.2).",
      ),
    ),
  ),
  "subscription.accepted": titled(
    "SubscriptionAccepted",
    dropsUnknown(
      closed(
        {
          type: { const: "subscription.accepted" },
          subscription_id: SUBSCRIPTION_ID,
          aaep_version: version("The AAEP version that will be used."),
          producer: producerIdentity,
          honored_capabilities: capabilities,
          manifest_uri: uri("Where the agent's manifest can be fetched."),
          signed_manifest: {
            type: "string",
            pattern: "^[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+$",
            description: "The manifest as a compact JWS.",
          },
          negotiation_notes: label(4096, "In plain words, what differs from the request and why.", 0),
        },
        ["type", "subscription_id", "aaep_version", "producer", "honored_capabilities"],
        "The agent accepts, and says on which terms (5.4).",
      ),
    ),
  ),
  "subscription.rejected": titled(
    "SubscriptionRejected",
    dropsUnknown(
      closed(
        {
          type: { const: "subscription.rejected" },
          reason_code: word(REASON_CODES, "Why, as a code.", "unknown"),
          reason_message: label(4096, "Why, in words, and what to do about it."),
          retry_after_seconds: integer(0, 86_400, "When trying again makes sense."),
          alternative_manifest_uri: uri("A manifest that lists what is offered."),
        },
        ["type", "reason_code", "reason_message"],
        "The agent declines, and says why (5.5).",
      ),
    ),
  ),
  "subscription.renegotiate": titled(
    "SubscriptionRenegotiate",
    dropsUnknown(
      closed(
        {
          type: { const: "subscription.renegotiate" },
          subscription_id: SUBSCRIPTION_ID,
          capabilities: { ...capabilities, minProperties: 1 },
          correlation_id: anyString("Links the request to traces outside AAEP."),
        },
        ["type", "subscription_id", "capabilities"],
        "A subscriber changes some of its terms; omitted fields stay (5.7).",
      ),
    ),
  ),
  "subscription.close": titled(
    "SubscriptionClose",
    dropsUnknown(
      closed(
        {
          type: { const: "subscription.close" },
          subscription_id: SUBSCRIPTION_ID,
          reason_code: { type: "string", pattern: "^[a-z][a-z0-9_]{1,63}$", description: "Why, as a code." },
          reason_message: label(4096, "Why, in words.", 0),
        },
        ["type", "subscription_id", "reason_code"],
        "Either side ends the subscription (5.8).",
      ),
    ),
  ),
  // Fail closed: replies are never repaired (CON-38).
  "confirmation.reply": titled(
    "ConfirmationReply",
    closed(
      {
        type: { const: "confirmation.reply" },
        reply_token: id("rpl", "The question's token, unchanged."),
        decision: word(["accept", "reject"], "The person's decision."),
        subscription_id: SUBSCRIPTION_ID,
        timestamp: timestamp("When the person decided."),
        decided_by: label(256, "Who decided, as the listener claims."),
        decision_rationale: label(4096, "Why, in the person's words."),
        modified_action: openObject("Parameters the person wants changed (CON-73)."),
        correlation_id: anyString("Links the reply to traces outside AAEP."),
      },
      ["type", "reply_token", "decision", "subscription_id", "timestamp"],
      "A person's yes or no (6.3).",
    ),
  ),
  "clarification.reply": titled(
    "ClarificationReply",
    closed(
      {
        type: { const: "clarification.reply" },
        reply_token: id("rpl", "The question's token, unchanged."),
        response: {
          anyOf: [
            label(16384, "Free text or a choice's value."),
            flag("Yes or no."),
            { type: "number", description: "A number." },
          ],
          description: "The answer: text or a choice's value, yes or no, or a number.",
        },
        subscription_id: SUBSCRIPTION_ID,
        timestamp: timestamp("When the person answered."),
        decided_by: label(256, "Who answered, as the listener claims."),
        confidence: {
          type: "number",
          minimum: 0,
          maximum: 1,
          description: "How confident the subscriber is that it understood the person.",
        },
        correlation_id: anyString("Links the reply to traces outside AAEP."),
      },
      ["type", "reply_token", "response", "subscription_id", "timestamp"],
      "A person's answer to an open question (6.5).",
    ),
  ),
  "aaep:producer.manifest": {
    title: "ProducerManifest",
    description:
      "What an agent offers, for anyone to read before subscribing (5.10). Unknown keys are allowed.",
    type: "object",
    required: [
      "@context",
      "type",
      "agent_id",
      "aaep_versions_supported",
      "conformance_levels_supported",
      "transports_supported",
    ],
    properties: {
      "@context": {
        anyOf: [
          { type: "string", const: CORE_CONTEXT },
          {
            type: "array",
            minItems: 1,
            prefixItems: [{ const: CORE_CONTEXT }],
            items: { type: "string", format: "uri" },
          },
        ],
        description: "The AAEP context address.",
      },
      type: { const: "aaep:producer.manifest" },
      agent_id: label(256, "Stable name of the agent."),
      agent_version: label(64, "Version of the agent."),
      agent_name: label(256, "Name a person would recognise."),
      aaep_versions_supported: list(
        version("A version."),
        { min: 1, max: 64, unique: true },
        "Supported AAEP versions.",
      ),
      conformance_levels_supported: list(
        { type: "integer", enum: [1, 2, 3], description: "A level." },
        { min: 1, max: 3, unique: true },
        "Conformance levels offered.",
      ),
      transports_supported: list(
        label(64, "A transport's name."),
        { min: 1, max: 32, unique: true },
        "Transports served, best first.",
      ),
      languages_supported: list(language("A BCP 47 tag."), { max: 256, unique: true }, "Languages spoken."),
      event_types_emitted: list(
        label(256, "A type or prefix pattern."),
        { max: 256, unique: true },
        "Event types that may occur.",
      ),
      extensions_supported: list(
        uri("An extension's namespace."),
        { max: 64, unique: true },
        "Extensions offered.",
      ),
      default_verbosity: word(["terse", "normal", "detailed"], "How detailed text is by default.", "normal"),
      max_concurrent_subscriptions: integer(1, undefined, "Most subscriptions at a time."),
      contact: label(1024, "Contact for accessibility problems."),
    },
    additionalProperties: true,
  },
};
