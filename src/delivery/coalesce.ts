/**
 * Merging: when a subscription may send, everything that piled up goes out in as few events as possible. Text merges
 * within one output, states compose, progress keeps the latest (CON-21, CON-24). Order within a session holds: a
 * merged event stands where its last part stood, so times never run backwards (CON-76).
 */
import type { AgentEvent, OutputStreaming, StateChanged } from "../protocol/types.ts";
import { MOST_CHUNK_BYTES, type Piece, type TextPart } from "./cut.ts";
import type { OutputTrack, SessionTrack } from "./log-window.ts";

interface Group {
  readonly parts: Piece[];
  bytes: number;
}

interface Session {
  /** Text that may still grow: nothing but text and progress has come since. */
  readonly texts: Map<OutputTrack, Group>;
  progress: Group | undefined;
  state: Group | undefined;
}

/** Which pieces join which: also used to count a backlog without building it. */
export class Grouping {
  readonly #sessions = new Map<SessionTrack, Session>();
  readonly #started: ((group: Group) => void) | undefined;
  readonly #collect: boolean;

  /** Without a callback it only counts: groups then keep their first part alone. */
  constructor(started?: (group: Group) => void) {
    this.#started = started;
    this.#collect = started !== undefined;
  }

  /** The group the piece joined, or undefined where it starts one of its own. */
  add(piece: Piece): Group | undefined {
    const group = this.#joins(piece);
    if (!group) this.#start(piece);
    else {
      if (this.#collect) group.parts.push(piece);
      if (piece.text) group.bytes += piece.text.bytes;
    }
    // Nothing joins what is complete: a session that only ever writes must not pile up all it has written.
    if (piece.text?.complete) this.#sessions.get(piece.track)?.texts.delete(piece.text.output);
    return group;
  }

  /** The session has ended: nothing more joins. */
  end(track: SessionTrack): void {
    this.#sessions.delete(track);
  }

  #joins(piece: Piece): Group | undefined {
    const session = this.#sessions.get(piece.track);
    if (!session) return undefined;
    if (piece.kind === "state") return session.state;
    if (piece.kind === "progress") return session.progress;
    if (piece.kind !== "text") return undefined;
    const group = session.texts.get(piece.text!.output);
    const fits = group && group.bytes + piece.text!.bytes <= MOST_CHUNK_BYTES;
    return fits && sameVoice(group.parts[0]!, piece) ? group : undefined;
  }

  #start(piece: Piece): void {
    let session = this.#sessions.get(piece.track);
    if (!session) {
      session = { texts: new Map(), progress: undefined, state: undefined };
      this.#sessions.set(piece.track, session);
    }
    const group: Group = { parts: [piece], bytes: piece.text?.bytes ?? 0 };
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

function sameVoice({ event: a }: Piece, { event: b }: Piece): boolean {
  if (a === b) return true;
  const [one, other] = [a as OutputStreaming, b as OutputStreaming];
  return one.content_type === other.content_type && languageOf(one) === languageOf(other);
}

/** The parts of each event that a run of pieces becomes. */
export function groupsOf(pieces: readonly Piece[]): readonly (readonly Piece[])[] {
  if (pieces.length === 1) return [pieces];
  const groups = new Set<Group>();
  const grouping = new Grouping((group) => groups.add(group));
  for (const piece of pieces) {
    const group = grouping.add(piece);
    if (!group) continue;
    // Moved to where its last part stands.
    groups.delete(group);
    groups.add(group);
  }
  return [...groups].map(({ parts }) => parts);
}

/** The one event that parts of a group become, without its id. */
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
