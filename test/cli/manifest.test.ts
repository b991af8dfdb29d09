import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createProducer } from "../../src/index.ts";
import { type Serving, serve } from "../../src/server/index.ts";
import { begin } from "./capture-support.ts";
import { earshot, runProgram, start } from "./support.ts";

const folder = mkdtempSync(join(tmpdir(), "earshot-manifest-"));
process.env["XDG_RUNTIME_DIR"] = folder;
const path = (name: string): string => join(folder, name);
let serving: Serving;

beforeAll(async () => {
  for (const name of ["own", "other"]) {
    const { out } = await earshot(["keys", "-o", path(`${name}-secret.json`), "--kid", name]);
    writeFileSync(path(`${name}.json`), out);
  }
  const key = JSON.parse(readFileSync(path("own-secret.json"), "utf8"));
  const agent = createProducer({ agent_id: "com.example.bank", agent_name: "Bank" });
  serving = await serve(agent, { port: 0, log: () => undefined, signing: { key, kid: "own" } });
});
afterAll(async () => {
  await serving.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("earshot manifest", () => {
  it("MAN-01: prints the manifest of an agent, from any of its addresses", async () => {
    for (const address of [serving.http, serving.ws, serving.unix!]) {
      const { code, out, err } = await earshot(["manifest", address]);
      expect(code, err).toBe(0);
      expect(JSON.parse(out)).toMatchObject({ type: "aaep:producer.manifest", agent_id: "com.example.bank" });
    }
  });

  it("MAN-08: signs, and verifies against trusted keys", async () => {
    const { out } = await earshot(["manifest", serving.http]);
    writeFileSync(path("manifest.json"), out);
    const signed = await earshot([
      "manifest",
      path("manifest.json"),
      "--sign",
      path("own-secret.json"),
      "--days",
      "2",
    ]);
    expect(signed.code).toBe(0);
    writeFileSync(path("manifest.jws"), signed.out);
    const trusted = await earshot([
      "manifest",
      path("manifest.jws"),
      "--verify",
      path("own.json"),
      "--agent",
      "com.example.bank",
    ]);
    expect(trusted.code).toBe(0);
    expect(trusted.out).toMatch(
      /^Trusted: the manifest of com\.example\.bank, signed with the key own, on \d{4}-/,
    );
    const live = await earshot([
      "manifest",
      serving.http,
      "--verify",
      path("own.json"),
      "--json",
      "--max-age",
      "1",
    ]);
    expect(live.code).toBe(0);
    expect(JSON.parse(live.out)).toMatchObject({
      trusted: true,
      kid: "own",
      manifest: { agent_name: "Bank" },
    });
    const piped = await earshot(["manifest", "-", "--verify", path("own.json")], signed.out);
    expect(piped.code).toBe(0);
    const shown = await earshot(["manifest", path("manifest.jws")]);
    expect(JSON.parse(shown.out)).toEqual(JSON.parse(out));
    expect(shown.err).toContain("the signature was not checked");
  });

  it.each([
    [
      "a key one does not trust",
      () => ["manifest", serving.http, "--verify", path("other.json")],
      "does not match any key",
    ],
    [
      "another agent",
      () => ["manifest", serving.http, "--verify", path("own.json"), "--agent", "com.example.other"],
      "not the agent you expected",
    ],
    [
      "no signature",
      () => ["manifest", path("manifest.json"), "--verify", path("own.json")],
      "is not signed",
    ],
  ])("A22: does not trust %s", async (_, argv, reason) => {
    const { code, out } = await earshot(argv());
    expect(code).toBe(1);
    expect(out).toMatch(/^Not trusted\. /);
    expect(out).toContain(reason);
  });

  it("A22: does not trust a manifest that was changed", async () => {
    const [header, payload, signature] = readFileSync(path("manifest.jws"), "utf8").trim().split(".");
    const other = Buffer.from(payload!, "base64url").toString().replace("Bank", "Bunk");
    const forged = [header, Buffer.from(other).toString("base64url"), signature].join(".");
    expect(await earshot(["manifest", "-", "--verify", path("own.json")], forged)).toMatchObject({ code: 1 });
  });

  it("refuses what it cannot use, and says what to do", async () => {
    expect((await earshot(["manifest"])).err).toContain("Give an address");
    expect((await earshot(["manifest", "x", "--sign", "a", "--verify", "b"])).code).toBe(2);
    expect((await earshot(["manifest", "x", "--days", "2"])).err).toContain(
      "--days works only with --sign KEY.",
    );
    expect((await earshot(["manifest", "x", "--agent", "y"])).err).toContain(
      "--agent works only with --verify KEYS.",
    );
    expect((await earshot(["manifest", "x", "--json"])).err).toContain(
      "--json works only with --verify KEYS.",
    );
    expect(await earshot(["manifest", path("none.json")])).toMatchObject({ code: 2 });
    const nobody = await earshot(["manifest", "http://127.0.0.1:9"]);
    expect(nobody.code).toBe(3);
    expect(nobody.err).toContain("Nothing answers at http://127.0.0.1:9/.well-known/aaep-manifest.json");
    expect(await earshot(["manifest", "unix:/nowhere/x.sock"])).toMatchObject({ code: 3 });
    expect(await earshot(["manifest", "grpc://127.0.0.1:1"])).toMatchObject({ code: 2 });
    const odd = await earshot(["manifest", "-"], '{"type":"aaep:producer.manifest"}');
    expect(odd.code).toBe(1);
    expect(odd.err).toContain("is not a valid manifest.\n/");
    const unsigning = await earshot(["manifest", path("manifest.json"), "--sign", path("own.json")]);
    expect(unsigning.code).toBe(1);
    expect(unsigning.err).toContain("contains no private key");
  });

  it("ends with Ctrl+C while an agent does not answer", async () => {
    const mute = createServer(() => undefined);
    await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
    const asking = begin("manifest", `http://127.0.0.1:${(mute.address() as AddressInfo).port}`);
    await new Promise((resolve) => mute.once("connection", resolve));
    asking.interrupt();
    expect(await asking.code).toBe(130);
    mute.close();
  });

  it("works as a program, without a terminal and with nobody reading", async () => {
    expect((await runProgram(["manifest", path("manifest.json")])).code).toBe(0);
    const child = await start(["manifest", path("manifest.json")]);
    child.stdout.destroy();
    expect(await new Promise((resolve) => child.once("close", resolve))).toBe(0);
  });
});
