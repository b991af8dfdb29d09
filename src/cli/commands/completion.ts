/** `earshot completion`: shell completion scripts, generated from the same table as the commands. */
import { command, EXIT, type Flag, print, usage } from "../command.ts";

const SHELLS: readonly string[] = ["bash", "zsh", "fish"];

export default command({
  takes: "<bash|zsh|fish>",
  most: 1,
  about: "Prints a script for your shell that completes commands and options when you press Tab.",
  flags: {},
  examples: [
    [
      "earshot completion bash > ~/.earshot-completion",
      "Then add this to ~/.bashrc: source ~/.earshot-completion",
    ],
    [
      "earshot completion zsh > ~/.earshot-completion",
      "Then add this to ~/.zshrc: source ~/.earshot-completion",
    ],
    ["earshot completion fish > ~/.config/fish/completions/earshot.fish", "fish loads it automatically."],
  ],
  exits: [
    [0, "Printed."],
    [2, "The shell is missing or not supported."],
  ],
  async run({ args: [shell], io }) {
    if (shell === undefined || !SHELLS.includes(shell))
      throw usage(
        `${shell === undefined ? "Give a shell" : `There is no completion for "${shell}". Give a shell`}: earshot completion bash, zsh or fish.`,
      );
    print(io, completionScript(shell as Shell, await everyCommand()).trimEnd());
    return EXIT.ok;
  },
});

async function everyCommand(): Promise<Described[]> {
  // Imported lazily, because the table of commands imports this file.
  const { COMMANDS } = await import("../commands.ts");
  return Promise.all(
    Object.entries(COMMANDS).map(async ([name, { summary, load }]) => {
      const { flags, takes = "" } = await load();
      return { name, summary, flags, words: wordsIn(takes) };
    }),
  );
}

const PLACES = new Set(["address", "file"]);

/** `<bash|zsh|fish>` and `[show | backup DIR]` list literal words; `<file...>` and `<address|file>` are placeholders. */
function wordsIn(takes: string): string[] {
  const [, inside = ""] = /^[<[]([^\]>]+)/.exec(takes) ?? [];
  const words = inside.split("|").map((part) => part.trim().split(" ")[0]!);
  return words.length > 1 && !words.some((word) => PLACES.has(word)) ? words : [];
}

interface Described {
  readonly name: string;
  readonly summary: string;
  readonly flags: Readonly<Record<string, Flag>>;
  /** Literal words for the first argument. */
  readonly words: readonly string[];
}

type Shell = "bash" | "zsh" | "fish";

const optionsOf = (flags: Described["flags"]): string[] => [
  ...Object.entries(flags).flatMap(([name, { short }]) => [`--${name}`, ...(short ? [`-${short}`] : [])]),
  "--help",
];

/** Whether the value of a flag completes to file names. */
const takesFile = ({ value = "" }: Flag): boolean => /^(?:FILE|KEYS?|DIR)$/.test(value);

/** If there is no suggestion, bash falls back to file names. */
function bash(commands: readonly Described[]): string {
  const values = commands.flatMap(({ name, flags }) =>
    Object.entries(flags)
      .filter(([, { type }]) => type === "string")
      .map(([flag, spec]) => {
        const spelled = [`--${flag}`, ...(spec.short ? [`-${spec.short}`] : [])];
        const cases = spelled.map((one) => `"${name} ${one}"`).join("|");
        const offer = spec.choices ? `_earshot_offer "${spec.choices.join(" ")}"` : ":";
        return `    ${cases}) ${offer}; return ;;`;
      }),
  );
  const options = commands.map(
    ({ name, flags }) => `    ${name}) _earshot_offer "${optionsOf(flags).join(" ")}" ;;`,
  );
  const first = commands
    .filter(({ words }) => words.length > 0)
    .map(
      ({ name, words }) => `    ${name}) [ "$COMP_CWORD" -eq 2 ] && _earshot_offer "${words.join(" ")}" ;;`,
    );
  return `# earshot completion for bash. Load it with: source <(earshot completion bash)
_earshot_offer() {
  COMPREPLY=( $(compgen -W "$1" -- "\${COMP_WORDS[COMP_CWORD]}") )
}
_earshot() {
  local command="\${COMP_WORDS[1]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    _earshot_offer "${[...commands.map(({ name }) => name), "help", "--help", "--version"].join(" ")}"
    return
  fi
  case "$command $previous" in
${values.join("\n")}
  esac
  case "\${COMP_WORDS[COMP_CWORD]}" in
  -*)
    case "$command" in
${options.join("\n")}
    esac
    return ;;
  esac
  case "$command" in
${first.join("\n")}
  esac
}
complete -o default -F _earshot earshot
`;
}

/** Inside single quotes. */
const quoted = (text: string): string => text.replaceAll("'", "'\\''");
const forZsh = (text: string): string => quoted(text).replaceAll(/[[\]:\\]/g, "\\$&");

function zsh(commands: readonly Described[]): string {
  const cases = commands.map(({ name, flags, words }) => {
    const options = Object.entries(flags).flatMap(([flag, spec]) => {
      const { type, short, help, value = "value", choices, multiple } = spec;
      const after =
        type === "boolean"
          ? ""
          : `:${value.toLowerCase()}:${choices ? `(${choices.join(" ")})` : takesFile(spec) ? "_files" : ""}`;
      return [`--${flag}`, ...(short ? [`-${short}`] : [])].map(
        (one) => `      '${multiple ? "*" : ""}${one}[${forZsh(help)}]${after}' \\`,
      );
    });
    const argument = words.length > 0 ? `'1:word:(${words.join(" ")})'` : "'*:file:_files'";
    return `  ${name})\n    _arguments \\\n${options.join("\n")}${options.length > 0 ? "\n" : ""}      '--help[Show help]' ${argument} ;;`;
  });
  return `#compdef earshot
# earshot completion for zsh. Load it with: source <(earshot completion zsh)
_earshot() {
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    '${name}:${forZsh(summary)}'`).join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  local command="\${words[2]}"
  shift words
  (( CURRENT-- ))
  case "$command" in
  help) _describe 'command' commands ;;
${cases.join("\n")}
  esac
}
compdef _earshot earshot
`;
}

function fish(commands: readonly Described[]): string {
  const forFish = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
  const lines = commands.flatMap(({ name, summary, flags, words }) => [
    `complete -c earshot -n __fish_use_subcommand -f -a ${name} -d '${forFish(summary)}'`,
    ...(words.length > 0
      ? [`complete -c earshot -n '__fish_seen_subcommand_from ${name}' -f -a '${words.join(" ")}'`]
      : []),
    ...Object.entries(flags).map(([flag, spec]) => {
      const { type, short, help, choices } = spec;
      const value =
        type === "boolean"
          ? ""
          : choices
            ? ` -x -a '${choices.join(" ")}'`
            : takesFile(spec)
              ? " -r -F"
              : " -x";
      return `complete -c earshot -n '__fish_seen_subcommand_from ${name}' -l ${flag}${short ? ` -s ${short}` : ""}${value} -d '${forFish(help)}'`;
    }),
  ]);
  return `# earshot completion for fish. Load it with: earshot completion fish | source\n${lines.join("\n")}\n`;
}

const completionScript = (shell: Shell, commands: readonly Described[]): string =>
  ({ bash, zsh, fish })[shell](commands);
