/** Reads a recording: events as JSON Lines, as `earshot capture` writes them. */
import { type AgentEvent, parse } from "../protocol/index.ts";
import type { Io } from "./command.ts";
import { openInput, plain } from "./io.ts";
import { readDocuments } from "./json-documents.ts";

export type Entry =
  | { readonly line: number; readonly event: AgentEvent; readonly wrong?: undefined }
  | { readonly line: number; readonly event?: undefined; readonly wrong: string };

/** Every entry of the file. An entry that is not an agent's event says what is wrong. */
export async function* readRecording(io: Io, file: string): AsyncGenerator<Entry> {
  for await (const { line, bytes, broken } of readDocuments(await openInput(io, file))) {
    if (broken !== undefined) {
      yield { line, wrong: broken };
      continue;
    }
    const parsed = parse(bytes, { mode: "tolerant" });
    if (!parsed.ok) yield { line, wrong: plain(parsed.issues[0]?.message ?? "This line is not valid.") };
    else if (parsed.kind !== "message") yield { line, event: parsed.message };
    else yield { line, wrong: `${parsed.message.type} is not an event.` };
  }
}

export interface Contents {
  readonly events: number;
  readonly sessions: number;
  readonly first: AgentEvent | undefined;
  readonly languages: readonly string[];
  /** From the first event to the last. */
  readonly seconds: number;
}

export async function contentsOf(io: Io, file: string): Promise<Contents> {
  let events = 0;
  let first: AgentEvent | undefined;
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let sessions = 0;
  const languages = new Set<string>();
  for await (const { event } of readRecording(io, file)) {
    if (!event) continue;
    events++;
    first ??= event;
    if (event.type === "aaep:agent.session.started") sessions++;
    const language = event.localization_hints?.primary_language;
    if (language !== undefined && languages.size < 32) languages.add(language);
    const at = Date.parse(event.timestamp);
    from = Math.min(from, at);
    to = Math.max(to, at);
  }
  return {
    events,
    sessions: Math.max(1, sessions),
    first,
    languages: [...languages],
    seconds: events > 0 ? (to - from) / 1000 : 0,
  };
}
