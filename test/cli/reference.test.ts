/** docs/command-line.md contains the help of each command; `npx vitest run test/cli/reference.test.ts -u` writes it. */
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { helpOn } from "../../src/cli/help.ts";
import { root } from "./support.ts";

const INTRODUCTION = `# The command line

The \`earshot\` command is installed with the package. Run \`npx earshot\` in a project that depends on it, or in a clone after \`npm ci\`.

- Results go to standard output, everything else to standard error, so that pipes carry only results.
- Output is plain lines. Nothing is redrawn, and color is never the only signal.
- \`--json\` prints results for programs, one object per line.
- Ctrl+C ends any command. Pressing it again ends it at once.
- An address is \`http://\`, \`ws://\`, \`grpc://\`, \`unix:\`, \`pipe:\` or \`stdio:\`, see [transports](transports.md). Without an address, commands use the agent that runs for you on this machine.
- Tokens of your own agents on this machine are found automatically. Give others with \`--token\` or \`EARSHOT_TOKEN\`.

Exit codes mean the same for all commands:

- 0: success.
- 1: it ran, but something failed or is not valid.
- 2: the command line is wrong, or a file cannot be read.
- 3: nothing answers at the address, or the agent refuses.
- 130: stopped by Ctrl+C.

## Recordings

\`earshot capture\` writes events as JSON Lines: one event per line, unchanged, in the order of arrival. \`earshot validate\` checks such a file, and \`earshot replay\` serves it again. The delay between events follows their timestamps. A replay gives events new ids, tokens and times, marks them as relayed (see [the extension](extension.md)), runs no tool, and refuses answers to recorded questions. The file contains everything the agent said, so only its owner can read it. Keep it as confidential as the conversation itself.

The following sections show the help of each command, as \`earshot <command> --help\` prints it.
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
