import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { earshot, runProgram } from "./support.ts";

describe("earshot", () => {
  it("says what it is and what can be called, and that nothing was", async () => {
    const { code, out, err } = await earshot([]);
    expect(code).toBe(2);
    expect(out).toBe("");
    for (const name of Object.keys(COMMANDS)) expect(err).toContain(`  ${name}: `);
  });

  it("tells its version and its help on standard output", async () => {
    expect(await earshot(["--version"])).toMatchObject({ code: 0, out: "0.0.0-test\n" });
    const { code, out } = await earshot(["--help"]);
    expect(code).toBe(0);
    expect(out).toContain("Begin with: npx earshot demo");
    expect(await earshot(["help"])).toMatchObject({ code: 0, out });
  });

  it("guesses at a misspelt command", async () => {
    const { code, err } = await earshot(["lisen"]);
    expect(code).toBe(2);
    expect(err).toContain('There is no command "lisen". Did you mean "npx earshot listen"?');
  });

  it.each(Object.keys(COMMANDS))(
    "%s has help with examples, and refuses what it does not know",
    async (name) => {
      const { code, out } = await earshot([name, "--help"]);
      expect(code).toBe(0);
      expect(out).toMatch(new RegExp(`^Usage: earshot ${name}`));
      expect(out).toMatch(/Examples:\n {2}(npx earshot|.*\| npx earshot) /);
      expect(await earshot(["help", name])).toMatchObject({ code: 0, out });
      const wrong = await earshot([name, "--no-such-flag"]);
      expect(wrong.code).toBe(2);
      expect(wrong.err).toContain(`earshot: ${name} has no option --no-such-flag.`);
      expect(wrong.out).toBe("");
    },
  );

  it("runs as a program", async () => {
    const { code, out } = await runProgram(["--version"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
