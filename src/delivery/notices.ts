/**
 * What a listener is told outside the log: where a session stands (CON-26), that something is missing and why (CON-24),
 * and the questions still open (CON-16). None of it moves a cursor, and it goes to one subscription only.
 */
import { isCritical } from "../protocol/filters.ts";
import type { Ids } from "../protocol/ids.ts";
import { AAEP_VERSION, CORE_CONTEXT } from "../protocol/types.ts";
import { localizationHints } from "../text/language.ts";
import { type Delivery, deliveryOf } from "./lane.ts";
import { isTerminal, type Marked, type Question, type SessionTrack } from "./log-window.ts";
import { dress, type ExtensionRegistry, type Shape } from "./shape.ts";

/** Why something is missing: the listener was too slow, or its cursor is too old, made up, or another log's. */
export type GapReason = "lagging" | "aged" | "forged" | "foreign";

export interface NoticeWords {
  /** A sentence that says where the session stands. */
  summary(track: SessionTrack, shape: Shape): { text: string; language: string };
  /** A sentence that says that something is missing. */
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

/** Where a session stands, as a move from its state to the same state, with a word about what is missing if any is. */
function standing(track: SessionTrack, shape: Shape, context: NoticeContext, gap?: GapReason): Delivery {
  const { text, language } = context.words.summary(track, shape);
  const said = gap ? `${context.words.gap(gap, shape)} ${text}` : text;
  const uri = context.registry["earshot"];
  const extended = uri !== undefined && shape.prefixes.has("earshot");
  // A gap must reach a listener whose filters leave states out (CON-74); where things stand need not.
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
  return deliveryOf(event, event.event_id, urgency === "critical", false);
}

/** Something to tell a listener: where a session stands, or an event of the log it has to hear again. */
export interface Notice {
  readonly track: SessionTrack;
  readonly gap?: GapReason;
  readonly again?: Marked;
  /** Only the end of a session, told after a gap, moves the cursor: see noticesOfGap. */
  readonly cursor?: boolean;
}

/** The questions of a session that were asked before a place and still wait. */
export const openQuestions = (track: SessionTrack, before = Infinity): Notice[] =>
  [...track.questions.values()].filter(({ entry }) => entry.seq < before).map((again) => ({ track, again }));

/**
 * The sessions a listener is told of at once: those that ask something, and of the others the ones that spoke last, as
 * many as its credit allows (CON-06). A thousand sessions must not become a thousand lines of braille.
 */
export function mostRecent(tracks: readonly SessionTrack[], most: number): readonly SessionTrack[] {
  if (tracks.length <= most) return tracks;
  const lastOf = (track: SessionTrack) => track.entries.at(-1)?.entry.seq ?? 0;
  const told = new Set([...tracks].sort((a, b) => lastOf(b) - lastOf(a)).slice(0, most));
  return tracks.filter((track) => told.has(track) || track.questions.size > 0);
}

/** What a listener missed: from a log place up to another, as far as they are known. */
export interface Gap {
  readonly reason: GapReason;
  readonly since?: number;
  readonly next?: number;
  /** Most sessions to tell of. */
  readonly most: number;
  /** How questions ended that the listener may still hold for open: told first, as they came first (CON-13). */
  readonly outcomes?: readonly Marked[];
}

/**
 * What is told of the sessions of which something before `next` is missing: that it is, what is asked, and, last and in
 * log order, what has ended. From there on the ends are places to go on from: whoever heard that a session is over must
 * not be told its beginning after a cut.
 */
export function noticesOfGap(missed: Iterable<SessionTrack>, gap: Gap): Notice[] {
  const { reason, since = 0, next = Infinity, most, outcomes = [] } = gap;
  const tracks = [...missed];
  const told = new Set(mostRecent(tracks, most));
  const notices: Notice[] = [];
  const endings: Marked[] = [];
  for (const track of tracks) {
    const last = track.before(next);
    // Who may know a session must learn that it is over.
    if (last && isTerminal(last.entry.event.type) && (told.has(track) || track.begins < since))
      endings.push(last);
    if (told.has(track)) notices.push({ track, gap: reason }, ...openQuestions(track, next));
  }
  endings.sort((a, b) => a.entry.seq - b.entry.seq);
  return [
    ...outcomes.map((again) => ({ track: again.track, again })),
    ...notices,
    ...endings.map((again) => ({ track: again.track, again, cursor: true })),
  ];
}

/** A notice in the words of a shape, made when it is sent; undefined where there is nothing left to say. */
export function deliveryOfNotice(
  { track, gap, again, cursor = false }: Notice,
  shape: Shape,
  context: NoticeContext,
): Delivery | undefined {
  if (!again) {
    const wanted = gap !== undefined || (!track.ended && shape.passes("aaep:agent.state.changed"));
    return wanted ? standing(track, shape, context, gap) : undefined;
  }
  const { entry, variants } = again;
  const token = (entry.event as Question).reply_token;
  if (token !== undefined && !track.questions.has(token)) return undefined;
  const event = dress(entry, shape, variants);
  if (!event) return undefined;
  // A question keeps its id, so that it is known for the same one; what stands in for it is said anew.
  const id = event.type === entry.event.type ? event.event_id : context.ids("evt");
  return deliveryOf(event as unknown as Record<string, unknown>, id, isCritical(event), cursor);
}
