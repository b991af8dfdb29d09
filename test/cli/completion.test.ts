import { execFileSync, spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { earshot, runProgram, start } from "./support.ts";

const installed = (program: string): boolean => spawnSync(program, ["--version"]).status === 0;
const note = (program: string): string =>
  installed(program) ? "" : ` (skipped: no ${program}; apt-get install ${program})`;

/** What bash offers for the last of these words. */
async function offered(...words: string[]): Promise<string[]> {
  const { out } = await earshot(["completion", "bash"]);
  const line = `${out}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")})
COMP_CWORD=${words.length - 1}
_earshot
printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync("bash", ["-c", line], { encoding: "utf8" }).split("\n").filter(Boolean);
}

describe("earshot completion", () => {
  it.skipIf(!installed("bash"))(`offers in bash every command and flag there is${note("bash")}`, async () => {
    expect(await offered("earshot", "")).toEqual([...Object.keys(COMMANDS), "help", "--help", "--version"]);
    expect(await offered("earshot", "va")).toEqual(["validate"]);
    for (const [name, { load }] of Object.entries(COMMANDS)) {
      const { flags } = await load();
      const options = await offered("earshot", name, "--");
      expect(options).toEqual([...Object.keys(flags).map((flag) => `--${flag}`), "--help"]);
    }
  });

  it.skipIf(!installed("bash"))(`offers in bash the values a flag takes${note("bash")}`, async () => {
    expect(await offered("earshot", "capture", "--verbosity", "")).toEqual(["terse", "normal", "detailed"]);
    expect(await offered("earshot", "capture", "--verbosity", "d")).toEqual(["detailed"]);
    expect(await offered("earshot", "capture", "-o", "")).toEqual([]);
    expect(await offered("earshot", "completion", "")).toEqual(["bash", "zsh", "fish"]);
    expect(await offered("earshot", "log", "ba")).toEqual(["backup"]);
    expect(await offered("earshot", "validate", "")).toEqual([]);
  });

  it.skipIf(!installed("bash"))(`registers itself with bash${note("bash")}`, async () => {
    const { out } = await earshot(["completion", "bash"]);
    const registered = execFileSync("bash", ["-c", `${out}\ncomplete -p earshot`], { encoding: "utf8" });
    expect(registered.trim()).toBe("complete -o default -F _earshot earshot");
  });

  it.each(["zsh", "fish"])("names every command and flag for %s", async (shell) => {
    const { code, out } = await earshot(["completion", shell]);
    expect(code).toBe(0);
    for (const [name, { load }] of Object.entries(COMMANDS)) {
      expect(out).toContain(name);
      for (const flag of Object.keys((await load()).flags))
        expect(out).toContain(shell === "fish" ? `-l ${flag}` : `--${flag}[`);
    }
    // Single quotes are always even: a help text with an apostrophe must not open one.
    for (const line of out.split("\n").filter((one) => !one.startsWith("#")))
      expect(line.replaceAll("\\'", "").split("'").length % 2, line).toBe(1);
  });

  for (const shell of ["zsh", "fish"]) {
    it.skipIf(!installed(shell))(`is a script ${shell} can read${note(shell)}`, async () => {
      const { out } = await earshot(["completion", shell]);
      const { status, stderr } = spawnSync(shell, ["-n"], { input: out, encoding: "utf8" });
      expect(stderr).toBe("");
      expect(status).toBe(0);
    });
  }

  it("says which shells it knows", async () => {
    expect(await earshot(["completion"])).toMatchObject({ code: 2, out: "" });
    const { code, err } = await earshot(["completion", "tcsh"]);
    expect(code).toBe(2);
    expect(err).toContain(
      'There is no completion for "tcsh". Give a shell: npx earshot completion bash, zsh or fish.',
    );
  });

  it("works as a program, without a terminal and with nobody reading", async () => {
    expect((await runProgram(["completion", "bash"])).out).toContain("complete -o default");
    const child = await start(["completion", "bash"]);
    child.stdout.destroy();
    expect(await new Promise((resolve) => child.once("close", resolve))).toBe(0);
  });
});
