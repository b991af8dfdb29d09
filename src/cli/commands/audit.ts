/** `earshot audit`: the record of what was asked, answered and done, and whether anybody changed it. */
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
import { count, fileError, openInput, plain, printed } from "../io.ts";

interface Kept {
  readonly entries: readonly AuditEntry[];
  readonly head: SignedHead | undefined;
}

const ACTIONS = ["verify", "export", "show"];

export default command({
  takes: "<verify | export | show> [file]",
  most: 2,
  about:
    "The record: what was asked, in which words to whom, what was answered, by whom, and what came of it. verify says whether an entry was changed, removed, inserted or moved. export writes it as JSON Lines, which verify and show read again. Values that were redacted stay hidden, and the rest still verifies.",
  flags: {
    data: DATA_FLAG,
    session: { type: "string", value: "ID", help: "Only this session (show)." },
    key: {
      type: "string",
      value: "FILE",
      help: "The public key, in PEM, that the newest signature must fit (verify).",
    },
    json: { type: "boolean", help: "The verdict, or each entry, as a JSON object." },
  },
  examples: [
    ["earshot audit verify", "Checks the record in .earshot."],
    ["earshot audit export --data /var/lib/planner > record.jsonl", "Writes it to a file."],
    ["earshot audit verify record.jsonl --key operator.pem", "Checks the file, and who signed it."],
    ["earshot audit show --session sess_4f", "What was decided in one session, in words."],
  ],
  exits: [
    [0, "The record is as it was written."],
    [1, "It was changed, or there is none."],
  ],
  async run({ args: [action, file], flags, io }) {
    if (action === undefined || !ACTIONS.includes(action))
      throw usage(`Say what to do: earshot audit ${ACTIONS.join(", ")}. "earshot audit --help" shows how.`);
    if (flags.key !== undefined && action !== "verify") throw usage("--key goes with earshot audit verify.");
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
      "There is no record in this log. It begins with the first question an agent asks.",
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
      throw usage(`Line ${i + 1} of ${plain(file)} is no JSON. Give a file that earshot audit export wrote.`);
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
    throw usage(`${plain(file)} is no public key in PEM. It begins with -----BEGIN PUBLIC KEY-----.`);
  }
}

async function verify(
  io: Io,
  { entries, head }: Kept,
  key: KeyObject | undefined,
  json: boolean,
): Promise<number> {
  if (key && !head)
    throw new CommandError("Nobody has signed this record. Leave --key out to check the chain alone.");
  const fits = (text: string, signature: string): boolean => {
    try {
      return verifySignature(null, Buffer.from(text), key!, Buffer.from(signature, "base64url"));
    } catch {
      // Another sort of key than the one that signed.
      return false;
    }
  };
  const verdict = await verifyRecord(entries, head, key ? fits : undefined);
  if (json) print(io, JSON.stringify(verdict));
  else if (!verdict.ok) print(io, `Not as it was written. Entry ${verdict.index}: ${verdict.reason}`);
  else {
    const removed = verdict.removed > 0 ? ` ${verdict.removed} older ones were removed, and it says so.` : "";
    print(io, `As it was written: ${count(verdict.entries, "entry", "entries")}.${removed}`);
    print(io, `Newest hash: ${verdict.head}`);
    if (key && head)
      print(io, `Signed up to entry ${head.index} by ${plain(head.key_id)} at ${plain(head.at)}.`);
    else if (head) say(io, "The newest signature was not checked: name the key with --key.");
    else say(io, "Keep the newest hash elsewhere: without it, entries cut off the end would not be missed.");
  }
  return verdict.ok ? EXIT.ok : EXIT.failed;
}

async function exportAll(io: Io, { entries, head }: Kept): Promise<number> {
  for (const entry of entries) {
    await printed(io, JSON.stringify(entry));
    io.signal.throwIfAborted();
  }
  if (head) await printed(io, JSON.stringify({ head }));
  return EXIT.ok;
}

async function show(io: Io, { entries }: Kept, session: string | undefined, json: boolean): Promise<number> {
  for (const { index, at, kind, fields } of entries) {
    const values = Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, "value" in field ? field.value : "(redacted)"]),
    );
    if (session !== undefined && values["session_id"] !== session) continue;
    if (json) await printed(io, JSON.stringify({ index, at, kind, ...values }));
    else await printed(io, sentence(index, at, kind, values));
    io.signal.throwIfAborted();
  }
  return EXIT.ok;
}

/** One line each, the words first that a person would ask for. */
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
