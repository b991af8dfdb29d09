/**
 * Listeners that are gone without a word (F15). A stream over SSE has no way to ask whether anybody is there: what is
 * written to somebody whose machine went to sleep is taken by the system, sent again and again, and only given up after a
 * quarter of an hour. Node cannot shorten that (no TCP_USER_TIMEOUT), and TCP's keep-alive is silent while something is
 * on its way, as with heartbeats something always is. But Linux says how often it has sent in vain; where it does not
 * say, the quarter of an hour stays. WebSocket and gRPC have pings of their own.
 */
import { readFile } from "node:fs/promises";
import { isIPv4 } from "node:net";

/** Each time takes twice as long as the one before, from 0.2 s on: seven in vain are some 25 s without an answer. */
const IN_VAIN = 7;
const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];

/** A connection as its socket knows it. */
export interface Ends {
  readonly localPort?: number | undefined;
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}

export interface Watch {
  /** Calls back once if the other end does not answer any more. The answer ends the watch. */
  add(ends: Ends, lost: () => void): () => void;
  look(): Promise<void>;
}

export function createWatch(ms: number, read: () => Promise<string> = readTables): Watch {
  /** Over HTTP/2 several streams share a connection. */
  const watched = new Map<string, Set<() => void>>();
  let timer: NodeJS.Timeout | undefined;
  const look = async () => {
    for (const key of unansweredIn(await read())) for (const lost of [...(watched.get(key) ?? [])]) lost();
  };
  return {
    look,
    add(ends, lost) {
      const key = keyOf(ends);
      if (key === undefined) return () => {};
      const streams = watched.get(key) ?? new Set();
      watched.set(key, streams.add(lost));
      timer ??= setInterval(() => void look(), ms).unref();
      return () => {
        streams.delete(lost);
        if (streams.size === 0 && watched.get(key) === streams) watched.delete(key);
        if (watched.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
  };
}

async function readTables(): Promise<string> {
  const tables = TABLES.map((path) => readFile(path, "latin1").catch(() => ""));
  return (await Promise.all(tables)).join("");
}

/** Local port, remote address and remote port of each connection in the system's table that was sent to in vain. */
export function unansweredIn(table: string, least = IN_VAIN): string[] {
  const found: string[] = [];
  for (const line of table.split("\n")) {
    // The number, local and remote end, state, queues, timer, and how often it was sent again; all in hex.
    const [, local, remote, state, , , again] = line.trim().split(/\s+/);
    if (state !== "01" || again === undefined || Number.parseInt(again, 16) < least) continue;
    const [address = "", port = ""] = remote!.split(":");
    const from = Number.parseInt(local!.split(":")[1]!, 16);
    found.push(`${from} ${inOrder(address)} ${Number.parseInt(port, 16)}`);
  }
  return found;
}

export function keyOf({ localPort, remoteAddress, remotePort }: Ends): string | undefined {
  const address = remoteAddress === undefined ? undefined : hexOf(remoteAddress);
  return address === undefined ? undefined : `${localPort} ${address} ${remotePort}`;
}

const MAPPED = "00000000000000000000ffff";

/** The table writes each four bytes in this machine's order, and so backwards. */
function inOrder(hex: string): string {
  const words = hex.toLowerCase().match(/.{8}/g) ?? [];
  const bytes = words.map((word) => word.match(/../g)!.reverse().join("")).join("");
  return bytes.startsWith(MAPPED) ? bytes.slice(MAPPED.length) : bytes;
}

function hexOf(address: string): string | undefined {
  const plain = address.replace(/%.*$/, "").toLowerCase();
  const dotted = /[\d.]+$/.exec(plain)?.[0] ?? "";
  if (isIPv4(dotted) && (plain === dotted || plain === `::ffff:${dotted}`))
    return dotted
      .split(".")
      .map((part) => Number(part).toString(16).padStart(2, "0"))
      .join("");
  const [before = "", after] = plain.split("::");
  const groups = (text: string) => (text === "" ? [] : text.split(":"));
  const [head, tail] = [groups(before), groups(after ?? "")];
  const missing = after === undefined ? 0 : 8 - head.length - tail.length;
  const all = [...head, ...Array<string>(Math.max(0, missing)).fill("0"), ...tail];
  return all.length === 8 ? all.map((part) => part.padStart(4, "0")).join("") : undefined;
}
