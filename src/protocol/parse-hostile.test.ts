/** Hostile messages (A09 to A17): no throw, no hang, no report larger than its message. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cpuMs } from "../../test/support/cpu.ts";
import { mutate, SAMPLES, sample } from "../../test/support/messages.ts";
import { describeIssues } from "./errors.ts";
import { EVENTS, MESSAGES } from "./generated/tables.ts";
import { hasDuplicateKeys, utf8Length } from "./limits.ts";
import { type Parsed, type ParseOptions, parse, parseValue } from "./parse.ts";
import { explain, isDateTime, isUri } from "./validate.ts";

const STRICT: ParseOptions = { mode: "strict" };
const TOLERANT: ParseOptions = { mode: "tolerant" };
const STARTED = "aaep:agent.session.started";
const ASK = "aaep:agent.awaiting.confirmation";

const codes = (parsed: Parsed) => (parsed.ok ? "ok" : parsed.issues.map(({ code }) => code));
const text = (type: string, over: Record<string, unknown>) => JSON.stringify(sample(type, over));

/** Generous, because test machines are slow: superlinear cost would take minutes. */
function soon<T>(work: () => T): T {
  const start = cpuMs();
  const result = work();
  expect(cpuMs() - start).toBeLessThan(5000);
  return result;
}

describe("a message made to crash", () => {
  it("A09: objects that cannot become text or a number are only data, wherever they stand", () => {
    const odd = { toString: 1, valueOf: 1, toJSON: 1 };
    for (const type of Object.keys(SAMPLES)) {
      const keys = [...(EVENTS.get(type) ?? MESSAGES.get(type))!.fields.keys()];
      for (const key of [...keys, "custom", "progress", "summary_normal_yo"]) {
        for (const value of [
          odd,
          [odd],
          { step: odd, total_steps: 1 },
          { step: "z\u001b[2J", total_steps: "a" },
        ]) {
          for (const options of [STRICT, TOLERANT]) {
            const parsed = parse(text(type, { [key]: value }), options);
            const said = parsed.ok ? parsed.diagnostics : parsed.issues;
            expect(said.every(({ message }) => !message.includes("\u001b"))).toBe(true);
          }
        }
      }
    }
  });

  it("A10: nesting of any depth is refused, not followed", () => {
    for (const [open, close] of [
      ["[", "]"],
      ['{"a":', "}"],
    ] as const) {
      const levels = 150_000;
      const deep = `${open.repeat(levels)}1${close.repeat(levels)}`;
      const message = text(ASK, { extra_context: { x: 0 } }).replace('{"x":0}', `{"x":${deep}}`);
      const huge = { bytes: 1e7 };
      expect(["depth", "json"]).toContain(
        codes(soon(() => parse(message, { ...TOLERANT, limits: huge })))[0],
      );
      expect(parse(message, { ...TOLERANT, limits: { ...huge, depth: Infinity } }).ok).toBe(false);
      expect(parse(message.slice(0, 700_000), TOLERANT).ok).toBe(false);
    }
  });

  it("A09: getters, proxies and values of other kinds get an answer, not an exception", () => {
    const throwing = new Proxy(sample(STARTED), {
      get() {
        throw new Error("no");
      },
    });
    const getter = Object.defineProperty(sample(STARTED), "summary_normal", {
      enumerable: true,
      get() {
        throw new Error("no");
      },
    });
    for (const options of [STRICT, TOLERANT]) {
      expect(codes(parseValue(throwing, options))).toEqual(["json"]);
      expect(codes(parseValue(getter, options))).toEqual(["json"]);
      for (const nothing of [undefined, null, 5, {}, new Map()] as unknown as string[]) {
        expect(parse(nothing, options).ok).toBe(false);
      }
    }
  });

  it("ENV-33: what JSON cannot say is refused where it stands, also inside open objects", () => {
    class Money {
      amount = 500;
    }
    const odd = [
      () => 1,
      Symbol("x"),
      10n,
      new Date(0),
      new Map(),
      new Money(),
      Object.create({ a: 1 }),
      Number.NaN,
    ];
    for (const value of odd) {
      for (const options of [STRICT, TOLERANT]) {
        const parsed = parseValue(sample(ASK, { extra_context: { deep: [value] } }), options);
        expect(parsed.ok ? "ok" : parsed.issues.map(({ path }) => path)).toEqual(["/extra_context/deep/0"]);
      }
    }
    expect(parseValue(sample(ASK, { extra_context: { a: [undefined] } }), STRICT).ok).toBe(false);
    expect(parseValue(sample(ASK, { extra_context: { a: undefined } }), STRICT).ok).toBe(true);
    expect(parseValue(sample(ASK, { extra_context: Object.create(null) }), STRICT).ok).toBe(true);
  });
});

describe("a message made to pass for another", () => {
  it("A13: what is inherited does not count as sent", () => {
    expect(codes(parseValue(Object.create(sample(STARTED)), STRICT))).toEqual(["json"]);
    const hollow = sample("confirmation.reply");
    delete hollow["decision"];
    Object.setPrototypeOf(hollow, { decision: "accept" });
    for (const options of [STRICT, TOLERANT]) expect(codes(parseValue(hollow, options))).toEqual(["json"]);
  });

  it("A13: names that reach for a prototype are refused at every depth, and touch nothing", () => {
    for (const key of ["__proto__", "constructor", "prototype"]) {
      const attack = `{"${key}":{"polluted":true}}`;
      for (const json of [
        text(STARTED, {}).replace("{", `{"${key}":{"polluted":true},`),
        text(ASK, { extra_context: "HERE" }).replace('"HERE"', `[[${attack}]]`),
        text("subscription.request", { capabilities: "HERE" }).replace('"HERE"', attack),
        text("confirmation.reply", { modified_action: "HERE" }).replace('"HERE"', attack),
      ]) {
        expect(codes(parse(json, TOLERANT))).toEqual(["forbidden_key"]);
      }
      expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    }
    for (const type of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      expect(codes(parseValue({ type }, TOLERANT))).toEqual(["unknown_type"]);
    }
  });

  it("CON-14 and CON-70: a critical event with an urgency of a later version stays critical; a known wrong one fails", () => {
    const parsed = parseValue(sample(ASK, { urgency: "immediate" }), TOLERANT);
    expect(
      parsed.ok && [(parsed.message as { urgency?: unknown }).urgency, parsed.diagnostics[0]?.code],
    ).toEqual(["critical", "enum"]);
    for (const urgency of ["normal", "background"]) {
      expect(codes(parseValue(sample(ASK, { urgency }), TOLERANT))).toEqual(["const"]);
    }
    for (const urgency of ["normal", "immediate"]) {
      expect(parseValue(sample(ASK, { urgency }), STRICT).ok).toBe(false);
    }
  });

  it("ENV-33: a byte order mark is passed over on receipt and never emitted, in bytes as in text", () => {
    const marked = `\ufeff${text(STARTED, {})}`;
    for (const input of [marked, new TextEncoder().encode(marked)]) {
      expect(parse(input, TOLERANT).ok).toBe(true);
      expect(codes(parse(input, STRICT))).toEqual(["json"]);
    }
  });

  it("ENV-35: the explainer has something to say exactly when the check says no", () => {
    const type = fc.constantFrom(...Object.keys(SAMPLES));
    const change = fc.tuple(fc.nat(), fc.jsonValue({ maxDepth: 3 }));
    fc.assert(
      fc.property(type, fc.array(change, { maxLength: 3 }), (type, changes) => {
        const node = (EVENTS.get(type) ?? MESSAGES.get(type))!;
        const message = sample(type);
        for (const [at, value] of changes)
          message[[...node.fields.keys(), "x"][at % (node.fields.size + 1)]!] = value;
        expect(explain(node, structuredClone(message), false).issues.length === 0).toBe(node.ok(message));
      }),
      { numRuns: 5000 },
    );
  });
});

describe("a mended message", () => {
  it("CON-38: a renegotiation that holds nothing but unknown keys is one that asks for nothing", () => {
    const later = sample("subscription.renegotiate", { capabilities: { haptics: "strong" } });
    expect(codes(parseValue(later, TOLERANT))).toEqual(["min_properties"]);
  });

  it("CON-37 and CON-70: passes again as it is, and never makes silence consent to what cannot be undone", () => {
    const changed = fc
      .constantFrom(...Object.keys(SAMPLES))
      .map((type) =>
        type === ASK
          ? sample(type, { irreversible: true, risk_level: "high", allowed_replies: ["reject"] })
          : sample(type),
      )
      .chain((message) => mutate(message).chain(mutate));
    fc.assert(
      fc.property(changed, (message) => {
        const parsed = parseValue(message, TOLERANT);
        if (!parsed.ok) return;
        const again = parse(JSON.stringify(parsed.message), TOLERANT);
        expect(again.ok && again.message).toEqual(parsed.message);
        const { default_decision, irreversible, risk_level } = parsed.message as Record<string, unknown>;
        if (parsed.message.type === ASK && irreversible === true && risk_level !== "low") {
          expect(default_decision).toBe("reject");
        }
      }),
      { numRuns: 5000 },
    );
  });
});

describe("a message made to keep us busy", () => {
  const MIB = 1_048_576;
  const fill = (part: (i: number) => string) => {
    const parts: string[] = [];
    for (let size = 0, i = 0; size < MIB - 5000; i++) {
      parts.push(part(i));
      size += parts.at(-1)!.length + 1;
    }
    return parts.join(",");
  };
  const base = text(STARTED, {}).slice(0, -1);
  const attacks: Record<string, string> = {
    "keys at the top": `${base},${fill((i) => `"k${i}":0`)}}`,
    "unknown keys inside the producer": text(STARTED, { producer: "HERE" }).replace(
      '"HERE"',
      `{"agent_id":"a",${fill((i) => `"k${i}":0`)}}`,
    ),
    "wrong entries in a list without a bound": text("subscription.request", {
      capabilities: { event_filters: { include: "HERE" } },
    }).replace('"HERE"', `[${fill(() => "0")}]`),
    "the same pattern again and again": text("subscription.request", {
      capabilities: { event_filters: { include: "HERE" } },
    }).replace('"HERE"', `[${fill(() => '"aaep:*"')}]`),
    "distinct patterns": text("subscription.request", {
      capabilities: { event_filters: { include: "HERE" } },
    }).replace('"HERE"', `[${fill((i) => `"aaep:${i}"`)}]`),
    "one key as long as the message": `${base},"${"~/".repeat(MIB / 2 - 1000)}":{"__proto__":[[[]]],"constructor":1}}`,
    "a long key above many faults": `${base},"${"k".repeat(MIB / 2)}":[${"1e999,".repeat(80_000)}1]}`,
    "shallow lists": text(ASK, { extra_context: { a: "HERE" } }).replace(
      '"HERE"',
      `[${fill(() => "[[[[]]]]")}]`,
    ),
    "one long text": text(STARTED, { summary_normal: "x".repeat(MIB - 1000) }),
    "one long text of combining marks": text(STARTED, { summary_normal: "\u0301".repeat(MIB / 2 - 1000) }),
    "one long escaped text": text(STARTED, { summary_normal: "\u0001".repeat(MIB / 6 - 200) }),
    "language variants": `${base},${Array.from({ length: 480 }, (_, i) => `"summary_normal_EN_${i}":"${"x".repeat(1500)}"`).join()}}`,
    "keys in a reply": text("confirmation.reply", { modified_action: "HERE" }).replace(
      '"HERE"',
      `{${fill((i) => `"k${i}":0`)}}`,
    ),
    "a broken end": `${base},"x":"${"y".repeat(MIB - 1000)}`,
  };

  it.each(Object.entries(attacks))(
    "A11 and A17: a MiB of %s is answered at once, with a short report",
    (_, json) => {
      expect(json.length).toBeGreaterThan(400_000);
      expect(utf8Length(json)).toBeLessThanOrEqual(MIB);
      for (const options of [TOLERANT, { mode: "strict", limits: { bytes: MIB, fields: 1e6 } } as const]) {
        const parsed = soon(() => parse(json, options));
        const said = parsed.ok ? parsed.diagnostics : parsed.issues;
        expect(said.length).toBeLessThanOrEqual(600);
        expect(JSON.stringify(said).length).toBeLessThan(250_000);
        expect(describeIssues(said).length).toBeLessThan(250_000);
      }
    },
  );

  it("A10: loops and values named many times over are cut short by size", () => {
    const loop: Record<string, unknown> = {};
    for (const key of "abcdefgh") loop[key] = loop;
    let laughs: unknown = "ha";
    for (let i = 0; i < 20; i++) laughs = [laughs, laughs, laughs, laughs];
    for (const bomb of [loop, laughs, new Array(2 ** 32 - 1)]) {
      for (const options of [STRICT, TOLERANT]) {
        expect(soon(() => parseValue(sample(ASK, { extra_context: { bomb } }), options)).ok).toBe(false);
      }
    }
  });

  it("LIM-01: a value is held to the size of a message too", () => {
    const big = sample(ASK, {
      extra_context: Object.fromEntries(Array.from({ length: 5 }, (_, i) => [i, "x".repeat(16_000)])),
    });
    expect(codes(parseValue(big, STRICT))).toEqual(["too_large"]);
    expect(parseValue(big, TOLERANT).ok).toBe(true);
  });

  it("A17: formats and patterns take time in proportion to the text", () => {
    const long = 1_000_000;
    const uris = ["a:", "a://", "a://b@", "a:/", "a://b:1", "http://h/?", "http://h/#"].flatMap((start) =>
      ["a", "/", ":", "@", "%41", "?", "a@", "/a"].map(
        (part) => `${start}${part.repeat(long / part.length)}\n`,
      ),
    );
    for (const uri of uris) expect(soon(() => isUri(uri))).toBe(false);
    expect(soon(() => isUri(`https://example.com/${"a/b%41".repeat(100_000)}`))).toBe(true);
    expect(soon(() => isDateTime(`2026-05-24T14:22:11.${"1".repeat(long)}!`))).toBe(false);
    const nasty = ["a", "-a", "a-", "_a", "a.", "1.", "evt_a", "a/a", "A", "aa-aa"].flatMap((part) => [
      part.repeat(long / part.length),
      `${part.repeat(long / part.length)}\n`,
    ]);
    const seen = new Set<RegExp>();
    const visit = (node: object) => {
      for (const value of node instanceof Map ? [...node.entries()].flat() : Object.values(node)) {
        if (value instanceof RegExp) seen.add(value);
        else if (typeof value === "object" && value !== null) visit(value);
      }
    };
    for (const node of [...EVENTS.values(), ...MESSAGES.values()]) visit(node);
    expect(seen.size).toBeGreaterThan(15);
    for (const pattern of seen) for (const input of nasty) soon(() => pattern.test(input));
  });
});

describe("a message made to mislead who reads the log", () => {
  it("A16 and A08: names and values of a peer stand in messages as visible, short, well-formed text", () => {
    const trick = "\u001b[2J\u009b31m\r\nok: all fine \u202e\u2066\u200b\u{e0041}";
    const long = "😀".repeat(3000);
    for (const evil of [trick, long, `x${long}`]) {
      const messages = [
        sample(STARTED, { [evil]: 1 }),
        sample(STARTED, { event_id: evil }),
        sample(STARTED, { extensions: { [evil]: {} } }),
        sample("subscription.request", { capabilities: { [evil]: 1 } }),
        { ...sample(STARTED), type: evil },
        { ...sample(STARTED), type: `aaep:${evil}` },
        { ...sample(STARTED), type: `aaep:${evil.replaceAll(/\s/g, "")}` },
        { ...sample(STARTED), type: `https://aaep-protocol.org/types/${evil.replaceAll(/\s/g, "")}` },
      ];
      for (const message of messages) {
        for (const options of [STRICT, TOLERANT]) {
          const parsed = parseValue(message, options);
          const said = parsed.ok ? parsed.diagnostics : parsed.issues;
          const shown = describeIssues(said);
          expect(said.length).toBeGreaterThan(0);
          expect(shown.length).toBeLessThan(1500);
          expect(shown.split("\n")).toHaveLength(said.length);
          expect(shown.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u);
          expect(JSON.stringify(said)).not.toMatch(/\\ud[89a-f]/);
        }
      }
    }
  });

  it("A12: a path never holds half of a surrogate pair, whatever the keys hold", () => {
    const parsed = parseValue(sample(ASK, { extra_context: { "\ud83d": { x: Number.NaN } } }), TOLERANT);
    expect(parsed.ok ? [] : parsed.issues.map(({ path }) => path)).toEqual([
      "/extra_context",
      "/extra_context/\ufffd/x",
    ]);
  });
});

describe("counting and scanning", () => {
  const units = fc.array(fc.oneof(fc.nat(0xffff), fc.integer({ min: 0xd7f0, max: 0xe00f }), fc.nat(0x90)), {
    maxLength: 40,
  });

  it("A11: bytes are counted as the encoder makes them, broken surrogates included", () => {
    const encoder = new TextEncoder();
    fc.assert(
      fc.property(units, (codes) => {
        const text = String.fromCharCode(...codes);
        expect(utf8Length(text)).toBe(encoder.encode(text).length);
      }),
      { numRuns: 5000 },
    );
  });

  it("A14: repeated keys are found exactly where there are some, however they are escaped", () => {
    // JSON as text together with whether it repeats a key, built side by side.
    interface Made {
      json: string;
      repeats: boolean;
    }
    const space = fc.constantFrom("", " ", "\n\t", "\r\n");
    const name = fc.constantFrom(
      "a",
      "b",
      "é",
      '"',
      "\\",
      "{",
      "}",
      "[,]",
      ":",
      "",
      "😀",
      "__proto__",
      "\u0001",
    );
    const spell = (key: string, how: number) =>
      how === 0
        ? JSON.stringify(key)
        : `"${Array.from({ length: key.length }, (_, i) => `\\u${key.charCodeAt(i).toString(16).padStart(4, "0")}`).join("")}"`;
    const spelled = fc.tuple(name, fc.nat(1)).map(([key, how]) => ({ key, json: spell(key, how) }));
    const { value } = fc.letrec<{ value: Made }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc
          .oneof(
            spelled.map(({ json }) => json),
            fc.constantFrom("1", "-1.5e3", "true", "null", '"\\\\"', '"\\""'),
          )
          .map((json) => ({ json, repeats: false })),
        fc.tuple(fc.array(tie("value"), { maxLength: 4 }), space).map(([items, gap]) => ({
          json: `[${gap}${items.map(({ json }) => json).join(`${gap},`)}]`,
          repeats: items.some(({ repeats }) => repeats),
        })),
        fc
          .tuple(fc.array(fc.tuple(spelled, tie("value")), { maxLength: 4 }), space)
          .map(([entries, gap]) => ({
            json: `{${entries.map(([key, item]) => `${gap}${key.json}${gap}:${gap}${item.json}`).join(",")}${gap}}`,
            repeats:
              new Set(entries.map(([{ key }]) => key)).size < entries.length ||
              entries.some(([, { repeats }]) => repeats),
          })),
      ),
    }));
    let found = 0;
    fc.assert(
      fc.property(value, ({ json, repeats }) => {
        JSON.parse(json);
        expect(hasDuplicateKeys(json)).toBe(repeats);
        if (repeats) found++;
      }),
      { numRuns: 10_000 },
    );
    expect(found).toBeGreaterThan(200);
  });

  it("A14: a reply that says a thing twice is refused in both modes, and so is one whose type stands twice", () => {
    const reply = text("confirmation.reply", { decision: "accept" });
    for (const twice of [
      reply.replace("{", '{"decision":"reject",'),
      reply.replace("{", '{"d\\u0065cision":"reject",'),
      reply.replace("{", '{"type":"subscription.close",'),
      reply.replace("}", ',"modified_action":{"amount":5,"amount":500}}'),
    ]) {
      for (const options of [STRICT, TOLERANT])
        expect(codes(parse(twice, options))).toEqual(["duplicate_key"]);
    }
  });
});
