/** Parses a command line into flags and positional arguments, or throws an error that says what is expected. */
import { parseArgs } from "node:util";
import { type Command, type Flags, type FlagValues, usage } from "./command.ts";

export interface Parsed {
  readonly help: boolean;
  readonly args: readonly string[];
  readonly flags: FlagValues<Flags>;
}

export function readArguments(
  name: string,
  { flags, most = 0, takes }: Command<Flags>,
  argv: readonly string[],
): Parsed {
  const options = Object.fromEntries(
    Object.entries({ ...flags, help: { type: "boolean", short: "h" } as const }).map(([flag, spec]) => [
      flag,
      {
        type: spec.type,
        ...(spec.short ? { short: spec.short } : {}),
        ...("multiple" in spec && spec.multiple ? { multiple: true } : {}),
      },
    ]),
  );
  const { values, positionals } = parse(name, flags, argv, options);
  for (const [flag, { choices }] of Object.entries(flags)) {
    const given = [values[flag]].flat().filter((value) => typeof value === "string");
    const wrong = choices && given.find((value) => !choices.includes(value));
    if (wrong !== undefined)
      throw usage(`--${flag} needs ${oneOf(choices!)}, not "${wrong}". ${seeHelp(name)}`);
  }
  if (values["help"] !== true && positionals.length > most) {
    const extra = positionals[most];
    throw usage(
      takes
        ? `"${extra}" is one argument too many. Usage: earshot ${name} ${takes}. ${seeHelp(name)}`
        : `${name} takes no arguments, but got "${extra}". ${seeHelp(name)}`,
    );
  }
  const filled = Object.fromEntries(
    Object.entries(flags).map(([flag, { type, multiple }]) => [
      flag,
      values[flag] ?? (type === "boolean" ? false : multiple ? [] : undefined),
    ]),
  );
  return { help: values["help"] === true, args: positionals, flags: filled as FlagValues<Flags> };
}

function parse(
  name: string,
  flags: Flags,
  argv: readonly string[],
  options: NonNullable<Parameters<typeof parseArgs>[0]>["options"],
): { values: Record<string, unknown>; positionals: string[] } {
  try {
    return parseArgs({ args: [...argv], options: options!, allowPositionals: true, strict: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const flag = /'(?:-\w, )?(-[^' ]+)/.exec((error as Error).message)?.[1] ?? "";
    if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
      const near = nearest(flag.replace(/^-+/, ""), Object.keys(flags));
      throw usage(`${name} has no option ${flag}.${near ? ` Did you mean --${near}?` : ""} ${seeHelp(name)}`);
    }
    const spec = flags[flag.replace(/^-+/, "")];
    throw usage(
      spec?.type === "string"
        ? `${flag} needs a value: ${flag} ${spec.value ?? "VALUE"}. ${seeHelp(name)}`
        : `${flag} takes no value. ${seeHelp(name)}`,
    );
  }
}

const seeHelp = (name: string): string => `See "earshot ${name} --help".`;

const oneOf = (choices: readonly string[]): string =>
  choices.length < 2 ? choices.join() : `${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}`;

/** The most similar word, if at most a third of its letters differ. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const ranked = words
    .map((one) => ({ one, distance: editDistance(word.toLowerCase(), one.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  return best && best.distance <= Math.max(1, Math.floor(best.one.length / 3)) ? best.one : undefined;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length]!;
}
