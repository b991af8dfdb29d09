/** docs/command-line.md is what the commands say about themselves; `npx vitest run test/cli/reference.test.ts -u` writes it. */
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { helpOn } from "../../src/cli/help.ts";
import { root } from "./support.ts";

const INTRODUCTION = `# The command line

\`earshot\` is installed with the package: \`npx earshot\` in a project that has it, and in a clone after \`npm ci\`.

- Results go to standard output, everything else to standard error, so that pipes carry results only.
- Every line stands for itself. Nothing is redrawn, and color is never the only sign.
- \`--json\` gives results to programs, one object a line.
- Ctrl+C ends any command. A second one ends it at once.
- An address is \`http://\`, \`ws://\`, \`grpc://\`, \`unix:\`, \`pipe:\` or \`stdio:\`, as in [transports](transports.md). Where it is left out, the agent that runs for you on this machine is meant.
- The token of your own agents on this machine is found by itself. Others are given with \`--token\` or \`EARSHOT_TOKEN\`.

Exit codes mean the same everywhere:

- 0: all is well.
- 1: it ran, and something is not well.
- 2: the command line could not be understood, or a file could not be read.
- 3: nothing answers at the address, or it refuses.
- 130: stopped by Ctrl+C.

## Recordings

\`earshot capture\` writes events as JSON Lines: one event a line, exactly as it came, in the order it came. Such a file can be checked with \`earshot validate\`, read by any program that knows JSON, and heard again with \`earshot replay\`. Times between events are those of their timestamps. A replay gives events new ids, tokens and times, marks them as relayed (see [the extension](extension.md)), runs nothing, and refuses answers to recorded questions. What the agent said is in the file in full: it is made readable by its owner alone, and should be kept like the conversation itself.

What follows is the help of each command, as \`earshot <command> --help\` prints it.
`;

describe("docs/command-line.md", () => {
  it("holds the help of every command", async () => {
    const parts = await Promise.all(
      Object.entries(COMMANDS).map(
        async ([name, { load }]) =>
          `## earshot ${name}\n\n\`\`\`text\n${helpOn(name, await load())}\n\`\`\`\n`,
      ),
    );
    await expect([INTRODUCTION, ...parts].join("\n")).toMatchFileSnapshot(`${root}docs/command-line.md`);
  });
});
