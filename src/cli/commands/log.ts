/** `earshot log`: shows, backs up and restores the log of an agent, while it runs or afterwards. */
import { resolve } from "node:path";
import {
  backupLog,
  type LogEntry,
  type LogReading,
  readLog,
  restoreLog,
} from "../../stores/embedded/index.ts";
import { command, DATA_FLAG, dataDirectory, EXIT, type Io, say, usage, wholeNumber } from "../command.ts";
import { count, plain, printLine } from "../io.ts";

const ACTIONS = ["show", "sessions", "backup", "restore"] as const;
/** Polling interval of --follow. */
const LOOK_MS = 250;

export default command({
  takes: "[show | sessions | backup DIR | restore DIR]",
  most: 2,
  about:
    "Reads the log that earshot serve writes. Reading changes nothing, and the agent can keep running. backup copies the log into an empty directory, even while the agent writes. restore creates a log in the data directory from such a copy. A restored log is a new log, and listeners are told of a gap.",
  flags: {
    data: DATA_FLAG,
    session: { type: "string", value: "ID", help: "Show only this session." },
    from: { type: "string", value: "NUMBER", help: "Start at this entry." },
    follow: { type: "boolean", short: "f", help: "Keep showing new entries until Ctrl+C." },
    json: { type: "boolean", help: "Print one JSON object per line. Reply tokens are hidden." },
  },
  examples: [
    ["earshot log", "Shows the log in .earshot, one line per event."],
    ["earshot log sessions --data /var/lib/planner", "Lists the sessions, and which are open."],
    ["earshot log --session sess_4f --follow", "Shows one session and follows it."],
    ["earshot log backup /backup/monday", "Makes a copy that can be restored."],
    ["earshot log restore /backup/monday --data new", "Creates a log from the copy, in the directory new."],
  ],
  exits: [
    [0, "The log was shown, copied or restored completely."],
    [1, "There is no log, it is damaged, or only part of it could be restored."],
  ],
  async run({ args: [action = "show", place], flags, io }) {
    const directory = dataDirectory(io, flags.data);
    if (!ACTIONS.includes(action as (typeof ACTIONS)[number]))
      throw usage(`earshot log takes ${ACTIONS.join(", ")}, not "${action}". See "earshot log --help".`);
    const copies = action === "backup" || action === "restore";
    if (copies !== (place !== undefined))
      throw usage(
        copies
          ? `Give a directory: earshot log ${action} DIR.`
          : `earshot log ${action} takes no directory argument. Use --data DIR.`,
      );
    if (action === "backup") return backup(io, directory, resolve(io.cwd, place!));
    if (action === "restore") return restore(io, resolve(io.cwd, place!), directory);
    const from = flags.from === undefined ? 1 : wholeNumber("from", flags.from, { least: 1 });
    const log = await readLog({ directory });
    if (action === "sessions") return sessions(io, log, flags.json);
    if (
      flags.session !== undefined &&
      !flags.follow &&
      !log.sessions.some((one) => one.session_id === flags.session)
    )
      throw usage(`The log has no session "${plain(flags.session)}". "earshot log sessions" lists them.`);
    if (log.tornBytes > 0)
      say(
        io,
        `The last ${count(log.tornBytes, "byte")} are an incomplete write: it is still in progress, or was interrupted.`,
      );
    await show(io, log, { ...flags, from });
    return EXIT.ok;
  },
});

async function show(
  io: Io,
  log: LogReading,
  {
    from,
    session,
    json,
    follow,
  }: { from: number; session: string | undefined; json: boolean; follow: boolean },
): Promise<void> {
  let next = from;
  for (;;) {
    for await (const entry of log.read(next, session)) {
      await printLine(io, json ? entryJson(entry) : entryLine(entry));
      io.signal.throwIfAborted();
    }
    if (!follow) return;
    next = Math.max(next, log.last + 1);
    await pause(io);
    io.signal.throwIfAborted();
    await log.refresh();
  }
}

async function sessions(io: Io, log: LogReading, json: boolean): Promise<number> {
  for (const one of log.sessions)
    await printLine(
      io,
      json ? JSON.stringify(one) : plain(`${one.session_id}: ${one.open ? "open" : "ended"}`),
    );
  if (!json)
    say(io, `${count(log.sessions.length, "session")}, ${count(log.last, "entry", "entries")} so far.`);
  return EXIT.ok;
}

async function backup(io: Io, from: string, to: string): Promise<number> {
  const { files, bytes } = await backupLog({ from, to });
  say(io, `Copied ${count(files, "file")}, ${count(bytes, "byte")}, to ${to}.`);
  return EXIT.ok;
}

async function restore(io: Io, from: string, to: string): Promise<number> {
  const { last, leftOut } = await restoreLog({ from, to });
  say(
    io,
    `Restored ${count(last, "entry", "entries")} to ${to}. It is a new log: listeners are told of a gap.`,
  );
  if (!leftOut) return EXIT.ok;
  say(io, `${leftOut.reason} ${count(leftOut.bytes, "byte")} from there on were skipped.`);
  return EXIT.failed;
}

const pause = ({ signal }: Io): Promise<void> =>
  new Promise((done) => {
    const stop = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      done();
    };
    const timer = setTimeout(stop, LOOK_MS);
    signal.addEventListener("abort", stop);
  });

type Event = Readonly<Record<string, unknown>>;

/** Fields that may hold the text of an event. The first one present is shown. */
const WORDS = ["summary_normal", "summary_terse", "action", "question", "chunk", "reason"];

/** One line: sequence number, time, session, type and text. */
function entryLine({ seq, event }: LogEntry): string {
  const fields = event as unknown as Event;
  const words = WORDS.map((name) => fields[name]).find((value) => typeof value === "string" && value !== "");
  const type = String(fields["type"]).replace("aaep:agent.", "");
  const parts = [`${seq}`, String(fields["timestamp"] ?? ""), String(fields["session_id"]), type];
  return plain(`${parts.filter(Boolean).join(" ")}${words === undefined ? "" : `: ${String(words)}`}`);
}

/** Reply tokens are credentials, so they are hidden. */
const entryJson = (entry: LogEntry): string =>
  JSON.stringify(entry, (name, value) => (name === "reply_token" ? "(hidden)" : value));
