// Who gets in over gRPC, and from where: bearer tokens, TLS, client certificates, host names.
import { connect as connectTls } from "node:tls";
import * as grpc from "@grpc/grpc-js";
import { afterAll, describe, expect, it } from "vitest";
import { createProducer } from "../../src/producer/producer.ts";
import type { Principal } from "../../src/protocol/principal.ts";
import type { AgentEvent } from "../../src/protocol/types.ts";
import { type GrpcOptions, serveGrpc } from "../../src/server/grpc/grpc.ts";
import { certificateAuthenticator } from "../../src/server/index.ts";
import { transportFor } from "../../src/subscriber/connect.ts";
import { asBytes, MANIFEST_PATH } from "../../src/transports/grpc/library.ts";
import { REFLECTION_PATHS } from "../../src/transports/grpc/reflection.ts";
import { createAuthorities } from "../security/wire-tls.ts";
import { useVirtualTime } from "../support/time.ts";
import { Bare, eventually, listen, REQUEST, world } from "./support.ts";

const { authorities, remove } = createAuthorities("ours", "theirs");
afterAll(remove);
const tls = authorities.ours.sign("localhost");
const ca = authorities.ours.cert;
const ADA: Principal = { id: "ada", role: "reply", audiences: "all" };
const anyone = () => ADA;

describe("a gRPC server without credentials for the world", () => {
  it.each<[string, GrpcOptions]>([
    ["without TLS and authentication", { host: "0.0.0.0", hosts: ["a.example"] }],
    ["with authentication but in the clear", { host: "0.0.0.0", hosts: ["a.example"], auth: anyone }],
    ["with TLS for anybody", { host: "0.0.0.0", hosts: ["a.example"], tls }],
    ["without a name to be called by", { host: "::", tls, auth: anyone }],
    ["with TLS but no certificate", { tls: { key: "", cert: "" } }],
    ["open on loopback and named for the world", { insecureLoopback: true, hosts: ["a.example"] }],
    ["open and with credentials at once", { insecureLoopback: true, auth: anyone }],
    ["with a token anybody could guess", { token: "secret" }],
  ])("does not start %s: GRPC-04, TRN-10, TRN-11, CON-66", async (_, options) => {
    const producer = createProducer({ agent_id: "bank" });
    await expect(serveGrpc(producer, { port: 0, log: () => {}, ...options })).rejects.toMatchObject({
      code: "unsafe_address",
    });
  });
});

describe("a bearer token in metadata", () => {
  it.each([
    ["missing", undefined],
    ["wrong", "0".repeat(64)],
    ["empty", ""],
  ])("that is %s opens nothing: GRPC-04, TRN-10", async (_, token) => {
    const { server, producer } = await world();
    const bare = new Bare(server, {
      token: null,
      metadata: token === undefined ? {} : { authorization: `Bearer ${token}` },
    });
    bare.send(REQUEST);
    expect(await bare.ended).toMatchObject({ code: grpc.status.UNAUTHENTICATED });
    expect(await bare.trailer("aaep-close-reason")).toBe("authentication_failed");
    expect(bare.messages).toEqual([]);
    expect(producer.subscriptions).toBe(0);
    await expect(listen({ server }, { token: token || "x" })).rejects.toMatchObject({
      code: "authentication_failed",
      reconnect: false,
    });
  });

  it("goes to the same authenticator as everywhere, with nothing made up: GRPC-04", async () => {
    const shown: unknown[] = [];
    const here = await world({
      auth: (credentials) => {
        shown.push(credentials);
        return credentials.bearer === "ada-token" ? ADA : undefined;
      },
    });
    await listen(here, { token: "ada-token" });
    expect(shown).toEqual([
      {
        bearer: "ada-token",
        ticket: undefined,
        subscription_id: undefined,
        cookie: undefined,
        certificate: undefined,
        proxied: false,
      },
    ]);
    const late = await world({ auth: async () => Promise.reject(new Error("the directory is down")) });
    const bare = new Bare(late.server, { token: "ada-token" });
    expect(await bare.ended).toMatchObject({ code: grpc.status.UNAUTHENTICATED });
    const nobody = await world({ auth: anyone, authorize: () => undefined });
    expect((await new Bare(nobody.server).ended).code).toBe(grpc.status.PERMISSION_DENIED);
  });

  it("is asked for anew when it has run out, and the subscription goes on: GRPC-04, GRPC-05", async () => {
    const time = useVirtualTime();
    const tokens = ["first", "second"];
    const here = await world({
      auth: ({ bearer }) => (bearer === "second" ? ADA : { ...ADA, expiresAt: Date.now() + 8_000 }),
    });
    const listener = await listen(here, { token: () => tokens.shift() });
    const states: string[] = [];
    listener.on("connection", ({ state, message }) => states.push(`${state} ${message}`));
    await time.skip(8_000);
    await eventually(() => states.length === 2, "back with another token");
    expect(states[0]).toContain("expired");
    expect(states[1]).toContain("connected");
    const raw = new Bare(here.server, { token: "old" });
    raw.send(REQUEST);
    await raw.type("subscription.accepted");
    await time.skip(8_000);
    expect((await raw.ended).code).toBe(grpc.status.UNAUTHENTICATED);
    expect(await raw.trailer("aaep-reconnect")).toBe("true");
  });
});

describe("TLS on a gRPC server", () => {
  it("carries a whole session, for whoever believes its authority: GRPC-04, TRN-11", async () => {
    const here = await world({ tls });
    expect(here.server.address).toMatch(/^grpcs:/);
    const listener = await listen(here, { tls: { ca } });
    const heard: AgentEvent[] = [];
    listener.on("event", (event) => heard.push(event));
    await here.producer.run({ summary: "In private." }, async () => {});
    await eventually(() => heard.some(({ type }) => type === "aaep:agent.session.completed"), "the end");
    await expect(listen(here, { tls: { ca: authorities.theirs.cert } })).rejects.toMatchObject({
      code: "unreachable",
    });
    await expect(listen(here)).rejects.toMatchObject({ code: "unreachable" });
  });

  it("is 1.2 or newer, and nothing is said in the clear: GRPC-04, TRN-11", async () => {
    const { server } = await world({ tls });
    const reach = (options: object) =>
      new Promise<string>((resolve) => {
        const socket = connectTls(
          { port: server.port, host: "127.0.0.1", ca, ALPNProtocols: ["h2"], ...options },
          () => {
            resolve(socket.getProtocol() ?? "");
            socket.destroy();
          },
        );
        socket.on("error", () => resolve("refused"));
      });
    expect(await reach({ maxVersion: "TLSv1.2", minVersion: "TLSv1.2" })).toBe("TLSv1.2");
    expect(await reach({})).toBe("TLSv1.3");
    expect(await reach({ minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" })).toBe(
      "refused",
    );
    const bare = new Bare(server);
    bare.send(REQUEST);
    expect((await bare.ended).code).toBe(grpc.status.UNAVAILABLE);
  });

  it("with client certificates lets in whom our authority signed, by name, and nobody else: GRPC-04, TRN-10", async () => {
    const here = await world({ tls: { ...tls, ca }, auth: certificateAuthenticator() });
    const ada = authorities.ours.sign("ada", { client: true });
    const stranger = authorities.theirs.sign("ada", { client: true });
    const nameless = authorities.ours.sign("", { client: true });
    const listener = await listen(here, { tls: { ca, ...ada } });
    const heard: AgentEvent[] = [];
    listener.on("event", (event) => heard.push(event));
    await here.producer.run({ summary: "For Ada.", audience: ["user:ada"] } as never, async () => {});
    await here.producer.run({ summary: "For Bob.", audience: ["user:bob"] } as never, async () => {});
    await eventually(() => heard.some(({ type }) => type === "aaep:agent.session.completed"), "the end");
    expect(JSON.stringify(heard)).not.toContain("For Bob.");
    await expect(listen(here, { tls: { ca, ...stranger } })).rejects.toMatchObject({ code: "unreachable" });
    await expect(listen(here, { tls: { ca } })).rejects.toMatchObject({ code: "unreachable" });
    await expect(listen(here, { tls: { ca, ...nameless } })).rejects.toMatchObject({
      code: "authentication_failed",
    });
  });
});

describe("the name a gRPC server is called by", () => {
  it("must be one of its own, and no page may call: CON-66", async () => {
    const { server, producer } = await world();
    for (const strange of [
      { options: { "grpc.default_authority": "evil.example" } },
      { metadata: { origin: "http://evil.example" } },
      { metadata: { origin: `http://127.0.0.1:${server.port}` } },
    ]) {
      const bare = new Bare(server, strange);
      bare.send(REQUEST);
      expect((await bare.ended).code).toBe(grpc.status.PERMISSION_DENIED);
    }
    expect(producer.subscriptions).toBe(0);
    const client = new grpc.Client(`127.0.0.1:${server.port}`, grpc.credentials.createInsecure(), {
      "grpc.default_authority": "evil.example",
    });
    const refused = new Promise<number | undefined>((resolve) =>
      client.makeUnaryRequest(MANIFEST_PATH, asBytes, asBytes, Buffer.alloc(0), (error) =>
        resolve(error?.code),
      ),
    );
    expect(await refused).toBe(grpc.status.PERMISSION_DENIED);
    for (const path of REFLECTION_PATHS) {
      const call = client.makeBidiStreamRequest(path, asBytes, asBytes);
      call.on("error", () => {}).on("data", () => {});
      const { code } = await new Promise<grpc.StatusObject>((resolve) => call.on("status", resolve));
      expect(code).toBe(grpc.status.PERMISSION_DENIED);
    }
    client.close();
  });

  it("of another machine is not called in the clear: GRPC-04, TRN-11", async () => {
    for (const address of ["grpc://agent.example.com:4601", "grpc://192.0.2.1", "grpc://127.example.com"]) {
      await expect(transportFor(address)).rejects.toMatchObject({ code: "unsafe_address" });
    }
    await expect(transportFor("grpcs://agent.example.com")).resolves.toMatchObject({ name: "grpc" });
    await expect(transportFor("grpc://[::1]:4601")).resolves.toMatchObject({ name: "grpc" });
  });
});
