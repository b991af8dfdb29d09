/**
 * Orca, a real screen reader, in front of a real Chromium, on a display nobody sees. What Orca hands to its speech
 * engine is in its debug log, line by line: that is what a person would hear.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Browser, chromium } from "playwright-core";

const NEEDED = ["orca", "Xvfb", "openbox", "speech-dispatcher", "dbus-daemon", "xdotool", "chromium"];
const BUS_LAUNCHER = "/usr/libexec/at-spi-bus-launcher";

const missing = [
  ...NEEDED.filter((name) => spawnSync("which", [name]).status !== 0),
  ...(existsSync(BUS_LAUNCHER) ? [] : ["at-spi-bus-launcher"]),
];

/** Without them the test is skipped on a person's machine; CI must have them. */
export const skipsOrca = missing.length > 0 && process.env["CI"] !== "true";
export const ORCA_NOTE = skipsOrca
  ? ` (skipped, missing: ${missing.join(", ")}; apt-get install orca xvfb openbox at-spi2-core speech-dispatcher dbus xdotool chromium)`
  : "";

export interface Orca {
  readonly browser: Browser;
  /** Everything spoken so far, utterance by utterance. */
  spoken(): string[];
  /** Waits until something was spoken that fits. */
  until(fits: (spoken: string[]) => boolean, what: string): Promise<string[]>;
  /** Presses a key of the real keyboard, as far as this display has one, e.g. `Tab` or `Return`. */
  type(...keys: string[]): Promise<void>;
  click(x: number, y: number): Promise<void>;
  close(): Promise<void>;
}

/** An engine that says nothing, in no time: what counts is what it is asked to say. */
const DISPATCHER =
  'LogLevel 1\nAudioOutputMethod "libao"\nAddModule "mute" "sd_generic" "mute.conf"\nDefaultModule mute\nDefaultLanguage en\nDisableAutoSpawn\n';
const ENGINE =
  'Debug 0\nGenericExecuteSynth "true"\nGenericLanguage "en" "en" "utf-8"\nAddVoice "en" "MALE1" "en"\nGenericMaxChunkLength 10000\nGenericDelimiters "~"\n';

/** Orca's log is written when it is said, not when there is a page full of it. */
const LINE_BY_LINE = `import builtins
_open = builtins.open
def open(file, mode="r", buffering=-1, *rest, **named):
    return _open(file, mode, 1 if str(file).endswith("orca.log") else buffering, *rest, **named)
builtins.open = open
`;

export async function startOrca(): Promise<Orca> {
  if (missing.length > 0) throw new Error(`Orca cannot run here, missing: ${missing.join(", ")}.`);
  const home = mkdtempSync(join(tmpdir(), "earshot-orca-"));
  const log = join(home, "orca.log");
  const children: ChildProcess[] = [];
  const env: Record<string, string> = {
    PATH: process.env["PATH"]!,
    HOME: home,
    LANG: "C.UTF-8",
    XDG_RUNTIME_DIR: join(home, "run"),
    XDG_CONFIG_HOME: join(home, "config"),
    XDG_DATA_HOME: join(home, "data"),
    XDG_CACHE_HOME: join(home, "cache"),
    GSETTINGS_BACKEND: "memory",
    NO_AT_BRIDGE: "0",
    ACCESSIBILITY_ENABLED: "1",
  };
  mkdirSync(env["XDG_RUNTIME_DIR"]!, { mode: 0o700 });
  const start = (command: string, args: readonly string[], stdio: "ignore" | "pipe" = "ignore") => {
    const child = spawn(command, args, { env, stdio: ["ignore", stdio, "ignore"], detached: true });
    child.on("error", () => undefined);
    children.push(child);
    return child;
  };
  const close = async () => {
    await browser?.close().catch(() => undefined);
    for (const { pid } of children.reverse()) {
      try {
        // Each has a group of its own, so that what it started goes with it.
        if (pid !== undefined) process.kill(-pid, "SIGKILL");
      } catch {
        // It is gone already.
      }
    }
    if (process.env["EARSHOT_ORCA_LOG"] && existsSync(log))
      copyFileSync(log, process.env["EARSHOT_ORCA_LOG"]);
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  };
  let browser: Browser | undefined;
  try {
    env["DISPLAY"] =
      `:${await firstLine(start("Xvfb", ["-displayfd", "1", "-screen", "0", "1024x768x24", "-nolisten", "tcp"], "pipe"))}`;
    env["DBUS_SESSION_BUS_ADDRESS"] = await firstLine(
      start("dbus-daemon", ["--session", "--nofork", "--print-address=1"], "pipe"),
    );
    start("openbox", []);
    start(BUS_LAUNCHER, ["--launch-immediately", "--a11y=1", "--screen-reader=1"]);
    const conf = join(home, "speechd");
    mkdirSync(join(conf, "modules"), { recursive: true });
    writeFileSync(join(conf, "speechd.conf"), DISPATCHER);
    writeFileSync(join(conf, "modules", "mute.conf"), ENGINE);
    const socket = join(env["XDG_RUNTIME_DIR"]!, "speech-dispatcher", "speechd.sock");
    mkdirSync(dirname(socket));
    start("speech-dispatcher", [
      "-s",
      "-C",
      conf,
      "-c",
      "unix_socket",
      "-S",
      socket,
      "-P",
      join(home, "pid"),
      "-t",
      "0",
      "-l",
      "1",
      "-L",
      home,
    ]);
    await until(() => existsSync(socket), "speech-dispatcher", 10_000);
    const patches = join(home, "python");
    mkdirSync(patches);
    writeFileSync(join(patches, "sitecustomize.py"), LINE_BY_LINE);
    env["PYTHONPATH"] = patches;
    start("orca", ["--replace", "--debug", `--debug-file=${log}`]);
    await until(
      () => existsSync(log) && readFileSync(log, "utf8").includes("SPEECH OUTPUT"),
      "Orca to start",
      20_000,
      () => readFileSync(log, "utf8").slice(-4000),
    );
    browser = await chromium.launch({
      executablePath: "/usr/bin/chromium",
      headless: false,
      env,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--force-renderer-accessibility",
      ],
    });
  } catch (error) {
    await close();
    throw error;
  }
  const hands = async (...args: string[]) => {
    const child = spawn("xdotool", args, { env, stdio: "ignore" });
    await new Promise((done) => child.once("exit", done));
  };
  const spoken = () =>
    [...readFileSync(log, "utf8").matchAll(/SPEECH OUTPUT: '(.*)'[[{]/gu)].map(([, text]) => text!);
  return {
    browser,
    spoken,
    async until(fits, what) {
      await until(
        () => fits(spoken()),
        what,
        20_000,
        () => spoken().join("\n"),
      );
      return spoken();
    },
    type: async (...keys) => {
      for (const key of keys) await hands("key", "--delay", "30", key);
    },
    click: (x, y) => hands("mousemove", String(x), String(y), "click", "1"),
    close,
  };
}

const firstLine = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = "";
    child.stdout!.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes("\n")) resolve(text.split("\n")[0]!.trim());
    });
    child.once("exit", () => reject(new Error(`${child.spawnfile} ended before it was ready.`)));
  });

async function until(
  fits: () => boolean,
  what: string,
  ms: number,
  told: () => string = () => "",
): Promise<void> {
  const end = Date.now() + ms;
  while (!fits()) {
    if (Date.now() > end) throw new Error(`Waited ${ms} ms for ${what}. ${told()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
