/** `earshot serve`: runs an agent from a module, with a durable log and an audit record of every decision. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type AuditLog, createRecord } from "../../hub/record.ts";
import type { Producer } from "../../index.ts";
import { type ServeOptions, serve } from "../../server/index.ts";
import { openEmbeddedStore } from "../../stores/embedded/index.ts";
import {
  CommandError,
  command,
  DATA_FLAG,
  dataDirectory,
  EXIT,
  type Io,
  print,
  say,
  stopped,
  usage,
  wholeNumber,
} from "../command.ts";
import { plain } from "../io.ts";

const DAY_MS = 86_400_000;
const MIB = 1024 * 1024;

export default command({
  takes: "<module>",
  most: 1,
  about:
    "Runs your own agent. The module's default export is a function that receives { store, audit } and returns a producer: export default ({ store, audit }) => createProducer({ agent_id, store, audit }). Everything the agent says is stored on disk before anyone hears it. After a crash, the same command continues where it stopped.",
  flags: {
    data: DATA_FLAG,
    port: { type: "string", value: "PORT", help: "Port to listen on; default 4600. 0 means any free port." },
    host: {
      type: "string",
      value: "ADDRESS",
      help: "Address to listen on; default 127.0.0.1, which only this machine can reach.",
    },
    inspector: {
      type: "boolean",
      help: "Also serve the Inspector to admins on other machines. On this machine it is always available.",
    },
    "keep-days": { type: "string", value: "DAYS", help: "Delete ended sessions that are older than this." },
    "keep-mb": {
      type: "string",
      value: "MEGABYTES",
      help: "When the log is larger than this, delete the oldest ended sessions.",
    },
    "record-hashes": {
      type: "boolean",
      help: "Store only hashes of parameters and texts in the audit record.",
    },
  },
  examples: [
    ["earshot serve ./agent.mjs", "Serves the agent at http://127.0.0.1:4600, with its log in .earshot."],
    [
      "earshot serve ./agent.mjs --data /var/lib/planner --keep-days 90",
      "Uses another directory, and keeps sessions for 90 days.",
    ],
  ],
  exits: [
    [0, "Stopped by SIGTERM."],
    [1, "The module, the port or the log failed. The message says which."],
  ],
  async run({ args: [module], flags, io }) {
    if (module === undefined)
      throw usage(
        'Give your module: earshot serve ./agent.mjs. "earshot serve --help" says what it must export.',
      );
    const port = flags.port === undefined ? 4600 : wholeNumber("port", flags.port, { most: 65_535 });
    const options: ServeOptions = {
      port,
      ...(flags.host === undefined ? {} : { host: flags.host }),
      ...(flags.inspector ? { inspector: true } : {}),
    };
    const retain = {
      ...(flags["keep-days"] === undefined
        ? {}
        : { ageMs: wholeNumber("keep-days", flags["keep-days"], { least: 1 }) * DAY_MS }),
      ...(flags["keep-mb"] === undefined
        ? {}
        : { bytes: wholeNumber("keep-mb", flags["keep-mb"], { least: 1 }) * MIB }),
    };
    const made = await load(io, module);
    if (typeof made !== "function") {
      say(
        io,
        `${plain(module)} exports a producer with its own store, so ${dataDirectory(io, flags.data)} is not used. To store its log there, write: ${SHAPE}.`,
      );
      return keepServing(io, made, options);
    }
    const directory = dataDirectory(io, flags.data);
    let broken: (error: Error) => void = () => undefined;
    const failed = new Promise<Error>((done) => {
      broken = done;
    });
    const store = await openEmbeddedStore({
      directory,
      warn: (sentence) => say(io, sentence),
      failed: broken,
      ...(Object.keys(retain).length > 0 ? { retain } : {}),
    });
    try {
      const hashes = flags["record-hashes"] ? ({ params: "hash", words: "hash" } as const) : {};
      const record = createRecord({ store, warn: (sentence) => say(io, sentence), ...hashes });
      const producer = await start(made, record, module);
      say(io, `The log is in ${directory}.`);
      return await keepServing(io, producer, { ...options, failed });
    } finally {
      await store.close();
    }
  },
});

/** Serves until it is stopped or its log fails. A failed log can acknowledge nothing any more (F04). */
async function keepServing(
  io: Io,
  producer: Producer,
  { failed, ...options }: ServeOptions & { readonly failed?: Promise<Error> },
): Promise<number> {
  const serving = await serve(producer, options);
  try {
    const { agent_name, agent_id } = producer.identity;
    print(io, `${plain(agent_name ?? agent_id)} is within earshot at ${serving.http}`);
    print(io, `Listen with: npx earshot listen ${serving.http}`);
    // The address contains the token, so print it in full only on a terminal, not in a log that others may read.
    if (serving.inspector !== undefined)
      print(
        io,
        `To see in a browser what each listener gets: ${io.stdout.isTTY ? serving.inspector : `${serving.http}/`}`,
      );
    say(io, "Stop with Ctrl+C.");
    const reason = await Promise.race([stopped(io), ...(failed ? [failed] : [])]);
    if (reason instanceof Error) throw new CommandError(reason.message);
    say(io, "Stopping. Listeners are told to reconnect later.");
    return reason === "SIGINT" ? EXIT.interrupted : EXIT.ok;
  } finally {
    await serving.close();
  }
}

type Make = (given: Pick<AuditLog, "store" | "audit">) => Producer | Promise<Producer>;

const SHAPE = "export default ({ store, audit }) => createProducer({ agent_id, agent_name, store, audit })";

async function load(io: Io, module: string): Promise<Make | Producer> {
  const path = resolve(io.cwd, module);
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile())
    throw usage(`There is no module ${plain(module)}. Give a JavaScript file, such as ./agent.mjs.`);
  let loaded: { default?: unknown };
  try {
    loaded = (await import(pathToFileURL(path).href)) as { default?: unknown };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_UNKNOWN_FILE_EXTENSION")
      throw new CommandError(
        `${plain(module)} cannot be loaded: this Node version runs only JavaScript. Compile it first, then serve the .js or .mjs file.`,
      );
    throw new CommandError(
      `${plain(module)} could not be loaded: ${(error as Error).stack ?? String(error)}`,
    );
  }
  if (typeof loaded.default === "function") return loaded.default as Make;
  if (isProducer(loaded.default)) return loaded.default;
  throw new CommandError(`${plain(module)} has no default export that is a function. Write: ${SHAPE}.`);
}

async function start(make: Make, { store, audit }: AuditLog, module: string): Promise<Producer> {
  let made: unknown;
  try {
    made = await make({ store, audit });
  } catch (error) {
    throw new CommandError(
      `${plain(module)} failed while starting: ${(error as Error).stack ?? String(error)}`,
    );
  }
  if (isProducer(made)) return made;
  throw new CommandError(
    `The function that ${plain(module)} exports must return a producer. Write: ${SHAPE}.`,
  );
}

const isProducer = (value: unknown): value is Producer =>
  typeof value === "object" && value !== null && "run" in value && "identity" in value;
