import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { earshot, runProgram, start } from "./support.ts";

const folder = mkdtempSync(join(tmpdir(), "earshot-keys-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const path = (name: string): string => join(folder, name);

describe("earshot keys", () => {
  it("MAN-08: creates a key that only its owner can read, and prints its public half", async () => {
    const file = path("signing.json");
    const { code, out, err } = await earshot(["keys", "-o", file]);
    expect(code).toBe(0);
    const secret = JSON.parse(readFileSync(file, "utf8"));
    expect(secret).toMatchObject({ kty: "EC", crv: "P-256", alg: "ES256" });
    if (process.platform !== "win32") expect(statSync(file).mode & 0o777).toBe(0o600);
    const { d, ...shared } = secret;
    expect(JSON.parse(out)).toEqual({ keys: [shared] });
    expect(out + err).not.toContain(d);
    expect(shared.kid).toMatch(/^[\w-]{16}$/);
    expect(err).toContain(`The private key is in ${file}. Only you can read it.`);
    const again = await earshot(["keys", file, "--jwk"]);
    expect(JSON.parse(again.out)).toEqual(shared);
  });

  it("uses the given key id", async () => {
    const { out } = await earshot(["keys", "-o", path("named.json"), "--kid", "planner-2026"]);
    expect(JSON.parse(out).keys[0].kid).toBe("planner-2026");
  });

  it("never overwrites a file, directly or through a link", async () => {
    writeFileSync(path("precious.json"), "precious");
    const { code, err, out } = await earshot(["keys", "-o", path("precious.json")]);
    expect(code).toBe(2);
    expect(out).toBe("");
    expect(err).toContain("already exists, and an overwritten key cannot be recovered.");
    expect(readFileSync(path("precious.json"), "utf8")).toBe("precious");
    if (process.platform === "win32") return;
    symlinkSync(path("elsewhere.json"), path("link.json"));
    expect((await earshot(["keys", "-o", path("link.json")])).code).toBe(2);
  });

  it("warns of a private key that others can read", async () => {
    if (process.platform === "win32") return;
    await earshot(["keys", "-o", path("open.json")]);
    chmodSync(path("open.json"), 0o644);
    const { err } = await earshot(["keys", path("open.json")]);
    expect(err).toContain(`Run: chmod 600 ${path("open.json")}`);
  });

  it("refuses what it cannot use, and says what to do", async () => {
    expect((await earshot(["keys"])).err).toContain("npx earshot keys -o signing-key.json");
    expect((await earshot(["keys"])).code).toBe(2);
    expect((await earshot(["keys", path("none.json")])).err).toContain("There is no file");
    writeFileSync(path("odd.json"), '{"hello":1}');
    const odd = await earshot(["keys", path("odd.json")]);
    expect(odd.code).toBe(1);
    expect(odd.err).toContain("contains no key");
    expect((await earshot(["keys", path("odd.json"), "--kid", "x"])).code).toBe(2);
    expect((await earshot(["keys", "-o", join(folder, "no", "where.json")])).code).toBe(2);
  });

  it("works as a program, without a terminal and with nobody reading", async () => {
    expect((await runProgram(["keys", path("signing.json")])).code).toBe(0);
    const child = await start(["keys", "-o", path("unread.json")]);
    child.stdout.destroy();
    expect(await new Promise((resolve) => child.once("close", resolve))).toBe(0);
    expect(JSON.parse(readFileSync(path("unread.json"), "utf8"))).toHaveProperty("d");
  });
});
