/**
 * Sequence numbers, for transports that do not keep order (TRN-04). The server side numbers the events of each session
 * as one subscription receives them (CON-09); the client side reorders them. A missing number is not waited for
 * forever: the connection is closed, and the next one resumes after the last event received in order. An event that is
 * still missing then was not stored, such as a summary, and is skipped.
 */
import type { Delivery, Peer } from "../protocol/hub-port.ts";
import type { ConnectionEvents } from "./client-connection.ts";

/** How many sessions and event ids are remembered. */
const REMEMBERED = 4_096;
/** How many events may wait for earlier ones. */
const MOST_WAITING = 1_024;
/** How long they may wait. */
const MISSING_MS = 5_000;

function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > REMEMBERED) map.delete(map.keys().next().value!);
}

/** One per subscription, across its connections: an event that is sent again keeps its number. */
export function createNumbering(): (peer: Peer) => Peer {
  const next = new Map<string, number>();
  const given = new Map<string, number>();
  const numberOf = ({ event_id, json }: Delivery): number => {
    const known = given.get(event_id);
    if (known !== undefined) return known;
    const { session_id } = JSON.parse(json) as { session_id: string };
    const number = next.get(session_id) ?? 0;
    keep(next, session_id, number + 1);
    keep(given, event_id, number);
    return number;
  };
  return (peer) => ({
    ...peer,
    send: (event) => {
      const { event_id, json, critical, cursor } = event;
      const numbered = `${json.slice(0, -1)},"sequence_number":${numberOf(event)}}`;
      return peer.send({ event_id, critical, cursor, json: numbered });
    },
  });
}

interface Waiting {
  readonly text: string;
  readonly cursor: boolean;
}

/** The next number of each session, kept across the connections of a subscription. */
export interface SequenceState {
  readonly next: Map<string, number>;
  /** The number each session last closed a connection for. */
  readonly missed: Map<string, number>;
}

/** Passes events on in order, whatever order they arrive in. Messages without a number pass at once. */
export function reorder(
  events: ConnectionEvents,
  { next: expected, missed }: SequenceState,
  after: (ms: number, callback: () => void) => () => void,
): ConnectionEvents {
  const waiting = new Map<string, Map<number, Waiting>>();
  let count = 0;
  let open = true;
  let stopWaiting = () => {};
  const giveUp = () => {
    if (!open) return;
    let lost = false;
    for (const [session_id, held] of [...waiting]) {
      const due = expected.get(session_id) ?? 0;
      if (missed.get(session_id) === due) {
        keep(expected, session_id, Math.min(...held.keys()));
        release(session_id);
      } else {
        keep(missed, session_id, due);
        lost = true;
      }
    }
    if (!lost) return watch();
    open = false;
    stopWaiting();
    const message = "An event did not arrive. Reconnecting to ask for it again.";
    events.closed({ code: "connection_lost", reconnect: true, message });
  };
  /** While events wait, a timer runs, restarted by every event that arrives in order. */
  const watch = () => {
    stopWaiting();
    stopWaiting = count > 0 ? after(MISSING_MS, giveUp) : () => {};
  };
  const release = (session_id: string) => {
    const held = waiting.get(session_id);
    for (let next = expected.get(session_id) ?? 0; ; next = expected.get(session_id)!) {
      const due = held?.get(next);
      if (!due) break;
      held!.delete(next);
      count--;
      keep(expected, session_id, next + 1);
      events.message(due.text, due.cursor);
    }
    if (held?.size === 0) waiting.delete(session_id);
  };
  return {
    message(text, cursor) {
      if (!open) return;
      const event = numberedEvent(text);
      if (!event) return events.message(text, cursor);
      const { session_id, number } = event;
      const next = expected.get(session_id) ?? 0;
      // A repeat: the subscriber deduplicates.
      if (number < next) return events.message(text, cursor);
      if (!waiting.has(session_id)) waiting.set(session_id, new Map());
      const held = waiting.get(session_id)!;
      if (!held.has(number)) count++;
      held.set(number, { text, cursor });
      if (number === next) {
        release(session_id);
        watch();
      } else if (count > MOST_WAITING) giveUp();
      else if (count === 1) watch();
    },
    closed(reason) {
      if (!open) return;
      open = false;
      stopWaiting();
      events.closed(reason);
    },
  };
}

function numberedEvent(text: string): { session_id: string; number: number } | undefined {
  try {
    const { session_id, sequence_number: number } = JSON.parse(text) as Record<string, unknown>;
    if (typeof session_id !== "string" || !Number.isInteger(number) || (number as number) < 0)
      return undefined;
    return { session_id, number: number as number };
  } catch {
    return undefined;
  }
}
