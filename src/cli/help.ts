/** Help as plain lines: no columns, which a screen reader would read across, and no wrapping, which would split a command. */
import type { Command, Flags } from "./command.ts";
import { COMMANDS } from "./commands.ts";

const OWN_COMMAND = new RegExp(
  `(?<!npx |[\\w/.-])earshot (?=(?:--help|--version|<command>|${Object.keys(COMMANDS).join("|")})(?![\\w-]))`,
  "g",
);

/** Makes commands pasteable: `npx` finds `earshot` in a clone, in a project that depends on it, and in a global install. */
export const pasteable = (text: string): string => text.replace(OWN_COMMAND, "npx earshot ");

export const overview = (): string =>
  [
    "Earshot lets people who use screen readers, braille, captions, voice or switches hear what an AI agent does, and decide what it may do.",
    "",
    "Usage: earshot <command> [options]",
    "",
    "Commands:",
    ...Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name}: ${summary}`),
    "",
    pasteable("Start with: earshot demo"),
    pasteable('Help on a command: earshot <command> --help. Version: "earshot --version".'),
    "",
    "Exit codes: 0 success. 1 it ran, but something failed or is not valid. 2 the command line is wrong.",
    "3 nothing answers at the address, or the agent refuses. 130 stopped by Ctrl+C.",
  ].join("\n");

export function helpOn(name: string, { takes, about, flags, examples, exits = [] }: Command<Flags>): string {
  const lines = [`Usage: earshot ${name}${takes ? ` ${takes}` : ""} [options]`, "", pasteable(about)];
  const named = Object.entries(flags);
  if (named.length > 0) lines.push("", "Options:");
  for (const [flag, { type, value = "VALUE", short, choices, help }] of named) {
    const shape = type === "string" ? ` ${choices ? choices.join("|") : value}` : "";
    lines.push(`  ${short ? `-${short}, ` : ""}--${flag}${shape}: ${pasteable(help)}`);
  }
  lines.push("", "Examples:");
  for (const [line, does] of examples) lines.push(`  ${pasteable(line)}`, `    ${does}`);
  if (exits.length > 0) lines.push("", "Exit codes:");
  for (const [code, means] of exits) lines.push(`  ${code}: ${means}`);
  return lines.join("\n");
}
