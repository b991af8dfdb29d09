/** Runs one command line and returns its exit code. */
import { nearest, readArguments } from "./arguments.ts";
import { CommandError, EXIT, type Io, print, say } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { helpOn, overview, pasteable } from "./help.ts";

export async function run(argv: readonly string[], io: Io, version: string): Promise<number> {
  try {
    return await dispatch(argv, io, version);
  } catch (error) {
    if (io.signal.aborted) return interrupted(io);
    // Our own errors say what to do. Anything else is a bug, so show the stack.
    const { code, message, exit = EXIT.failed, stack } = error as Error & { code?: string; exit?: number };
    const known = error instanceof CommandError || (error as Error).name === "EarshotError";
    say(
      io,
      known || (code && /^E[A-Z]+$/.test(code))
        ? `earshot: ${pasteable(message)}`
        : `earshot: ${stack ?? message}`,
    );
    return exit;
  }
}

async function dispatch(argv: readonly string[], io: Io, version: string): Promise<number> {
  const [first, ...rest] = argv;
  if (first === undefined) {
    say(io, overview());
    return EXIT.usage;
  }
  if (first === "--version" || first === "-v") {
    print(io, version);
    return EXIT.ok;
  }
  if (first === "--help" || first === "-h" || (first === "help" && rest.length === 0)) {
    print(io, overview());
    return EXIT.ok;
  }
  const [name, args] = first === "help" ? [rest[0]!, ["--help"]] : [first, rest];
  if (!Object.hasOwn(COMMANDS, name)) {
    const near = nearest(name, Object.keys(COMMANDS));
    throw new CommandError(
      `There is no command "${name}".${near ? ` Did you mean "earshot ${near}"?` : ""} "earshot --help" lists all commands.`,
      EXIT.usage,
    );
  }
  const command = await COMMANDS[name]!.load();
  const { help, ...input } = readArguments(name, command, args);
  if (help) {
    print(io, helpOn(name, command));
    return EXIT.ok;
  }
  return command.run({ ...input, io });
}

/** Ctrl+C has its own exit code. SIGTERM from a supervisor and a closed output pipe are not failures. */
const interrupted = ({ signal }: Io): number => (signal.reason === "SIGINT" ? EXIT.interrupted : EXIT.ok);
