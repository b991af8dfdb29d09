// CON-66, TRN-10, TRN-11, A21 (wrong authority), A23 for the token file: where it listens, and what that takes.
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createProducer } from "../../src/producer/producer.ts";
import {
  certificateAuthenticator,
  readTokenFiles,
  type ServeOptions,
  serve,
  tokenDirectory,
} from "../../src/server/index.ts";
import { createLogger } from "../../src/server/telemetry.ts";
import { call, dial, later, listen, openStream, people, REQUEST, world } from "./wire-support.ts";
import { type Authority, type Certified, createAuthorities } from "./wire-tls.ts";

let ours: Authority;
let strangers: Authority;
let server: Certified;
let remove: () => void;

beforeAll(() => {
  const made = createAuthorities("Ours", "Strangers");
  ({ Ours: ours, Strangers: strangers } = made.authorities);
  remove = made.remove;
  server = ours.sign("agent.example.com");
});
afterAll(() => remove());

const producer = () => createProducer({ agent_id: "bank", warn: () => {} });
const { auth } = people({ alice: {} });

describe("an address other machines can reach", () => {
  it("SEC-01, TRN-10, TRN-11: is refused without TLS and authentication, and the error says what to give", async () => {
    for (const options of [{}, { auth }, { tls: server }] satisfies ServeOptions[]) {
      for (const host of ["0.0.0.0", "::", "192.0.2.1", "agent.example.com"]) {
        const refused = serve(producer(), { host, port: 0, tokenFile: false, ...options });
        await expect(refused).rejects.toThrow(
          /both `tls` \(key and cert\) and `auth`.*or listen on 127\.0\.0\.1/,
        );
      }
    }
  });

  it.each<[string, () => ServeOptions, RegExp]>([
    [
      "insecureLoopback",
      () => ({ host: "0.0.0.0", tls: server, insecureLoopback: true }),
      /loopback addresses only/,
    ],
    ["compat", () => ({ host: "0.0.0.0", tls: server, auth, compat: true }), /loopback addresses only/],
    ["every address and no name", () => ({ host: "0.0.0.0", tls: server, auth }), /`hosts`/],
    [
      "insecureLoopback under a public name",
      () => ({ hosts: ["agent.example.com"], insecureLoopback: true }),
      /this machine only/,
    ],
    ["insecureLoopback beside auth", () => ({ auth, insecureLoopback: true }), /either/],
    ["TLS 1.1", () => ({ tls: { ...server, minVersion: "TLSv1.1" } }), /TLS 1\.2/],
    ["a method of old", () => ({ tls: { ...server, secureProtocol: "TLSv1_method" } }), /TLS 1\.2/],
    ["TLS without a certificate", () => ({ tls: {} }), /`key` and `cert`/],
    ["client certificates of any authority", () => ({ tls: { ...server, requestCert: true } }), /`ca`/],
    ["HTTP/2 without TLS", () => ({ http2: true }), /`tls`/],
    ["any origin", () => ({ origins: ["*"] }), /is not an origin/],
    ["the null origin", () => ({ origins: ["null"] }), /is not an origin/],
    ["an origin with a path", () => ({ origins: ["https://chat.example.com/"] }), /is not an origin/],
  ])("SEC-01: does not start with %s", async (_, options, says) => {
    await expect(serve(producer(), { port: 0, tokenFile: false, ...options() })).rejects.toThrow(says);
  });

  it("TRN-11: is served over TLS 1.2 and 1.3 and no less", async () => {
    const { server: serving } = await world({ tls: server, auth });
    const version = (maxVersion: "TLSv1.1" | "TLSv1.2" | "TLSv1.3") =>
      new Promise<string>((resolve) => {
        const socket: TLSSocket = connectTls(
          {
            port: serving.port,
            host: "127.0.0.1",
            ca: ours.cert,
            minVersion: "TLSv1",
            maxVersion,
            ciphers: "DEFAULT@SECLEVEL=0",
          },
          () => resolve(socket.getProtocol() ?? ""),
        );
        socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "refused"));
        later(() => socket.destroy());
      });

    expect(await version("TLSv1.3")).toBe("TLSv1.3");
    expect(await version("TLSv1.2")).toBe("TLSv1.2");
    expect(await version("TLSv1.1")).toMatch(/ALERT|ERR_SSL/);
    const tls = { ca: ours.cert };
    expect((await openStream(`${serving.http}/healthz`, { tls }).catch(() => ({ status: 0 }))).status).toBe(
      200,
    );
    expect(
      (await call(`${serving.http}/aaep/v1/subscriptions`, { method: "POST", body: REQUEST, tls })).status,
    ).toBe(401);
    expect(
      (
        await call(`${serving.http}/aaep/v1/subscriptions`, {
          method: "POST",
          body: REQUEST,
          token: "alice",
          tls,
        })
      ).status,
    ).toBe(201);
  });
});

describe("client certificates", () => {
  const mutual = (): ServeOptions => ({
    tls: { ...server, ca: ours.cert, requestCert: true, rejectUnauthorized: false },
    auth: certificateAuthenticator(),
  });
  const subscribe = (url: string, client: Partial<Certified>) =>
    call(`${url}/aaep/v1/subscriptions`, {
      method: "POST",
      body: REQUEST,
      tls: { ca: ours.cert, ...client },
    }).then(
      ({ status }) => status,
      (error: NodeJS.ErrnoException) => error.code ?? "failed",
    );

  it("SEC-01, TRN-10: let in whom our authority names, and nobody a stranger names (A21)", async () => {
    const { server: serving } = await world(mutual());
    const alice = ours.sign("alice", { client: true });
    const forged = strangers.sign("alice", { client: true });

    expect(await subscribe(serving.http, alice)).toBe(201);
    expect(await subscribe(serving.http, forged)).toBe(401);
    expect(await subscribe(serving.http, {})).toBe(401);
    expect(await subscribe(serving.http, ours.sign("", { client: true }))).toBe(401);
    // A server's certificate is none for a client.
    expect(await subscribe(serving.http, ours.sign("alice"))).toBe(401);
    const tls = { ca: ours.cert, ...alice };
    const wire = await dial(serving.ws, { tls });
    wire.send(REQUEST);
    expect(await wire.of("subscription.accepted")).toBeDefined();
    const bad = await dial(serving.ws, { tls: { ca: ours.cert, ...forged } });
    expect((await bad.closed).code).toBe(4002);
  });

  it("TRN-10: are demanded by TLS itself where it is told to", async () => {
    const { server: serving } = await world({
      ...mutual(),
      tls: { ...server, ca: ours.cert, requestCert: true },
    });
    expect(await subscribe(serving.http, ours.sign("alice", { client: true }))).toBe(201);
    expect(await subscribe(serving.http, strangers.sign("alice", { client: true }))).toMatch(
      /ECONNRESET|ERR_SSL|EPIPE/,
    );
    expect(await subscribe(serving.http, {})).toMatch(/ECONNRESET|ERR_SSL|EPIPE/);
  });

  it("TRN-10: count over HTTP/2 as well", async () => {
    const { server: serving } = await world({ ...mutual(), http2: true });
    const ask = (client: Partial<Certified>) =>
      new Promise<number>((resolve, reject) => {
        const session = connectHttp2(serving.http, { ca: ours.cert, ...client });
        session.on("error", reject);
        later(() => session.destroy());
        const stream = session.request({
          ":method": "POST",
          ":path": "/aaep/v1/subscriptions",
          "content-type": "application/json",
        });
        stream.on("response", (headers) => resolve(Number(headers[":status"])));
        stream.on("error", reject);
        stream.end(JSON.stringify(REQUEST));
      });

    expect(await ask(ours.sign("alice", { client: true }))).toBe(201);
    expect(await ask(strangers.sign("alice", { client: true }))).toBe(401);
    expect(await ask({})).toBe(401);
  });
});

describe("the token of a run", () => {
  const folder = () => {
    const path = mkdtempSync(join(tmpdir(), "earshot-token-"));
    later(() => rmSync(path, { recursive: true, force: true }));
    return path;
  };

  it("TRN-10: is demanded on loopback by default, and another one each time", async () => {
    const one = await world();
    const two = await world();

    expect(one.server.token).toMatch(/^[0-9a-f]{64}$/);
    expect(one.server.token).not.toBe(two.server.token);
    for (const token of [
      undefined,
      "",
      "0".repeat(64),
      two.server.token,
      `${one.server.token}0`,
      one.server.token!.slice(1),
    ]) {
      expect(
        (await call(`${one.server.http}/aaep/v1/subscriptions`, { method: "POST", token, body: REQUEST }))
          .status,
      ).toBe(401);
      expect((await (await dial(one.server.ws, { token })).closed).code).toBe(4002);
    }
    expect((await listen(one.server)).stream.status).toBe(200);
  });

  it("TRN-10: lies in a file of mode 0600 in a directory of mode 0700 while the agent runs, where local tools find it", async () => {
    const runtime = folder();
    const directory = tokenDirectory({ XDG_RUNTIME_DIR: runtime });
    const agent = producer();
    const serving = await serve(agent, { port: 0, tokenFile: directory, unix: false, log: () => {} });
    const path = serving.tokenPath!;

    expect(path).toBe(join(runtime, "earshot", `bank-${serving.port}.json`));
    expect(lstatSync(directory).mode & 0o777).toBe(0o700);
    expect(lstatSync(path).mode & 0o777).toBe(0o600);
    expect(readTokenFiles(directory)).toEqual([
      { agent_id: "bank", url: serving.http, token: serving.token, pid: process.pid },
    ]);
    await serving.close();
    expect(existsSync(path)).toBe(false);
    expect(readTokenFiles(directory)).toEqual([]);
  });

  it("TRN-10: tightens a directory of ours that others could read", async () => {
    const directory = join(folder(), "earshot");
    mkdirSync(directory, { mode: 0o755 });
    chmodSync(directory, 0o755);
    await world({ tokenFile: directory });
    expect(lstatSync(directory).mode & 0o777).toBe(0o700);
  });

  it("SEC-01: is written into no symbolic link, no file, no directory others may replace; and the port is free again", async () => {
    const place = folder();
    const elsewhere = folder();
    const link = join(place, "link");
    symlinkSync(elsewhere, link);
    const file = join(place, "file");
    writeFileSync(file, "");
    const shared = join(place, "shared");
    mkdirSync(shared);
    chmodSync(shared, 0o777);
    for (const directory of [link, file, join(shared, "earshot")]) {
      await expect(
        serve(producer(), { port: 0, tokenFile: directory, unix: false, log: () => {} }),
      ).rejects.toThrow(/`tokenFile`/);
    }
    expect(readTokenFiles(link)).toEqual([]);
    // A link planted under the file's name is replaced, not followed.
    const mine = join(place, "mine");
    const { server: first } = await world({ tokenFile: mine });
    const target = join(elsewhere, "target");
    writeFileSync(target, "untouched");
    const { port } = first;
    await first.close();
    symlinkSync(target, join(mine, `bank-${port}.json`));
    const { server: second } = await world({ port, tokenFile: mine });
    expect(readFileSync(target, "utf8")).toBe("untouched");
    expect(lstatSync(second.tokenPath!).isFile()).toBe(true);
  });

  it.runIf(process.getuid?.() === 0)(
    "SEC-01: is neither written to nor read from a directory of somebody else's",
    async () => {
      const { chownSync } = await import("node:fs");
      const directory = join(folder(), "earshot");
      mkdirSync(directory, { mode: 0o700 });
      const bait = { agent_id: "bank", url: "http://127.0.0.1:1", token: "x", pid: process.pid };
      writeFileSync(join(directory, "bank-1.json"), JSON.stringify(bait), { mode: 0o600 });
      expect(readTokenFiles(directory)).toHaveLength(1);
      chownSync(directory, 12_345, 12_345);
      await expect(
        serve(producer(), { port: 0, tokenFile: directory, unix: false, log: () => {} }),
      ).rejects.toThrow(/belongs to another user/);
      expect(readTokenFiles(directory)).toEqual([]);
    },
  );

  it("SEC-01: is never sent where a planted file says: other machines, dead processes, files others can write", () => {
    const directory = join(folder(), "earshot");
    mkdirSync(directory, { mode: 0o700 });
    const plant = (name: string, file: object | string, mode = 0o600) => {
      writeFileSync(join(directory, `${name}.json`), typeof file === "string" ? file : JSON.stringify(file));
      chmodSync(join(directory, `${name}.json`), mode);
    };
    const fine = { agent_id: "a", url: "http://127.0.0.1:1", token: "x", pid: process.pid };
    plant("far", { ...fine, url: "http://evil.example:1" });
    plant("dead", { ...fine, pid: 2 ** 22 + 1 });
    plant("everyone", { ...fine, pid: -1 });
    plant("open", fine, 0o644);
    plant("broken", "{");
    plant("odd", { ...fine, token: 5 });
    symlinkSync(join(directory, "fine.json"), join(directory, "link.json"));
    plant("fine", fine);

    expect(readTokenFiles(directory)).toEqual([fine]);
  });
});

describe("insecureLoopback", () => {
  it("TRN-10: lets anyone on this machine in, says so, and turns away what came through a proxy", async () => {
    const { server: serving, logs } = await world({ insecureLoopback: true });

    expect(serving.token).toBeUndefined();
    expect((await listen(serving)).stream.status).toBe(200);
    expect(logs).toContainEqual(
      expect.objectContaining({
        level: "warn",
        event: "insecure_loopback",
        message: expect.stringContaining("development only"),
      }),
    );
    for (const name of ["x-forwarded-for", "forwarded", "via", "x-real-ip"]) {
      const headers = { [name]: "203.0.113.7" };
      expect(
        (await call(`${serving.http}/aaep/v1/subscriptions`, { method: "POST", body: REQUEST, headers }))
          .status,
      ).toBe(401);
      expect((await (await dial(serving.ws, { headers })).closed).code).toBe(4002);
    }
  });

  it("TRN-10: warnings are printed where there is no log, each once", async () => {
    const seen: string[] = [];
    const hear = (warning: Error & { code?: string }) =>
      void seen.push(`${warning.code}: ${warning.message}`);
    process.on("warning", hear);
    later(() => process.off("warning", hear));
    // A name no other test in this process has warned about.
    const event = `insecure_${process.pid}`;
    for (let i = 0; i < 2; i++) {
      createLogger()("warn", event, { message: "Anyone may answer." });
      createLogger()("info", `${event}_info`, { message: "Nothing to worry about." });
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen.filter((one) => one.includes("INSECURE_"))).toEqual([
      `EARSHOT_${event.toUpperCase()}: Anyone may answer.`,
    ]);
  });
});
