/**
 * The way into the log: text becomes NFC and whole grapheme clusters, open text is closed before what must come after
 * it, every entry gets its place and its id, and nothing is delivered before the store has acknowledged it.
 */
import { encodeEventId } from "../delivery/cursor.ts";
import type { LogEntry } from "../delivery/entry.ts";
import { closesText, isTerminal } from "../delivery/log-window.ts";
import { createOutputText, type OutputText } from "../delivery/output-text.ts";
import { EarshotError } from "../protocol/errors.ts";
import { codePoints } from "../protocol/formats.ts";
import type { AgentEvent, OutputStreaming } from "../protocol/types.ts";
import type { Fact, LogStore } from "./store.ts";

export interface EntryOptions extends Pick<LogEntry, "insist" | "audience" | "localized"> {
  /** Text that was in a log before: it stays where it stood, and nothing of it waits for what may follow. */
  readonly whole?: boolean;
}

export interface Log {
  /** Settles when the store has it, and its facts with it; by then it has been handed to `acknowledged`. */
  append(
    event: Record<string, unknown>,
    options?: EntryOptions & { readonly facts?: readonly Fact[] },
  ): Promise<void>;
  /** Facts that belong to no event. */
  keep(facts: readonly Fact[]): Promise<void>;
  /**
   * The process is about to stop, and the next one goes on from here: nothing is written any more, but the end of what
   * had begun, until that is over too. Whoever still waits for the log waits for good, as if the power had gone.
   */
  stop(but: "ends" | "nothing"): void;
  readonly next: number;
}

interface OpenSession {
  readonly outputs: Map<string, OpenOutput>;
  /** On every entry, not only the first: a log that is read from its middle must not open a session to everyone. */
  readonly audience: readonly string[] | undefined;
}

interface OpenOutput {
  readonly text: OutputText;
  /** The last chunk's event: what is held back goes out in its words. */
  event: Record<string, unknown>;
}

export interface LogOptions {
  readonly store: LogStore;
  /** Entries the store has acknowledged, in order. */
  readonly acknowledged: (entries: readonly LogEntry[]) => void;
  /** Called once, when the store has failed: nothing more will come. */
  readonly failed?: () => void;
  /** What the store holds already: the log goes on after it. */
  readonly history?: readonly LogEntry[];
}

/** Heard by everyone who listens when the log breaks: nothing else can tell them any more. */
export const LOG_BROKEN = "The agent can no longer keep its record, so it has stopped. Nothing more is done.";

const NOTHING: Promise<void> = Promise.resolve();
const never = (): Promise<never> => new Promise(() => {});

const languageOf = ({ language, localization_hints }: Record<string, unknown>): unknown =>
  language ?? (localization_hints as { primary_language?: string } | undefined)?.primary_language;

const sameVoice = (one: Record<string, unknown>, other: Record<string, unknown>): boolean =>
  one["content_type"] === other["content_type"] && languageOf(one) === languageOf(other);

export function createLog({ store, acknowledged, failed, history = [] }: LogOptions): Log {
  const open = openAt(history);
  let seq = (history.at(-1)?.seq ?? 0) + 1;
  let broken: unknown;
  let stopped: "ends" | "nothing" | undefined;
  let latest = NOTHING;
  /** Text waits for the write before it, and goes with all that was said meanwhile: no write for every token. */
  let gathered: LogEntry[] = [];
  let gathering: Promise<void> | undefined;

  const enter = (
    event: Record<string, unknown>,
    session: OpenSession,
    { insist, localized }: EntryOptions = {},
  ): LogEntry => {
    const entry = place(Object.assign({}, event, { event_id: encodeEventId(store.identity, seq) }), session);
    if (insist) entry.insist = insist;
    if (localized) entry.localized = localized;
    return entry;
  };

  /** A chunk, as far as it may go. */
  const enterText = (
    event: Record<string, unknown>,
    session: OpenSession,
    chunk: string,
    position: number,
  ): LogEntry => {
    // Setting what is there already: a field added to a spread copy makes V8 give every copy a shape of its own, and
    // whatever reads events afterwards is slow, for as long as the log holds them.
    const ready = "event_id" in event ? event : Object.assign({ event_id: "" }, event);
    const entered = { ...ready };
    entered["event_id"] = encodeEventId(store.identity, seq);
    entered["chunk"] = chunk;
    entered["position"] = position;
    return place(entered, session);
  };

  const place = (event: Record<string, unknown>, { audience }: OpenSession) => {
    const entry: { -readonly [Name in keyof LogEntry]: LogEntry[Name] } = {
      seq: seq++,
      event: event as unknown as AgentEvent,
    };
    if (audience) entry.audience = audience;
    return entry;
  };

  function stream(
    event: Record<string, unknown>,
    session: OpenSession,
    entries: LogEntry[],
    whole = false,
  ): void {
    const { output_id = "", chunk, complete, position: from } = event as unknown as OutputStreaming;
    const { outputs } = session;
    let output = outputs.get(output_id);
    if (output && !sameVoice(output.event, event)) release(output, session, event, entries);
    if (!output) {
      output = { text: createOutputText(whole ? from : 0), event };
      outputs.set(output_id, output);
    }
    const { text } = output;
    const { position } = text;
    // Urgent text does not wait for what may follow.
    const ready =
      text.push(chunk) +
      (complete || whole || closesText(event as unknown as AgentEvent) ? text.flush() : "");
    if (complete) outputs.delete(output_id);
    if (ready === "" && !complete) {
      // Copied, as everything the log holds: whoever gave it may go on using it.
      output.event = { ...event };
      return;
    }
    const entry = enterText(event, session, ready, position);
    entries.push(entry);
    output.event = entry.event as unknown as Record<string, unknown>;
  }

  /** What was held back goes out now, at the time of what interrupts it: others may have been logged in between. */
  function release(
    { text, event }: OpenOutput,
    session: OpenSession,
    { timestamp }: Record<string, unknown>,
    entries: LogEntry[],
    complete = false,
  ): void {
    const { position } = text;
    const rest = text.flush();
    if (rest !== "" || complete)
      entries.push(enter({ ...event, timestamp, chunk: rest, position, complete }, session));
  }

  function ingest(event: Record<string, unknown>, options: EntryOptions, entries: LogEntry[]): void {
    const { insist, audience } = options;
    const session_id = event["session_id"] as string;
    const terminal = isTerminal(event["type"] as string);
    let session = open.get(session_id);
    if (!session) {
      session = { outputs: new Map(), audience };
      open.set(session_id, session);
    }
    // What is left open ends with the session, and says so first (CON-46).
    if (closesText(event as unknown as AgentEvent, insist)) {
      for (const output of session.outputs.values()) release(output, session, event, entries, terminal);
    }
    if (terminal) open.delete(session_id);
    if (event["type"] === "aaep:agent.output.streaming") stream(event, session, entries, options.whole);
    else entries.push(enter(event, session, options));
  }

  async function write(entries: readonly LogEntry[], facts?: readonly Fact[]): Promise<void> {
    try {
      await store.append(entries, facts);
    } catch (cause) {
      // The places are taken and their entries are not kept: whatever came after would stand behind a hole.
      const first = broken === undefined;
      broken ??= new EarshotError("log_broken", "The log could not be written to; it takes nothing more.", {
        cause,
      });
      if (first) failed?.();
    }
    if (broken) throw broken;
    if (entries.length > 0) acknowledged(entries);
  }

  /** Writes all that was gathered. */
  function commit(facts?: readonly Fact[]): Promise<void> {
    const entries = gathered;
    gathered = [];
    latest = write(entries, facts);
    return latest;
  }

  function flush(): Promise<void> {
    gathering = undefined;
    // Taken along by another write, it is kept when that one is.
    if (gathered.length === 0) return latest;
    return broken ? Promise.reject(broken) : commit();
  }

  return {
    get next() {
      return seq;
    },
    append(event, options = {}) {
      const { facts } = options;
      if (broken) return Promise.reject(broken);
      if (stopped && !(stopped === "ends" && event["type"] === "aaep:agent.tool.completed")) return never();
      const before = gathered.length;
      ingest(event, options, gathered);
      if (facts?.length || event["type"] !== "aaep:agent.output.streaming") return commit(facts);
      if (gathered.length === before) return NOTHING;
      gathering ??= latest.then(flush, flush);
      return gathering;
    },
    async keep(facts) {
      if (broken) throw broken;
      if (stopped) return never();
      if (facts.length > 0) await commit(facts);
    },
    stop(but) {
      if (gathered.length > 0 && !broken) void commit().catch(() => undefined);
      stopped = but;
    },
  };
}

/** The sessions and outputs a log leaves open: their text goes on where it was. What was held back was never said. */
function openAt(history: readonly LogEntry[]): Map<string, OpenSession> {
  const sessions = new Map<
    string,
    { audience: OpenSession["audience"]; last: Map<string, OutputStreaming> }
  >();
  for (const { event, audience } of history) {
    const { session_id, type } = event;
    let session = sessions.get(session_id);
    if (!session) {
      session = { audience, last: new Map() };
      sessions.set(session_id, session);
    }
    if (isTerminal(type)) sessions.delete(session_id);
    if (type !== "aaep:agent.output.streaming") continue;
    const { output_id = "", complete } = event as OutputStreaming;
    if (complete) session.last.delete(output_id);
    else session.last.set(output_id, event as OutputStreaming);
  }
  const open = new Map<string, OpenSession>();
  for (const [session_id, { audience, last }] of sessions) {
    const outputs = new Map<string, OpenOutput>();
    for (const [output_id, { event_id: _, ...said }] of last) {
      const text = createOutputText(said.position + codePoints(said.chunk));
      outputs.set(output_id, { text, event: said });
    }
    open.set(session_id, { outputs, audience });
  }
  return open;
}
