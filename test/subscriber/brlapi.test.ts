// BrlAPI: byte for byte against the documented packets, and with a real brltty and a text display.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { run } from "../../src/subscriber/announcer/utterance.ts";
import type { Utterance } from "../../src/subscriber/announcer.ts";
import {
  brlapiAddresses,
  createPacketDecoder,
  encodePacket,
  encodeWrite,
  type Packet,
  ttyPath,
} from "../../src/voices/brlapi.ts";
import { connectBrlapi, createBrailleVoice, type Translator } from "../../src/voices/index.ts";
import { needs } from "./needs.ts";

const home = mkdtempSync(join(tmpdir(), "earshot-brlapi-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const code = (letter: string) => letter.charCodeAt(0);
const words = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, n) => void bytes.writeUInt32BE(value, 4 * n));
  return bytes;
};

async function listen(handle: (socket: Socket) => void): Promise<number> {
  const server: Server = createServer(handle);
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

describe("BrlAPI packets", () => {
  it("come out as they went in, however the bytes are cut", () => {
    const packet = fc.tuple(fc.nat(0xffff), fc.uint8Array({ maxLength: 64 }));
    fc.assert(
      fc.property(fc.array(packet), fc.array(fc.nat(200)), (sent, cuts) => {
        const bytes = Buffer.concat(sent.map(([type, body]) => encodePacket(type, body)));
        const decode = createPacketDecoder();
        const got: Packet[] = [];
        let rest: Uint8Array = bytes;
        for (const cut of [...cuts, bytes.length]) {
          got.push(...decode(rest.subarray(0, cut)));
          rest = rest.subarray(cut);
        }
        expect(got.map(({ type, body }) => [type, [...body]])).toEqual(
          sent.map(([type, body]) => [type, [...body]]),
        );
      }),
    );
  });

  it("larger than the protocol allows are refused, not waited for", () => {
    expect(() => createPacketDecoder()(words(4097, code("k")))).toThrow(/larger than BrlAPI allows/);
  });

  it("for a line fill the whole display and never split a character", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 60 }),
        fc.integer({ min: 1, max: 80 }),
        (line, width) => {
          const [{ body }] = createPacketDecoder()(encodeWrite(line, width)) as [Packet];
          expect([body.readUInt32BE(4), body.readUInt32BE(8)]).toEqual([1, width]);
          const size = body.readUInt32BE(12);
          const text = body.toString("utf8", 16, 16 + size);
          expect(Array.from(text)).toHaveLength(width);
          expect(text).not.toContain("\ufffd");
          expect(body.subarray(16 + size).toString("latin1")).toBe("\0\0\0\0\x05UTF-8");
        },
      ),
    );
  });

  it("go to where brltty is said to be", () => {
    expect(brlapiAddresses(":0")).toEqual([{ path: "/var/lib/BrlAPI/0" }, { host: "127.0.0.1", port: 4101 }]);
    expect(brlapiAddresses("desk:2")).toEqual([{ host: "desk", port: 4103 }]);
    expect(brlapiAddresses("/run/brl")).toEqual([{ path: "/run/brl" }]);
    expect(ttyPath({ WINDOWPATH: "2", WINDOWID: "77" })).toEqual([2, 77]);
    expect(ttyPath({ XDG_VTNR: "3" })).toEqual([3]);
    expect(ttyPath({})).toEqual([]);
  });
});

/** brltty's side of the introduction, from a script of answers. */
function pretend(socket: Socket, answers: Record<string, Buffer>, heard: Packet[]): void {
  const decode = createPacketDecoder();
  socket.write(encodePacket(code("v"), words(8)));
  socket.on("data", (bytes) => {
    for (const packet of decode(bytes)) {
      heard.push(packet);
      const answer = answers[String.fromCharCode(packet.type)];
      if (answer) socket.write(answer);
    }
  });
}

const KEYED = {
  v: encodePacket(code("a"), words(code("K"))),
  a: encodePacket(code("A")),
  s: encodePacket(code("s"), words(40, 1)),
  t: encodePacket(code("A")),
};

describe("a BrlAPI client", () => {
  const port = async (answers: Record<string, Buffer>, heard: Packet[] = []) =>
    `127.0.0.1:${(await listen((socket) => pretend(socket, answers, heard))) - 4101}`;

  it("signs in with the key, asks for the display and says goodbye", async () => {
    const heard: Packet[] = [];
    const display = await connectBrlapi({
      address: await port(KEYED, heard),
      key: Buffer.from("secret"),
      tty: [2, 77],
    });
    expect(display.width).toBe(40);
    display.show("⠁");
    await display.close();
    const said = heard.map(({ type, body }) => [String.fromCharCode(type), body.toString("latin1")]);
    expect(said.slice(0, 4)).toEqual([
      ["v", "\0\0\0\x08"],
      ["a", "\0\0\0Ksecret"],
      ["s", ""],
      ["t", "\0\0\0\x02\0\0\0\x02\0\0\0M\0"],
    ]);
    expect(said.slice(4).map(([type]) => type)).toEqual(["w", "L"]);
  });

  it.each<[string, Record<string, Buffer>, RegExp]>([
    ["with a wrong key", { ...KEYED, a: encodePacket(code("e"), words(17, code("a"))) }, /the key is wrong/],
    [
      "while another program uses it",
      { ...KEYED, t: encodePacket(code("e"), words(3, code("t"))) },
      /another program uses the display/,
    ],
    [
      "without a display",
      { ...KEYED, s: encodePacket(code("s"), words(0, 0)) },
      /no braille display is connected/,
    ],
    [
      "that requires an unknown authentication method",
      { ...KEYED, v: encodePacket(code("a"), words(code("Q"))) },
      /Allow keys/,
    ],
    [
      "that answers with something else",
      { ...KEYED, s: encodePacket(code("A")) },
      /did not answer as expected/,
    ],
    ["that sends rubbish", { ...KEYED, s: Buffer.alloc(64, 0xff) }, /larger than BrlAPI allows/],
  ])("gets a readable error %s", async (_, answers, why) => {
    await expect(
      connectBrlapi({ address: await port(answers), key: Buffer.from("k"), tty: [] }),
    ).rejects.toThrow(why);
  });

  it("is told when nobody answers, when the version differs, and when the display goes away", async () => {
    await expect(connectBrlapi({ address: join(home, "nothing") })).rejects.toThrow(/Start brltty/);
    const old = await listen((socket) => void socket.write(encodePacket(code("v"), words(7))));
    await expect(connectBrlapi({ address: `127.0.0.1:${old - 4101}` })).rejects.toThrow(
      /version 7 of BrlAPI; version 8/,
    );
    let far: Socket | undefined;
    const at = await listen((socket) => {
      far = socket;
      pretend(socket, KEYED, []);
    });
    const lost = new Promise<string>((resolve) => {
      void connectBrlapi({
        address: `127.0.0.1:${at - 4101}`,
        key: Buffer.from("k"),
        tty: [],
        lost: resolve,
      }).then(() => far!.destroy());
    });
    expect(await lost).toMatch(/closed the connection/);
  });
});

/** A display made of text, as brltty's virtual driver knows it: what is shown, in dots. */
async function virtualDisplay(cells: number) {
  const lines: string[] = [];
  let wake = () => {};
  let socket: Socket | undefined;
  const port = await listen((one) => {
    socket = one;
    let rest = "";
    one.setEncoding("utf8").on("data", (text: string) => {
      const whole = (rest + text).split("\n");
      rest = whole.pop()!;
      for (const line of whole) {
        const dots = /^Braille "(.*)"$/.exec(line)?.[1];
        if (dots !== undefined) lines.push(dots);
      }
      wake();
    });
    one.write(`cells ${cells}\n`);
  });
  return {
    port,
    press: (key: string) => void socket!.write(`${key}\n`),
    async shown(line: string): Promise<void> {
      while (lines.at(-1) !== line)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    },
  };
}

const dotsOf = (line: string, width: number): string =>
  Array.from(line.padEnd(width, "\u2800"), (cell) => {
    const bits = cell.codePointAt(0)! & 0xff;
    return [1, 2, 3, 4, 5, 6, 7, 8].filter((dot) => bits & (1 << (dot - 1))).join("") || " ";
  }).join("|");

async function startBrltty(display: number, api: string): Promise<ChildProcess> {
  for (const folder of ["w", "u"]) mkdirSync(join(home, folder), { recursive: true });
  const args = [
    "-n",
    "-e",
    "-q",
    "-f",
    "/dev/null",
    "-b",
    "vr",
    "-d",
    `client:127.0.0.1:${display}`,
    "-x",
    "no",
    "-s",
    "no",
  ];
  const child = spawn(
    "brltty",
    [...args, "-A", api, "-P", join(home, "pid"), "-W", join(home, "w"), "-U", join(home, "u")],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  // It must be read, or it would wait for a reader.
  child.stdout.resume();
  child.stderr.resume();
  closing.push(
    () =>
      new Promise((resolve) => {
        child.once("exit", resolve);
        if (!child.kill()) resolve(undefined);
      }),
  );
  return child;
}

/** Each letter is its own cell: what liblouis would make of it is not what is looked at here. */
const letters: Translator = {
  can: () => true,
  translate: async (text) =>
    Array.from(text.toLowerCase(), (one) =>
      one === " " ? "\u2800" : String.fromCodePoint(0x2800 + (one.charCodeAt(0) & 0x3f)),
    ).join(""),
  close: () => undefined,
};

describe.runIf(needs("brltty"))("with a real brltty", () => {
  it("shows just these cells, pans by the display's own keys, and never replaces what is being read", async () => {
    const key = join(home, "key");
    writeFileSync(key, "a key of this run", { mode: 0o600 });
    const display = await virtualDisplay(20);
    const number = 40 + (process.pid % 500);
    await startBrltty(display.port, `auth=keyfile:${key},host=127.0.0.1:${number}`);
    let voice: ReturnType<typeof createBrailleVoice> | undefined;
    const connect = () =>
      connectBrlapi({
        address: `127.0.0.1:${number}`,
        key: Buffer.from("a key of this run"),
        tty: [],
        pan: (direction) => voice?.[direction](),
      });
    let line: Awaited<ReturnType<typeof connect>> | undefined;
    for (let tries = 0; !line; tries++) {
      line = await connect().catch((error: Error) => {
        if (tries > 100) throw error;
        return new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 100));
      });
    }
    closing.push(() => line?.close());
    expect(line.width).toBe(20);
    voice = createBrailleVoice({ translator: letters, width: line.width, show: line.show });
    const shown: string[] = [];
    const say = (id: number, text: string, urgency: Utterance["urgency"] = "normal") => {
      const utterance: Utterance = { id, kind: "output", urgency, words: 1, runs: [run(text, "en")] };
      return Promise.resolve(voice!.say(utterance)).then(() => void shown.push(text));
    };
    const here = () => display.shown(dotsOf(voice!.display.line(), 20));
    void say(1, "the quick brown fox jumps");
    await new Promise((resolve) => setTimeout(resolve, 0));
    await here();
    void say(2, "careful", "critical");
    await new Promise((resolve) => setTimeout(resolve, 0));
    expect(voice.display.shown?.id).toBe(1);
    expect(voice.display.line().at(-1)).toBe("⠿");
    await here();
    const first = voice.display.line();
    display.press("FWINRT");
    while (voice.display.line() === first) await new Promise((resolve) => setTimeout(resolve, 10));
    await here();
    expect(voice.display.shown?.id).toBe(1);
    display.press("FWINRT");
    while (voice.display.shown?.id !== 2) await new Promise((resolve) => setTimeout(resolve, 10));
    await here();
    expect(shown).toEqual(["the quick brown fox jumps"]);
  });
});
