/** A socket for one user and nobody else: names, directories, permissions, takeover, discovery (A23, CON-60, CON-61). */
import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer, Server } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createProducer } from "../../src/producer/producer.ts";
import { parse } from "../../src/protocol/parse.ts";
import { discover, discoverPipes } from "../../src/server/discover.ts";
import { type IpcOptions, type ServingIpc, serveIpc } from "../../src/server/ipc/ipc.ts";
import { safeName, socketDirectory, socketPath } from "../../src/server/ipc/path.ts";
import { addressesIn, subscribe } from "../../src/subscriber/index.ts";
import { until } from "./raw.ts";

const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
/** Whether another user's program can be run here at all. */
const asNobody = (program: string, ...args: string[]) =>
  spawnSync("setpriv", ["--reuid=65534", "--regid=65534", "--clear-groups", program, ...args], {
    encoding: "utf8",
    timeout: 20_000,
  });
const otherUser = isRoot && asNobody("/usr/bin/python3", "-c", "print('here')").stdout?.trim() === "here";

let directory = "";
const open: ServingIpc[] = [];
const agent = (agent_id = "com.example.desk") =>
  createProducer({ agent_id, agent_name: "Desk", warn: () => {} });
const serve = async (options: IpcOptions = {}, agent_id?: string): Promise<ServingIpc> => {
  const serving = await serveIpc(agent(agent_id), { directory, log: () => {}, ...options });
  open.push(serving);
  return serving;
};

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "desk-"));
});
afterEach(async () => {
  for (const serving of open.splice(0)) await serving.close();
  rmSync(directory, { recursive: true, force: true });
});

describe("where a socket is", () => {
  const on = (platform: NodeJS.Platform, env: Record<string, string> = {}) => ({
    platform,
    env,
    home: "/Users/ada",
    tmp: "/tmp",
    uid: 501,
  });

  it("follows from the platform and the agent's id: IPC-01, IPC-07", () => {
    expect(socketPath("planner", undefined, on("linux", { XDG_RUNTIME_DIR: "/run/user/501" }))).toBe(
      "/run/user/501/aaep/planner.sock",
    );
    expect(socketPath("planner", undefined, on("freebsd", { XDG_RUNTIME_DIR: "/var/run/xdg/ada" }))).toBe(
      "/var/run/xdg/ada/aaep/planner.sock",
    );
    expect(socketPath("planner", undefined, on("linux"))).toBe("/tmp/aaep-501/planner.sock");
    expect(socketPath("planner", undefined, on("linux", { XDG_RUNTIME_DIR: "not/absolute" }))).toBe(
      "/tmp/aaep-501/planner.sock",
    );
    expect(socketPath("planner", undefined, on("darwin"))).toBe(
      "/Users/ada/Library/Application Support/AAEP/planner.sock",
    );
    expect(socketPath("planner", undefined, on("win32"))).toBe("\\\\.\\pipe\\aaep\\planner");
    expect(socketDirectory(on("win32"))).toBeUndefined();
  });

  it("never leaves its directory, never collides, always fits (CON-60)", () => {
    expect(safeName("com.example.Planner-1_x")).toBe("com.example.Planner-1_x");
    for (const hostile of ["..", "../x", "a/../../b", "a\\..\\b"])
      expect(() => safeName(hostile), hostile).toThrow(/\.\./);
    const names = [
      "a/b",
      "a\\b",
      "a b",
      "a_b",
      ".hidden",
      "_hidden",
      "-rf",
      "ẹ̀kọ́",
      "语",
      "",
      "\0",
      "x".repeat(500),
      `${"x".repeat(499)}y`,
    ].map((id) => safeName(id));
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,199}$/);
    const path = socketPath("x".repeat(300), "/run/user/1000/aaep");
    expect(Buffer.byteLength(path)).toBeLessThanOrEqual(103);
    expect(() => socketPath("planner", `/tmp/${"d".repeat(90)}`)).toThrow(/shorter/);
  });
});

describe("the directory", () => {
  it("is made with 0700, and the socket in it with 0600: IPC-08", async () => {
    const place = join(directory, "run", "aaep");
    // However open the author's own mask is.
    const mask = process.umask(0);
    const { path, manifestPath } = await serve({ directory: place }).finally(() => process.umask(mask));
    expect(statSync(place).mode & 0o777).toBe(0o700);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(manifestPath!).mode & 0o777).toBe(0o600);
    expect(readdirSync(place).sort()).toEqual(["com.example.desk.json", "com.example.desk.sock"]);
  });

  it("holds a socket that is closed to others from its first instant, not only once it has its name (A23)", async () => {
    const modes: number[] = [];
    const { listen } = Server.prototype;
    const listening = vi.spyOn(Server.prototype, "listen").mockImplementation(function (
      this: Server,
      ...args: unknown[]
    ) {
      const bound = listen.apply(this, args as never);
      // Bound inside the call: what stands there now is what a racer would meet.
      modes.push(statSync((args[0] as { path: string }).path).mode & 0o777);
      return bound;
    } as typeof listen);
    const mask = process.umask(0);
    try {
      await serve();
    } finally {
      process.umask(mask);
      listening.mockRestore();
    }
    expect(modes.map((mode) => (mode & 0o077).toString(8))).toEqual(["0"]);
  });

  it("is closed again where it stood open", async () => {
    chmodSync(directory, 0o755);
    await serve();
    expect(statSync(directory).mode & 0o777).toBe(0o700);
  });

  it("is refused as a symbolic link, as somebody else's, and where others can replace it (A23)", async () => {
    symlinkSync(directory, `${directory}-link`);
    await expect(serve({ directory: `${directory}-link` })).rejects.toThrow(/symbolic link/);
    rmSync(`${directory}-link`);
    const open = join(directory, "open");
    mkdirSync(join(open, "aaep"), { recursive: true });
    chmodSync(open, 0o777);
    await expect(serve({ directory: join(open, "aaep") })).rejects.toThrow(/other users can change/);
    writeFileSync(join(directory, "file"), "");
    await expect(serve({ directory: join(directory, "file") })).rejects.toThrow();
  });

  it.runIf(isRoot)("is refused where it, or one above it, belongs to somebody else (A23)", async () => {
    const foreign = join(directory, "foreign");
    mkdirSync(join(foreign, "aaep"), { recursive: true, mode: 0o700 });
    chownSync(join(foreign, "aaep"), NOBODY, NOBODY);
    await expect(serve({ directory: join(foreign, "aaep") })).rejects.toThrow(/belongs to another user/);
    chownSync(join(foreign, "aaep"), 0, 0);
    chownSync(foreign, NOBODY, NOBODY);
    await expect(serve({ directory: join(foreign, "aaep") })).rejects.toThrow(/other users can change/);
  });
});

describe("another user of this machine", () => {
  const connecting = (path: string) => `
import socket, sys
s = socket.socket(socket.AF_UNIX)
try:
    s.connect(${JSON.stringify(path)})
    print("CONNECTED")
except OSError as error:
    print(error.__class__.__name__)
`;

  it.runIf(otherUser)("is refused, and so it stays if the directory is opened: IPC-10 (A23)", async () => {
    const { path } = await serve();
    expect(asNobody("/usr/bin/python3", "-c", connecting(path)).stdout.trim()).toBe("PermissionError");
    chmodSync(directory, 0o777);
    expect(asNobody("/usr/bin/python3", "-c", connecting(path)).stdout.trim()).toBe("PermissionError");
  });

  it.runIf(otherUser)("never gets in, not for an instant, while sockets come and go (raced)", async () => {
    // The directory is made passable by hand as soon as it is there: what is left is the socket's own mode.
    const racer = spawn(
      "setpriv",
      [
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "/usr/bin/python3",
        "-u",
        "-c",
        `
import os, socket, sys
d = ${JSON.stringify(directory)}
print("ready")
tries = hits = 0
while not os.path.exists(d + "/stop"):
    try:
        names = os.listdir(d)
    except OSError:
        names = []
    for name in names + ["com.example.desk.sock"]:
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(d + "/" + name); hits += 1
        except PermissionError:
            tries += 1
        except OSError:
            pass
        s.close()
print(tries, hits)
`,
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    let said = "";
    racer.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    const done = new Promise((resolve) => racer.on("exit", resolve));
    await until(() => said.includes("ready"), "the racer");
    for (let i = 0; i < 150; i++) {
      const serving = serveIpc(agent(), { directory, log: () => {} });
      chmodSync(directory, 0o755);
      await (await serving).close();
      chmodSync(directory, 0o755);
      // Without the pause the racer, on a busy machine, might never have seen one.
      if (i % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    writeFileSync(join(directory, "stop"), "");
    chmodSync(directory, 0o755);
    await done;
    const [tries, hits] = said.split("\n")[1]!.split(" ").map(Number);
    expect(hits).toBe(0);
    expect(tries, "the racer met sockets that it could not enter").toBeGreaterThan(0);
  });

  it.skipIf(otherUser)(
    "cannot be played here: run as root, with setpriv and Python, to see it refused",
    () => {
      expect(otherUser).toBe(false);
    },
  );
});

describe("a connection", () => {
  it("that asks for nothing is let go", async () => {
    const { path } = await serve({ limits: { requestMs: 30 } });
    const socket = connect(path);
    await new Promise((resolve) => socket.on("close", resolve));
  });

  it("that speaks neither framing is told so, in a line", async () => {
    const { path } = await serve();
    const socket = connect(path);
    let said = "";
    socket.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    socket.write("GET / HTTP/1.1\r\n\r\n");
    await new Promise((resolve) => socket.on("close", resolve));
    expect(JSON.parse(said)).toMatchObject({ type: "subscription.rejected" });
    expect(said).toContain("4-byte big-endian length");
  });
});

describe("a name that is taken", () => {
  it("by a running agent is left alone, and the error says so", async () => {
    await serve();
    await expect(serve()).rejects.toThrow(/already/);
    expect(await discover({ directory })).toHaveLength(1);
  });

  it("by a dead one is taken over, and whoever comes finds the new one", async () => {
    const path = join(directory, "com.example.desk.sock");
    spawnSync("/usr/bin/python3", [
      "-c",
      `import socket; s = socket.socket(socket.AF_UNIX); s.bind(${JSON.stringify(path)}); s.listen()`,
    ]);
    expect(lstatSync(path).isSocket()).toBe(true);
    const { address } = await serve();
    await (await subscribe(address)).close();
    expect(readdirSync(directory).sort()).toEqual(["com.example.desk.json", "com.example.desk.sock"]);
  });

  it("by a link or a file is refused, and what it points to is not touched", async () => {
    const victim = join(directory, "victim");
    const path = join(directory, "com.example.desk.sock");
    writeFileSync(victim, "precious");
    symlinkSync(victim, path);
    await expect(serve()).rejects.toThrow(/symbolic link/);
    rmSync(path);
    writeFileSync(path, "precious");
    await expect(serve()).rejects.toThrow(/not a socket/);
    expect(readFileSync(victim, "utf8") + readFileSync(path, "utf8")).toBe("preciousprecious");
  });

  it.runIf(isRoot)("by somebody else's socket is refused", async () => {
    const path = join(directory, "com.example.desk.sock");
    const foreign = createServer();
    await new Promise<void>((resolve) => foreign.listen(path, resolve));
    chownSync(path, NOBODY, NOBODY);
    await expect(serve()).rejects.toThrow(/another user's/);
    await new Promise((resolve) => foreign.close(resolve));
  });

  it("by twenty who start at once over a dead one goes to exactly one of them, twenty times", async () => {
    const path = join(directory, "com.example.desk.sock");
    for (let round = 0; round < 20; round++) {
      spawnSync("/usr/bin/python3", [
        "-c",
        `import socket; s = socket.socket(socket.AF_UNIX); s.bind(${JSON.stringify(path)}); s.listen()`,
      ]);
      const all = await Promise.allSettled(
        Array.from({ length: 20 }, () => serveIpc(agent(), { directory, log: () => {} })),
      );
      const won = all.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      for (const one of all)
        if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "socket_in_use" });
      expect(won).toHaveLength(1);
      const sub = await subscribe(`unix:${path}`);
      expect(won[0]!.connections).toBe(1);
      await sub.close();
      await won[0]!.close();
      expect(existsSync(path)).toBe(false);
    }
  });
});

describe("discovery", () => {
  it("lists the agents that answer, with what they say of themselves, and nobody who is gone: MAN-02, MAN-03", async () => {
    const [one] = [await serve({}, "com.example.one"), await serve({}, "com.example.two")];
    spawnSync("/usr/bin/python3", [
      "-c",
      `import socket; s = socket.socket(socket.AF_UNIX); s.bind(${JSON.stringify(join(directory, "dead.sock"))})`,
    ]);
    const found = await discover({ directory });
    expect(found.map(({ path }) => basename(path))).toEqual(["com.example.one.sock", "com.example.two.sock"]);
    const { manifest, address } = found[0]!;
    expect(manifest).toMatchObject({
      agent_id: "com.example.one",
      transports_supported: ["unix-socket"],
      earshot: { framings: ["length-prefix", "ndjson"], socket: one.path },
    });
    expect(parse(JSON.stringify(manifest), { mode: "strict" }).ok).toBe(true);
    expect(addressesIn(manifest!)).toEqual([address]);
    await open.shift()!.close();
    expect(await discover({ directory })).toHaveLength(1);
    expect(readdirSync(directory).sort()).toEqual([
      "com.example.two.json",
      "com.example.two.sock",
      "dead.sock",
    ]);
  });

  it("believes nothing in a directory that others can write to", async () => {
    await serve();
    chmodSync(directory, 0o777);
    expect(await discover({ directory })).toEqual([]);
  });

  it("on Windows, lists the pipes below aaep (the listing is a stand-in here: no Windows at hand): IPC-01", () => {
    const names = ["mojo.1234", "aaep\\planner", "AAEP\\Writer", "aaep\\a\\b", "aaepx"];
    expect(discoverPipes(() => names).map(({ address }) => address)).toEqual([
      "pipe:\\\\.\\pipe\\aaep\\Writer",
      "pipe:\\\\.\\pipe\\aaep\\planner",
    ]);
    expect(
      discoverPipes(() => {
        throw new Error("no pipes here");
      }),
    ).toEqual([]);
  });
});
