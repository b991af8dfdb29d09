/** What need not be said by itself, because it was just said or is over (DEL-24). It stays in the history. */
import { isCritical } from "../../protocol/filters.ts";
import type { AgentEvent, CognitiveLoad } from "../../protocol/types.ts";
import type { Told } from "./compose.ts";
import type { Session } from "./sessions.ts";
import type { Utterance } from "./utterance.ts";

const PROGRESS_EVERY_MS = 10_000;

/** Remembers what it lets pass, for the next time. */
export function isOldNews(
  event: AgentEvent,
  { kind, quiet = false }: Told,
  text: string,
  session: Session,
  load: CognitiveLoad,
  now: number,
): boolean {
  const gap = event.extensions?.["earshot"]?.["gap"] !== undefined;
  const critical = isCritical(event);
  // A late word about work that is over would be false by now.
  let old = (quiet && !gap) || (session.ended && !critical);
  if (kind === "state") {
    old ||= text === session.lastState && !critical;
    session.lastState = text;
  }
  if (kind === "progress" && !old) {
    const soon = now - session.lastProgressAt < PROGRESS_EVERY_MS;
    old = load !== "high" && soon && event.urgency !== "critical";
    if (!old) session.lastProgressAt = now;
  }
  return old;
}

/** News of how far a session is, which newer news replaces. */
export const isProgressOf = (session: Session) => (one: Utterance) =>
  one.kind === "progress" && one.urgency !== "critical" && one.session_id === session.key;
