/** `earshot completion`: Tab knows the commands and their flags. */
import { command, EXIT, print, usage } from "../command.ts";
import { completionScript, type Described, type Shell } from "../tools/completion-scripts.ts";

const SHELLS: readonly string[] = ["bash", "zsh", "fish"];

export default command({
  takes: "<bash|zsh|fish>",
  most: 1,
  about: "Prints a script that lets your shell complete commands and flags when you press Tab.",
  flags: {},
  examples: [
    [
      "earshot completion bash > ~/.earshot-completion",
      "Then put this into ~/.bashrc: source ~/.earshot-completion",
    ],
    [
      "earshot completion zsh > ~/.earshot-completion",
      "Then put this into ~/.zshrc: source ~/.earshot-completion",
    ],
    ["earshot completion fish > ~/.config/fish/completions/earshot.fish", "fish loads it by itself."],
  ],
  exits: [
    [0, "Printed."],
    [2, "No such shell."],
  ],
  async run({ args: [shell], io }) {
    if (shell === undefined || !SHELLS.includes(shell))
      throw usage(
        `${shell === undefined ? "Say which shell" : `There is no completion for "${shell}". Say which shell`}: earshot completion bash, zsh or fish.`,
      );
    print(io, completionScript(shell as Shell, await everyCommand()).trimEnd());
    return EXIT.ok;
  },
});

async function everyCommand(): Promise<Described[]> {
  // Loaded here: the table of commands loads this file.
  const { COMMANDS } = await import("../commands.ts");
  return Promise.all(
    Object.entries(COMMANDS).map(async ([name, { summary, load }]) => {
      const { flags, takes = "" } = await load();
      return { name, summary, flags, words: wordsIn(takes) };
    }),
  );
}

const PLACES = new Set(["address", "file"]);

/** `<bash|zsh|fish>` and `[show | backup DIR]` list words to type; `<file...>` and `<address|file>` stand for others. */
function wordsIn(takes: string): string[] {
  const [, inside = ""] = /^[<[]([^\]>]+)/.exec(takes) ?? [];
  const words = inside.split("|").map((part) => part.trim().split(" ")[0]!);
  return words.length > 1 && !words.some((word) => PLACES.has(word)) ? words : [];
}
