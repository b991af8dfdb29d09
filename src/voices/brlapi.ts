/**
 * A braille display through BrlAPI, the protocol of brltty, over its local socket or TCP: shows cells and receives panning
 * keys. A packet is a size, a type and that many bytes; numbers are in network byte order. No library is needed for the
 * five packets used here.
 */
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { EarshotError } from "../protocol/errors.ts";

/** Options of `connectBrlapi`. */
export interface BrlapiOptions {
  /** `host:display` or `:display`, as in BRLAPI_HOST, or a socket path. `:0` by default. */
  readonly address?: string;
  /** The authentication key, if brltty requires one; by default the content of /etc/brlapi.key. */
  readonly key?: Uint8Array;
  /** Path to the terminal or window, outermost first; by default from WINDOWPATH, XDG_VTNR and WINDOWID. */
  readonly tty?: readonly number[];
  /** The reader panned. */
  pan?(direction: "forward" | "back"): void;
  /** The connection to the display was lost. */
  lost?(message: string): void;
}

/** A connected braille display. See `connectBrlapi`. */
export interface BrlapiDisplay {
  /** Number of cells, over all lines of the display. */
  readonly width: number;
  /** Shows Unicode braille, or plain text that brltty translates. */
  show(line: string): void;
  close(): Promise<void>;
}

const VERSION = 8;
const MAX_PACKET_BYTES = 4096;
const FIRST_PORT = 4101;
const LOCAL_SOCKETS = "/var/lib/BrlAPI";
const KEY_FILE = "/etc/brlapi.key";

const type = (letter: string): number => letter.charCodeAt(0);
const PACKET = {
  version: type("v"),
  auth: type("a"),
  size: type("s"),
  enter: type("t"),
  leave: type("L"),
  write: type("w"),
  key: type("k"),
  ack: type("A"),
  error: type("e"),
  exception: type("E"),
};
const AUTH = { none: type("N"), key: type("K") };
/** The packet contains region, text, cursor and charset. */
const WRITE_FLAGS = 0x02 | 0x04 | 0x20 | 0x40;
/** Flag of a command key, as opposed to a character. */
const COMMAND = 0x2000_0000;
const PAN: Readonly<Record<number, "forward" | "back">> = {
  [COMMAND | 21]: "back",
  [COMMAND | 22]: "forward",
  [COMMAND | 23]: "back",
  [COMMAND | 24]: "forward",
  [COMMAND | 25]: "back",
  [COMMAND | 26]: "forward",
};

export interface Packet {
  readonly type: number;
  readonly body: Buffer;
}

const numbers = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => void bytes.writeUInt32BE(value, 4 * index));
  return bytes;
};

export const encodePacket = (kind: number, ...body: Uint8Array[]): Buffer => {
  const bytes = Buffer.concat(body);
  return Buffer.concat([numbers(bytes.length, kind), bytes]);
};

/** Splits a byte stream into packets. Throws on a packet larger than the protocol allows. */
export function createPacketDecoder(): (bytes: Uint8Array) => Packet[] {
  let rest: Buffer = Buffer.alloc(0);
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    const packets: Packet[] = [];
    while (rest.length >= 8) {
      const size = rest.readUInt32BE(0);
      if (size > MAX_PACKET_BYTES) throw failure("brltty sent a packet that is larger than BrlAPI allows.");
      if (rest.length < 8 + size) break;
      packets.push({ type: rest.readUInt32BE(4), body: Buffer.from(rest.subarray(8, 8 + size)) });
      rest = rest.subarray(8 + size);
    }
    return packets;
  };
}

/** Fills the whole display; shorter text is padded, so that no old cells remain. */
export function encodeWrite(line: string, width: number): Buffer {
  const cells = Array.from(line).slice(0, width);
  const text = Buffer.from(cells.join("") + " ".repeat(width - cells.length), "utf8");
  const charset = Buffer.from("UTF-8", "latin1");
  return encodePacket(
    PACKET.write,
    numbers(WRITE_FLAGS, 1, width, text.length),
    text,
    numbers(0),
    Buffer.from([charset.length]),
    charset,
  );
}

const failure = (message: string, cause?: unknown): EarshotError =>
  new EarshotError("braille_unavailable", message, { cause });

/** The addresses to try for a BrlAPI server. */
export function brlapiAddresses(address: string): ({ path: string } | { host: string; port: number })[] {
  if (address.startsWith("/")) return [{ path: address }];
  const [, host = "", display = "0"] = /^(.*?)(?::(\d{1,5}))?$/.exec(address) ?? [];
  const port = FIRST_PORT + Number(display);
  if (host !== "") return [{ host, port }];
  return [{ path: `${LOCAL_SOCKETS}/${display}` }, { host: "127.0.0.1", port }];
}

/** Path to the own terminal, outermost first; empty means the whole display, regardless of focus. */
export function ttyPath(env: NodeJS.ProcessEnv = process.env): number[] {
  const outer = (env["WINDOWPATH"] ?? env["XDG_VTNR"] ?? "").split(":").filter((part) => /^\d+$/.test(part));
  const own = /^\d+$/.test(env["WINDOWID"] ?? "") ? [env["WINDOWID"]] : [];
  return [...outer, ...own].map(Number);
}

async function dial(address: string): Promise<Socket> {
  let cause: unknown;
  for (const target of brlapiAddresses(address)) {
    try {
      return await new Promise<Socket>((resolve, reject) => {
        const socket: Socket = connect(target, () => resolve(socket));
        socket.once("error", reject);
      });
    } catch (error) {
      cause = error;
    }
  }
  throw failure(
    `No BrlAPI server answers at ${address}. Start brltty, or set BRLAPI_HOST to its address.`,
    cause,
  );
}

function readKey(): Uint8Array {
  const path = process.env["BRLAPI_AUTH"]?.replace(/^keyfile:/, "") ?? KEY_FILE;
  try {
    return readFileSync(path);
  } catch (cause) {
    throw failure(
      `brltty requires its key, and ${path} cannot be read. Join the group that can read it (often brlapi).`,
      cause,
    );
  }
}

/** A connection to brltty: requests and answers in order; keys and exceptions go to `other`. */
class BrlapiConnection {
  readonly #socket: Socket;
  readonly #waiting: { resolve(packet: Packet): void; reject(error: Error): void }[] = [];
  readonly #early: Packet[] = [];
  #failed: Error | undefined;

  constructor(socket: Socket, other: (packet: Packet) => void, lost: (error: Error) => void) {
    this.#socket = socket;
    const decode = createPacketDecoder();
    const fail = (error: Error) => {
      if (this.#failed) return;
      this.#failed = error;
      for (const { reject } of this.#waiting.splice(0)) reject(error);
      socket.destroy();
      lost(error);
    };
    socket.on("data", (bytes) => {
      try {
        for (const packet of decode(bytes)) {
          if (packet.type === PACKET.key || packet.type === PACKET.exception) other(packet);
          else if (packet.type === PACKET.error) this.#fail(packet);
          else if (this.#waiting.length > 0) this.#waiting.shift()!.resolve(packet);
          else if (this.#early.length < 8) this.#early.push(packet);
        }
      } catch (error) {
        fail(error as Error);
      }
    });
    socket.on("error", (cause) => fail(failure("The connection to the braille display broke.", cause)));
    socket.on("close", () => fail(failure("The braille display service closed the connection.")));
  }

  send(packet: Buffer): void {
    this.#socket.write(packet);
  }

  async expect(kind: number, what: string): Promise<Buffer> {
    const packet =
      this.#early.shift() ??
      (await new Promise<Packet>((resolve, reject) => {
        if (this.#failed) reject(this.#failed);
        else this.#waiting.push({ resolve, reject });
      }));
    if (packet.type !== kind) throw failure(`brltty did not answer as expected when asked for ${what}.`);
    return packet.body;
  }

  #fail({ body }: Packet): void {
    const code = body.length >= 4 ? body.readUInt32BE(0) : 0;
    const reasons: Record<number, string> = {
      2: "another program uses this terminal",
      3: "another program uses the display",
      12: "the terminal is unknown",
      17: "the key is wrong, or this account may not use the display",
    };
    const error = failure(`brltty refused: ${reasons[code] ?? `error ${code}`}.`);
    this.#waiting.shift()?.reject(error);
  }
}

/** Connects to a braille display through brltty. */
export async function connectBrlapi(options: BrlapiOptions = {}): Promise<BrlapiDisplay> {
  const { address = process.env["BRLAPI_HOST"] ?? ":0", tty = ttyPath(), pan, lost } = options;
  const socket = await dial(address);
  let closing = false;
  const connection = new BrlapiConnection(
    socket,
    ({ type: kind, body }) => {
      if (kind !== PACKET.key || body.length < 8) return;
      const direction = PAN[body.readUInt32BE(4)];
      if (direction) pan?.(direction);
    },
    ({ message }) => {
      if (!closing) lost?.(message);
    },
  );
  const close = async () => {
    closing = true;
    if (socket.destroyed) return;
    connection.send(encodePacket(PACKET.leave));
    await new Promise<void>((resolve) => {
      socket.once("close", () => resolve());
      socket.end();
      socket.setTimeout(1000, () => void socket.destroy());
    });
  };
  try {
    const width = await handshake(connection, options, tty);
    return {
      width,
      show: (text) => {
        if (!socket.destroyed) connection.send(encodeWrite(text, width));
      },
      close,
    };
  } catch (error) {
    closing = true;
    socket.destroy();
    throw error;
  }
}

async function handshake(
  connection: BrlapiConnection,
  options: BrlapiOptions,
  tty: readonly number[],
): Promise<number> {
  const offeredVersion = await connection.expect(PACKET.version, "its version");
  const version = offeredVersion.length >= 4 ? offeredVersion.readUInt32BE(0) : 0;
  if (version !== VERSION)
    throw failure(`This brltty speaks version ${version} of BrlAPI; version ${VERSION} is needed.`);
  connection.send(encodePacket(PACKET.version, numbers(VERSION)));
  const offered = await connection.expect(PACKET.auth, "its authentication methods");
  const methods = Array.from({ length: offered.length >> 2 }, (_, n) => offered.readUInt32BE(4 * n));
  if (!methods.includes(AUTH.none)) {
    if (!methods.includes(AUTH.key))
      throw failure(
        "brltty requires an authentication method that Earshot does not support. Allow keys (auth=keyfile).",
      );
    connection.send(encodePacket(PACKET.auth, numbers(AUTH.key), options.key ?? readKey()));
    await connection.expect(PACKET.ack, "access");
  }
  connection.send(encodePacket(PACKET.size));
  const size = await connection.expect(PACKET.size, "the display's size");
  const width = size.length >= 8 ? size.readUInt32BE(0) * size.readUInt32BE(4) : 0;
  if (width === 0 || width > 512)
    throw failure("brltty is running, but no braille display is connected to it.");
  // Without a driver name, keys arrive as commands, which are the same on every display.
  connection.send(encodePacket(PACKET.enter, numbers(tty.length, ...tty), Buffer.from([0])));
  await connection.expect(PACKET.ack, "the display");
  return width;
}
