/** An event as lines of text a person would hear: for tests and examples that show it word for word. */
import type { AwaitingConfirmation, CoreEvent, Verbosity } from "../protocol/types.ts";

const SUMMARY = { terse: "summary_terse", normal: "summary_normal", detailed: "summary_detailed" } as const;

interface Shown {
  readonly label: string;
  readonly value: unknown;
}

/** The lines a person would hear of an event. */
export function spokenBy(event: CoreEvent): string[] {
  if (event.type === "aaep:agent.output.streaming") return event.chunk === "" ? [] : [event.chunk.trim()];
  if (event.type === "aaep:agent.awaiting.confirmation") return asked(event);
  if (event.type === "aaep:agent.awaiting.clarification") {
    const choices = event.choices?.map(({ label }) => label).join(", ");
    return [[event.context, event.question, choices && `Choices: ${choices}.`].filter(Boolean).join(" ")];
  }
  const words = event as Partial<Record<(typeof SUMMARY)[Verbosity], string>>;
  const said = words[SUMMARY[event.verbosity ?? "normal"]] ?? words.summary_normal;
  return said === undefined ? [] : [said];
}

/** A question is read with its consequence and, in the listener's own frame, what would be done with which values. */
function asked({ action, consequence, extra_context }: AwaitingConfirmation): string[] {
  const params = (extra_context?.["params"] ?? []) as readonly Shown[];
  const values = params.map(({ label, value }) => `${label}: ${sayValue(value)}.`).join(" ");
  return [`Question: ${action} ${consequence}${values === "" ? "" : ` ${values}`} Yes or no?`];
}

const sayValue = (value: unknown): string =>
  typeof value === "object" ? JSON.stringify(value) : String(value);
