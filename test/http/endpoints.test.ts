// One `serve()`, every transport: which are open by default, which are optional, and one close for all.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createProducer, type Producer } from "../../src/producer/producer.ts";
import type { ProducerManifest } from "../../src/protocol/types.ts";
import {
  discover,
  generateSigningKey,
  type LogEntry,
  type ServeOptions,
  type Serving,
  serve,
} from "../../src/server/index.ts";
import { addressesIn, subscribe } from "../../src/subscriber/index.ts";
import { createAuthorities } from "../security/wire-tls.ts";

let runtime: string;
let before: string | undefined;
const open: Serving[] = [];
let logs: LogEntry[];

beforeEach(() => {
  before = process.env["XDG_RUNTIME_DIR"];
  runtime = mkdtempSync(join(tmpdir(), "endpoints-"));
  process.env["XDG_RUNTIME_DIR"] = runtime;
  logs = [];
});

afterEach(async () => {
  for (const serving of open.splice(0)) await serving.close();
  if (before === undefined) delete process.env["XDG_RUNTIME_DIR"];
  else process.env["XDG_RUNTIME_DIR"] = before;
  rmSync(runtime, { recursive: true, force: true });
});

async function start(options: ServeOptions = {}, agent_id = "planner"): Promise<[Serving, Producer]> {
  const agent = createProducer({ agent_id, warn: () => {} });
  const serving = await serve(agent, { port: 0, log: (entry) => logs.push(entry), ...options });
  open.push(serving);
  return [serving, agent];
}

const manifestOf = async ({ http }: Serving): Promise<ProducerManifest> =>
  (await fetch(`${http}/.well-known/aaep-manifest.json`)).json() as Promise<ProducerManifest>;

describe("serve opens", () => {
  it("SSE, WebSocket and the Unix socket by itself, and its manifest names just these: TRN-15, MAN-02", async () => {
    const [serving] = await start();
    expect(serving.unix).toBe(`unix:${join(runtime, "aaep", "planner.sock")}`);
    expect(serving.grpc).toBeUndefined();
    const manifest = await manifestOf(serving);
    expect(manifest.transports_supported).toEqual(["unix-socket", "sse", "websocket"]);
    expect(addressesIn(manifest, serving.http)).toEqual([serving.unix, serving.http, serving.ws]);
    const [found] = await discover();
    expect(found).toMatchObject({
      address: serving.unix,
      manifest: { ...manifest, earshot: { pid: process.pid } },
    });
  });

  it("gRPC when asked, with the same token; every endpoint leads to the same agent", async () => {
    const [serving, agent] = await start({ grpc: true });
    const manifest = await manifestOf(serving);
    expect(manifest.transports_supported).toEqual(["unix-socket", "sse", "websocket", "grpc"]);
    const addresses = addressesIn(manifest, serving.http);
    expect(addresses).toEqual([serving.unix, serving.http, serving.ws, serving.grpc]);
    const listeners = await Promise.all(
      addresses.map((address) =>
        subscribe(address, { ...(address === serving.unix ? {} : { token: serving.token! }) }),
      ),
    );
    await agent.run({ summary: "Planning." }, async () => {});
    for (const listener of listeners) {
      const heard: string[] = [];
      for await (const { type } of listener) {
        heard.push(type);
        if (type === "aaep:agent.session.completed") break;
      }
      expect(heard[0]).toBe("aaep:agent.session.started");
      listener.close();
    }
    expect(JSON.parse(readFileSync(join(runtime, "aaep", "planner.json"), "utf8"))).toMatchObject({
      transports_supported: manifest.transports_supported,
    });
    await expect(subscribe(serving.grpc!, { token: "x".repeat(20) })).rejects.toMatchObject({
      code: "authentication_failed",
    });
  });

  it("gRPC with the server's own certificate, and says so in the address", async () => {
    const { authorities, remove } = createAuthorities("ours");
    const [serving] = await start({ grpc: true, tls: authorities.ours.sign("agent") });
    expect(serving.http).toMatch(/^https:/);
    expect(serving.grpc).toMatch(/^grpcs:/);
    const listener = await subscribe(serving.grpc!, {
      token: serving.token!,
      tls: { ca: authorities.ours.cert },
    });
    listener.close();
    remove();
  });

  it.each<[string, ServeOptions]>([
    ["it was told not to", { unix: false }],
    ["nothing of this run is to be found", { tokenFile: false }],
    ["`auth` decides who somebody is", { auth: () => undefined }],
  ])("no socket by itself where %s", async (_, options) => {
    const [serving] = await start(options);
    expect(serving.unix).toBeUndefined();
    expect((await manifestOf(serving)).transports_supported).toEqual(["sse", "websocket"]);
    expect(existsSync(join(runtime, "aaep"))).toBe(false);
  });

  it("the socket where it is told, also with `auth`; then `authorize` is asked about who comes there", async () => {
    const asked: string[] = [];
    const path = join(runtime, "own", "agent.sock");
    const [serving] = await start({
      unix: { path },
      auth: () => undefined,
      authorize: (who) => {
        asked.push(who.id);
        return asked.length === 1 ? undefined : { ...who, role: "listen" };
      },
    });
    expect(serving.unix).toBe(`unix:${path}`);
    await expect(subscribe(serving.unix!)).rejects.toMatchObject({ code: "authorization_denied" });
    const listener = await subscribe(serving.unix!);
    expect(asked).toEqual(["local", "local"]);
    listener.close();
  });
});

it("its manifest is signed as served: a listener that insists on a signature is satisfied over each transport: MAN-07, MAN-08", async () => {
  const { privateKey, publicKey } = await generateSigningKey("test");
  const [serving] = await start({ grpc: true, signing: { key: privateKey, kid: "test" } });
  for (const address of [serving.unix!, serving.http, serving.ws, serving.grpc!]) {
    const listener = await subscribe(address, {
      token: serving.token!,
      trust: { keys: { keys: [publicKey] } },
    });
    listener.close();
  }
});

it("its manifest says how many may listen, as the limits have it", async () => {
  const [usual] = await start();
  expect((await manifestOf(usual)).max_concurrent_subscriptions).toBe(10_000);
  const [few] = await start({ limits: { connections: 7 }, unix: false });
  expect((await manifestOf(few)).max_concurrent_subscriptions).toBe(7);
  const agent = createProducer({ agent_id: "fewer", hub: { maxSubscriptions: 3 }, warn: () => {} });
  open.push(await serve(agent, { port: 0, tokenFile: false, log: () => {} }));
  expect((await manifestOf(open.at(-1)!)).max_concurrent_subscriptions).toBe(3);
});

describe("an endpoint that cannot be opened", () => {
  it("by itself, that is said and the rest is served: two agents of one name", async () => {
    const [first] = await start();
    const [second] = await start();
    expect(first.unix).toBeDefined();
    expect(second.unix).toBeUndefined();
    expect((await manifestOf(second)).transports_supported).toEqual(["sse", "websocket"]);
    const entry = logs.find(({ event }) => event === "no_socket");
    expect(entry).toMatchObject({ level: "warn", error: { code: "socket_in_use" } });
    expect(entry!.message).toMatch(/already listening at .*planner\.sock.*unix: false/s);
    // The one who was there first is still found, and still answers.
    await second.close();
    expect((await discover()).map(({ address }) => address)).toEqual([first.unix]);
  });

  it("by itself, in a directory that is not safe", async () => {
    mkdirSync(join(runtime, "elsewhere"));
    symlinkSync(join(runtime, "elsewhere"), join(runtime, "aaep"));
    const [serving] = await start();
    expect(serving.unix).toBeUndefined();
    expect(logs.find(({ event }) => event === "no_socket")!.message).toMatch(/symbolic link/);
  });

  it.each<[string, (place: string) => ServeOptions, string]>([
    ["a socket", (place) => ({ unix: { path: place } }), "unsafe_socket"],
    ["any socket", () => ({ unix: true }), "socket_in_use"],
  ])("though asked for (%s), nothing is served, and the port is free again", async (_, options, code) => {
    await start();
    const place = join(runtime, "aaep", "taken.sock");
    writeFileSync(place, "not a socket");
    const [probe] = await start({ unix: false });
    await probe.close();
    const { port } = probe;
    await expect(start({ port, grpc: { port: 0 }, ...options(place) })).rejects.toMatchObject({ code });
    const [again] = await start({ port, unix: false });
    expect(again.port).toBe(port);
  });

  it("gRPC on a port that is taken: the others are closed too", async () => {
    const [first] = await start({ grpc: true });
    const taken = Number(new URL(first.grpc!).port);
    await expect(start({ grpc: { port: taken } }, "second")).rejects.toMatchObject({ code: "port_in_use" });
    expect((await discover()).map(({ address }) => address)).toEqual([first.unix]);
  });
});

it("one close ends every connection, each with the reason, and leaves nothing behind: TRN-07", async () => {
  const [serving] = await start({ grpc: true });
  const addresses = [serving.unix!, serving.http, serving.ws, serving.grpc!];
  const ends = await Promise.all(
    addresses.map(async (address) => {
      const listener = await subscribe(address, { token: serving.token!, reconnect: false });
      return { code: new Promise<string>((resolve) => listener.on("closed", ({ code }) => resolve(code))) };
    }),
  );
  await serving.close();
  for (const { code } of ends) expect(await code).toBe("producer_shutdown");
  for (const address of addresses)
    await expect(subscribe(address, { token: serving.token! })).rejects.toMatchObject({
      code: "unreachable",
    });
  expect(readdirSync(join(runtime, "aaep"))).toEqual([]);
  expect(readdirSync(join(runtime, "earshot"))).toEqual([]);
});
