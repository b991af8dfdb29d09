import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { earshot, runProgram, terminal } from "./support.ts";

describe("earshot", () => {
  it("prints its help and fails if no command is given", async () => {
    const { code, out, err } = await earshot([]);
    expect(code).toBe(2);
    expect(out).toBe("");
    for (const name of Object.keys(COMMANDS)) expect(err).toContain(`  ${name}: `);
  });

  it("prints its version and its help on standard output", async () => {
    expect(await earshot(["--version"])).toMatchObject({ code: 0, out: "0.0.0-test\n" });
    const { code, out } = await earshot(["--help"]);
    expect(code).toBe(0);
    expect(out).toContain("Start with: npx earshot demo");
    expect(await earshot(["help"])).toMatchObject({ code: 0, out });
  });

  it("suggests a command for a misspelled one", async () => {
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

  /** What each would do if it were not stopped; none of it is needed to end. */
  const begun: Record<string, readonly string[]> = {
    demo: ["--port", "0"],
    listen: ["http://127.0.0.1:9"],
    ask: ["hello", "--address", "http://127.0.0.1:9"],
    serve: ["./no-such-agent.js"],
    validate: ["-"],
    capture: ["http://127.0.0.1:9"],
    replay: ["examples/sessions/book-a-room.jsonl", "--port", "0"],
    log: ["--data", "/no/such/log"],
    audit: ["verify", "--data", "/no/such/log"],
    keys: ["/no/such/folder/key.json"],
    manifest: ["print", "http://127.0.0.1:9"],
    doctor: [],
    completion: ["bash"],
  };
  it.each(Object.keys(COMMANDS))(
    "%s ends when Ctrl+C comes before anything else, and shows no stack",
    async (name) => {
      const at = terminal();
      at.interrupt();
      const { code, err } = await earshot([name, ...begun[name]!], "", at);
      // Printing completion is over before anything could stop it.
      expect(code).toBe(name === "completion" ? 0 : 130);
      expect(err).not.toMatch(/^ +at /m);
    },
  );

  it("runs as a program", async () => {
    const { code, out } = await runProgram(["--version"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
