/** `earshot audit`: verifies, exports and shows the record of what was asked, answered and done. */
import { createPublicKey, type KeyObject, verify as verifySignature } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type AuditEntry, recordOf, type SignedHead, verifyRecord } from "../../hub/record.ts";
import { readLog } from "../../stores/embedded/index.ts";
import {
  CommandError,
  command,
  DATA_FLAG,
  dataDirectory,
  EXIT,
  type Io,
  print,
  say,
  usage,
} from "../command.ts";
import { count, fileError, openInput, plain, printLine } from "../io.ts";

interface Kept {
  readonly entries: readonly AuditEntry[];
  readonly head: SignedHead | undefined;
}

const ACTIONS = ["verify", "export", "show"];

export default command({
  takes: "<verify | export | show> [file]",
  most: 2,
  about:
    "Reads the audit record: what was asked, the words each listener got, who answered what, and what happened then. verify detects entries that were changed, removed, inserted or reordered. export writes the record as JSON Lines, which verify and show can read. Redacted values stay hidden, and the rest still verifies.",
  flags: {
    data: DATA_FLAG,
    session: { type: "string", value: "ID", help: "With show: only this session." },
    key: {
      type: "string",
      value: "FILE",
      help: "With verify: check the newest signature with this public key (PEM).",
    },
    json: { type: "boolean", help: "Print the verdict, or each entry, as a JSON object." },
  },
  examples: [
    ["earshot audit verify", "Checks the record in .earshot."],
    ["earshot audit export --data /var/lib/planner > record.jsonl", "Writes the record to a file."],
    ["earshot audit verify record.jsonl --key operator.pem", "Checks the file and its signature."],
    ["earshot audit show --session sess_4f", "Shows what was decided in one session."],
  ],
  exits: [
    [0, "The record is unchanged."],
    [1, "The record was changed, or there is none."],
  ],
  async run({ args: [action, file], flags, io }) {
    if (action === undefined || !ACTIONS.includes(action))
      throw usage(`Choose one: earshot audit ${ACTIONS.join(", ")}. See "earshot audit --help".`);
    if (flags.key !== undefined && action !== "verify")
      throw usage("--key works only with earshot audit verify.");
    const key = flags.key === undefined ? undefined : await readKey(io, flags.key);
    const kept = await read(io, file, flags.data);
    if (action === "verify") return verify(io, kept, key, flags.json);
    if (action === "export") return exportAll(io, kept);
    return show(io, kept, flags.session, flags.json);
  },
});

async function read(io: Io, file: string | undefined, data: string | undefined): Promise<Kept> {
  if (file === undefined) {
    const kept = recordOf(await readLog({ directory: dataDirectory(io, data) }));
    if (kept.entries.length > 0) return kept;
    throw new CommandError(
      "There is no audit record in this log. It starts with the first question an agent asks.",
    );
  }
  const input = await openInput(io, file);
  let text = "";
  for await (const chunk of input.setEncoding("utf8")) text += chunk;
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const values = lines.map((line, i) => {
    try {
      return JSON.parse(line) as AuditEntry | { head: SignedHead };
    } catch {
      throw usage(
        `Line ${i + 1} of ${plain(file)} is not JSON. Give a file that earshot audit export wrote.`,
      );
    }
  });
  if (values.length === 0)
    throw usage(`${plain(file)} is empty. Give a file that earshot audit export wrote.`);
  const isHead = (value: AuditEntry | { head: SignedHead }): value is { head: SignedHead } =>
    value !== null && typeof value === "object" && typeof (value as { head?: unknown }).head === "object";
  return {
    entries: values.filter((value): value is AuditEntry => !isHead(value)),
    head: values.find(isHead)?.head,
  };
}

async function readKey(io: Io, file: string): Promise<KeyObject> {
  let text: string;
  try {
    text = await readFile(resolve(io.cwd, file), "utf8");
  } catch (error) {
    throw fileError(error, file);
  }
  try {
    return createPublicKey(text);
  } catch {
    throw usage(
      `${plain(file)} is not a public key in PEM format, which starts with -----BEGIN PUBLIC KEY-----.`,
    );
  }
}

async function verify(
  io: Io,
  { entries, head }: Kept,
  key: KeyObject | undefined,
  json: boolean,
): Promise<number> {
  if (key && !head)
    throw new CommandError("This record is not signed. Leave out --key to check only the hash chain.");
  const fits = (text: string, signature: string): boolean => {
    try {
      return verifySignature(null, Buffer.from(text), key!, Buffer.from(signature, "base64url"));
    } catch {
      // A key of a different type than the one that signed.
      return false;
    }
  };
  const verdict = await verifyRecord(entries, head, key ? fits : undefined);
  if (json) print(io, JSON.stringify(verdict));
  else if (!verdict.ok) print(io, `The record was changed. Entry ${verdict.index}: ${verdict.reason}`);
  else {
    const removed = verdict.removed > 0 ? ` ${verdict.removed} older ones were removed by retention.` : "";
    print(io, `The record is unchanged: ${count(verdict.entries, "entry", "entries")}.${removed}`);
    print(io, `Newest hash: ${verdict.head}`);
    if (key && head)
      print(io, `Signed up to entry ${head.index} by ${plain(head.key_id)} at ${plain(head.at)}.`);
    else if (head) say(io, "The newest signature was not checked: give the key with --key.");
    else
      say(
        io,
        "Store the newest hash somewhere else. Without it, entries removed from the end cannot be detected.",
      );
  }
  return verdict.ok ? EXIT.ok : EXIT.failed;
}

async function exportAll(io: Io, { entries, head }: Kept): Promise<number> {
  for (const entry of entries) {
    await printLine(io, JSON.stringify(entry));
    io.signal.throwIfAborted();
  }
  if (head) await printLine(io, JSON.stringify({ head }));
  return EXIT.ok;
}

async function show(io: Io, { entries }: Kept, session: string | undefined, json: boolean): Promise<number> {
  for (const { index, at, kind, fields } of entries) {
    const values = Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, "value" in field ? field.value : "(redacted)"]),
    );
    if (session !== undefined && values["session_id"] !== session) continue;
    if (json) await printLine(io, JSON.stringify({ index, at, kind, ...values }));
    else await printLine(io, sentence(index, at, kind, values));
    io.signal.throwIfAborted();
  }
  return EXIT.ok;
}

/** One line per entry, the text of the question first. */
function sentence(
  index: number,
  at: string,
  kind: string,
  values: Readonly<Record<string, unknown>>,
): string {
  const { session_id, question, token_hash, ...rest } = values;
  const asked = question as Record<string, unknown> | string | undefined;
  const words =
    typeof asked === "object" ? (asked["action"] ?? asked["question"] ?? asked["summary_normal"]) : asked;
  const details = Object.entries(rest).map(
    ([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const parts = [...(words === undefined ? [] : [String(words)]), ...details];
  return plain(`${index} ${at} ${String(session_id ?? "")} ${kind}: ${parts.join("; ")}`);
}
