/** An entry of the log, for people and for programs. A reply token opens a door: it is never shown. */
import type { LogEntry } from "../../stores/embedded/store.ts";
import { plain } from "../tools/output.ts";

type Event = Readonly<Record<string, unknown>>;

/** Where the words of an event are, the first that it has. */
const WORDS = ["summary_normal", "summary_terse", "action", "question", "chunk", "reason"];

/** Place, time, session, what happened, and its words: one line, read from left to right. */
export function entryLine({ seq, event }: LogEntry): string {
  const fields = event as unknown as Event;
  const words = WORDS.map((name) => fields[name]).find((value) => typeof value === "string" && value !== "");
  const type = String(fields["type"]).replace("aaep:agent.", "");
  const parts = [`${seq}`, String(fields["timestamp"] ?? ""), String(fields["session_id"]), type];
  return plain(`${parts.filter(Boolean).join(" ")}${words === undefined ? "" : `: ${String(words)}`}`);
}

export const entryJson = (entry: LogEntry): string =>
  JSON.stringify(entry, (name, value) => (name === "reply_token" ? "(hidden)" : value));
