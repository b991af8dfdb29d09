/** Encodes Server-Sent Events (B.1.3). JSON contains no raw line break, so one data line is enough. */
const SSE_EVENT = "aaep.event";
/** Messages that are not part of the event stream. They have no id, because they must not move the cursor. */
const SSE_MESSAGE = "aaep.message";

/** These end the line or make the id invalid. Such an id is omitted; the event is still sent. */
const UNSAFE_ID = /[\0\r\n]/;

export const encodeSseEvent = (json: string, id: string | undefined): string =>
  id === undefined || UNSAFE_ID.test(id)
    ? `event: ${SSE_EVENT}\ndata: ${json}\n\n`
    : `event: ${SSE_EVENT}\nid: ${id}\ndata: ${json}\n\n`;

export const encodeSseMessage = (json: string): string => `event: ${SSE_MESSAGE}\ndata: ${json}\n\n`;

/** An empty comment: keeps proxies from closing an idle stream. */
export const SSE_HEARTBEAT = ": \n\n";
