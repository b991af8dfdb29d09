// Clients nobody here wrote: buf, which is Go, asks by reflection what there is; Python's grpcio holds a whole conversation.
import { execFile, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { isInstalled } from "../../scripts/install.mjs";
import { field, readFields } from "../../src/transports/grpc/protobuf.ts";
import { answerReflection, fileDescriptor } from "../../src/transports/grpc/reflection.ts";
import { TRANSFER } from "../support/driver.ts";
import type { Message } from "./support.ts";
import { eventually, later, REQUEST, world } from "./support.ts";

const proto = fileURLToPath(new URL("../../proto", import.meta.url));
const buf = fileURLToPath(new URL("../../tools/buf/node_modules/@bufbuild/buf/bin/buf", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "earshot-grpc-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const python = process.env["EARSHOT_PYTHON"] ?? "/usr/bin/python3";
const hasPython = spawnSync(python, ["-c", "import grpc, google.protobuf"]).status === 0;
// Without it such tests are skipped on a person's machine; CI must have it.
const isCI = process.env["CI"] === "true";
const lacksBuf = !isInstalled("tools/buf") && !isCI;
const bufNote = lacksBuf ? " (skipped: no buf; with a network: node scripts/install.mjs tools/buf)" : "";
const lacksPython = !hasPython && !isCI;
const pythonNote = lacksPython
  ? " (skipped: no grpcio; apt-get install python3-grpcio, or name a Python that has it in EARSHOT_PYTHON)"
  : "";

function run(file: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) =>
    execFile(
      file,
      args,
      { timeout: 30_000, env: { ...process.env, HOME: folder } },
      (error, out, problems) => (error ? reject(new Error(`${problems}${out}`)) : resolve(out)),
    ),
  );
}
const look = (url: string, ...args: string[]) =>
  run(process.execPath, [buf, "curl", "--http2-prior-knowledge", "--protocol", "grpc", ...args, url]);

describe.skipIf(lacksBuf)(`proto/aaep/v1/aaep.proto${bufNote}`, () => {
  it("compiles, is formatted, and says exactly what reflection shows: GRPC-01, GRPC-02", async () => {
    const image = join(folder, "image.binpb");
    await run(process.execPath, [
      buf,
      "build",
      proto,
      "--as-file-descriptor-set",
      "--exclude-source-info",
      "-o",
      image,
    ]);
    expect(Buffer.from(readFields(readFileSync(image))!.get(1)!)).toEqual(fileDescriptor());
    expect(await run(process.execPath, [buf, "format", "--diff", proto])).toBe("");
  });
});

describe.skipIf(lacksBuf)(`server reflection${bufNote}`, () => {
  it.each(["grpc-v1", "grpc-v1alpha"])(
    "by %s shows an ordinary tool what can be called: TRN-17, GRPC-01",
    async (version) => {
      const { server } = await world();
      const url = `http://127.0.0.1:${server.port}`;
      const reflect = ["--reflect-protocol", version];
      expect((await look(url, ...reflect, "--list-services")).trim()).toBe("aaep.v1.AaepService");
      expect((await look(url, ...reflect, "--list-methods")).trim().split("\n")).toEqual([
        "aaep.v1.AaepService/GetManifest",
        "aaep.v1.AaepService/Subscribe",
      ]);
      const { json } = JSON.parse(
        await look(`${url}/aaep.v1.AaepService/GetManifest`, ...reflect, "-d", "{}"),
      );
      expect(JSON.parse(Buffer.from(json, "base64").toString())).toMatchObject({ agent_id: "bank" });
    },
  );

  it("lets such a tool listen in: the request on its standard input, events on its output: TRN-17, GRPC-03", async () => {
    const { server, producer } = await world();
    const url = `http://127.0.0.1:${server.port}/aaep.v1.AaepService/Subscribe`;
    const header = `authorization: Bearer ${server.token}`;
    const child = spawn(
      process.execPath,
      [buf, "curl", "--http2-prior-knowledge", "--protocol", "grpc", "-H", header, "-d", "@-", url],
      {
        env: { ...process.env, HOME: folder },
        stdio: ["pipe", "pipe", "pipe"],
      },
    );
    later(() => child.kill());
    let problem = "";
    child.stderr.on("data", (text) => {
      problem += text;
    });
    child.stdin.end(JSON.stringify({ json: Buffer.from(JSON.stringify(REQUEST)).toString("base64") }));
    const types: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      const json = /"json":\s*"([^"]+)"/.exec(line)?.[1];
      if (!json) continue;
      const { type } = JSON.parse(Buffer.from(json, "base64").toString()) as Message;
      types.push(type);
      if (type === "subscription.accepted") void producer.run({ summary: "Looking in." }, async () => {});
      if (type === "aaep:agent.session.completed") void server.close();
    }
    await eventually(() => problem.includes("}"), "the tool says how it ended");
    expect(JSON.parse(problem)).toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("restarting"),
    });
    expect(types[0]).toBe("subscription.accepted");
    expect(types).toContain("aaep:agent.session.started");
  });

  it("says so where it is asked for what is not there, and is silent where it is turned off", async () => {
    const code = (request: Buffer) => {
      const error = readFields(answerReflection(request)!)!.get(7);
      return error?.[1];
    };
    expect(code(field(4, "aaep.v1.Nothing"))).toBe(5);
    expect(code(field(3, "nothing.proto"))).toBe(5);
    expect(code(field(6, "aaep.v1.AaepMessage"))).toBe(5);
    expect(code(Buffer.alloc(0))).toBe(12);
    expect(code(field(4, ".aaep.v1.AaepMessage"))).toBeUndefined();
    expect(answerReflection(Buffer.from([0x0b]))).toBeUndefined();
    const { server } = await world({ reflection: false });
    await expect(look(`http://127.0.0.1:${server.port}`, "--list-services")).rejects.toThrow(/reflection/i);
  });
});

describe.skipIf(lacksBuf || lacksPython)(`Python's grpcio${bufNote}${pythonNote}`, () => {
  const descriptors = join(folder, "aaep.binpb");
  const listener = fileURLToPath(new URL("listener.py", import.meta.url));
  const start = async (port: number, token: string) => {
    await run(process.execPath, [buf, "build", proto, "--as-file-descriptor-set", "-o", descriptors]);
    const child = spawn(python, [listener, `127.0.0.1:${port}`, token, descriptors], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    later(() => child.kill());
    return createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  };

  it("subscribes, hears, answers both kinds of question, renegotiates and leaves: GRPC-01, GRPC-02, GRPC-03", async () => {
    const { server, producer } = await world();
    const lines = await start(server.port, server.token!);
    expect((await lines.next()).value).toBe("ready");
    const ran: unknown[] = [];
    await producer.run({ summary: "Moving money." }, async (session) => {
      const answer = await session.clarify({ question: "To which account?" });
      await session.tool(TRANSFER, (params) => void ran.push(params, answer));
    });
    expect(ran[0]).toEqual({ amount: 500, to: "savings" });
    expect(JSON.stringify(ran[1])).toContain("Savings");
    const result = JSON.parse((await lines.next()).value);
    expect(result).toMatchObject({ agent: "bank", hints_agree: true, renegotiated: 4, status: "OK" });
    expect(result.trailers).toMatchObject({ "aaep-close-reason": "subscriber_closed" });
    expect(result.heard.slice(0, 2)).toEqual(["subscription.accepted", "subscription.accepted"]);
    expect(result.heard).toEqual(
      expect.arrayContaining(["aaep:agent.awaiting.clarification", "aaep:agent.awaiting.confirmation"]),
    );
    expect(result.heard.at(-1)).toBe("aaep:agent.session.completed");
    expect(producer.subscriptions).toBe(0);
  });

  it("is told by status and trailers that its token is wrong: GRPC-04", async () => {
    const { server } = await world();
    const lines = await start(server.port, "wrong");
    const result = JSON.parse((await lines.next()).value);
    expect(result).toMatchObject({ status: "UNAUTHENTICATED", heard: [] });
    expect(result.trailers).toMatchObject({
      "aaep-close-reason": "authentication_failed",
      "aaep-reconnect": "false",
    });
  });
});
