/**
 * Detects half-open SSE connections (F15). SSE has no pings: bytes sent to a machine that went to sleep are accepted by
 * the kernel and retransmitted for about 15 minutes. Node cannot shorten that (no TCP_USER_TIMEOUT), and TCP keep-alive
 * is inactive while data is in flight, which heartbeats make sure of. But Linux reports how often it has retransmitted:
 * a stream that acknowledges nothing for about 25 s is closed. On other systems the 15 minutes remain. WebSocket and
 * gRPC have pings of their own.
 */
import { readFile } from "node:fs/promises";
import { isIPv4 } from "node:net";

/** Each retransmission waits twice as long as the one before, from 0.2 s on: seven take about 25 s. */
const MAX_RETRANSMITS = 7;
const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];

/** Both ends of a TCP connection, as its socket reports them. */
export interface TcpEnds {
  readonly localPort?: number | undefined;
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
}

export interface HalfOpenDetector {
  /** Calls back once if the peer no longer acknowledges anything. Returns a function that stops watching. */
  watch(ends: TcpEnds, lost: () => void): () => void;
  check(): Promise<void>;
}

export function createHalfOpenDetector(
  ms: number,
  read: () => Promise<string> = readTables,
): HalfOpenDetector {
  /** Over HTTP/2 several streams share a connection. */
  const watched = new Map<string, Set<() => void>>();
  let timer: NodeJS.Timeout | undefined;
  const check = async () => {
    for (const key of halfOpenIn(await read())) for (const lost of [...(watched.get(key) ?? [])]) lost();
  };
  return {
    check,
    watch(ends, lost) {
      const key = keyOf(ends);
      if (key === undefined) return () => {};
      const streams = watched.get(key) ?? new Set();
      watched.set(key, streams.add(lost));
      timer ??= setInterval(() => void check(), ms).unref();
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

/** Local port, remote address and remote port of each half-open connection in the kernel's table. */
export function halfOpenIn(table: string, retransmits = MAX_RETRANSMITS): string[] {
  const found: string[] = [];
  for (const line of table.split("\n")) {
    // Index, local and remote end, state, queues, timer, retransmissions; all in hex.
    const [, local, remote, state, , , count] = line.trim().split(/\s+/);
    if (state !== "01" || count === undefined || Number.parseInt(count, 16) < retransmits) continue;
    const [address = "", port = ""] = remote!.split(":");
    const from = Number.parseInt(local!.split(":")[1]!, 16);
    found.push(`${from} ${inNetworkOrder(address)} ${Number.parseInt(port, 16)}`);
  }
  return found;
}

export function keyOf({ localPort, remoteAddress, remotePort }: TcpEnds): string | undefined {
  const address = remoteAddress === undefined ? undefined : hexOf(remoteAddress);
  return address === undefined ? undefined : `${localPort} ${address} ${remotePort}`;
}

const MAPPED = "00000000000000000000ffff";

/** The table writes each 32-bit word in host byte order, here little-endian. */
function inNetworkOrder(hex: string): string {
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
