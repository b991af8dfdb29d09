import { describe, expect, it } from "vitest";
import { envelope, SAMPLES, sample } from "../../test/support/messages.ts";
import { type ParseOptions, parse, parseValue } from "./parse.ts";
import type { ExtensionEvent } from "./types.ts";

const STRICT: ParseOptions = { mode: "strict" };
const TOLERANT: ParseOptions = { mode: "tolerant" };

/** "path code" of every issue, or "ok". */
function verdict(value: unknown, options = STRICT): string[] | "ok" {
  const parsed = parseValue(value, options);
  return parsed.ok ? "ok" : parsed.issues.map(({ path, code }) => `${path} ${code}`);
}
function diagnostics(value: unknown): string[] {
  const parsed = parseValue(value, TOLERANT);
  if (!parsed.ok) throw new Error(parsed.issues.map(({ path, message }) => `${path} ${message}`).join("\n"));
  return parsed.diagnostics.map(({ path, code }) => `${path} ${code}`);
}
const without = (message: Record<string, unknown>, ...keys: string[]) =>
  Object.fromEntries(Object.entries(message).filter(([key]) => !keys.includes(key)));

const STARTED = "aaep:agent.session.started";
const ASK = "aaep:agent.awaiting.confirmation";

describe("a message of every kind", () => {
  it.each(Object.keys(SAMPLES))("%s passes strictly and tolerantly, without a word", (type) => {
    expect(verdict(sample(type))).toBe("ok");
    expect(diagnostics(sample(type))).toEqual([]);
    const parsed = parse(JSON.stringify(sample(type)), STRICT);
    expect(parsed.ok && parsed.message.type).toBe(type);
  });
});

describe("the envelope", () => {
  it("ENV-01: all six required fields are asked for, by name", () => {
    for (const key of ["@context", "event_id", "session_id", "timestamp", "producer"]) {
      expect(verdict(without(sample(STARTED), key), TOLERANT), key).toEqual([`/${key} required`]);
    }
    expect(verdict(without(sample(STARTED), "type"), TOLERANT)).toEqual(["/type required"]);
    for (const value of [null, 7, "text", [sample(STARTED)]])
      expect(verdict(value, TOLERANT)).toEqual([" object"]);
  });

  it("ENV-02 and ENV-03: the context is the AAEP address, alone or first in a list of addresses", () => {
    const core = "https://aaep-protocol.org/context/v1";
    for (const good of [core, [core], [core, "https://example.org/medai/context/v1"]]) {
      expect(verdict(sample(STARTED, { "@context": good }))).toBe("ok");
    }
    for (const bad of [
      "https://example.org",
      [],
      ["https://example.org", core],
      [core, { a: 1 }],
      [core, "no uri"],
      5,
    ]) {
      expect(verdict(sample(STARTED, { "@context": bad }), TOLERANT)).toEqual(["/@context context"]);
    }
  });

  it("ENV-05: a type needs a prefix, or is an address", () => {
    expect(verdict({ ...sample(STARTED), type: "started" }, TOLERANT)).toEqual(["/type unknown_type"]);
    expect(diagnostics({ ...envelope(), type: "medai:patient.consulted" })).toEqual([]);
    expect(diagnostics({ ...envelope(), type: "https://example.org/types/x" })).toEqual([]);
  });

  it("ENV-06: the full address of a core type is the same type", () => {
    for (const base of ["https://aaep-protocol.org/types/", "https://aaep-protocol.org/vocab/v1#"]) {
      const parsed = parseValue({ ...sample(STARTED), type: `${base}agent.session.started` }, TOLERANT);
      expect(parsed.ok && [parsed.kind, parsed.message.type]).toEqual(["event", STARTED]);
    }
    expect(
      verdict({ ...sample(STARTED), type: "https://aaep-protocol.org/types/agent.session.started" }),
    ).toEqual(["/type full_uri_type"]);
  });

  it("ENV-07 and ENV-08: an unknown aaep type is never emitted, but heard of", () => {
    const future = {
      ...envelope({ summary_normal: "New." }),
      type: "aaep:agent.dream.started",
      dream: { lucid: true },
    };
    expect(verdict(future)).toEqual(["/type unknown_aaep_type"]);
    expect(diagnostics(future)).toEqual(["/type unknown_aaep_type"]);
    const parsed = parseValue(future, TOLERANT);
    expect(parsed.ok && [parsed.kind, (parsed.message as ExtensionEvent)["dream"]]).toEqual([
      "extension",
      { lucid: true },
    ]);
  });

  it("ENV-09 and ENV-11: ids have a prefix and 1 to 64 letters or digits", () => {
    for (const bad of ["evt_", "evt_a-b", `evt_${"a".repeat(65)}`, "EVT_a", "evt_é", "evt_a\n"]) {
      expect(verdict(sample(STARTED, { event_id: bad }), TOLERANT)).toEqual(["/event_id pattern"]);
      expect(verdict(sample(STARTED, { session_id: bad.replace("evt", "sess") }), TOLERANT)).toEqual([
        "/session_id pattern",
      ]);
    }
    expect(
      verdict(sample(STARTED, { event_id: `evt_${"a".repeat(64)}`, session_id: `sess_${"Z9".repeat(32)}` })),
    ).toBe("ok");
  });

  it("ENV-13: strict time has 3 or 6 decimals or none; tolerant time is any RFC 3339", () => {
    const at = (timestamp: string) => sample(STARTED, { timestamp });
    for (const good of [
      "2026-05-24T14:22:11Z",
      "2026-05-24T14:22:11.342Z",
      "2026-05-24T15:22:11.342123+01:00",
      "2024-02-29T00:00:00Z",
      "2016-12-31T23:59:60Z",
    ]) {
      expect(verdict(at(good)), good).toBe("ok");
    }
    for (const loose of [
      "2026-05-24t14:22:11z",
      "2026-05-24T14:22:11.12Z",
      "2026-05-24 14:22:11.123456789Z",
    ]) {
      expect(verdict(at(loose)), loose).toEqual(["/timestamp pattern"]);
      expect(diagnostics(at(loose)), loose).toEqual(["/timestamp pattern"]);
    }
    for (const bad of [
      "2026-02-30T00:00:00Z",
      "2025-02-29T00:00:00Z",
      "2026-05-24T24:00:00Z",
      "2026-05-24T14:22:11",
      "2026-05-24",
      "now",
      "2026-05-24T14:22:60Z",
      "2026-05-24T14:22:11+24:00",
    ]) {
      expect(verdict(at(bad), TOLERANT), bad).toEqual(["/timestamp format"]);
    }
  });

  it("ENV-28: an extension's prefix must be declared before it is emitted", () => {
    const used = { extensions: { medai: { phi: true } } };
    expect(verdict(sample(STARTED, used))).toEqual(["/extensions/medai undeclared_prefix"]);
    expect(diagnostics(sample(STARTED, used))).toEqual([]);
    const declared = sample(STARTED, {
      ...used,
      "@context": ["https://aaep-protocol.org/context/v1", "https://example.org/medai/v1"],
    });
    expect(verdict(declared)).toBe("ok");
    expect(verdict(declared, { mode: "strict", extensions: { medai: "https://example.org/medai/v1" } })).toBe(
      "ok",
    );
    expect(verdict(declared, { mode: "strict", extensions: { medai: "https://example.org/other" } })).toEqual(
      ["/extensions/medai undeclared_prefix"],
    );
    expect(verdict(declared, { mode: "strict", extensions: {} })).toEqual([
      "/extensions/medai undeclared_prefix",
    ]);
    expect(verdict({ ...envelope(), type: "medai:seen" })).toEqual(["/type undeclared_prefix"]);
  });

  it("ENV-29 and ENV-37: unknown extension data passes, missing optional fields are no fault", () => {
    expect(diagnostics(sample(STARTED, { extensions: { nobody: { knows: [1, { x: null }] } } }))).toEqual([]);
    expect(diagnostics(without(sample(STARTED), "aaep_version", "urgency"))).toEqual([]);
    expect(diagnostics(without(sample(STARTED), "localization_hints"))).toEqual([
      "/localization_hints required",
    ]);
  });

  it("ENV-31: custom top-level names are refused when emitted and noted when received", () => {
    for (const name of ["custom", "aaep_foo", "@id", "@graph", "event_id_id", "duration_ms_ms"]) {
      expect(verdict(sample(STARTED, { [name]: "x" })), name).toEqual([`/${name} unknown_field`]);
      expect(diagnostics(sample(STARTED, { [name]: "x" })), name).toEqual([`/${name} unknown_field`]);
    }
  });

  it("CON-08: text may come in other languages by suffix, on text fields of that event only", () => {
    for (const name of ["summary_normal_yo", "summary_terse_es_419", "summary_detailed_zh_hans_cn"]) {
      expect(verdict(sample(STARTED, { [name]: "x" })), name).toBe("ok");
    }
    expect(verdict(sample(ASK, { action_fr: "Virer 500 €." }))).toBe("ok");
    for (const name of ["action_fr", "request_text_fr", "summary_normal_EN"]) {
      expect(verdict(sample(STARTED, { [name]: "x" })), name).toEqual([`/${name} unknown_field`]);
    }
    expect(diagnostics(sample(STARTED, { summary_normal_EN_us: "x" }))).toEqual([]);
    expect(diagnostics(sample(STARTED, { summary_normal_yo: 5 }))).toEqual(["/summary_normal_yo variant"]);
  });

  it("ENV-32: the order of keys does not matter", () => {
    const reversed = Object.fromEntries(Object.entries(sample(ASK)).reverse());
    expect(verdict(reversed)).toBe("ok");
  });

  it("ENV-35: problems are listed in the order of the chapter, envelope before payload", () => {
    const broken = {
      ...sample(STARTED),
      event_id: "x",
      producer: undefined,
      "@context": "y",
      summary_normal: 5,
      extra: 1,
    };
    expect(verdict(broken)).toEqual([
      "/producer required",
      "/@context context",
      "/event_id pattern",
      "/summary_normal type",
      "/extra unknown_field",
    ]);
  });

  it("ENV-38: a message with one fault yields no message at all", () => {
    const parsed = parseValue(sample(ASK, { timeout_seconds: 0 }), TOLERANT);
    expect(parsed).not.toHaveProperty("message");
  });
});

describe("text and bytes", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  it("ENV-33: UTF-8 JSON, compact or indented, and nothing else", () => {
    const message = sample(STARTED, { summary_normal: "Ẹ ku àárọ̀ 😀" });
    for (const text of [JSON.stringify(message), JSON.stringify(message, null, 2)]) {
      expect(parse(text, STRICT).ok).toBe(true);
      expect(parse(bytes(text), STRICT).ok).toBe(true);
    }
    const code = (input: string | Uint8Array) => {
      const parsed = parse(input, TOLERANT);
      return parsed.ok ? "ok" : parsed.issues[0]!.code;
    };
    expect(code(new Uint8Array([0x22, 0xff, 0x22]))).toBe("utf8");
    expect(code(new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]))).toBe("utf8");
    expect(code("{type: 'x'}")).toBe("json");
    expect(code('{"a":1,}')).toBe("json");
    expect(code("")).toBe("json");
    expect(code(`${JSON.stringify(message)} x`)).toBe("json");
    expect(code(JSON.stringify(message).replace("😀", "\\ud83d"))).toBe("unicode");
  });

  it("I18N-11: any normalization form is accepted", () => {
    for (const form of ["NFC", "NFD", "NFKC", "NFKD"]) {
      expect(verdict(sample(STARTED, { summary_normal: "Ẹ ku àárọ̀, ﬁn".normalize(form) }))).toBe("ok");
    }
  });

  it("ENV-34: numbers JSON cannot carry exactly are refused", () => {
    expect(verdict(sample(ASK, { extra_context: { account: 2 ** 60 } }), TOLERANT)).toEqual([
      "/extra_context/account number",
    ]);
    const huge = JSON.stringify(sample(ASK)).replace("300", "1e400");
    expect(parse(huge, TOLERANT).ok).toBe(false);
    expect(verdict(sample(ASK, { extra_context: { account: "1152921504606846976" } }))).toBe("ok");
  });

  it("LIM-06: an oversize event gets a clear word, or is cut visibly, and never throws", () => {
    const long = parseValue(sample(ASK, { action: "😀".repeat(20_000) }), TOLERANT);
    expect(long.ok && (long.message as { action: string }).action.endsWith("😀 …")).toBe(true);
    expect(long.ok && long.diagnostics[0]).toMatchObject({ code: "max_length", ruling: "CON-41" });
    expect(verdict(sample(ASK, { action: "x".repeat(16_385) }))).toEqual(["/action string_size"]);
    expect(parse(`"${"x".repeat(2_000_000)}"`, TOLERANT)).toMatchObject({
      ok: false,
      issues: [{ code: "too_large" }],
    });
    expect(parse(new Uint8Array(2_000_000), TOLERANT)).toMatchObject({
      ok: false,
      issues: [{ code: "too_large" }],
    });
  });

  it("LIM-09: caps count code points", () => {
    expect(verdict(sample(STARTED, { summary_terse: "😀".repeat(4096) }))).toBe("ok");
    expect(verdict(sample(STARTED, { summary_terse: "😀".repeat(4097) }))).not.toBe("ok");
    expect(verdict(sample(STARTED, { requested_by: "x".repeat(257) }), TOLERANT)).toEqual([
      "/requested_by max_length",
    ]);
    expect(
      verdict(sample(STARTED, { tools_available: Array.from({ length: 257 }, (_, i) => `t${i}`) }), TOLERANT),
    ).toEqual(["/tools_available max_items"]);
  });

  it("A10: nesting is capped before anything else looks at the message", () => {
    const nest = (depth: number): unknown => (depth === 0 ? 1 : { a: nest(depth - 1) });
    expect(verdict(sample(ASK, { extra_context: nest(7) as object }))).toBe("ok");
    expect(verdict(sample(ASK, { extra_context: nest(9) as object }))).toEqual([
      "/extra_context/a/a/a/a/a/a/a/a depth",
    ]);
    const deep = `{"type":"${STARTED}","x":${"[".repeat(30_000)}${"]".repeat(30_000)}}`;
    expect(parse(deep, TOLERANT)).toMatchObject({ ok: false, issues: [{ code: "depth" }] });
  });

  it("A13: keys that reach for a prototype are refused wherever they stand", () => {
    for (const key of ["__proto__", "constructor", "prototype"]) {
      const text = JSON.stringify(sample("subscription.request")).replace(
        '"capabilities":{}',
        `"capabilities":{"${key}":{"polluted":true}}`,
      );
      expect(parse(text, TOLERANT)).toMatchObject({
        ok: false,
        issues: [{ code: "forbidden_key", path: `/capabilities/${key}` }],
      });
    }
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("A14: a reply that names a field twice is refused, however it is spelled", () => {
    const reply = JSON.stringify(sample("confirmation.reply"));
    const twice = [
      reply.replace('"decision":"accept"', '"decision":"reject","decision":"accept"'),
      reply.replace('"decision":"accept"', '"d\\u0065cision":"reject","decision":"accept"'),
      reply.replace('"decision":"accept"', '"decision":"accept","modified_action":{"a":[{"b":1,"b":2}]}'),
    ];
    for (const text of twice)
      expect(parse(text, TOLERANT)).toMatchObject({ ok: false, issues: [{ code: "duplicate_key" }] });
    expect(
      parse(
        reply.replace(
          '"decision":"accept"',
          '"decision":"accept","modified_action":{"a":{"x":1},"b":{"x":"{\\"x\\""}}',
        ),
        TOLERANT,
      ).ok,
    ).toBe(true);
  });
});

describe("payloads", () => {
  const PAYLOADS: [
    id: string,
    type: string,
    required: string[],
    faults: [field: string, value: unknown, code: string][],
  ][] = [
    [
      "EVT-01",
      STARTED,
      ["summary_normal"],
      [
        ["expected_duration_ms", 86_400_001, "maximum"],
        ["requested_by", "", "min_length"],
        ["tools_available", ["a", "a"], "unique"],
      ],
    ],
    [
      "EVT-02",
      "aaep:agent.session.completed",
      ["summary_normal"],
      [
        ["tool_invocations_count", -1, "minimum"],
        ["result_uri", "no uri", "format"],
        ["duration_ms", 1.5, "type"],
      ],
    ],
    [
      "EVT-03",
      "aaep:agent.session.errored",
      ["error_category", "summary_normal"],
      [
        ["error_code", "lower", "pattern"],
        ["recoverable", "yes", "type"],
        ["urgency", "normal", "const"],
      ],
    ],
    [
      "EVT-04",
      "aaep:agent.session.cancelled",
      ["cancelled_by", "summary_normal"],
      [
        ["cancellation_reason", "Bad", "pattern"],
        ["partial_result", 5, "type"],
      ],
    ],
    [
      "EVT-05",
      "aaep:agent.state.changed",
      ["from_state", "to_state"],
      [
        ["to_state", "x".repeat(65), "max_length"],
        ["from_state", "", "min_length"],
      ],
    ],
    [
      "EVT-06",
      "aaep:agent.progress.updated",
      ["progress"],
      [
        ["progress", {}, "min_properties"],
        ["progress", { percent: 101 }, "maximum"],
        ["progress", { steps: 1 }, "unknown_field"],
        ["eta_ms", -1, "minimum"],
      ],
    ],
    [
      "EVT-07",
      "aaep:agent.tool.invoked",
      ["tool", "summary_normal"],
      [
        ["tool", "a b", "pattern"],
        ["tool_call_id", "toolu_1", "pattern"],
        ["irreversible", 1, "type"],
      ],
    ],
    [
      "EVT-08",
      "aaep:agent.tool.completed",
      ["tool", "status"],
      [
        ["error_message", "", "min_length"],
        ["duration_ms", "5", "type"],
      ],
    ],
    [
      "EVT-09",
      "aaep:agent.output.streaming",
      ["chunk", "position", "complete"],
      [
        ["position", -1, "minimum"],
        ["content_type", "text/plain; charset=utf-8", "pattern"],
        ["output_id", "out-1", "pattern"],
        ["complete", "no", "type"],
      ],
    ],
    [
      "EVT-10",
      ASK,
      ["action", "consequence", "reply_token", "timeout_seconds", "default_decision"],
      [
        ["timeout_seconds", 86_401, "maximum"],
        ["timeout_seconds", 0, "minimum"],
        ["extra_context", [], "type"],
        ["urgency", "normal", "const"],
      ],
    ],
    [
      "EVT-11",
      "aaep:agent.awaiting.clarification",
      ["question", "reply_token", "timeout_seconds"],
      [
        ["choices", [{ value: "a", label: "A" }], "min_items"],
        [
          "choices",
          [
            { value: "a", label: "A", x: 1 },
            { value: "b", label: "B" },
          ],
          "unknown_field",
        ],
        [
          "choices",
          [
            { value: "a", label: "A" },
            { label: "A", value: "a" },
          ],
          "unique",
        ],
      ],
    ],
    [
      "EVT-12",
      "aaep:agent.handoff.requested",
      ["reason", "target_kind"],
      [
        ["target_uri", "x", "format"],
        ["packaged_context", "x", "type"],
        ["urgency", "background", "const"],
      ],
    ],
  ];

  it.each(PAYLOADS)(
    "%s: %s asks for what it needs and refuses what does not fit",
    (_, type, required, faults) => {
      for (const field of required)
        expect(verdict(without(sample(type), field), TOLERANT), field).toContain(`/${field} required`);
      for (const [field, value, code] of faults) {
        const found = verdict(sample(type, { [field]: value }), TOLERANT);
        expect(
          Array.isArray(found) &&
            found.some((line) => line.startsWith(`/${field}`) && line.endsWith(` ${code}`)),
          `${field} ${code}: ${found}`,
        ).toBe(true);
      }
    },
  );
  // The titles above are built from the table; the ids they show are EVT-01 to EVT-12.
  it("EVT-01 EVT-02 EVT-03 EVT-04 EVT-05 EVT-06 EVT-07 EVT-08 EVT-09 EVT-10 EVT-11 EVT-12: every payload has its table row", () => {
    expect(PAYLOADS.map(([id]) => id)).toEqual(
      Array.from({ length: 12 }, (_, i) => `EVT-${String(i + 1).padStart(2, "0")}`),
    );
  });

  it("EVT-15: the four critical types carry urgency themselves; a receiver treats them as critical all the same", () => {
    for (const type of [
      "aaep:agent.session.errored",
      ASK,
      "aaep:agent.awaiting.clarification",
      "aaep:agent.handoff.requested",
    ]) {
      expect(verdict(without(sample(type), "urgency"))).toEqual(["/urgency required"]);
      const parsed = parseValue(without(sample(type), "urgency"), TOLERANT);
      expect(parsed.ok && parsed.message["urgency" as never]).toBe("critical");
    }
  });

  it("EVT-19 and VER-05: unknown states pass; unknown enum values are read as the cautious one", () => {
    expect(verdict(sample("aaep:agent.state.changed", { to_state: "daydreaming" }))).toBe("ok");
    const read = (type: string, field: string, value: unknown = "novel") => {
      const parsed = parseValue(sample(type, { [field]: value }), TOLERANT);
      return parsed.ok ? (parsed.message as unknown as Record<string, unknown>)[field] : parsed.issues;
    };
    expect(read(ASK, "risk_level")).toBe("high");
    expect(read(ASK, "reversibility")).toBe("irreversible");
    expect(read(ASK, "default_decision")).toBe("reject");
    expect(read("aaep:agent.session.errored", "error_category")).toBe("unknown");
    expect(read(STARTED, "urgency")).toBe("normal");
    expect(read("aaep:agent.tool.completed", "status")).toBe("error");
    expect(
      read("aaep:agent.awaiting.clarification", "accepted_response_kinds", ["telepathy", "yes_no"]),
    ).toEqual(["yes_no"]);
    expect(
      read("aaep:agent.awaiting.clarification", "accepted_response_kinds", ["telepathy"]),
    ).toBeUndefined();
    expect(verdict(sample(ASK, { risk_level: "novel" }))).toEqual(["/risk_level enum"]);
  });

  it("EVT-06: a step beyond the total is refused when emitted", () => {
    const over = sample("aaep:agent.progress.updated", { progress: { step: 4, total_steps: 3 } });
    expect(verdict(over)).toEqual(["/progress/step step_order"]);
    expect(diagnostics(over)).toEqual(["/progress/step step_order"]);
  });

  it("I18N-02: language values are language tags", () => {
    const chunk = (language: string) => sample("aaep:agent.output.streaming", { language });
    for (const good of ["en", "yo-NG", "zh-Hans-CN", "x-private"]) expect(verdict(chunk(good))).toBe("ok");
    for (const bad of ["q", "en_US", ""]) expect(verdict(chunk(bad))).toEqual(["/language pattern"]);
  });
});

describe("defaults that cannot do harm", () => {
  const RISKS = [undefined, "low", "medium", "high"] as const;
  const ask = (over: Record<string, unknown>) => sample(ASK, JSON.parse(JSON.stringify(over)));

  it("CNF-20 and SEC-21: silence accepts only what is reversible and of low risk, in every form it can be written", () => {
    for (const risk_level of RISKS) {
      for (const irreversible of [undefined, false, true]) {
        for (const reversibility of [undefined, "reversible", "reversible_with_effort", "irreversible"]) {
          const harmful = irreversible === true || reversibility === "irreversible";
          const consistent =
            irreversible === undefined ||
            reversibility === undefined ||
            irreversible === (reversibility === "irreversible");
          const form = { default_decision: "accept", risk_level, irreversible, reversibility };
          const where = JSON.stringify(form);
          expect(verdict(ask(form)) === "ok", where).toBe(!harmful && risk_level === "low");
          expect(verdict(ask(form), TOLERANT) === "ok", where).toBe(!harmful || risk_level === "low");
          expect(verdict(ask({ ...form, default_decision: "reject" })) === "ok", where).toBe(consistent);
        }
      }
    }
  });

  it("CON-31: a person can always refuse", () => {
    expect(verdict(ask({ allowed_replies: ["accept", "reject"] }))).toBe("ok");
    expect(verdict(ask({ allowed_replies: ["reject"] }))).toBe("ok");
    expect(verdict(ask({ allowed_replies: ["accept"] }))).toEqual(["/allowed_replies contains"]);
    expect(verdict(ask({ allowed_replies: ["reject", "later"] }))).toEqual(["/allowed_replies/1 enum"]);
    expect(diagnostics(ask({ allowed_replies: ["later"] }))).toEqual([
      "/allowed_replies contains",
      "/allowed_replies/0 enum",
    ]);
  });

  it("CON-29: multiple choice needs choices", () => {
    const open = sample("aaep:agent.awaiting.clarification", {
      accepted_response_kinds: ["multiple_choice"],
    });
    expect(verdict(open)).toEqual(["/choices rule"]);
    expect(diagnostics(open)).toEqual(["/choices rule"]);
  });
});

describe("handshake and replies", () => {
  it("HS-02: a request names its version, its sender and its capabilities", () => {
    for (const field of ["aaep_version", "subscriber_id", "capabilities"]) {
      expect(verdict(without(sample("subscription.request"), field), TOLERANT)).toEqual([
        `/${field} required`,
      ]);
    }
    expect(verdict(sample("subscription.request", { aaep_version: "1.0" }), TOLERANT)).toEqual([
      "/aaep_version pattern",
    ]);
  });

  it("HS-05: an acceptance names the subscription, the producer and the honored terms", () => {
    for (const field of ["subscription_id", "aaep_version", "producer", "honored_capabilities"]) {
      expect(verdict(without(sample("subscription.accepted"), field), TOLERANT)).toEqual([
        `/${field} required`,
      ]);
    }
    expect(verdict(sample("subscription.accepted", { signed_manifest: "a.b" }), TOLERANT)).toEqual([
      "/signed_manifest pattern",
    ]);
  });

  it("HS-09, HS-10 and HS-30: a rejection says why; an unknown code is read as unknown", () => {
    for (const field of ["reason_code", "reason_message"]) {
      expect(verdict(without(sample("subscription.rejected"), field), TOLERANT)).toEqual([
        `/${field} required`,
      ]);
    }
    expect(verdict(sample("subscription.rejected", { reason_code: "mercury_retrograde" }))).toEqual([
      "/reason_code enum",
    ]);
    const parsed = parseValue(
      sample("subscription.rejected", { reason_code: "mercury_retrograde" }),
      TOLERANT,
    );
    expect(parsed.ok && parsed.message).toMatchObject({ reason_code: "unknown" });
  });

  it("HS-24: unknown capability names and scalar extension capabilities are dropped, with a word, never refused", () => {
    const asked = sample("subscription.request", {
      capabilities: { haptic: { wrist: true }, future_scalar: 5, cognitive_load: "low" },
      novelty: 1,
    });
    const parsed = parseValue(asked, TOLERANT);
    expect(parsed.ok && parsed.message).toEqual(
      sample("subscription.request", { capabilities: { haptic: { wrist: true }, cognitive_load: "low" } }),
    );
    expect(diagnostics(asked)).toEqual([
      "/capabilities/future_scalar unknown_field",
      "/novelty unknown_field",
    ]);
    expect(asked["novelty"]).toBe(1);
  });

  it("CNF-07, CNF-11 and CNF-26: replies are closed and complete in both modes", () => {
    for (const type of ["confirmation.reply", "clarification.reply"]) {
      for (const mode of [STRICT, TOLERANT]) {
        for (const field of Object.keys(SAMPLES[type]!))
          expect(verdict(without(sample(type), field), mode)).toEqual([`/${field} required`]);
        expect(verdict(sample(type, { extra: 1 }), mode)).toEqual(["/extra unknown_field"]);
        expect(verdict(sample(type, { reply_token: "tok_1" }), mode)).toEqual(["/reply_token pattern"]);
        expect(verdict(sample(type, { timestamp: "yesterday" }), mode)).toEqual(["/timestamp format"]);
      }
    }
    expect(verdict(sample("confirmation.reply", { decision: "later" }), TOLERANT)).toEqual([
      "/decision enum",
    ]);
  });

  it("CNF-27: an answer is text, yes or no, or a number, and nothing else", () => {
    const answer = (response: unknown) => verdict(sample("clarification.reply", { response }), TOLERANT);
    for (const good of ["savings", true, false, 0, -1.5]) expect(answer(good)).toBe("ok");
    for (const bad of ["", null, [], {}, ["a"]]) expect(answer(bad)).toEqual(["/response type"]);
  });

  it("A16: an error never repeats a reply token", () => {
    const parsed = parseValue(sample("confirmation.reply", { reply_token: "rpl_secret!" }), TOLERANT);
    expect(JSON.stringify(parsed)).not.toContain("secret");
  });

  it("CON-18: the three messages upstream has no schema for have one here", () => {
    expect(verdict(sample("subscription.renegotiate", { capabilities: {} }), TOLERANT)).toEqual([
      "/capabilities min_properties",
    ]);
    expect(verdict(sample("subscription.close", { reason_code: "Bad Code" }), TOLERANT)).toEqual([
      "/reason_code pattern",
    ]);
    expect(diagnostics(sample("aaep:producer.manifest", { future: { any: 1 } }))).toEqual([]);
    expect(verdict(without(sample("aaep:producer.manifest"), "transports_supported"), TOLERANT)).toEqual([
      "/transports_supported required",
    ]);
  });
});

describe("what is handed in stays as it is", () => {
  it("a value is never changed by looking at it", () => {
    const value = Object.freeze(sample(ASK, { risk_level: "novel", extra: 1 }));
    expect(parseValue(value, TOLERANT).ok).toBe(true);
    expect(value["risk_level"]).toBe("novel");
  });
  it("things that are not JSON get a word, not an exception", () => {
    for (const odd of [() => 1, Symbol("x"), 10n, undefined, new Map(), Object.create(null)]) {
      expect(parseValue(odd, TOLERANT).ok).toBe(false);
      expect(parseValue(sample(STARTED, { summary_normal: odd }), STRICT).ok).toBe(false);
      expect(() => parseValue(sample(STARTED, { custom: odd }), TOLERANT)).not.toThrow();
    }
    const loop = sample(ASK, { extra_context: {} });
    (loop["extra_context"] as Record<string, unknown>)["self"] = loop;
    expect(verdict(loop)).not.toBe("ok");
  });
});
