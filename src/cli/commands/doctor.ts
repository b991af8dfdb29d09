/** `earshot doctor`: checks what works on this machine, and says how to fix the rest. */
import { accessSync, constants, lstatSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { homedir, userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { readTokenFiles, socketDirectory, socketPath, tokenDirectory } from "../../server/index.ts";
import { command, EXIT, type Io } from "../command.ts";
import { count, plain, printLine } from "../io.ts";
import { findAgents } from "../listen/discovery.ts";

const WORDS: Readonly<Record<Finding["state"], string>> = { ok: "OK", missing: "Missing", wrong: "Wrong" };

export default command({
  about:
    "Checks what Earshot can use on this machine: speech, braille, a browser, sockets, tokens, running agents. It changes nothing and sends nothing to other machines.",
  flags: {
    json: { type: "boolean", help: "Print one JSON object per finding: about, state, found, advice." },
  },
  examples: [
    ["earshot doctor", "Says what works, what is missing and how to fix it."],
    ["earshot doctor --json", "Prints the same for programs."],
  ],
  exits: [
    [0, "Nothing is wrong, but something may be missing."],
    [1, "Something must be fixed."],
  ],
  async run({ flags, io }) {
    let [missing, wrong] = [0, 0];
    for await (const finding of examineMachine(io)) {
      const { about, state, found, advice } = finding;
      if (state === "missing") missing++;
      if (state === "wrong") wrong++;
      const sentence = `${WORDS[state]}: ${about}. ${found}${advice === undefined ? "" : ` ${advice}`}`;
      await printLine(io, flags.json ? JSON.stringify(finding) : sentence);
    }
    io.signal.throwIfAborted();
    if (!flags.json)
      await printLine(
        io,
        wrong > 0
          ? `To fix: ${wrong}. Missing: ${missing}.`
          : missing > 0
            ? `Nothing is wrong. Missing: ${missing}. Each one matters only if you need it.`
            : "Everything works.",
      );
    return wrong > 0 ? EXIT.failed : EXIT.ok;
  },
});

export interface Finding {
  readonly about: string;
  /** `wrong` must be fixed; `missing` matters only for the feature that `found` names. */
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

/** The command that installs a package on this system. */
const install = (name: string, onMac = name): string =>
  process.platform === "darwin"
    ? `Run: brew install ${onMac}`
    : `On Debian or Ubuntu, run: sudo apt-get install ${name}`;

const speech: Check = async (io) => {
  if (process.platform === "darwin" && findProgram(io, "say"))
    return ok("Speech", "The macOS voices, through say.");
  if (process.platform === "win32" && findProgram(io, "powershell"))
    return ok("Speech", "The Windows voices, through PowerShell.");
  const runtime = io.env["XDG_RUNTIME_DIR"];
  const socket = runtime === undefined ? undefined : join(runtime, "speech-dispatcher", "speechd.sock");
  if (socket !== undefined && (await answers(socket)))
    return ok("Speech", "speech-dispatcher is running; screen readers use it too.");
  const espeak = findProgram(io, "espeak-ng");
  const dispatcher = findProgram(io, "spd-say");
  if (dispatcher && espeak)
    return ok(
      "Speech",
      "espeak-ng and speech-dispatcher are installed. speech-dispatcher starts when it is first used.",
    );
  if (espeak) return ok("Speech", "espeak-ng is installed.");
  if (dispatcher) return ok("Speech", "speech-dispatcher is installed and starts when it is first used.");
  return missing(
    "Speech",
    "No speech program was found. Earshot still writes everything to the terminal.",
    install("espeak-ng"),
  );
};

const braille: Check = (io) =>
  findProgram(io, "lou_translate") && findProgram(io, "stdbuf")
    ? ok("Braille", "liblouis is installed; it translates text into braille.")
    : missing(
        "Braille",
        "lou_translate from liblouis was not found; it translates text into braille.",
        install("liblouis-bin", "liblouis"),
      );

const display: Check = async (io) => {
  if (process.platform === "darwin" || process.platform === "win32")
    return ok("Braille display", "On this system your screen reader controls it.");
  if ((await answers("/var/lib/BrlAPI/0")) || (await answers(4101)))
    return ok("Braille display", "brltty is running.");
  return findProgram(io, "brltty")
    ? missing(
        "Braille display",
        "brltty is installed but not running.",
        "Connect the display, then run: sudo systemctl start brltty",
      )
    : missing("Braille display", "brltty was not found; it controls braille displays.", install("brltty"));
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
    return ok("Browser", "This system includes one.");
  const path = findProgram(io, ...BROWSERS);
  return path
    ? ok("Browser", `${path}.`)
    : missing(
        "Browser",
        "No browser was found. The Inspector and web pages need one; the terminal does not.",
        install("firefox-esr"),
      );
};

const grpc: Check = () => {
  try {
    createRequire(import.meta.url).resolve("@grpc/grpc-js");
    return ok("gRPC", "The package @grpc/grpc-js is installed.");
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
      `The locale is "${plain(locale)}", which is not UTF-8. Other languages and braille may be garbled.`,
      "Set a UTF-8 locale, for example: export LANG=C.UTF-8",
    );
  return ok(
    "Terminal",
    stdout.isTTY
      ? "A terminal with UTF-8, for every language."
      : "Not a terminal; output goes to a file or a program.",
  );
};

/** Someone who can write to this directory could plant an agent there and trick people into answering it. */
function directoryFinding(about: string, directory: string): Finding {
  const stat = lstatSync(directory, { throwIfNoEntry: false });
  if (!stat) return ok(about, `${directory} is created when it is first needed.`);
  const uid = process.getuid?.();
  const fix = "Remove it, or set XDG_RUNTIME_DIR to your own directory.";
  if (!stat.isDirectory()) return wrong(about, `${directory} is not a directory.`, fix);
  if (uid !== undefined && stat.uid !== uid)
    return wrong(about, `${directory} belongs to another user.`, fix);
  if (uid !== undefined && (stat.mode & 0o077) !== 0)
    return wrong(about, `${directory} is accessible to other users.`, `Run: chmod 700 ${directory}`);
  return ok(about, `${directory} is private to you.`);
}

const sockets: Check = (io) => {
  const directory = socketDirectory({
    platform: process.platform,
    env: io.env,
    home: homedir(),
    tmp: "/tmp",
    uid: userInfo().uid,
  });
  if (directory === undefined) return ok("Sockets", "Windows uses named pipes, which need no directory.");
  try {
    socketPath("com.example.an-agent", directory);
  } catch (error) {
    return wrong("Sockets", `${directory} is too long for socket paths.`, (error as Error).message);
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
    `${finding.found} It contains ${count(dead, "file")} of agents that have ended, which do no harm.`,
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
];

async function* examineMachine(io: Io): AsyncGenerator<Finding> {
  for (const check of CHECKS) {
    if (io.signal.aborted) return;
    yield await check(io);
  }
}

/** Finds a program in the PATH of the person's environment. */
function findProgram({ env }: Io, ...names: string[]): string | undefined {
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

/** Whether something accepts connections at a socket path or a port of this machine. */
function answers(place: string | number, timeoutMs = 500): Promise<boolean> {
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
