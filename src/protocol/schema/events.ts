/** The envelope (chapter 3) and the twelve core events (chapter 4) as this project emits them. */
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
  milliseconds,
  openObject,
  producerIdentity,
  type Schema,
  text,
  timestamp,
  uri,
  word,
} from "./shapes.ts";

const localizationHints: Schema = {
  ...closed(
    {
      primary_language: language("Language of this event's text, as a BCP 47 tag."),
      text_direction: word(["ltr", "rtl", "auto"], "Writing direction of the text.", "auto"),
      available_languages: list(
        language("A BCP 47 tag."),
        { max: 32, unique: true },
        "Languages in which this text is available.",
      ),
      fallback_chain: list(language("A BCP 47 tag."), { max: 16 }, "Languages to try in turn."),
      script: { type: "string", pattern: "^[A-Z][a-z]{3}$", description: "ISO 15924 script code." },
      calendar: anyString("Calendar system dates are written in."),
    },
    ["primary_language"],
    "Which voice, braille table and direction fit this event's text.",
  ),
  $name: "LocalizationHints",
  $tolerate: { "required:primary_language": "CON-32", additionalProperties: "CON-37" },
};

const URGENCY = ["background", "normal", "critical"] as const;

export const envelopeProperties: Record<string, Schema> = {
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
    description: "The AAEP context address, alone or first in a list that adds extension contexts.",
  },
  aaep_version: {
    type: "string",
    enum: ["1.0.0"],
    pattern: "^[0-9]+\\.[0-9]+\\.[0-9]+(-[A-Za-z0-9.-]+)?$",
    $tolerate: { enum: "ENV-30" },
    description: "The AAEP version this event follows.",
  },
  type: { type: "string", minLength: 1, description: "What happened." },
  event_id: id("evt", "Identifies this event; subscribers deduplicate by it and resume from it."),
  session_id: id("sess", "The session this event belongs to."),
  sequence_number: integer(
    0,
    undefined,
    "Position of this event in the session, as sent to this subscription.",
  ),
  timestamp: timestamp("When the event was created."),
  producer: producerIdentity,
  verbosity: word(["terse", "normal", "detailed"], "How detailed the event's text is.", "normal"),
  urgency: word(URGENCY, "How soon a person should hear of it.", "normal"),
  localization_hints: localizationHints,
  correlation_id: anyString("Links the event to traces outside AAEP."),
  extensions: extensionFields("Extension data, keyed by prefix."),
};

const ENVELOPE_REQUIRED = ["@context", "type", "event_id", "session_id", "timestamp", "producer"] as const;

const SUMMARIES: Record<string, Schema> = {
  summary_terse: text(4096, "A few words."),
  summary_normal: text(16384, "One or two sentences."),
  summary_detailed: text(16384, "All details."),
};

/** Text bases that may carry a per-language variant such as `summary_normal_yo` (CON-08). */
const VARIANT_BASES_4096 = ["summary_terse", "context", "description", "error_message", "remediation_hint"];
const VARIANT_BASES_16384 = [
  "summary_normal",
  "summary_detailed",
  "action",
  "consequence",
  "question",
  "reason",
  "output_summary",
  "partial_result",
];

function variants(properties: Record<string, Schema>): Record<string, Schema> {
  const patterns: Record<string, Schema> = {};
  for (const [bases, max] of [
    [VARIANT_BASES_4096, 4096],
    [VARIANT_BASES_16384, 16384],
  ] as const) {
    const present = bases.filter((base) => base in properties);
    if (present.length === 0) continue;
    patterns[`^(?:${present.join("|")})_[a-z]{2,8}(?:_[a-z0-9]{1,8})*$`] = text(
      max,
      "The same text in another language.",
    );
  }
  return patterns;
}

interface EventSpec {
  title: string;
  description: string;
  properties: Record<string, Schema>;
  /** Required by the canonical schema, also in tolerant mode. */
  required?: readonly string[];
  critical?: boolean;
  /** False for streamed output, which has a chunk instead of summaries. */
  summaries?: boolean;
  allOf?: Schema["allOf"];
}

function event(name: string, spec: EventSpec): [string, Schema] {
  const { critical = false, summaries = true } = spec;
  const required = spec.required ?? [];
  const payload = { ...(summaries ? SUMMARIES : {}), ...spec.properties };
  const properties: Record<string, Schema> = {
    ...envelopeProperties,
    type: { const: `aaep:${name}`, description: "What happened." },
    ...(critical
      ? {
          urgency: {
            const: "critical",
            description: "Always critical: delivered to every subscription at once.",
            $tolerate: { enum: ["CON-70", "critical", "background", "normal"] },
          },
        }
      : {}),
    ...payload,
  };
  const strictOnly: Record<string, string> = {
    "required:localization_hints": "CON-32",
    additionalProperties: "CON-37",
  };
  if (critical) strictOnly["required:urgency"] = "CON-14";
  if (summaries && !required.includes("summary_normal")) strictOnly["required:summary_normal"] = "CON-43";
  return [
    name,
    {
      title: spec.title,
      description: spec.description,
      type: "object",
      required: [
        ...ENVELOPE_REQUIRED,
        ...required,
        ...Object.keys(strictOnly)
          .filter((key) => key.startsWith("required:"))
          .map((key) => key.slice("required:".length)),
      ],
      properties,
      patternProperties: variants(payload),
      additionalProperties: false,
      ...(spec.allOf ? { allOf: spec.allOf } : {}),
      $tolerate: strictOnly,
    },
  ];
}

const TOOL_NAME: Schema = {
  type: "string",
  minLength: 1,
  maxLength: 256,
  pattern: "^[A-Za-z_][A-Za-z0-9_.-]{0,255}$",
  description: "The tool's name.",
};
const TOOL_CALL_ID = id("call", "Pairs the call with its outcome.");
const REPLY_TOKEN = id("rpl", "To be echoed unchanged in the reply.");
const TIMEOUT = integer(1, 86_400, "How long the question stays open, counted from the event's timestamp.");
const RISK = ["low", "medium", "high"] as const;
const STATE = label(
  64,
  "idle, thinking, calling_tool, writing_output, awaiting_input, deciding, handing_off, or the agent's own.",
);

const when = (properties: Record<string, Schema>): Schema => ({
  properties,
  required: Object.keys(properties),
});

export const events: Record<string, Schema> = Object.fromEntries([
  event("agent.session.started", {
    title: "SessionStarted",
    description: "A session begins; always its first event (EVT-01, SEQ-01).",
    required: ["summary_normal"],
    properties: {
      expected_duration_ms: milliseconds("How long the session may take."),
      requested_by: label(256, "Who asked for it, in the producer's own terms."),
      request_text: text(16384, "What was asked, without secrets.", 0),
      tools_available: list(
        label(256, "A tool's name."),
        { max: 256, unique: true },
        "Tools the agent may use.",
      ),
    },
  }),
  event("agent.session.completed", {
    title: "SessionCompleted",
    description: "The session ended well (EVT-02).",
    required: ["summary_normal"],
    properties: {
      duration_ms: milliseconds("How long it took."),
      tool_invocations_count: integer(0, undefined, "How many tools ran."),
      output_summary: text(16384, "The result in words.", 0),
      result_uri: uri("Where the result is."),
    },
  }),
  event("agent.session.errored", {
    title: "SessionErrored",
    description: "The session failed (EVT-03).",
    critical: true,
    required: ["error_category", "summary_normal"],
    properties: {
      error_category: word(
        ["transient", "permanent", "requires_user", "unknown"],
        "Whether trying again can help.",
        "unknown",
      ),
      error_code: {
        type: "string",
        pattern: "^[A-Z][A-Z0-9_]{1,63}$",
        description: "The producer's own code.",
      },
      error_uri: uri("Where the error is explained."),
      recoverable: flag("Whether a retry could work."),
      remediation_hint: text(4096, "What the person can do about it."),
    },
  }),
  event("agent.session.cancelled", {
    title: "SessionCancelled",
    description: "The session was stopped (EVT-04).",
    required: ["cancelled_by", "summary_normal"],
    properties: {
      cancelled_by: word(["user", "producer", "timeout", "system"], "Who or what stopped it.", "system"),
      cancellation_reason: {
        type: "string",
        pattern: "^[a-z][a-z0-9_]{1,63}$",
        description: "Why, as a code.",
      },
      partial_result: text(16384, "The partial result, if any.", 0),
    },
  }),
  event("agent.state.changed", {
    title: "StateChanged",
    description: "The agent moved from one state to another (EVT-05).",
    required: ["from_state", "to_state"],
    properties: {
      from_state: STATE,
      to_state: STATE,
      expected_duration_ms: milliseconds("How long the new state may last."),
    },
  }),
  event("agent.progress.updated", {
    title: "ProgressUpdated",
    description: "How far along the work is (EVT-06).",
    required: ["progress"],
    properties: {
      progress: {
        ...closed(
          {
            percent: { type: "number", minimum: 0, maximum: 100, description: "Share done." },
            step: integer(1, undefined, "The current step, at most total_steps."),
            total_steps: integer(1, undefined, "How many steps there are."),
            description: text(4096, "What is being done."),
          },
          [],
          "At least one of these.",
        ),
        minProperties: 1,
        $name: "Progress",
      },
      eta_ms: milliseconds("Time still needed."),
    },
  }),
  event("agent.tool.invoked", {
    title: "ToolInvoked",
    description: "A tool is about to run; sent before its effect begins (EVT-07, SEQ-08).",
    required: ["tool", "summary_normal"],
    properties: {
      tool: TOOL_NAME,
      description: text(4096, "What the tool does in general."),
      args_summary: text(16384, "The arguments in plain words, without secrets.", 0),
      expected_duration_ms: milliseconds("How long the call may take."),
      risk_level: word(RISK, "How much harm a mistake could do.", "high"),
      irreversible: flag("True when the effect cannot be undone."),
      tool_call_id: TOOL_CALL_ID,
    },
  }),
  event("agent.tool.completed", {
    title: "ToolCompleted",
    description: "A tool finished, failed or ran out of time (EVT-08).",
    required: ["tool", "status"],
    properties: {
      tool: TOOL_NAME,
      status: word(["success", "error", "timeout"], "How it ended.", "error"),
      tool_call_id: TOOL_CALL_ID,
      duration_ms: milliseconds("How long it took."),
      error_message: text(4096, "What went wrong."),
    },
  }),
  event("agent.output.streaming", {
    title: "OutputStreaming",
    description: "A piece of the agent's answer (EVT-09).",
    summaries: false,
    required: ["chunk", "position", "complete"],
    properties: {
      chunk: text(16384, "The text; empty to mark the end.", 0),
      position: integer(
        0,
        undefined,
        "Code points of this output before this chunk, counted in NFC (CON-10).",
      ),
      complete: flag("True on the output's last chunk only."),
      coalesce_hint: word(
        ["none", "word", "sentence", "paragraph", "completion"],
        "What kind of boundary the chunk ends on.",
        "none",
      ),
      output_id: id("out", "Which output; absent means the session's only one."),
      content_type: {
        type: "string",
        pattern: "^[a-zA-Z][a-zA-Z0-9.+_-]*/[a-zA-Z][a-zA-Z0-9.+_-]*$",
        description: "Media type without parameters; text/plain when absent.",
      },
      language: language("Language of this chunk where it differs from the event's."),
    },
  }),
  event("agent.awaiting.confirmation", {
    title: "AwaitingConfirmation",
    description: "The agent waits for a yes or a no before it acts (EVT-10).",
    critical: true,
    required: ["action", "consequence", "reply_token", "timeout_seconds", "default_decision"],
    properties: {
      action: text(16384, "What will be done."),
      consequence: text(16384, "What follows if it is done."),
      reply_token: REPLY_TOKEN,
      timeout_seconds: TIMEOUT,
      default_decision: word(
        ["accept", "reject"],
        "What a timeout means: reject, unless the action is reversible and of low risk.",
        "reject",
      ),
      risk_level: word(RISK, "How much harm a mistake could do.", "high"),
      irreversible: flag("True when the action cannot be undone."),
      reversibility: word(
        ["reversible", "reversible_with_effort", "irreversible"],
        "Whether it can be undone.",
        "irreversible",
      ),
      allowed_replies: {
        ...list(
          { ...word(["accept", "reject"], "A decision."), $tolerate: { enum: "CON-31" } },
          { min: 1, max: 32, unique: true },
          "Decisions the person may take; reject is always among them.",
        ),
        contains: { const: "reject" },
        $tolerate: { contains: "CON-31" },
      },
      extra_context: openObject(
        "The parameters being approved and anything else a listener may show (CON-49).",
      ),
    },
    allOf: [
      // A timeout must never start something harmful: these two apply to every producer.
      {
        if: when({ default_decision: { const: "accept" }, irreversible: { const: true } }),
        then: { properties: { risk_level: { const: "low" } }, required: ["risk_level"] },
        $ruling: "CNF-20",
      },
      {
        if: when({ default_decision: { const: "accept" }, reversibility: { const: "irreversible" } }),
        then: { properties: { risk_level: { const: "low" } }, required: ["risk_level"] },
        $ruling: "CNF-20",
      },
      // Stricter rules for what we emit (CON-02, CON-03).
      {
        if: when({ default_decision: { const: "accept" } }),
        then: {
          properties: {
            risk_level: { const: "low" },
            irreversible: { const: false },
            reversibility: { enum: ["reversible", "reversible_with_effort"] },
          },
          required: ["risk_level"],
        },
        $ruling: "CON-03",
        $tolerate: true,
      },
      {
        if: when({ irreversible: { const: true } }),
        then: { properties: { reversibility: { const: "irreversible" } } },
        $ruling: "CON-03",
        $tolerate: true,
      },
      {
        if: when({ reversibility: { const: "irreversible" } }),
        then: { properties: { irreversible: { const: true } } },
        $ruling: "CON-03",
        $tolerate: true,
      },
    ],
  }),
  event("agent.awaiting.clarification", {
    title: "AwaitingClarification",
    description: "The agent needs an answer to go on (EVT-11).",
    critical: true,
    required: ["question", "reply_token", "timeout_seconds"],
    properties: {
      question: text(16384, "What is asked."),
      reply_token: REPLY_TOKEN,
      timeout_seconds: TIMEOUT,
      accepted_response_kinds: list(
        {
          ...word(["freetext", "yes_no", "multiple_choice", "numeric"], "A kind of answer."),
          $tolerate: { enum: ["CON-70", null] },
        },
        { min: 1, max: 4, unique: true },
        "Kinds of answer the agent can use; free text when absent.",
      ),
      choices: list(
        {
          ...closed(
            { value: label(256, "What the reply carries."), label: label(1024, "What the person hears.") },
            ["value", "label"],
            "One choice.",
          ),
          $name: "Choice",
        },
        { min: 2, max: 32, unique: true },
        "The choices, needed with multiple_choice.",
      ),
      context: text(4096, "Why it is asked."),
      default_response: text(4096, "What the agent assumes without an answer.", 0),
    },
    allOf: [
      {
        if: when({ accepted_response_kinds: { contains: { const: "multiple_choice" } } }),
        then: { required: ["choices"] },
        $ruling: "CON-29",
        $tolerate: true,
      },
    ],
  }),
  event("agent.handoff.requested", {
    title: "HandoffRequested",
    description: "The agent cannot finish and hands the session over (EVT-12).",
    critical: true,
    required: ["reason", "target_kind"],
    properties: {
      reason: text(16384, "Why it is handed over."),
      target_kind: word(["human", "specialist_agent", "escalation_queue"], "To whom.", "human"),
      target_uri: uri("Where the recipient can be reached."),
      packaged_context: openObject("What the recipient needs to know."),
      urgency_for_handoff: word(RISK, "How urgent the matter itself is.", "high"),
    },
  }),
]);

/** Events of other namespaces: only the envelope is known (CON-58). */
export const extensionEvent: Schema = {
  title: "ExtensionEvent",
  description:
    "An event of an extension, or of a later AAEP version: the envelope is known, the rest passes through.",
  type: "object",
  required: [...ENVELOPE_REQUIRED],
  properties: { ...envelopeProperties, ...SUMMARIES },
  additionalProperties: true,
};
