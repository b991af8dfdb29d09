// A21, F18: who is who over the wire. Every credential that is not exactly right is refused, on HTTP and WebSocket alike.
import { createHmac, createPublicKey } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { base64url, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { jwtAuthenticator } from "../../src/auth/jwt.ts";
import { anyOf } from "../../src/server/index.ts";
import { useVirtualTime } from "../support/time.ts";
import {
  ask,
  asked,
  call,
  dial,
  later,
  listen,
  openStream,
  people,
  REQUEST,
  reply,
  sendReply,
  world,
} from "./wire-support.ts";

const ISSUER = "https://login.example.com";
const AUDIENCE = "earshot";

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;
let es: Pair;
let rs: Pair;
let stranger: Pair;
let keys: { keys: JWK[] };
let rsPem: string;

beforeAll(async () => {
  es = await generateKeyPair("ES256", { extractable: true });
  rs = await generateKeyPair("RS256", { extractable: true });
  stranger = await generateKeyPair("ES256", { extractable: true });
  const rsPublic = await exportJWK(rs.publicKey);
  rsPem = createPublicKey({ key: rsPublic as never, format: "jwk" }).export({
    type: "spki",
    format: "pem",
  }) as string;
  keys = {
    keys: [
      { ...(await exportJWK(es.publicKey)), kid: "es-1", alg: "ES256", use: "sig" },
      { ...rsPublic, kid: "rs-1", alg: "RS256", use: "sig" },
    ],
  };
});

const now = () => Math.floor(Date.now() / 1000);

interface Making {
  header?: Record<string, unknown>;
  claims?: Record<string, unknown>;
  key?: Pair["privateKey"];
}

function token({ header = {}, claims = {}, key = es.privateKey }: Making = {}): Promise<string> {
  return new SignJWT({ iss: ISSUER, aud: AUDIENCE, sub: "alice", exp: now() + 600, ...claims })
    .setProtectedHeader({ alg: "ES256", kid: "es-1", ...header } as never)
    .sign(key, { crit: { "urn:odd": true } });
}

const part = (value: unknown): string => base64url.encode(JSON.stringify(value));
const claims = () => ({ iss: ISSUER, aud: AUDIENCE, sub: "alice", exp: now() + 600 });
/** A token whose signature is an HMAC over a public key: what confused libraries took for a good one. */
function hmacToken(secret: string | Buffer, header: object = {}): string {
  const body = `${part({ alg: "HS256", kid: "rs-1", ...header })}.${part(claims())}`;
  return `${body}.${createHmac("sha256", secret).update(body).digest("base64url")}`;
}

const jwt = () => jwtAuthenticator({ issuer: ISSUER, audience: AUDIENCE, jwks: keys });

describe("bearer JWTs", () => {
  it("SEC-01: let in whoever the issuer vouches for, with ES256 and RS256", async () => {
    const { server } = await world({ auth: jwt() });
    const tokens = [
      await token(),
      await token({ header: { alg: "RS256", kid: "rs-1" }, key: rs.privateKey }),
    ];
    for (const one of tokens) expect((await listen(server, one)).stream.status).toBe(200);
  });

  it("SEC-01: refuse the whole matrix of forgeries, on HTTP and on WebSocket (A21)", async () => {
    const refused: string[] = [];
    const auth = jwtAuthenticator({
      issuer: ISSUER,
      audience: AUDIENCE,
      jwks: keys,
      refused: (code) => refused.push(code),
    });
    const { server } = await world({ auth });
    const jwk = await exportJWK(stranger.publicKey);
    const good = await token();
    const [head, body, signature] = good.split(".") as [string, string, string];
    const forged: Record<string, string> = {
      "alg none": `${part({ alg: "none" })}.${body}.`,
      "alg none, with a signature": `${part({ alg: "none", kid: "es-1" })}.${body}.${signature}`,
      "alg nOnE": `${part({ alg: "nOnE", kid: "es-1" })}.${body}.${signature}`,
      "no signature": `${head}.${body}.`,
      "RS256 key as HMAC secret, PEM": hmacToken(rsPem),
      "RS256 key as HMAC secret, PEM without its last line break": hmacToken(rsPem.trim()),
      "RS256 key as HMAC secret, DER": hmacToken(
        Buffer.from(rsPem.replaceAll(/-----[^-]+-----|\s/g, ""), "base64"),
      ),
      "HS256 without a key id": hmacToken("", { kid: undefined }),
      "key id with a path": await token({
        header: { kid: "../../../../dev/null" },
        key: stranger.privateKey,
      }),
      "key id that is an address": await token({
        header: { kid: "https://evil.example/key" },
        key: stranger.privateKey,
      }),
      "key id with SQL": await token({ header: { kid: "es-1' UNION SELECT 'x" }, key: stranger.privateKey }),
      "key id of a prototype": await token({ header: { kid: "__proto__" }, key: stranger.privateKey }),
      "HMAC with an empty file as key": hmacToken("", { kid: "../../dev/null" }),
      "embedded jwk": await token({ header: { jwk, kid: "es-1" }, key: stranger.privateKey }),
      "embedded jwk, no key id": await token({ header: { jwk, kid: undefined }, key: stranger.privateKey }),
      jku: await token({ header: { jku: "http://127.0.0.1:1/keys.json" }, key: stranger.privateKey }),
      x5u: await token({ header: { x5u: "http://127.0.0.1:1/cert.pem" }, key: stranger.privateKey }),
      x5c: await token({ header: { x5c: ["MIIB"] }, key: stranger.privateKey }),
      "crit that nobody knows": await token({ header: { crit: ["urn:odd"], "urn:odd": 1 } }),
      "another key": await token({ key: stranger.privateKey }),
      "wrong audience": await token({ claims: { aud: "another-service" } }),
      "no audience": await token({ claims: { aud: undefined } }),
      "wrong issuer": await token({ claims: { iss: "https://evil.example" } }),
      "issuer with a slash more": await token({ claims: { iss: `${ISSUER}/` } }),
      expired: await token({ claims: { exp: now() - 60 } }),
      "never expires": await token({ claims: { exp: undefined } }),
      "expires as text": await token({ claims: { exp: "9999999999" as never } }),
      "not yet valid": await token({ claims: { nbf: now() + 600 } }),
      "nobody's": await token({ claims: { sub: undefined } }),
      "empty subject": await token({ claims: { sub: "" } }),
      "changed payload": `${head}.${part({ ...claims(), sub: "bob" })}.${signature}`,
      "changed header": `${part({ alg: "ES256", kid: "rs-1" })}.${body}.${signature}`,
      "four parts": `${good}.x`,
      encrypted: `${head}.a.b.c.d`,
      "not a token": "alice",
      "very long": `${head}.${"A".repeat(15_000)}.${signature}`,
    };
    for (const [name, one] of Object.entries(forged)) {
      const answer = await call(`${server.http}/aaep/v1/subscriptions`, {
        method: "POST",
        token: one,
        body: REQUEST,
      });
      expect({ name, status: answer.status }).toEqual({
        name,
        status: one.length > 14_000 ? expect.toBeOneOf([401, 431]) : 401,
      });
      expect(answer.text).not.toContain("subscription_id");
      if (one.length > 14_000) continue;
      const wire = await dial(server.ws, { token: one });
      wire.send(REQUEST);
      expect({ name, ...(await wire.closed), heard: wire.heard }).toMatchObject({
        name,
        code: 4002,
        heard: [],
      });
    }
    expect((await listen(server, good)).stream.status).toBe(200);
    // Whoever runs the server can find out why; no peer can.
    expect(refused).toContain("ERR_JWT_EXPIRED");
    expect(refused.join(" ")).not.toContain("eyJ");
  });

  it("SEC-01: fetch the issuer's keys where told, and let nobody in while they cannot be had", async () => {
    const host = createServer((_, response) =>
      response.setHeader("content-type", "application/json").end(JSON.stringify(keys)),
    );
    await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
    later(() => host.close());
    const { port } = host.address() as AddressInfo;
    const good = await token();
    const found = await world({
      auth: jwtAuthenticator({ issuer: ISSUER, audience: AUDIENCE, jwks: `http://127.0.0.1:${port}/keys` }),
    });
    expect(
      (
        await call(`${found.server.http}/aaep/v1/subscriptions`, {
          method: "POST",
          token: good,
          body: REQUEST,
        })
      ).status,
    ).toBe(201);
    const codes: string[] = [];
    const lost = await world({
      auth: jwtAuthenticator({
        issuer: ISSUER,
        audience: AUDIENCE,
        jwks: "http://127.0.0.1:1/keys",
        refused: (code) => codes.push(code),
      }),
    });
    expect(
      (
        await call(`${lost.server.http}/aaep/v1/subscriptions`, {
          method: "POST",
          token: good,
          body: REQUEST,
        })
      ).status,
    ).toBe(401);
    expect(codes).toHaveLength(1);
  });

  it("SEC-01: take one pinned key as PEM or JWK, and the type of token that was asked for", async () => {
    const one = await token({ header: { alg: "RS256", kid: "any", typ: "at+jwt" }, key: rs.privateKey });
    const id = await token({ header: { alg: "RS256", kid: "any", typ: "JWT" }, key: rs.privateKey });
    for (const key of [rsPem, keys.keys[1]!]) {
      const { server } = await world({
        auth: jwtAuthenticator({
          issuer: ISSUER,
          audience: AUDIENCE,
          key,
          algorithms: ["RS256"],
          typ: "at+jwt",
        }),
      });
      expect((await listen(server, one)).stream.status).toBe(200);
      expect((await call(`${server.http}/aaep/v1/events`, { token: id })).status).toBe(401);
    }
  });

  it.each([
    ["a shared secret", { jwks: { keys: [] }, algorithms: ["HS256"] }, /asymmetric/],
    ["none", { jwks: { keys: [] }, algorithms: ["none"] }, /asymmetric/],
    ["no algorithm", { jwks: { keys: [] }, algorithms: [] }, /asymmetric/],
    ["no audience", { jwks: { keys: [] }, audience: "" }, /`issuer` and `audience`/],
    ["keys from a plain address", { jwks: "http://login.example.com/keys" }, /Use https/],
    ["a secret as key", { key: { kty: "oct", k: "c2VjcmV0" } }, /public key/],
    ["no keys", {}, /either `jwks`/],
  ])("are not set up with %s, and the error says what to do", (_, options, says) => {
    expect(() => jwtAuthenticator({ issuer: ISSUER, audience: AUDIENCE, ...options } as never)).toThrow(says);
  });

  it("TRN-10: an authenticator that throws lets nobody in, and the log says so", async () => {
    const { server, logs } = await world({
      auth: () => {
        throw new Error("The directory is down; token eyJhbGciOiJub25lIn0.e30.x");
      },
    });
    const answer = await call(`${server.http}/aaep/v1/subscriptions`, {
      method: "POST",
      token: "x",
      body: REQUEST,
    });

    expect(answer.status).toBe(401);
    expect(logs).toContainEqual(expect.objectContaining({ level: "error", event: "authentication_failed" }));
    expect(JSON.stringify(logs)).not.toContain("eyJhbGci");
  });
});

describe("a credential that runs out", () => {
  it("SEC-01: closes what it opened with a reason that says to come back, and opens nothing more (F18)", async () => {
    const time = useVirtualTime();
    const until: Record<string, number> = { alice: Date.now() + 60_000 };
    const { auth } = people({ alice: {}, renewed: { id: "alice", audiences: ["alice"] } });
    const expiring = ({ bearer }: { bearer: string | undefined }) => {
      const principal = auth({ bearer });
      return principal && bearer === "alice" ? { ...principal, expiresAt: until["alice"]! } : principal;
    };
    const { producer, server } = await world({ auth: expiring });
    const wire = await dial(server.ws, { token: "alice" });
    wire.send({
      ...REQUEST,
      capabilities: {
        ...REQUEST.capabilities,
        earshot: { resume: true },
        supported_extensions: ["urn:earshot:aaep:v1"],
      },
    });
    const silent = await dial(server.ws, { token: "alice" });
    const { stream, id } = await listen(server, "alice");
    const { session } = ask(producer, ["alice"]);
    const token = await asked(stream, session.session_id);
    await time.skip(60_000);
    const closing = await stream.until((one) => one.type === "earshot:closing");
    await stream.closed;

    expect(closing).toMatchObject({ reason_code: "credential_expired", reconnect: true });
    expect(await wire.closed).toMatchObject({ code: 4002, reason: expect.stringContaining("expired") });
    expect(await silent.closed).toMatchObject({ code: 4002 });
    expect((await sendReply(server, "alice", reply(token, id))).status).toBe(401);
    expect(
      (await call(`${server.http}/aaep/v1/events?subscription_id=${id}`, { token: "alice" })).status,
    ).toBe(401);
    // Signed in again, the person finds the question where it was.
    const back = await openStream(`${server.http}/aaep/v1/events?subscription_id=${id}`, {
      token: "renewed",
    });
    expect(await asked(back, session.session_id)).toBe(token);
    expect((await sendReply(server, "renewed", reply(token, id))).status).toBe(204);
  });
});

describe("the authorize hook", () => {
  it("SEC-01: maps whoever was recognised to audience, role and how many subscriptions, or refuses them", async () => {
    const { auth } = people({ alice: {}, guest: {}, stranger: {} });
    const { producer, server } = await world({
      auth,
      authorize: (principal) =>
        principal.id === "stranger"
          ? undefined
          : principal.id === "guest"
            ? { ...principal, role: "listen", audiences: ["alice"], maxSubscriptions: 1 }
            : principal,
    });
    const alice = await listen(server, "alice");
    const guest = await listen(server, "guest");
    const { session } = ask(producer, ["alice"]);
    const token = await asked(alice.stream, session.session_id);
    await guest.stream.until((one) => one["session_id"] === session.session_id);
    const second = await call(`${server.http}/aaep/v1/subscriptions`, {
      method: "POST",
      token: "guest",
      body: REQUEST,
    });
    const denied = await call(`${server.http}/aaep/v1/subscriptions`, {
      method: "POST",
      token: "stranger",
      body: REQUEST,
    });
    const wire = await dial(server.ws, { token: "stranger" });

    expect((await sendReply(server, "guest", reply(token, guest.id))).status).toBe(400);
    expect(second.status).toBe(429);
    expect(denied).toMatchObject({ status: 403, json: { reason_code: "authorization_denied" } });
    expect((await wire.closed).code).toBe(4003);
  });

  it("SEC-01: is asked again for every call, about whoever was recognised: a ticket or cookie of theirs ends with their rights", async () => {
    let let_in = true;
    const seen: string[] = [];
    const { server } = await world({
      ...people({ alice: {} }),
      authorize: (principal) => {
        seen.push(principal.id);
        return let_in ? { ...principal, id: `tenant:${principal.id}` } : undefined;
      },
    });
    const { location, stream } = await listen(server, "alice");
    const issued = await call(`${server.http}/aaep/v1/session`, { method: "POST", token: "alice" });
    const cookie = issued.headers["set-cookie"]![0]!.split(";")[0]!;
    const by = {
      ticket: `${server.http}${location}`,
      cookie: `${server.http}${location.replace(/&ticket=.*/, "")}`,
    };
    expect((await openStream(by.ticket)).status).toBe(200);
    await stream.closed;
    expect((await openStream(by.cookie, { headers: { cookie } })).status).toBe(200);
    let_in = false;
    expect((await call(by.ticket)).status).toBe(403);
    expect((await call(by.cookie, { headers: { cookie } })).status).toBe(403);
    expect(new Set(seen)).toEqual(new Set(["alice"]));
  });

  it("SEC-01: cannot make a credential last longer than it does (F18)", async () => {
    const time = useVirtualTime();
    const { auth } = people({ alice: { expiresAt: Date.now() + 60_000 } });
    const { server } = await world({
      auth,
      authorize: ({ id }) => ({ id, role: "reply", audiences: "all" }),
    });
    const { stream } = await listen(server, "alice");
    await time.skip(60_000);
    expect(await stream.of("earshot:closing")).toMatchObject({ reason_code: "credential_expired" });
  });

  it("SEC-13: rights that changed count at the next connection: what was taken away is not heard any more", async () => {
    let audiences: string[] = ["alice", "payroll"];
    const { producer, server } = await world({
      ...people({ alice: {} }),
      authorize: (principal) => ({ ...principal, audiences }),
    });
    const resume = { supported_extensions: ["urn:earshot:aaep:v1"], earshot: { resume: true } };
    const request = { ...REQUEST, capabilities: { ...REQUEST.capabilities, ...resume } };
    const before = await listen(server, "alice");
    const wire = await dial(server.ws, { token: "alice" });
    wire.send(request);
    const { subscription_id } = await wire.of("subscription.accepted");
    const secret = producer.start({ summary: "Salaries.", audience: ["payroll"] });
    await before.stream.until((one) => one["session_id"] === secret.session_id);
    await wire.until((one) => one["session_id"] === secret.session_id);
    // Back with the same rights, everything goes on.
    const again = await openStream(`${server.http}/aaep/v1/events?subscription_id=${before.id}`, {
      token: "alice",
    });
    expect(again.status).toBe(200);
    again.destroy();
    wire.socket.terminate();
    await wire.closed;
    audiences = ["alice"];

    expect(
      (await call(`${server.http}/aaep/v1/events?subscription_id=${before.id}`, { token: "alice" })).status,
    ).toBe(410);
    const back = await dial(server.ws, { token: "alice" });
    back.send({ ...request, extensions: { earshot: { resume: { subscription_id } } } });
    await back.of("subscription.accepted");
    await secret.progress({ description: "Sums.", percent: 50 });
    const open = producer.start({ summary: "For all.", audience: ["alice"] });
    await back.until((one) => one["session_id"] === open.session_id);
    expect(back.heard.some((one) => one["session_id"] === secret.session_id)).toBe(false);
    await secret.cancel();
    await open.cancel();
  });

  it("SEC-01: that throws lets nobody in", async () => {
    const { server } = await world({
      ...people({ alice: {} }),
      authorize: () => {
        throw new Error("down");
      },
    });
    expect(
      (await call(`${server.http}/aaep/v1/subscriptions`, { method: "POST", token: "alice", body: REQUEST }))
        .status,
    ).toBe(403);
    expect((await (await dial(server.ws, { token: "alice" })).closed).code).toBe(4003);
  });

  it("several authenticators: the first that recognises somebody decides", async () => {
    const { server } = await world({ auth: anyOf(jwt(), people({ alice: {} }).auth) });
    expect((await listen(server, "alice")).stream.status).toBe(200);
    expect((await listen(server, await token())).stream.status).toBe(200);
  });
});
