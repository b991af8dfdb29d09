/** `earshot validate`: checks each message against the message rules and each stream against the session rules. */
import { REQUIREMENTS } from "../../conformance/requirements.ts";
import { type AgentEvent, type Issue, type ParseOptions, parse } from "../../protocol/index.ts";
import { command, EXIT, type Io, say, usage } from "../command.ts";
import { count, openInput, plain, printLine } from "../io.ts";
import { type Document, readDocuments } from "../json-documents.ts";
import { createStreamCheck, type StreamCheck } from "../stream-check.ts";

interface Result {
  readonly file: string;
  readonly line: number;
  readonly ok: boolean;
  readonly type?: string | undefined;
  readonly errors: readonly Issue[];
  readonly warnings: readonly Issue[];
}

interface Rules {
  readonly strictness: "strict" | "tolerant" | "both";
  readonly extensions: ParseOptions["extensions"];
  readonly type: string | undefined;
}

export default command({
  takes: "[file...]",
  most: Number.MAX_SAFE_INTEGER,
  about:
    "Checks AAEP messages, and the order of events in each session. Reads JSON Lines, a JSON array or single documents from files, or from standard input if no file is given. An error is something a listener refuses. A warning is something a careful agent would not send.",
  flags: {
    strict: { type: "boolean", help: "Treat warnings as errors." },
    tolerant: { type: "boolean", help: "Do not report warnings." },
    "messages-only": { type: "boolean", help: "Check each message on its own, not the order of events." },
    complete: { type: "boolean", help: "Require every session to start and end in its file." },
    sampled: {
      type: "boolean",
      help: "Allow missing states, as in the stream of a listener with a rate limit.",
    },
    type: {
      type: "string",
      value: "TYPE",
      help: "Require every message to have this type, such as aaep:producer.manifest.",
    },
    extension: {
      type: "string",
      value: "PREFIX=ADDRESS",
      multiple: true,
      help: "An extension in use and the address that declares it. May be repeated. All other extensions are then errors.",
    },
    explain: { type: "boolean", help: "After each finding, print the text of its requirement." },
    json: { type: "boolean", help: "One JSON object per message: file, line, ok, type, errors, warnings." },
  },
  examples: [
    ["earshot validate session.jsonl", "Checks a captured session."],
    [
      "earshot validate --strict --explain session.jsonl",
      "Strictest check, with explanations, for example before a release.",
    ],
    ["earshot capture http://127.0.0.1:4600 | earshot validate", "Checks a running agent."],
  ],
  exits: [
    [0, "Everything is valid."],
    [1, "Something is not valid, or there is nothing to check."],
    [2, "The command line is wrong, or a file cannot be read."],
  ],
  async run({ args, flags, io }) {
    if (flags.strict && flags.tolerant) throw usage("Give either --strict or --tolerant, not both.");
    const rules: Rules = {
      strictness: flags.strict ? "strict" : flags.tolerant ? "tolerant" : "both",
      extensions: extensionsOf(flags.extension),
      type: flags.type,
    };
    const tally = { checked: 0, invalid: 0, warned: 0, unfinished: 0 };
    const show = async (result: Result): Promise<void> => {
      if (flags.json) return printLine(io, JSON.stringify(result));
      for (const line of linesOf(result, flags.explain)) await printLine(io, line);
    };
    const files = args.length > 0 ? args : ["-"];
    if (args.length === 0 && io.stdin.isTTY)
      say(io, "Reading standard input. Type or paste messages, then press Ctrl+D. Or give a file.");
    try {
      for (const file of files) {
        const stream = flags["messages-only"] ? undefined : createStreamCheck(flags);
        const before = tally.checked;
        for await (const document of readDocuments(await openInput(io, file))) {
          const result = examine(document, nameOf(file), rules, stream);
          tally.checked++;
          if (!result.ok) tally.invalid++;
          else if (result.warnings.length > 0) tally.warned++;
          await show(result);
          if (io.signal.aborted) break;
        }
        if (io.signal.aborted) break;
        if (tally.checked === before) {
          tally.invalid++;
          await show(emptiness(nameOf(file)));
        }
        const open = stream?.unfinished() ?? [];
        tally.unfinished += open.length;
        if (flags.complete && open.length > 0) {
          tally.invalid++;
          await show(unended(nameOf(file), open));
        }
      }
    } catch (error) {
      // Ctrl+C ends the reading. What was checked before that still counts.
      if (!io.signal.aborted) throw error;
    }
    if (!flags.json || io.signal.aborted) say(io, summary(tally, io));
    io.signal.throwIfAborted();
    return tally.invalid > 0 ? EXIT.failed : EXIT.ok;
  },
});

const nameOf = (file: string): string => (file === "-" ? "standard input" : file);

function extensionsOf(given: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (given.length === 0) return undefined;
  return Object.fromEntries(
    given.map((one) => {
      const at = one.indexOf("=");
      if (at < 1 || !URL.canParse(one.slice(at + 1)))
        throw usage(
          `--extension takes PREFIX=ADDRESS, such as haptic=https://example.org/haptic/v1, not "${one}".`,
        );
      return [one.slice(0, at), one.slice(at + 1)];
    }),
  );
}

function examine(
  { line, bytes, broken }: Document,
  file: string,
  { strictness, extensions, type: wanted }: Rules,
  stream: StreamCheck | undefined,
): Result {
  const errors: Issue[] = [];
  const warnings: Issue[] = [];
  if (broken !== undefined) errors.push({ path: "", code: "json", message: broken, ruling: "ENV-33" });
  if (broken !== undefined) return { file, line, ok: false, errors, warnings };
  const known = extensions ? { extensions } : {};
  let parsed = parse(bytes, { mode: strictness === "tolerant" ? "tolerant" : "strict", ...known });
  if (!parsed.ok && strictness === "both") {
    const { issues } = parsed;
    parsed = parse(bytes, { mode: "tolerant", ...known });
    if (parsed.ok) warnings.push(...issues);
  }
  if (!parsed.ok) errors.push(...parsed.issues);
  const type = parsed.ok ? parsed.message.type : parsed.type;
  if (parsed.ok && wanted !== undefined && type !== wanted)
    errors.push({ path: "/type", code: "other_type", message: `This is ${plain(type!)}, not ${wanted}.` });
  if (parsed.ok && parsed.kind !== "message") {
    for (const { id, message } of stream?.check(parsed.message as AgentEvent) ?? [])
      errors.push({ path: "", code: "sequence", message: plain(message), ruling: id });
  }
  return { file, line, ok: errors.length === 0, type, errors, warnings };
}

const emptiness = (file: string): Result => ({
  file,
  line: 1,
  ok: false,
  errors: [
    {
      path: "",
      code: "empty",
      message: "There is no message here. Use JSON Lines, an array or one document.",
    },
  ],
  warnings: [],
});

const unended = (file: string, sessions: readonly string[]): Result => ({
  file,
  line: 0,
  ok: false,
  errors: sessions.map((id) => ({
    path: "",
    code: "sequence",
    message: `${plain(id)} never ended; send completed, errored or cancelled as its last event.`,
    ruling: "SEQ-02",
  })),
  warnings: [],
});

function* linesOf({ file, line, errors, warnings }: Result, explain: boolean): Iterable<string> {
  for (const [kind, issues] of [
    ["error", errors],
    ["warning", warnings],
  ] as const) {
    for (const { path, message, ruling } of issues) {
      const place = line === 0 ? plain(file) : `${plain(file)}:${line}`;
      yield `${place}: ${kind}${path ? ` at ${plain(path)}` : ""}: ${message}${ruling ? ` (${ruling})` : ""}`;
      const reason = explain && ruling ? reasonOf(ruling) : undefined;
      if (reason) yield `    ${reason}`;
    }
  }
}

function reasonOf(ruling: string): string {
  const requirement = REQUIREMENTS.find(({ id }) => id === ruling);
  return requirement
    ? `${ruling}: ${requirement.text}`
    : `${ruling} is one of our rulings. PROTOCOL.md explains it.`;
}

function summary(
  { checked, invalid, warned, unfinished }: Record<"checked" | "invalid" | "warned" | "unfinished", number>,
  { signal }: Io,
): string {
  const parts = [
    signal.aborted ? `Stopped after ${count(checked, "message")}.` : `Checked ${count(checked, "message")}.`,
    invalid === 0 ? "No errors." : `Not valid: ${invalid.toLocaleString("en-US")}.`,
    ...(warned > 0 ? [`Valid with warnings: ${warned.toLocaleString("en-US")}.`] : []),
    ...(unfinished > 0 ? [`${count(unfinished, "session")} not ended yet.`] : []),
  ];
  return parts.join(" ");
}
