/**
 * Appending to the log: text is normalized to NFC and split only between grapheme clusters, open text is closed before
 * an event that must come after it, and every entry gets its position and id. Nothing is delivered before the store has
 * acknowledged it.
 */
import { encodeEventId } from "../delivery/cursor.ts";
import type { LogEntry } from "../delivery/entry.ts";
import { closesText, isTerminal } from "../delivery/log-window.ts";
import { createOutputText, type OutputText } from "../delivery/output-text.ts";
import { EarshotError } from "../protocol/errors.ts";
import type { AgentEvent, OutputStreaming } from "../protocol/types.ts";
import { codePoints } from "../text/language.ts";
import type { Fact, LogStore } from "./store.ts";

/** What an entry may carry besides its event. */
export interface AppendOptions extends Pick<LogEntry, "required" | "audience" | "localized"> {
  /** Recorded text keeps its positions, and nothing of it waits for the next chunk. */
  readonly recorded?: boolean;
  /** Stored together with the event, or not at all. */
  readonly facts?: readonly Fact[];
}

export interface Log {
  /**
   * Resolves once the store has the event and its facts, to the first position of the write it was part of; 0 for text
   * that still waits for the next chunk. Followers of the store have received it by then.
   */
  append(event: Record<string, unknown>, options?: AppendOptions): Promise<number>;
  /** Stores facts that belong to no event. */
  keep(facts: readonly Fact[]): Promise<void>;
  /** Takes in an entry that the store already holds. Call it for each, in order, before the first append. */
  restore(entry: LogEntry): void;
  /**
   * Stops writing because the process is about to exit. "completions" still lets the end of running tools through;
   * "all" stops everything. Promises that are still pending then never settle, as in a crash.
   */
  stop(what: "completions" | "all"): void;
  /** The next position. */
  readonly next: number;
}

interface OpenSession {
  readonly outputs: Map<string, OpenOutput>;
  /** On every entry, not only the first: reading a log from its middle must not open a session to everyone. */
  readonly audience: readonly string[] | undefined;
}

interface OpenOutput {
  /** Absent for restored output until it continues. */
  text: OutputText | undefined;
  /** The last chunk's event, as a template for held-back text. */
  event: Record<string, unknown>;
}

export interface LogOptions {
  readonly store: LogStore;
  /** Called once, when the store has failed: nothing more will be stored. */
  readonly failed?: () => void;
}

/** Sent to every subscriber when the log breaks: the log can no longer tell them. */
export const LOG_BROKEN = "The agent can no longer keep its record, so it has stopped. Nothing more is done.";

const NOTHING_WRITTEN: Promise<number> = Promise.resolve(0);
const never = (): Promise<never> => new Promise(() => {});

const languageOf = ({ language, localization_hints }: Record<string, unknown>): unknown =>
  language ?? (localization_hints as { primary_language?: string } | undefined)?.primary_language;

const sameLanguageAndType = (one: Record<string, unknown>, other: Record<string, unknown>): boolean =>
  one["content_type"] === other["content_type"] && languageOf(one) === languageOf(other);

/** The text of an open output. What a stopped process held back was never said, so it is not restored. */
function textOf(output: OpenOutput): OutputText {
  const { chunk, position } = output.event as unknown as OutputStreaming;
  output.text ??= createOutputText(position + codePoints(chunk));
  return output.text;
}

export function createLog({ store, failed }: LogOptions): Log {
  const open = new Map<string, OpenSession>();
  let seq = 1;
  let broken: unknown;
  let stopped: "completions" | "all" | undefined;
  let latest = NOTHING_WRITTEN;
  /** Text is batched: it waits for the write before it and shares the next one, so that not every token is a write. */
  let gathered: LogEntry[] = [];
  let gathering: Promise<number> | undefined;

  const createEntry = (
    event: Record<string, unknown>,
    session: OpenSession,
    { required, localized }: AppendOptions = {},
  ): LogEntry => {
    const entry = place(Object.assign({}, event, { event_id: encodeEventId(store.identity, seq) }), session);
    if (required) entry.required = required;
    if (localized) entry.localized = localized;
    return entry;
  };

  /** A chunk, up to the last whole grapheme cluster. */
  const createTextEntry = (
    event: Record<string, unknown>,
    session: OpenSession,
    chunk: string,
    position: number,
  ): LogEntry => {
    // Overwrites existing fields only: adding a field to a spread copy makes V8 give every copy a hidden class of its
    // own, and everything that reads events later becomes slow for as long as the log holds them.
    const ready = "event_id" in event ? event : Object.assign({ event_id: "" }, event);
    const copy = { ...ready };
    copy["event_id"] = encodeEventId(store.identity, seq);
    copy["chunk"] = chunk;
    copy["position"] = position;
    return place(copy, session);
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
    recorded = false,
  ): void {
    const { output_id = "", chunk, complete, position: from } = event as unknown as OutputStreaming;
    const { outputs } = session;
    let output = outputs.get(output_id);
    if (output && !sameLanguageAndType(output.event, event)) release(output, session, event, entries);
    if (!output) {
      output = { text: createOutputText(recorded ? from : 0), event };
      outputs.set(output_id, output);
    }
    const text = textOf(output);
    const { position } = text;
    // Urgent text does not wait for the next chunk.
    const ready =
      text.push(chunk) +
      (complete || recorded || closesText(event as unknown as AgentEvent) ? text.flush() : "");
    if (complete) outputs.delete(output_id);
    if (ready === "" && !complete) {
      // Copied, because the caller may reuse the event.
      output.event = { ...event };
      return;
    }
    const entry = createTextEntry(event, session, ready, position);
    entries.push(entry);
    output.event = entry.event as unknown as Record<string, unknown>;
  }

  /** Releases held-back text, with the timestamp of the event that interrupts it: others may have been logged between. */
  function release(
    output: OpenOutput,
    session: OpenSession,
    { timestamp }: Record<string, unknown>,
    entries: LogEntry[],
    complete = false,
  ): void {
    const text = textOf(output);
    const { position } = text;
    const rest = text.flush();
    if (rest !== "" || complete)
      entries.push(createEntry({ ...output.event, timestamp, chunk: rest, position, complete }, session));
  }

  function ingest(event: Record<string, unknown>, options: AppendOptions, entries: LogEntry[]): void {
    const { required, audience } = options;
    const session_id = event["session_id"] as string;
    const terminal = isTerminal(event["type"] as string);
    let session = open.get(session_id);
    if (!session) {
      session = { outputs: new Map(), audience };
      open.set(session_id, session);
    }
    // Output that is still open is completed before the session ends (CON-46).
    if (closesText(event as unknown as AgentEvent, required)) {
      for (const output of session.outputs.values()) release(output, session, event, entries, terminal);
    }
    if (terminal) open.delete(session_id);
    if (event["type"] === "aaep:agent.output.streaming") stream(event, session, entries, options.recorded);
    else entries.push(createEntry(event, session, options));
  }

  async function write(entries: readonly LogEntry[], facts?: readonly Fact[]): Promise<number> {
    let first = 0;
    try {
      first = await store.append(entries, facts);
    } catch (cause) {
      // These positions are used up but not stored: anything after them would leave a hole in the log.
      const isFirst = broken === undefined;
      broken ??= new EarshotError("log_broken", "The log could not be written, so it accepts nothing more.", {
        cause,
      });
      if (isFirst) failed?.();
    }
    if (broken) throw broken;
    return first;
  }

  /** Writes the batch. */
  function commit(facts?: readonly Fact[]): Promise<number> {
    const entries = gathered;
    gathered = [];
    latest = write(entries, facts);
    return latest;
  }

  function flush(): Promise<number> {
    gathering = undefined;
    // Another write took the batch along.
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
      if (stopped && !(stopped === "completions" && event["type"] === "aaep:agent.tool.completed"))
        return never();
      const before = gathered.length;
      ingest(event, options, gathered);
      if (facts?.length || event["type"] !== "aaep:agent.output.streaming") return commit(facts);
      if (gathered.length === before) return NOTHING_WRITTEN;
      gathering ??= latest.then(flush, flush);
      return gathering;
    },
    async keep(facts) {
      if (broken) throw broken;
      if (stopped) return never();
      if (facts.length > 0) await commit(facts);
    },
    restore({ seq: position, event, audience }) {
      seq = position + 1;
      const { session_id, type } = event;
      if (isTerminal(type)) return void open.delete(session_id);
      let session = open.get(session_id);
      if (!session) {
        session = { outputs: new Map(), audience };
        open.set(session_id, session);
      }
      if (type !== "aaep:agent.output.streaming") return;
      const { output_id = "", complete } = event as OutputStreaming;
      if (complete) session.outputs.delete(output_id);
      else
        session.outputs.set(output_id, {
          text: undefined,
          event: event as unknown as Record<string, unknown>,
        });
    },
    stop(what) {
      if (gathered.length > 0 && !broken) void commit().catch(() => undefined);
      stopped = what;
    },
  };
}
