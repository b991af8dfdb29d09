/** `earshot doctor`: what works on this machine, what does not, and what to do about it. */
import { accessSync, constants, lstatSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { homedir, userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { readTokenFiles, socketDirectory, socketPath, tokenDirectory } from "../../server/index.ts";
import { command, EXIT, type Io } from "../command.ts";
import { count, plain, printed } from "../io.ts";
import { findAgents } from "../listen/find.ts";

const WORDS: Readonly<Record<Finding["state"], string>> = { ok: "OK", missing: "Missing", wrong: "Wrong" };

export default command({
  about:
    "Looks at what Earshot can use on this machine: speech, braille, a browser, sockets, tokens, running agents. It changes nothing and sends nothing anywhere else.",
  flags: {
    json: { type: "boolean", help: "One JSON object per finding: about, state, found, advice." },
  },
  examples: [
    ["earshot doctor", "Says what works, what is missing and what to do about it."],
    ["earshot doctor --json", "The same for programs."],
  ],
  exits: [
    [0, "Nothing is wrong, though something may be missing."],
    [1, "Something must be mended."],
  ],
  async run({ flags, io }) {
    let [missing, wrong] = [0, 0];
    for await (const finding of examineMachine(io)) {
      const { about, state, found, advice } = finding;
      if (state === "missing") missing++;
      if (state === "wrong") wrong++;
      const sentence = `${WORDS[state]}: ${about}. ${found}${advice === undefined ? "" : ` ${advice}`}`;
      await printed(io, flags.json ? JSON.stringify(finding) : sentence);
    }
    io.signal.throwIfAborted();
    if (!flags.json)
      await printed(
        io,
        wrong > 0
          ? `To be mended: ${wrong}. Missing: ${missing}.`
          : missing > 0
            ? `Nothing is wrong. Missing: ${missing}; each matters only for what it names.`
            : "Everything is there.",
      );
    return wrong > 0 ? EXIT.failed : EXIT.ok;
  },
});

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

export function findProgram({ env }: Io, ...names: string[]): string | undefined {
  const endings = process.platform === "win32" ? [".exe", ".cmd", ""] : [""];
  for (const name of names) {
    for (const folder of (env["PATH"] ?? "").split(delimiter).filter(Boolean)) {
      for (const ending of endings) {
        const path = join(folder, `${name}${ending}`);
        if (isProgram(path)) return path;
      }
    }
  }
  return undefined;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Whether somebody answers at a socket's path or a port of this machine. */
export function answers(place: string | number, timeoutMs = 500): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = typeof place === "string" ? connect(place) : connect(place, "127.0.0.1");
    const done = (yes: boolean) => {
      socket.destroy();
      resolve(yes);
    };
    socket.setTimeout(timeoutMs, () => done(false));
    socket.once("connect", () => done(true)).once("error", () => done(false));
  });
}
