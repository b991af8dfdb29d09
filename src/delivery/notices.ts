/**
 * Notices to one subscription that are not in the log: session summaries (CON-26), gaps with their reason (CON-24) and
 * open questions sent again (CON-16). They do not move the cursor.
 */
import { isCritical } from "../protocol/filters.ts";
import type { Ids } from "../protocol/platform.ts";
import { AAEP_VERSION, CORE_CONTEXT } from "../protocol/types.ts";
import { localizationHints } from "../text/language.ts";
import { encodeDelivery, type LaneDelivery } from "./lane.ts";
import { isTerminal, type SessionTrack, type TrackedEntry, type TrackedQuestion } from "./log-window.ts";
import { applyShape, type ExtensionRegistry, type Shape } from "./shape.ts";

/** Why events are missing: the subscriber was too slow, or its cursor is too old, forged, or from another log. */
export type GapReason = "lagging" | "aged" | "forged" | "foreign";

/** The sentences of the engine's own notices, in one language. */
export interface NoticeWords {
  /** A sentence about the state of a session. */
  summary(track: SessionTrack, shape: Shape): { text: string; language: string };
  /** A sentence that says that something was missed. */
  gap(reason: GapReason, shape: Shape): string;
}

const STATES: Record<string, string> = {
  idle: "The agent has started.",
  thinking: "The agent is thinking.",
  calling_tool: "The agent is using a tool.",
  writing_output: "The agent is answering.",
  awaiting_input: "The agent is waiting for an answer.",
  deciding: "The agent is deciding what to do.",
  handing_off: "The agent is passing this on.",
};

/** The engine's notices in English. */
export const ENGLISH_WORDS: NoticeWords = {
  summary: ({ state }) => ({
    text: STATES[state] ?? `The agent's state is ${state.replaceAll("_", " ")}.`,
    language: "en",
  }),
  gap: (reason) =>
    reason === "lagging"
      ? "Some of what the agent said was skipped, because there was more than could be delivered."
      : "Some of what the agent said is missing, because the place to go on from is no longer known.",
};

export interface NoticeContext {
  readonly ids: Ids;
  /** The wall clock, for timestamps. */
  readonly timestamp: () => string;
  readonly registry: ExtensionRegistry;
  readonly words: NoticeWords;
}

/** A summary: a state.changed from the current state to itself, with a sentence about the gap if there is one. */
function summarize(track: SessionTrack, shape: Shape, context: NoticeContext, gap?: GapReason): LaneDelivery {
  const { text, language } = context.words.summary(track, shape);
  const said = gap ? `${context.words.gap(gap, shape)} ${text}` : text;
  const uri = context.registry["earshot"];
  const extended = uri !== undefined && shape.prefixes.has("earshot");
  // A gap must pass filters that exclude state.changed (CON-74); a mere summary need not.
  const urgency = gap !== undefined && !shape.passes("aaep:agent.state.changed") ? "critical" : "normal";
  const event = {
    "@context": extended ? [CORE_CONTEXT, uri] : CORE_CONTEXT,
    aaep_version: AAEP_VERSION,
    type: "aaep:agent.state.changed",
    event_id: context.ids("evt"),
    session_id: track.session_id,
    timestamp: context.timestamp(),
    producer: track.first!.producer,
    verbosity: "normal",
    urgency,
    localization_hints: localizationHints(language),
    from_state: track.state,
    to_state: track.state,
    summary_normal: said,
    ...(extended
      ? { extensions: { earshot: { standing: true, ...(gap ? { gap: { reason: gap } } : {}) } } }
      : {}),
  };
  return encodeDelivery(event, event.event_id, urgency === "critical", false);
}

/** A summary of a session, or an event of the log to send again. */
export interface Notice {
  readonly track: SessionTrack;
  readonly gap?: GapReason;
  readonly resend?: TrackedEntry;
  /** True only for the end of a session after a gap: see gapNotices. */
  readonly cursor?: boolean;
}

/** The open questions of a session that were asked before a position. */
export const openQuestions = (track: SessionTrack, before = Infinity): Notice[] =>
  [...track.questions.values()]
    .filter(({ entry }) => entry.seq < before)
    .map((resend) => ({ track, resend }));

/**
 * The sessions to summarize at once: those with open questions, and the most recently active others, as many as the
 * rate limit's burst allows (CON-06). A thousand sessions must not become a thousand lines of braille.
 */
export function mostRecent(tracks: readonly SessionTrack[], most: number): readonly SessionTrack[] {
  if (tracks.length <= most) return tracks;
  const lastOf = (track: SessionTrack) => track.entries.at(-1)?.entry.seq ?? 0;
  const recent = new Set([...tracks].sort((a, b) => lastOf(b) - lastOf(a)).slice(0, most));
  return tracks.filter((track) => recent.has(track) || track.questions.size > 0);
}

/** What a subscription missed: a range of log positions, as far as known. */
interface Gap {
  readonly reason: GapReason;
  readonly since?: number;
  readonly next?: number;
  /** Most sessions to summarize. */
  readonly most: number;
  /** Outcomes of questions that the subscriber may still show as open: sent first, in log order (CON-13). */
  readonly outcomes?: readonly TrackedEntry[];
}

/**
 * The notices for sessions of which events before `next` were missed: the gap, open questions and, last and in log
 * order, sessions that ended. Those ends move the cursor: a subscriber that has heard a session's end must not get its
 * beginning after a reconnect.
 */
export function gapNotices(missed: Iterable<SessionTrack>, gap: Gap): Notice[] {
  const { reason, since = 0, next = Infinity, most, outcomes = [] } = gap;
  const tracks = [...missed];
  const recent = new Set(mostRecent(tracks, most));
  const notices: Notice[] = [];
  const endings: TrackedEntry[] = [];
  for (const track of tracks) {
    const last = track.before(next);
    // A subscriber that may know the session must learn that it has ended.
    if (last && isTerminal(last.entry.event.type) && (recent.has(track) || track.begins < since))
      endings.push(last);
    if (recent.has(track)) notices.push({ track, gap: reason }, ...openQuestions(track, next));
  }
  endings.sort((a, b) => a.entry.seq - b.entry.seq);
  return [
    ...outcomes.map((resend) => ({ track: resend.track, resend })),
    ...notices,
    ...endings.map((resend) => ({ track: resend.track, resend, cursor: true })),
  ];
}

/** Encodes a notice for a shape at the time of sending; undefined if it is no longer relevant. */
export function encodeNotice(
  { track, gap, resend, cursor = false }: Notice,
  shape: Shape,
  context: NoticeContext,
): LaneDelivery | undefined {
  if (!resend) {
    const wanted = gap !== undefined || (!track.ended && shape.passes("aaep:agent.state.changed"));
    return wanted ? summarize(track, shape, context, gap) : undefined;
  }
  const { entry, variants } = resend;
  const token = (entry.event as TrackedQuestion).reply_token;
  if (token !== undefined && !track.questions.has(token)) return undefined;
  const event = applyShape(entry, shape, variants);
  if (!event) return undefined;
  // A question keeps its id, so that subscribers can deduplicate it; the notice that replaces it gets a new one.
  const id = event.type === entry.event.type ? event.event_id : context.ids("evt");
  return encodeDelivery(event as unknown as Record<string, unknown>, id, isCritical(event), cursor);
}
