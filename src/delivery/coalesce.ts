/**
 * Coalescing: when a subscription may send, its backlog goes out in as few events as possible. Text merges within one
 * output, state changes compose, progress keeps the latest (CON-21, CON-24). Order within a session is kept: a merged
 * event takes the position of its last part, so timestamps never go back (CON-76).
 */
import type { AgentEvent, OutputStreaming, StateChanged } from "../protocol/types.ts";
import { MAX_CHUNK_BYTES, type Piece, type TextPart } from "./cut.ts";
import type { OutputTrack, SessionTrack } from "./log-window.ts";

interface MergeGroup {
  readonly parts: Piece[];
  bytes: number;
}

interface SessionGroups {
  /** Text that more text can join: only text and progress followed it so far. */
  readonly texts: Map<OutputTrack, MergeGroup>;
  progress: MergeGroup | undefined;
  state: MergeGroup | undefined;
}

/** Decides which pieces merge; also used to count a backlog without building it. */
export class Grouping {
  readonly #sessions = new Map<SessionTrack, SessionGroups>();
  readonly #started: ((group: MergeGroup) => void) | undefined;
  readonly #collect: boolean;

  /** Without a callback it only counts, and groups keep only their first part. */
  constructor(started?: (group: MergeGroup) => void) {
    this.#started = started;
    this.#collect = started !== undefined;
  }

  /** Returns the group the piece joined, or undefined if it started a new one. */
  add(piece: Piece): MergeGroup | undefined {
    const group = this.#joins(piece);
    if (!group) this.#start(piece);
    else {
      if (this.#collect) group.parts.push(piece);
      if (piece.text) group.bytes += piece.text.bytes;
    }
    // Nothing joins a complete output. Dropping it bounds memory in a session that only writes.
    if (piece.text?.complete) this.#sessions.get(piece.track)?.texts.delete(piece.text.output);
    return group;
  }

  /** The session has ended: drop its groups. */
  end(track: SessionTrack): void {
    this.#sessions.delete(track);
  }

  #joins(piece: Piece): MergeGroup | undefined {
    const session = this.#sessions.get(piece.track);
    if (!session) return undefined;
    if (piece.kind === "state") return session.state;
    if (piece.kind === "progress") return session.progress;
    if (piece.kind !== "text") return undefined;
    const group = session.texts.get(piece.text!.output);
    const fits = group && group.bytes + piece.text!.bytes <= MAX_CHUNK_BYTES;
    return fits && sameFormat(group.parts[0]!, piece) ? group : undefined;
  }

  #start(piece: Piece): void {
    let session = this.#sessions.get(piece.track);
    if (!session) {
      session = { texts: new Map(), progress: undefined, state: undefined };
      this.#sessions.set(piece.track, session);
    }
    const group: MergeGroup = { parts: [piece], bytes: piece.text?.bytes ?? 0 };
    if (piece.kind === "text") {
      session.texts.set(piece.text!.output, group);
      session.state = undefined;
    } else {
      if (piece.kind !== "progress") session.texts.clear();
      session.progress = piece.kind === "progress" ? group : undefined;
      session.state = piece.kind === "state" ? group : undefined;
    }
    this.#started?.(group);
  }
}

const languageOf = ({ language, localization_hints }: OutputStreaming) =>
  language ?? localization_hints?.primary_language;

function sameFormat({ event: a }: Piece, { event: b }: Piece): boolean {
  if (a === b) return true;
  const [one, other] = [a as OutputStreaming, b as OutputStreaming];
  return one.content_type === other.content_type && languageOf(one) === languageOf(other);
}

/** The groups of pieces that become one event each. */
export function groupsOf(pieces: readonly Piece[]): readonly (readonly Piece[])[] {
  if (pieces.length === 1) return [pieces];
  const groups = new Set<MergeGroup>();
  const grouping = new Grouping((group) => groups.add(group));
  for (const piece of pieces) {
    const group = grouping.add(piece);
    if (!group) continue;
    // Move it to the position of its last part.
    groups.delete(group);
    groups.add(group);
  }
  return [...groups].map(({ parts }) => parts);
}

/** Merges the parts of a group into one event, without its id. */
export function eventOf(parts: readonly Piece[]): AgentEvent {
  const first = parts[0]!;
  const last = parts.at(-1)!;
  if (first.text)
    return textEvent(
      last.event as OutputStreaming,
      parts.map(({ text }) => text!),
    );
  if (parts.length === 1) return first.event;
  if (first.kind === "progress") return last.event;
  const urgency = parts.some(({ event }) => event.urgency !== "background") ? "normal" : "background";
  return { ...(last.event as StateChanged), from_state: (first.event as StateChanged).from_state, urgency };
}

function textEvent(event: OutputStreaming, parts: readonly TextPart[]): AgentEvent {
  const last = parts.at(-1)!;
  return {
    ...event,
    chunk: parts.length === 1 ? last.text : parts.map(({ text }) => text).join(""),
    position: parts[0]!.position,
    complete: last.complete,
    coalesce_hint: last.hint,
    timestamp: last.timestamp,
  };
}
