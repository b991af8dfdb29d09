/** Server-Sent Events on the way out (B.1.3). JSON never holds a raw line break, so one data line carries it whole. */
const SSE_EVENT = "aaep.event";
/** Messages that are no events of the stream, and carry no id: a control frame must not move a cursor. */
const SSE_MESSAGE = "aaep.message";

/** What would end the line or void the id: an id with one of these is left out, and the event is heard all the same. */
const UNSAFE_ID = /[\0\r\n]/;

export const encodeSseEvent = (json: string, id: string | undefined): string =>
  id === undefined || UNSAFE_ID.test(id)
    ? `event: ${SSE_EVENT}\ndata: ${json}\n\n`
    : `event: ${SSE_EVENT}\nid: ${id}\ndata: ${json}\n\n`;

export const encodeSseMessage = (json: string): string => `event: ${SSE_MESSAGE}\ndata: ${json}\n\n`;

/** Keeps proxies from closing an idle stream, and tells them nothing. */
export const SSE_HEARTBEAT = ": \n\n";
