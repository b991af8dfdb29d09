/** `earshot log`: what an agent said, from the files it is kept in, while the agent runs or afterwards. */
import { resolve } from "node:path";
import {
  backupLog,
  type LogEntry,
  type LogReading,
  readLog,
  restoreLog,
} from "../../stores/embedded/index.ts";
import { command, DATA_FLAG, dataDirectory, EXIT, type Io, say, usage, wholeNumber } from "../command.ts";
import { count, plain, printed } from "../io.ts";

const ACTIONS = ["show", "sessions", "backup", "restore"] as const;
/** How often a log that is followed is looked at. */
const LOOK_MS = 250;

export default command({
  takes: "[show | sessions | backup DIR | restore DIR]",
  most: 2,
  about:
    "Looks into the log an agent keeps with earshot serve. Reading changes nothing and needs nobody to stop. backup copies the log into an empty directory, also while it is written. restore makes a log in the data directory out of such a copy: it is then another log, and listeners are told of a gap.",
  flags: {
    data: DATA_FLAG,
    session: { type: "string", value: "ID", help: "Only this session." },
    from: { type: "string", value: "NUMBER", help: "Begin with this entry." },
    follow: { type: "boolean", short: "f", help: "Go on with what is written, until Ctrl+C." },
    json: { type: "boolean", help: "One JSON object a line. Reply tokens are left out." },
  },
  examples: [
    ["earshot log", "Everything in .earshot, one line an event."],
    ["earshot log sessions --data /var/lib/planner", "Which sessions there are, and which are open."],
    ["earshot log --session sess_4f --follow", "One session, as it goes on."],
    ["earshot log backup /backup/monday", "A copy that can be restored."],
    ["earshot log restore /backup/monday --data new", "A log out of the copy, in the directory new."],
  ],
  exits: [
    [0, "It was shown, copied or restored, all of it."],
    [1, "There is no log, it is damaged, or only a part could be restored."],
  ],
  async run({ args: [action = "show", place], flags, io }) {
    const directory = dataDirectory(io, flags.data);
    if (!ACTIONS.includes(action as (typeof ACTIONS)[number]))
      throw usage(`earshot log can ${ACTIONS.join(", ")}, not "${action}". "earshot log --help" shows how.`);
    const copies = action === "backup" || action === "restore";
    if (copies !== (place !== undefined))
      throw usage(
        copies
          ? `Name a directory: earshot log ${action} DIR.`
          : `earshot log ${action} takes no directory; --data names it.`,
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
      throw usage(`The log holds no session "${plain(flags.session)}". "earshot log sessions" lists them.`);
    if (log.torn_bytes > 0)
      say(
        io,
        `The last ${count(log.torn_bytes, "byte")} are a write under way, or one that was never finished.`,
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
      await printed(io, json ? entryJson(entry) : entryLine(entry));
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
    await printed(
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
  const { last, left_out } = await restoreLog({ from, to });
  say(
    io,
    `Restored ${count(last, "entry", "entries")} to ${to}. It is a new log: listeners are told of a gap.`,
  );
  if (!left_out) return EXIT.ok;
  say(io, `${left_out.reason} ${count(left_out.bytes, "byte")} from there on were left out.`);
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

/** Where the words of an event are, the first that it has. */
const WORDS = ["summary_normal", "summary_terse", "action", "question", "chunk", "reason"];

/** Place, time, session, what happened, and its words: one line, read from left to right. */
export function entryLine({ seq, event }: LogEntry): string {
  const fields = event as unknown as Event;
  const words = WORDS.map((name) => fields[name]).find((value) => typeof value === "string" && value !== "");
  const type = String(fields["type"]).replace("aaep:agent.", "");
  const parts = [`${seq}`, String(fields["timestamp"] ?? ""), String(fields["session_id"]), type];
  return plain(`${parts.filter(Boolean).join(" ")}${words === undefined ? "" : `: ${String(words)}`}`);
}

export const entryJson = (entry: LogEntry): string =>
  JSON.stringify(entry, (name, value) => (name === "reply_token" ? "(hidden)" : value));
