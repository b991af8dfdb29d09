import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { type Finding, nodeFinding } from "../../src/cli/commands/doctor.ts";
import { run } from "../../src/cli/run.ts";
import { startAgent } from "./capture-support.ts";
import { earshot, runProgram, start, terminal } from "./support.ts";

const folder = mkdtempSync(join(tmpdir(), "earshot-doctor-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const programs = join(folder, "bin");
const runtime = join(folder, "run");
beforeEach(() => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(programs, { recursive: true });
  mkdirSync(runtime, { mode: 0o700 });
  process.env["XDG_RUNTIME_DIR"] = runtime;
});
const env = () => ({ PATH: programs, XDG_RUNTIME_DIR: runtime, LANG: "C.UTF-8" });
const program = (name: string): void => writeFileSync(join(programs, name), "#!/bin/sh\n", { mode: 0o755 });

async function findings(
  more: Record<string, string> = {},
): Promise<{ code: number; of: (about: string) => Finding }> {
  const { code, out } = await earshot(["doctor", "--json"], "", terminal({ env: { ...env(), ...more } }));
  const all = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Finding);
  return { code, of: (about) => all.find((one) => one.about === about)! };
}

describe.skipIf(process.platform !== "linux")("earshot doctor", () => {
  it("says what each missing program is for and how to install it", async () => {
    const { code, of } = await findings();
    expect(code).toBe(0);
    for (const about of ["Speech", "Braille", "Browser", "Agents"]) {
      expect(of(about).state, about).toBe("missing");
      expect(of(about).advice, about).toMatch(/Run: |run: |Start one: npx earshot demo/);
    }
    expect(of("Speech").advice).toContain("apt-get install espeak-ng");
    expect(of("Node").state).toBe("ok");
    expect(of("gRPC").state).toBe("ok");
  });

  it("finds programs by the person's own PATH", async () => {
    for (const name of ["espeak-ng", "lou_translate", "stdbuf", "firefox"]) program(name);
    writeFileSync(join(programs, "brltty"), "no program", { mode: 0o644 });
    const { of } = await findings();
    expect(of("Speech")).toMatchObject({ state: "ok", found: "espeak-ng is installed." });
    expect(of("Braille").state).toBe("ok");
    expect(of("Browser").found).toBe(`${join(programs, "firefox")}.`);
    program("spd-say");
    expect((await findings()).of("Speech").found).toContain("speech-dispatcher");
  });

  it("A23: reports a directory that other users can access, and exits with 1", async () => {
    for (const name of ["aaep", "earshot"]) {
      mkdirSync(join(runtime, name));
      chmodSync(join(runtime, name), 0o755);
    }
    const { code, of } = await findings();
    expect(code).toBe(1);
    for (const [about, name] of [
      ["Sockets", "aaep"],
      ["Tokens", "earshot"],
    ] as const) {
      const place = join(runtime, name);
      expect(of(about)).toEqual({
        about,
        state: "wrong",
        found: `${place} is accessible to other users.`,
        advice: `Run: chmod 700 ${place}`,
      });
      chmodSync(place, 0o700);
    }
    const mended = await findings();
    expect(mended.code).toBe(0);
    expect(mended.of("Sockets").found).toBe(`${join(runtime, "aaep")} is private to you.`);
  });

  it("reports a path that is too long for sockets", async () => {
    const long = join(runtime, "x".repeat(100));
    expect((await findings({ XDG_RUNTIME_DIR: long })).of("Sockets")).toMatchObject({ state: "wrong" });
  });

  it("lists running agents, and ignores files of dead ones", async () => {
    const { serving } = await startAgent();
    writeFileSync(join(runtime, "earshot", "old-1.json"), "{}", { mode: 0o600 });
    const { of } = await findings();
    expect(of("Agents").found).toBe(`1 agent running: Bank at ${serving.http}.`);
    expect(of("Tokens").found).toContain("It contains 1 file of agents that have ended");
    await serving.close();
  });

  it("prints one self-contained line per finding, then a total", async () => {
    const { code, out } = await earshot(["doctor"], "", terminal({ env: { ...env(), LANG: "C" } }));
    expect(code).toBe(0);
    const lines = out.trimEnd().split("\n");
    for (const line of lines.slice(0, -1)) expect(line).toMatch(/^(?:OK|Missing|Wrong): [A-Za-z ]+\. .+\.?/);
    expect(out).toContain('Missing: Terminal. The locale is "C"');
    expect(lines.at(-1)).toMatch(
      /^Nothing is wrong\. Missing: \d+\. Each one matters only if you need it\.$/,
    );
  });

  it("knows which Node is new enough", () => {
    expect(nodeFinding("20.19.0").state).toBe("ok");
    expect(nodeFinding("22.1.0").state).toBe("ok");
    for (const old of ["20.18.3", "18.20.0"]) {
      expect(nodeFinding(old)).toMatchObject({
        state: "wrong",
        advice: "Install Node 20.19 or newer from https://nodejs.org.",
      });
    }
  });

  it("takes no argument", async () => {
    const { code, err } = await earshot(["doctor", "me"]);
    expect(code).toBe(2);
    expect(err).toContain('doctor takes no arguments, but got "me".');
  });

  it("ends with Ctrl+C", async () => {
    const at = terminal({ env: env() });
    at.interrupt();
    expect(await run(["doctor"], at.io, "0.0.0-test")).toBe(130);
  });

  it("works as a program, without a terminal and with nobody reading", async () => {
    expect((await runProgram(["doctor"], "", { env: env() })).out).toContain("OK: Node.");
    const child = await start(["doctor"], { env: env() });
    child.stdout.destroy();
    expect(await new Promise((resolve) => child.once("close", resolve))).toBe(0);
  });
});
