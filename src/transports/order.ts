/**
 * For transports on which one message may overtake another (TRN-04): the producer's end numbers every event of a
 * session as this subscription hears it (CON-09), the listener's end puts them in order again. What does not come is not
 * waited for forever: the line is given up, and a new one goes on after the last event that was heard in order. What
 * does not come there either was not kept, such as a summary: it is passed over.
 */
import type { Outgoing, Peer } from "../protocol/door.ts";
import type { LineEvents } from "./line.ts";

/** Sessions and ids remembered. */
const REMEMBERED = 4_096;
/** Events that may wait for those before them. */
const MOST_WAITING = 1_024;
/** How long they may. */
const PATIENCE_MS = 5_000;

function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > REMEMBERED) map.delete(map.keys().next().value!);
}

/** One for each subscription, over all its lines: an event that is sent again keeps its number. */
export function createNumbering(): (peer: Peer) => Peer {
  const next = new Map<string, number>();
  const given = new Map<string, number>();
  const numberOf = ({ event_id, json }: Outgoing): number => {
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

/** Where a subscription is in each of its sessions, over all its lines. */
export interface Places {
  readonly next: Map<string, number>;
  /** Numbers a line was given up for. */
  readonly missed: Map<string, number>;
}

/** A line's events in order, whatever order they come in. Messages that are no numbered events pass at once. */
export function inOrder(
  events: LineEvents,
  { next: places, missed }: Places,
  after: (ms: number, callback: () => void) => () => void,
): LineEvents {
  const waiting = new Map<string, Map<number, Waiting>>();
  let count = 0;
  let open = true;
  let stopWaiting = () => {};
  const giveUp = () => {
    if (!open) return;
    let lost = false;
    for (const [session_id, held] of [...waiting]) {
      const due = places.get(session_id) ?? 0;
      if (missed.get(session_id) === due) {
        keep(places, session_id, Math.min(...held.keys()));
        release(session_id);
      } else {
        keep(missed, session_id, due);
        lost = true;
      }
    }
    if (!lost) return watch();
    open = false;
    stopWaiting();
    const message = "Something that was said did not arrive. It is asked for again.";
    events.closed({ code: "connection_lost", reconnect: true, message });
  };
  /** As long as something waits there is a limit to it, counted from the last that arrived in its place. */
  const watch = () => {
    stopWaiting();
    stopWaiting = count > 0 ? after(PATIENCE_MS, giveUp) : () => {};
  };
  const release = (session_id: string) => {
    const held = waiting.get(session_id);
    for (let next = places.get(session_id) ?? 0; ; next = places.get(session_id)!) {
      const due = held?.get(next);
      if (!due) break;
      held!.delete(next);
      count--;
      keep(places, session_id, next + 1);
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
      const next = places.get(session_id) ?? 0;
      // Heard before, and sent again: repeats are the subscriber's to drop.
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
