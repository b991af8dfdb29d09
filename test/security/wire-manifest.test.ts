// A22, CON-55, CON-56: the manifest as it is served and signed, and what a listener makes of one that is not right.

import { type AddressInfo, createServer } from "node:net";
import { CompactSign, decodeProtectedHeader, exportJWK, generateKeyPair, type JWK } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { createProducer, hubOf } from "../../src/producer/producer.ts";
import { parse } from "../../src/protocol/parse.ts";
import type { ProducerManifest, SubscriptionAccepted } from "../../src/protocol/types.ts";
import { createHttpApp } from "../../src/server/http/app.ts";
import {
  createPublication,
  generateSigningKey,
  type SigningKey,
  signManifest,
} from "../../src/server/manifest.ts";
import type { Serving } from "../../src/server/serve.ts";
import { Subscriber } from "../../src/subscriber/subscriber.ts";
import { requireSigned, type TrustOptions, verifyManifest } from "../../src/subscriber/trust.ts";
import { createSseClient } from "../../src/transports/sse/client.ts";
import { createWebSocketClient } from "../../src/transports/websocket/client.ts";
import { call, dial, listen, REQUEST, world } from "./wire-support.ts";

const PATH = "/.well-known/aaep-manifest.json";
const DEMAND = { ...REQUEST, capabilities: { ...REQUEST.capabilities, accept_signed_manifests_only: true } };

let signing: SigningKey;
let keys: { keys: JWK[] };
beforeAll(async () => {
  const pair = await generateSigningKey("key-1");
  signing = { key: pair.privateKey, kid: "key-1" };
  keys = { keys: [pair.publicKey] };
});

describe("the manifest", () => {
  it("MAN-01: is served at the well-known path to anyone, valid, and says what is actually served (CON-56)", async () => {
    const { server } = await world(
      { contact: "mailto:a11y@example.com", prefix: "/agent/v1" },
      { language: "de", languages: ["en"], agent_version: "2.1.0" },
    );
    const answer = await call(`${server.http}${PATH}`);

    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toMatch(/^application\/json/);
    expect(parse(answer.text, { mode: "strict" })).toMatchObject({ ok: true });
    expect(answer.json).toMatchObject({
      type: "aaep:producer.manifest",
      agent_id: "bank",
      agent_version: "2.1.0",
      aaep_versions_supported: ["1.0.0"],
      conformance_levels_supported: [1, 2, 3],
      transports_supported: ["sse", "websocket"],
      languages_supported: ["de", "en"],
      extensions_supported: ["urn:earshot:aaep:v1"],
      contact: "mailto:a11y@example.com",
      earshot: { prefix: "/agent/v1", websocket: "/agent/v1/ws", subscriptions: "/agent/v1/subscriptions" },
    });
    // What it says is there, is there.
    const places = answer.json["earshot"] as Record<string, string>;
    expect(
      (
        await call(`${server.http}${places["subscriptions"]}`, {
          method: "POST",
          token: server.token,
          body: REQUEST,
        })
      ).status,
    ).toBe(201);
    const wire = await dial(`ws://127.0.0.1:${server.port}${places["websocket"]}`, { token: server.token });
    wire.send(REQUEST);
    expect(await wire.of("subscription.accepted")).toBeDefined();
    expect((await call(`${server.http}${PATH}`, { method: "POST", body: {} })).status).toBe(405);
  });

  it("ENV-18: is what the manifest_uri of an acceptance and of every event leads to", async () => {
    const free = createServer();
    await new Promise<void>((resolve) => free.listen(0, "127.0.0.1", resolve));
    const { port } = free.address() as AddressInfo;
    await new Promise((resolve) => free.close(resolve));
    const { producer, server } = await world({ port }, { manifest_uri: `http://127.0.0.1:${port}${PATH}` });
    const { accepted, stream } = await listen(server);
    const session = producer.start({ summary: "Speaking." });
    const event = await stream.of("aaep:agent.session.started");
    await session.complete();

    for (const uri of [
      accepted["manifest_uri"],
      (event["producer"] as Record<string, unknown>)["manifest_uri"],
    ]) {
      expect(parse((await call(String(uri))).text, { mode: "strict" })).toMatchObject({
        ok: true,
        message: { agent_id: "bank" },
      });
    }
  });

  it("MAN-01: leaves out the WebSocket where only HTTP is mounted", async () => {
    const httpApp = await createHttpApp(createProducer({ agent_id: "bank" }), {
      insecureLoopback: true,
      log: () => {},
    });
    const answer = await httpApp.web(new Request(`http://localhost${PATH}`));
    const manifest = (await answer.json()) as ProducerManifest & { earshot: object };
    httpApp.stop();

    expect(manifest.transports_supported).toEqual(["sse"]);
    expect(manifest.earshot).not.toHaveProperty("websocket");
  });

  it("MAN-06, MAN-07: is signed with ES256 and sent inline to whoever insists, on both transports, and lies at the address too", async () => {
    const { server } = await world({ signing });
    const wire = await dial(server.ws, { token: server.token });
    wire.send(DEMAND);
    const overWire = (await wire.of("subscription.accepted")) as unknown as SubscriptionAccepted;
    const { accepted } = await listen(server, server.token, DEMAND);
    const inline = accepted as unknown as SubscriptionAccepted;
    const fetched = await call(`${server.http}${PATH}`, { headers: { accept: "application/jose" } });
    const published = await call(`${server.http}/.well-known/aaep-jwks.json`);

    for (const [one, transport] of [
      [overWire, "websocket"],
      [inline, "sse"],
    ] as const) {
      expect(decodeProtectedHeader(one.signed_manifest!)).toMatchObject({
        alg: "ES256",
        kid: "key-1",
        iat: expect.any(Number),
        exp: expect.any(Number),
      });
      const trust = await verifyManifest(one, { keys, transport, agent_id: "bank" });
      expect(trust).toMatchObject({
        trusted: true,
        kid: "key-1",
        manifest: { agent_id: "bank", transports_supported: ["sse", "websocket"] },
      });
    }
    expect(fetched.headers["content-type"]).toBe("application/jose");
    expect(fetched.text).toBe(inline.signed_manifest);
    expect(published.json).toEqual(keys);
    expect(published.text).not.toContain('"d"');
    expect(await verifyManifest(inline, { keys: `${server.http}/.well-known/aaep-jwks.json` })).toMatchObject(
      { trusted: true },
    );
    // Nobody who did not ask is sent it.
    expect((await listen(server)).accepted).not.toHaveProperty("signed_manifest");
  });

  it("MAN-07: without a key, whoever insists is rejected with the reason, and no keys are published", async () => {
    const { server } = await world();
    const answer = await call(`${server.http}/aaep/v1/subscriptions`, {
      method: "POST",
      token: server.token,
      body: DEMAND,
    });

    expect(answer).toMatchObject({ status: 409, json: { reason_code: "manifest_signature_required" } });
    expect((await call(`${server.http}/.well-known/aaep-jwks.json`)).status).toBe(404);
  });

  it("MAN-06: is signed again before its signature runs out, and the last one serves while a key is out of reach", async () => {
    let now = 1_000_000;
    let fails = false;
    const timers: { at: number; callback: () => void }[] = [];
    const signed: string[] = [];
    const errors: unknown[] = [];
    const offer = hubOf(createProducer({ agent_id: "bank" })).offer;
    const publication = createPublication({
      manifest: () => {
        if (fails) throw new Error("The key store is away.");
        return {
          "@context": "x",
          type: "aaep:producer.manifest",
          agent_id: offer.producer.agent_id,
        } as unknown as ProducerManifest;
      },
      signing: { ...signing, seconds: 3_600 },
      renewed: (jws) => signed.push(jws),
      failed: (error) => errors.push(error),
      now: () => now,
      after: (ms, callback) => {
        const timer = { at: now + ms / 1000, callback };
        timers.push(timer);
        return () => void timers.splice(timers.indexOf(timer), 1);
      },
    });
    const fire = async () => {
      const timer = timers.shift()!;
      now = timer.at;
      const before = signed.length + errors.length;
      timer.callback();
      while (signed.length + errors.length === before) await new Promise((resolve) => setImmediate(resolve));
    };
    await publication.renew();
    for (let i = 0; i < 3; i++) await fire();
    const expiries = signed.map((jws) => decodeProtectedHeader(jws)["exp"] as number);
    expect(expiries).toEqual([1_003_600, 1_005_400, 1_007_200, 1_009_000]);
    fails = true;
    await fire();
    expect(errors).toHaveLength(1);
    expect(publication.signed()).toBe(signed.at(-1));
    // Tried again long before the last one has run out.
    expect(timers[0]!.at).toBeLessThan(expiries.at(-1)!);
    fails = false;
    await fire();
    expect(signed).toHaveLength(5);
    publication.stop();
    expect(timers).toHaveLength(0);
  });

  it("MAN-06: is not signed with a shared secret", async () => {
    await expect(signManifest({} as never, { ...signing, alg: "HS256" as never }, 0)).rejects.toThrow(
      /ES256/,
    );
  });
});

describe("a listener that insists on a signature", () => {
  const NOW = 1_800_000_000;
  const manifest = (fields: object = {}): ProducerManifest =>
    ({
      "@context": "https://aaep-protocol.org/context/v1",
      type: "aaep:producer.manifest",
      agent_id: "bank",
      aaep_versions_supported: ["1.0.0"],
      conformance_levels_supported: [1, 2, 3],
      transports_supported: ["sse", "websocket"],
      languages_supported: ["en", "de-DE"],
      ...fields,
    }) as ProducerManifest;
  const accepted = (signed_manifest: string | undefined, fields: object = {}): SubscriptionAccepted =>
    ({
      type: "subscription.accepted",
      subscription_id: "sub_00000000000000000000000000000000",
      aaep_version: "1.0.0",
      producer: { agent_id: "bank" },
      honored_capabilities: { supported_conformance_levels: [1, 2], languages: ["en-US", "de"] },
      ...(signed_manifest === undefined ? {} : { signed_manifest }),
      ...fields,
    }) as SubscriptionAccepted;
  const sign = async (payload: unknown, header: object = {}, key: unknown = signing.key): Promise<string> => {
    const { importJWK } = await import("jose");
    const imported = (key as JWK).kty ? await importJWK(key as JWK, "ES256") : (key as CryptoKey);
    return new CompactSign(
      new TextEncoder().encode(typeof payload === "string" ? payload : JSON.stringify(payload)),
    )
      .setProtectedHeader({ alg: "ES256", kid: "key-1", iat: NOW, exp: NOW + 3_600, ...header } as never)
      .sign(imported as never, { crit: { b64: false, odd: true } as never });
  };
  const check = (answer: SubscriptionAccepted, options: Partial<TrustOptions> = {}) =>
    verifyManifest(answer, { keys, now: () => NOW + 10, transport: "sse", ...options });

  it("MAN-08: trusts one that a known key signed and that fits what was agreed on", async () => {
    const good = accepted(await sign(manifest()));
    expect(await check(good)).toMatchObject({ trusted: true, kid: "key-1", iat: NOW });
    expect(await check(good, { newestIat: NOW, maxAgeSeconds: 60, agent_id: "bank" })).toMatchObject({
      trusted: true,
    });
  });

  it("MAN-08: refuses every other one, and says why (A22)", async () => {
    const stranger = await generateKeyPair("ES256", { extractable: true });
    const jwk = await exportJWK(stranger.publicKey);
    const good = await sign(manifest());
    const [head, , signature] = good.split(".") as [string, string, string];
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const old = { iat: NOW - 7_200, exp: NOW + 3_600 };
    const cases: [
      name: string,
      signed: string | undefined,
      reason: RegExp,
      more?: { accepted?: object; options?: Partial<TrustOptions> },
    ][] = [
      ["none at all", undefined, /did not sign/],
      [
        "signed by the key it brings along",
        await sign(manifest(), { jwk, kid: "theirs" }, stranger.privateKey),
        /trusted/,
      ],
      [
        "signed by the key it brings along under our key's name",
        await sign(manifest(), { jwk }, stranger.privateKey),
        /trusted/,
      ],
      [
        "pointing to its own keys",
        await sign(
          manifest(),
          { jku: "http://127.0.0.1:1/k", x5u: "http://127.0.0.1:1/c" },
          stranger.privateKey,
        ),
        /trusted/,
      ],
      [
        "with a certificate of its own",
        await sign(manifest(), { x5c: ["MIIB"] }, stranger.privateKey),
        /trusted/,
      ],
      ["alg none", `${encode({ alg: "none", kid: "key-1" })}.${encode(manifest())}.`, /trusted/],
      [
        "the public key as a secret",
        `${encode({ alg: "HS256", kid: "key-1" })}.${encode(manifest())}.${signature}`,
        /trusted/,
      ],
      [
        "changed after signing",
        `${head}.${encode(manifest({ agent_name: "Better Bank" }))}.${signature}`,
        /trusted/,
      ],
      ["crit nobody knows", await sign(manifest(), { crit: ["odd"], odd: 1 }), /trusted/],
      ["no key id", await sign(manifest(), { kid: undefined }), /does not name its key/],
      ["another agent's", await sign(manifest({ agent_id: "shop" })), /another agent/],
      [
        "our agent's, for another that accepted",
        good,
        /another agent/,
        { accepted: { producer: { agent_id: "shop" } } },
      ],
      [
        "the wrong agent, honestly signed",
        await sign(manifest({ agent_id: "shop" })),
        /you expected/,
        { accepted: { producer: { agent_id: "shop" } }, options: { agent_id: "bank" } },
      ],
      ["expired", await sign(manifest(), { iat: NOW - 9_000, exp: NOW - 5_000 }), /expired/],
      ["from the future", await sign(manifest(), { iat: NOW + 9_000, exp: NOW + 10_000 }), /future/],
      ["older than one already known", await sign(manifest(), old), /newer/, { options: { newestIat: NOW } }],
      [
        "without a date, once one is known",
        await sign(manifest(), { iat: undefined, exp: undefined }),
        /newer/,
        { options: { newestIat: NOW } },
      ],
      [
        "older than allowed",
        await sign(manifest(), old),
        /older than you allow/,
        { options: { maxAgeSeconds: 3_600 } },
      ],
      ["dates that are no numbers", await sign(manifest(), { exp: "never" }), /cannot be read/],
      ["a token signed with the same key", await sign(manifest(), { typ: "JWT" }), /not a manifest/],
      ["something else", await sign({ type: "subscription.accepted" }), /not a manifest/],
      ["not JSON", await sign("bank"), /not a manifest/],
      [
        "another transport",
        await sign(manifest({ transports_supported: ["websocket"] })),
        /does not offer sse/,
      ],
      ["fewer levels", await sign(manifest({ conformance_levels_supported: [1] })), /levels/],
      ["another version", await sign(manifest({ aaep_versions_supported: ["2.0.0"] })), /version/],
      ["another language", await sign(manifest({ languages_supported: ["fr"] })), /language/],
      ["a secret as algorithm", good, /shared secret/, { options: { algorithms: ["HS256"] } }],
      ["keys from a plain address", good, /trusted/, { options: { keys: "http://keys.example.com/jwks" } }],
    ];
    for (const [name, signed, reason, more = {}] of cases) {
      const trust = await check(accepted(signed, more.accepted), more.options);
      expect({ name, ...trust }).toMatchObject({
        name,
        trusted: false,
        reason: expect.stringMatching(reason),
      });
    }
  });

  it("MAN-08: hears nothing from an agent whose signature does not hold, on either transport, and everything from one it trusts", async () => {
    const stranger = await generateSigningKey("key-1");
    const good = await world({ signing });
    const bad = await world({ signing: { key: stranger.privateKey, kid: "key-1" } });
    const none = await world();
    const client = (server: Serving, kind: "sse" | "websocket") =>
      kind === "sse"
        ? createSseClient({ url: server.http, prefix: server.prefix, token: server.token! })
        : createWebSocketClient({
            url: server.ws,
            token: server.token!,
            create: (url, protocol, headers) => new WebSocket(url, protocol, { headers }) as never,
          });
    for (const kind of ["sse", "websocket"] as const) {
      const asking = (server: Serving) =>
        new Subscriber(requireSigned(client(server, kind), { keys }), { reconnect: false });
      const trusted = await asking(good.server).connect();
      const heard = trusted[Symbol.asyncIterator]().next();
      const session = good.producer.start({ summary: "Speaking." });
      expect((await heard).value).toMatchObject({ session_id: session.session_id });
      await session.complete();
      await trusted.close();
      const events: unknown[] = [];
      const untrusted = asking(bad.server);
      untrusted.on("event", (event) => events.push(event));
      const secret = bad.producer.start({ summary: "Not for you." });
      await expect(untrusted.connect()).rejects.toMatchObject({ code: "untrusted", reconnect: false });
      await expect(asking(none.server).connect()).rejects.toMatchObject({
        code: "manifest_signature_required",
      });
      expect(events).toEqual([]);
      await secret.complete();
    }
  });
});
