/** `earshot serve`: your own agent from a module, with a log that survives a crash and a record of every decision. */
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
    "Runs an agent of yours. The module's default export is a function that is given { store, audit } and gives back a producer: export default ({ store, audit }) => createProducer({ agent_id, store, audit }). Everything it says is kept on disk before anybody hears it, and after a crash the same command goes on where it was.",
  flags: {
    data: DATA_FLAG,
    port: { type: "string", value: "PORT", help: "4600 by default; 0 takes any that is free." },
    host: { type: "string", value: "ADDRESS", help: "127.0.0.1 by default: this machine only." },
    inspector: {
      type: "boolean",
      help: "Offer the Inspector beyond this machine too, to admins. On this machine it is there anyway.",
    },
    "keep-days": { type: "string", value: "DAYS", help: "Older sessions go, once they have ended." },
    "keep-mb": {
      type: "string",
      value: "MEGABYTES",
      help: "Beyond this the oldest sessions go, once they have ended.",
    },
    "record-hashes": {
      type: "boolean",
      help: "Keep only hashes of parameters and words in the record, not the words.",
    },
  },
  examples: [
    ["earshot serve ./agent.mjs", "Serves it at http://127.0.0.1:4600, with its log in .earshot."],
    [
      "earshot serve ./agent.mjs --data /var/lib/planner --keep-days 90",
      "With a log of its own, for three months.",
    ],
  ],
  exits: [
    [0, "It was stopped by its supervisor."],
    [1, "The module, the port or the log failed; the message says which."],
  ],
  async run({ args: [module], flags, io }) {
    if (module === undefined)
      throw usage(
        'Name your module: earshot serve ./agent.mjs. "earshot serve --help" shows what it exports.',
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
        : { age_ms: wholeNumber("keep-days", flags["keep-days"], { least: 1 }) * DAY_MS }),
      ...(flags["keep-mb"] === undefined
        ? {}
        : { bytes: wholeNumber("keep-mb", flags["keep-mb"], { least: 1 }) * MIB }),
    };
    const made = await load(io, module);
    if (typeof made !== "function") {
      say(
        io,
        `${plain(module)} brings a producer with a store of its own, so ${dataDirectory(io, flags.data)} is not used. To have its log kept there: ${SHAPE}.`,
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
      say(io, `The log is kept in ${directory}.`);
      return await keepServing(io, producer, { ...options, failed });
    } finally {
      await store.close();
    }
  },
});

/** Until somebody stops it, or its log fails: then nothing could be acknowledged any more (F04). */
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
    // The token is for whoever sits here; in a log that others read it would be theirs too.
    if (serving.inspector !== undefined)
      print(io, `See what listeners get: ${io.stdout.isTTY ? serving.inspector : `${serving.http}/`}`);
    say(io, "Stop with Ctrl+C.");
    const reason = await Promise.race([stopped(io), ...(failed ? [failed] : [])]);
    if (reason instanceof Error) throw new CommandError(reason.message);
    say(io, "Stopping. Everyone who listens is told.");
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
    throw usage(`There is no module ${plain(module)}. Name a JavaScript file, such as ./agent.mjs.`);
  let loaded: { default?: unknown };
  try {
    loaded = (await import(pathToFileURL(path).href)) as { default?: unknown };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_UNKNOWN_FILE_EXTENSION")
      throw new CommandError(
        `${plain(module)} cannot be loaded: this Node runs JavaScript only. Compile it first and serve the .js or .mjs file.`,
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
      `${plain(module)} failed when it started: ${(error as Error).stack ?? String(error)}`,
    );
  }
  if (isProducer(made)) return made;
  throw new CommandError(
    `The function that ${plain(module)} exports must give back a producer. Write: ${SHAPE}.`,
  );
}

const isProducer = (value: unknown): value is Producer =>
  typeof value === "object" && value !== null && "run" in value && "identity" in value;
