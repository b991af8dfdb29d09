/**
 * The way into the log: text becomes NFC and whole grapheme clusters, open text is closed before what must come after
 * it, every entry gets its place and its id, and nothing is delivered before the store has acknowledged it.
 */
import { encodeEventId } from "../delivery/cursor.ts";
import type { LogEntry } from "../delivery/entry.ts";
import { createOutputText, type OutputText } from "../delivery/output-text.ts";
import { closesText, isTerminal } from "../delivery/track.ts";
import type { AgentEvent, OutputStreaming } from "../protocol/types.ts";
import type { LogStore } from "./store.ts";

export type EntryOptions = Pick<LogEntry, "insist" | "audience">;

export interface Log {
  /** Settles when the store has it; by then it has been handed to `delivered`. */
  append(event: Record<string, unknown>, options?: EntryOptions): Promise<void>;
  readonly next: number;
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
  readonly next?: number;
}

const voice = ({ language, content_type, localization_hints }: Record<string, unknown>): string =>
  JSON.stringify([language ?? (localization_hints as { primary_language?: string } | undefined)?.primary_language, content_type]);

export function createLog({ store, acknowledged, next = 1 }: LogOptions): Log {
  const open = new Map<string, Map<string, OpenOutput>>();
  let seq = next;

  const enter = (event: Record<string, unknown>, options?: EntryOptions): LogEntry => ({
    seq,
    event: { ...event, event_id: encodeEventId(store.identity, seq++) } as unknown as AgentEvent,
    ...options,
  });

  function* stream(event: Record<string, unknown>): Iterable<LogEntry> {
    const { session_id, output_id = "", chunk, complete } = event as unknown as OutputStreaming;
    let outputs = open.get(session_id);
    if (!outputs) {
      outputs = new Map();
      open.set(session_id, outputs);
    }
    let output = outputs.get(output_id);
    if (output && voice(output.event) !== voice(event)) yield* release(output);
    if (!output) {
      output = { text: createOutputText(), event };
      outputs.set(output_id, output);
    }
    output.event = event;
    const { text } = output;
    const { position } = text;
    const ready = text.push(chunk) + (complete ? text.flush() : "");
    if (complete) outputs.delete(output_id);
    if (ready !== "" || complete) yield enter({ ...event, chunk: ready, position });
  }

  function* release({ text, event }: OpenOutput): Iterable<LogEntry> {
    const { position } = text;
    const rest = text.flush();
    if (rest !== "") yield enter({ ...event, chunk: rest, position, complete: false });
  }

  function* ingest(event: Record<string, unknown>, options: EntryOptions | undefined): Iterable<LogEntry> {
    if (event["type"] === "aaep:agent.output.streaming") {
      yield* stream(event);
      return;
    }
    const session_id = event["session_id"] as string;
    const outputs = open.get(session_id);
    if (outputs && closesText(event as unknown as AgentEvent)) for (const output of outputs.values()) yield* release(output);
    if (isTerminal(event["type"] as string)) open.delete(session_id);
    yield enter(event, options);
  }

  return {
    get next() {
      return seq;
    },
    async append(event, options) {
      const entries = [...ingest(event, options)];
      if (entries.length === 0) return;
      await store.append(entries);
      acknowledged(entries);
    },
  };
}
