/** Valid messages of every kind, and generators of more, for tests that mutate or compare. */
import fc from "fast-check";
import { CORE_CONTEXT } from "../../src/protocol/types.ts";

export const envelope = (over: Record<string, unknown> = {}): Record<string, unknown> => ({
  "@context": CORE_CONTEXT,
  aaep_version: "1.0.0",
  event_id: "evt_0a1b",
  session_id: "sess_0a1b",
  timestamp: "2026-05-24T14:22:11.342Z",
  producer: { agent_id: "planner" },
  urgency: "normal",
  localization_hints: { primary_language: "en-US", text_direction: "ltr" },
  ...over,
});

const critical = { urgency: "critical" };

/** One plain, strictly valid message of each type. */
export const SAMPLES: Readonly<Record<string, Record<string, unknown>>> = {
  "aaep:agent.session.started": envelope({ summary_normal: "Planning your week." }),
  "aaep:agent.session.completed": envelope({ summary_normal: "Done." }),
  "aaep:agent.session.errored": envelope({
    ...critical,
    error_category: "transient",
    summary_normal: "The bank did not answer.",
  }),
  "aaep:agent.session.cancelled": envelope({ cancelled_by: "user", summary_normal: "Stopped." }),
  "aaep:agent.state.changed": envelope({
    from_state: "idle",
    to_state: "thinking",
    summary_normal: "Thinking.",
  }),
  "aaep:agent.progress.updated": envelope({
    urgency: "background",
    progress: { percent: 40 },
    summary_normal: "40 percent.",
  }),
  "aaep:agent.tool.invoked": envelope({ tool: "fetch_balance", summary_normal: "Checking your balance." }),
  "aaep:agent.tool.completed": envelope({
    tool: "fetch_balance",
    status: "success",
    summary_normal: "Balance found.",
  }),
  "aaep:agent.output.streaming": envelope({
    chunk: "Hello.",
    position: 0,
    complete: false,
    coalesce_hint: "sentence",
  }),
  "aaep:agent.awaiting.confirmation": envelope({
    ...critical,
    action: "Transfer $500.",
    consequence: "Funds move at once.",
    reply_token: "rpl_1",
    timeout_seconds: 300,
    default_decision: "reject",
    summary_normal: "Confirm the transfer?",
  }),
  "aaep:agent.awaiting.clarification": envelope({
    ...critical,
    question: "Which account?",
    reply_token: "rpl_1",
    timeout_seconds: 120,
    summary_normal: "Which account?",
  }),
  "aaep:agent.handoff.requested": envelope({
    ...critical,
    reason: "A person must decide.",
    target_kind: "human",
    summary_normal: "Passing you on.",
  }),
  "subscription.request": { aaep_version: "1.0.0", subscriber_id: "nvda", capabilities: {} },
  "subscription.accepted": {
    subscription_id: "sub_1",
    aaep_version: "1.0.0",
    producer: { agent_id: "planner" },
    honored_capabilities: {},
  },
  "subscription.rejected": { reason_code: "unknown", reason_message: "Not now." },
  "subscription.renegotiate": { subscription_id: "sub_1", capabilities: { cognitive_load: "low" } },
  "subscription.close": { subscription_id: "sub_1", reason_code: "subscriber_shutdown" },
  "confirmation.reply": {
    reply_token: "rpl_1",
    decision: "accept",
    subscription_id: "sub_1",
    timestamp: "2026-05-24T14:22:25.000Z",
  },
  "clarification.reply": {
    reply_token: "rpl_1",
    response: "savings",
    subscription_id: "sub_1",
    timestamp: "2026-05-24T14:22:25.000Z",
  },
  "aaep:producer.manifest": {
    "@context": CORE_CONTEXT,
    agent_id: "planner",
    aaep_versions_supported: ["1.0.0"],
    conformance_levels_supported: [1, 2, 3],
    transports_supported: ["sse"],
  },
};

export const sample = (type: string, over: Record<string, unknown> = {}): Record<string, unknown> => {
  const base = SAMPLES[type];
  if (!base) throw new Error(`No sample for ${type}`);
  return { type, ...structuredClone(base), ...over };
};

/** Messages that satisfy a published schema, made from the schema itself. */
export function arbitraryFor(schema: Json): fc.Arbitrary<unknown> {
  // Through JSON, as on the wire: plain prototypes, no -0.
  return arbitraryOf(schema).map((value) => JSON.parse(JSON.stringify(value)));
}

// biome-ignore lint/suspicious/noExplicitAny: JSON Schema as it comes out of a file
type Json = Record<string, any>;

const word = fc.constantFrom(
  "a",
  "Hello.",
  "Ẹ ku àárọ̀",
  "日本語",
  "مرحبا",
  "x y",
  "500",
  "😀",
  "e\u0301",
  "z".repeat(200),
);
const FROM_PATTERN: readonly [RegExp, fc.Arbitrary<string>][] = [
  [/^\^(evt|sess|sub|rpl|call|out)_/, fc.constant("")],
  [
    /^\^\(\?:\[A-Za-z\]\{2,8\}/,
    fc.constantFrom("en", "en-US", "yo-NG", "zh-Hans-CN", "ar", "es-419", "x-klingon", "de-CH-1996"),
  ],
  [
    /^\^\[0-9\]\{4\}/,
    fc.constantFrom("2026-05-24T14:22:11.342Z", "2026-05-24T15:22:11+01:00", "2024-02-29T23:59:59.123456Z"),
  ],
  [/^\^\[0-9\]\+/, fc.constantFrom("1.0.0", "0.1.0-draft", "99.99.99")],
  [/^\^\[A-Za-z_\]/, fc.constantFrom("transfer_funds", "_x", "a.b-c", "T".repeat(256))],
  [/^\^\[A-Z\]\[A-Z0-9_\]/, fc.constantFrom("AUTH_FAILED", "E1")],
  [/^\^\[a-z\]\[a-z0-9_\]/, fc.constantFrom("user_pressed_escape", "x1")],
  [/^\^\[A-Z\]\[a-z\]/, fc.constantFrom("Latn", "Arab")],
  [/^\^\[a-zA-Z\]\[a-zA-Z0-9\.\+_-\]/, fc.constantFrom("text/plain", "text/markdown", "application/ld+json")],
  [/^\^\[A-Za-z0-9_-\]\+\\\./, fc.constantFrom("a.b.c", "eyJ.eyJ.c2ln")],
  [/^\^\(\?!/, fc.constantFrom("medai", "earshot")],
];

function stringOf(schema: Json): fc.Arbitrary<string> {
  if (schema.format === "uri") {
    return fc.constantFrom(
      "https://example.com/x?y=1#z",
      "urn:isbn:0451450523",
      "mailto:a@b.example",
      "queue://desk/1",
      "http://[::1]:80/",
    );
  }
  if (schema.pattern) {
    const id = /^\^(evt|sess|sub|rpl|call|out)_/.exec(schema.pattern);
    if (id) return fc.stringMatching(/^[A-Za-z0-9]{1,64}$/).map((rest) => `${id[1]}_${rest}`);
    const entry = FROM_PATTERN.find(([test]) => test.test(schema.pattern));
    if (!entry) throw new Error(`No generator for ${schema.pattern}`);
    return entry[1];
  }
  const max = schema.maxLength ?? 300;
  const short = word.filter((text) => text.length <= max);
  const options = [short, short.map((text) => text.repeat(2)).filter((text) => text.length <= max)];
  if (max > 1000) options.push(fc.constant("y".repeat(max)), fc.constant("😀".repeat(max)));
  if (!schema.minLength) options.push(fc.constant(""));
  return fc.oneof(
    { weight: 12, arbitrary: options[0]! },
    ...options.slice(1).map((arbitrary) => ({ weight: 1, arbitrary })),
  );
}

function arbitraryOf(schema: Json): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(arbitraryOf));
  if (schema.enum) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case "string":
      return stringOf(schema);
    case "integer":
      return fc.integer({ min: schema.minimum ?? -5, max: Math.min(schema.maximum ?? 1e9, 1e9) });
    case "number":
      return fc.oneof(
        fc.double({ min: schema.minimum ?? -1e6, max: schema.maximum ?? 1e6, noNaN: true }),
        fc.integer({ min: schema.minimum ?? -9, max: schema.maximum ?? 9 }),
      );
    case "boolean":
      return fc.boolean();
    case "array": {
      const head = (schema.prefixItems ?? []).map(arbitraryOf);
      const min = Math.max(0, (schema.minItems ?? 0) - head.length);
      const max = Math.max(min, Math.min(schema.maxItems ?? 3, 3));
      const bounds = { minLength: min, maxLength: max };
      const tail = schema.uniqueItems
        ? fc.uniqueArray(arbitraryOf(schema.items), { ...bounds, selector: (item) => JSON.stringify(item) })
        : fc.array(arbitraryOf(schema.items), bounds);
      return fc
        .tuple(...head, tail)
        .map((parts) => [...parts.slice(0, -1), ...(parts.at(-1) as unknown[])])
        .filter((items) => !schema.contains || items.includes(schema.contains.const));
    }
    default:
      return objectOf(schema);
  }
}

const openValue = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.oneof(word, fc.integer(), fc.boolean()), {
  maxKeys: 2,
});

function objectOf(schema: Json): fc.Arbitrary<Json> {
  if (!schema.properties) {
    if (schema.propertyNames)
      return fc.dictionary(fc.constantFrom("medai", "haptic"), openValue, { maxKeys: 2 });
    return openValue;
  }
  const required = new Set<string>(schema.required ?? []);
  const model: Record<string, fc.Arbitrary<unknown>> = {};
  for (const [key, child] of Object.entries<Json>(schema.properties)) model[key] = arbitraryOf(child);
  const optional = Object.keys(model).filter((key) => !required.has(key));
  return fc
    .record(model, { requiredKeys: [...required] } as never)
    .chain((full: Json) =>
      // fc.record keeps most optional keys; half of them is closer to what travels.
      fc.subarray(optional).map((drop) => {
        for (const key of drop) delete full[key];
        if (schema.minProperties && Object.keys(full).length === 0) full[optional[0]!] = 1;
        return full;
      }),
    )
    .filter((value) => !schema.minProperties || Object.keys(value).length >= schema.minProperties);
}

const NASTY: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e15,
    "",
    "x",
    " ",
    [],
    {},
    ["x"],
    { a: 1 },
    "critical",
    "accept",
    "2026-02-30T00:00:00Z",
  ),
  fc.constantFrom<unknown>(
    "2026-05-24t14:22:11z",
    "2026-05-24T14:22:11.12Z",
    "2026-05-24 14:22:11Z",
    "2016-12-31T23:59:60Z",
    "https://aaep-protocol.org/context/v1",
  ),
  fc.constantFrom<unknown>(
    "z".repeat(4097),
    "z".repeat(16385),
    "not a uri",
    "a:",
    "évt_1",
    "evt_",
    "q",
    "1.0",
    "text/plain; charset=utf-8",
  ),
);

/** One random change somewhere in the message: a value replaced, a key removed, renamed, added, or repeated. */
export const mutate = (message: unknown): fc.Arbitrary<unknown> =>
  fc
    .tuple(
      fc.nat(),
      fc.constantFrom("replace", "remove", "add", "rename", "repeat"),
      NASTY,
      fc.constantFrom("custom", "aaep_foo", "@id", "summary_normal_yo", "description_EN", "medai"),
    )
    .map(([at, how, nasty, name]) => {
      const copy = structuredClone(message) as Json;
      const places: [Json, string | number][] = [];
      const collect = (value: Json) => {
        for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
          places.push([value, key]);
          if (typeof value[key] === "object" && value[key] !== null) collect(value[key]);
        }
      };
      collect(copy);
      const place = places[at % places.length];
      if (!place) return copy;
      const [owner, key] = place;
      if (Array.isArray(owner)) {
        if (how === "remove") owner.splice(key as number, 1);
        else if (how === "repeat") owner.push(structuredClone(owner[key as number]));
        else owner[key as number] = nasty;
      } else if (how === "remove") delete owner[key];
      else if (how === "add") owner[name] = nasty;
      else if (how === "rename") {
        owner[name] = owner[key];
        delete owner[key];
      } else owner[key] = nasty;
      return copy;
    });
