/** What `earshot doctor` looks at. Each check says what it found and, where something is missing, what to do. */
import { lstatSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir, userInfo } from "node:os";
import { join } from "node:path";
import { readTokenFiles, socketDirectory, socketPath, tokenDirectory } from "../../server/index.ts";
import type { Io } from "../command.ts";
import { findAgents } from "../listen/find.ts";
import { count, plain } from "./output.ts";
import { answers, findProgram } from "./programs.ts";

export interface Finding {
  readonly about: string;
  /** `wrong` must be mended; `missing` is only needed for what `found` names. */
  readonly state: "ok" | "missing" | "wrong";
  readonly found: string;
  readonly advice?: string;
}

type Check = (io: Io) => Finding | Promise<Finding>;

const ok = (about: string, found: string): Finding => ({ about, state: "ok", found });
const missing = (about: string, found: string, advice: string): Finding => ({
  about,
  state: "missing",
  found,
  advice,
});
const wrong = (about: string, found: string, advice: string): Finding => ({
  about,
  state: "wrong",
  found,
  advice,
});

const LEAST_NODE = [20, 19] as const;

export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const enough = major > LEAST_NODE[0] || (major === LEAST_NODE[0] && minor >= LEAST_NODE[1]);
  return enough
    ? ok("Node", `Node ${version}.`)
    : wrong(
        "Node",
        `Node ${version} is too old.`,
        `Install Node ${LEAST_NODE.join(".")} or newer from https://nodejs.org.`,
      );
}

/** The command that installs a package here. */
const install = (name: string, onMac = name): string =>
  process.platform === "darwin"
    ? `Run: brew install ${onMac}`
    : `On Debian or Ubuntu, run: sudo apt-get install ${name}`;

const speech: Check = async (io) => {
  if (process.platform === "darwin" && findProgram(io, "say"))
    return ok("Speech", "The voices of macOS, by say.");
  if (process.platform === "win32" && findProgram(io, "powershell"))
    return ok("Speech", "The voices of Windows, by PowerShell.");
  const runtime = io.env["XDG_RUNTIME_DIR"];
  const socket = runtime === undefined ? undefined : join(runtime, "speech-dispatcher", "speechd.sock");
  if (socket !== undefined && (await answers(socket)))
    return ok("Speech", "speech-dispatcher is running; what your screen reader uses.");
  const espeak = findProgram(io, "espeak-ng");
  const dispatcher = findProgram(io, "spd-say");
  if (dispatcher && espeak)
    return ok("Speech", "espeak-ng is installed, and speech-dispatcher, which starts when it is first used.");
  if (espeak) return ok("Speech", "espeak-ng is installed.");
  if (dispatcher) return ok("Speech", "speech-dispatcher is installed and starts when it is first used.");
  return missing(
    "Speech",
    "No program that speaks was found. What an agent says is still written to the terminal.",
    install("espeak-ng"),
  );
};

const braille: Check = (io) =>
  findProgram(io, "lou_translate") && findProgram(io, "stdbuf")
    ? ok("Braille", "liblouis is installed; text can be shown in braille cells.")
    : missing(
        "Braille",
        "lou_translate of liblouis was not found, which makes braille of text.",
        install("liblouis-bin", "liblouis"),
      );

const display: Check = async (io) => {
  if (process.platform === "darwin" || process.platform === "win32")
    return ok("Braille display", "Your screen reader drives it on this system.");
  if ((await answers("/var/lib/BrlAPI/0")) || (await answers(4101)))
    return ok("Braille display", "brltty is running.");
  return findProgram(io, "brltty")
    ? missing(
        "Braille display",
        "brltty is installed and not running.",
        "Plug in the display, then run: sudo systemctl start brltty",
      )
    : missing("Braille display", "brltty was not found, which drives braille displays.", install("brltty"));
};

const BROWSERS = [
  "chromium",
  "chromium-browser",
  "google-chrome",
  "firefox",
  "microsoft-edge",
  "safari",
  "msedge",
];

const browser: Check = (io) => {
  if (process.platform === "darwin" || process.platform === "win32")
    return ok("Browser", "This system brings one.");
  const path = findProgram(io, ...BROWSERS);
  return path
    ? ok("Browser", `${path}.`)
    : missing(
        "Browser",
        "No browser was found. The page of an agent needs one; the terminal does not.",
        install("firefox-esr"),
      );
};

const nats: Check = async (io) => {
  if (await answers(4222)) return ok("NATS", "A server answers at 127.0.0.1:4222.");
  const path = findProgram(io, "nats-server");
  return path
    ? ok("NATS", `${path} is installed and not running. It is needed only for agents on several machines.`)
    : missing(
        "NATS",
        "nats-server was not found. It is needed only for agents on several machines.",
        install("nats-server"),
      );
};

const grpc: Check = () => {
  try {
    createRequire(import.meta.url).resolve("@grpc/grpc-js");
    return ok("gRPC", "The package @grpc/grpc-js is there.");
  } catch {
    return missing(
      "gRPC",
      "The package @grpc/grpc-js is not installed. Only grpc: addresses need it.",
      "Run: npm install @grpc/grpc-js",
    );
  }
};

const terminal: Check = ({ env, stdout }) => {
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  if (process.platform !== "win32" && !/utf-?8/i.test(locale))
    return missing(
      "Terminal",
      `The locale is "${plain(locale)}", which may garble other languages and braille.`,
      "Set LANG to one with UTF-8, such as: export LANG=C.UTF-8",
    );
  return ok(
    "Terminal",
    stdout.isTTY
      ? "A terminal that takes every language."
      : "No terminal here; output goes to a file or a program.",
  );
};

/** Whoever can write to a directory could plant an agent there and have people answer it. */
function directoryFinding(about: string, directory: string): Finding {
  const stat = lstatSync(directory, { throwIfNoEntry: false });
  if (!stat) return ok(about, `${directory} is made when it is first needed.`);
  const uid = process.getuid?.();
  const fix = "Remove it, or set XDG_RUNTIME_DIR to a directory of your own.";
  if (!stat.isDirectory()) return wrong(about, `${directory} is not a directory.`, fix);
  if (uid !== undefined && stat.uid !== uid)
    return wrong(about, `${directory} belongs to somebody else.`, fix);
  if (uid !== undefined && (stat.mode & 0o077) !== 0)
    return wrong(about, `${directory} is open to others.`, `Run: chmod 700 ${directory}`);
  return ok(about, `${directory} is yours alone.`);
}

const sockets: Check = (io) => {
  const directory = socketDirectory({
    platform: process.platform,
    env: io.env,
    home: homedir(),
    tmp: "/tmp",
    uid: userInfo().uid,
  });
  if (directory === undefined) return ok("Sockets", "Named pipes, which Windows keeps.");
  try {
    socketPath("com.example.an-agent", directory);
  } catch (error) {
    return wrong("Sockets", `${directory} is too long a path for sockets.`, (error as Error).message);
  }
  return directoryFinding("Sockets", directory);
};

const tokens: Check = (io) => {
  const directory = tokenDirectory(io.env);
  const finding = directoryFinding("Tokens", directory);
  if (finding.state !== "ok" || !lstatSync(directory, { throwIfNoEntry: false })) return finding;
  const files = readdirSync(directory).filter((name) => name.endsWith(".json")).length;
  const dead = files - readTokenFiles(directory).length;
  if (dead <= 0) return finding;
  return ok(
    "Tokens",
    `${finding.found} ${count(dead, "file")} in it left by agents that have ended; they do no harm.`,
  );
};

const agents: Check = async (io) => {
  const running = await findAgents(io);
  if (running.length === 0)
    return missing("Agents", "No agent is running for you on this machine.", "Start one: npx earshot demo");
  return ok(
    "Agents",
    `${count(running.length, "agent")} running: ${running.map(({ name, address }) => `${name} at ${address}`).join("; ")}.`,
  );
};

const CHECKS: readonly Check[] = [
  () => nodeFinding(process.versions.node),
  terminal,
  speech,
  braille,
  display,
  browser,
  sockets,
  tokens,
  agents,
  grpc,
  nats,
];

export async function* examineMachine(io: Io): AsyncGenerator<Finding> {
  for (const check of CHECKS) {
    if (io.signal.aborted) return;
    yield await check(io);
  }
}
