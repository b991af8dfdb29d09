/**
 * One session, told once and heard by four: what the picture in the docs shows. An agent is asked to move money to
 * savings; the real log and the real engine deliver it on a clock that this file moves, so the result never changes.
 */
import { Engine } from "../../src/delivery/engine.ts";
import type { LaneDelivery } from "../../src/delivery/lane.ts";
import { createLog } from "../../src/hub/log.ts";
import type { Resolution } from "../../src/protocol/lifecycle.ts";
import { resolveTerms } from "../../src/protocol/negotiate.ts";
import { AAEP_VERSION, type AgentEvent, type Capabilities, CORE_CONTEXT } from "../../src/protocol/types.ts";
import { createMemoryStore } from "../../src/stores/memory.ts";

export interface Listener {
  readonly name: string;
  /** What it asks for, in words. */
  readonly asks: readonly string[];
  readonly capabilities: Capabilities;
}

const replies = {
  supports_confirmation_reply: true,
  supported_conformance_levels: [1, 2, 3] as (1 | 2 | 3)[],
};

const QUIET = { exclude: ["aaep:agent.state.*", "aaep:agent.progress.*"] };

export const LISTENERS: readonly Listener[] = [
  {
    name: "Braille display",
    asks: ["1 event a second, 200 words a minute", "terse, sentences, no states or progress"],
    capabilities: {
      ...replies,
      max_events_per_second: 1,
      pace_wpm: 200,
      preferred_verbosity: "terse",
      coalesce_boundaries: ["sentence", "completion"],
      event_filters: QUIET,
    },
  },
  {
    name: "Screen reader",
    asks: ["3 events a second", "terse, sentences"],
    capabilities: {
      ...replies,
      max_events_per_second: 3,
      preferred_verbosity: "terse",
      coalesce_boundaries: ["sentence", "completion"],
    },
  },
  {
    name: "Captions",
    asks: ["10 events a second, cannot answer", "word by word, no states or progress"],
    capabilities: {
      max_events_per_second: 10,
      coalesce_boundaries: ["word", "completion"],
      event_filters: QUIET,
    },
  },
  {
    name: "Raw debugger",
    asks: ["no limit", "detailed, every token as it is said"],
    capabilities: { ...replies, preferred_verbosity: "detailed", coalesce_boundaries: ["none"] },
  },
];

const START = Date.UTC(2026, 3, 24, 9, 0, 0);
const TOKEN = "rpl_5d2f0c9e8b7a46135d2f0c9e8b7a4613";

type Said = { readonly at: number; readonly event: Record<string, unknown> };

/** The session as the agent tells it: milliseconds from its start, and the event. */
export function tellSession(): { said: readonly Said[]; answer: Resolution } {
  const said: Said[] = [];
  const say = (at: number, type: string, fields: Record<string, unknown>) => {
    const event = {
      "@context": CORE_CONTEXT,
      aaep_version: AAEP_VERSION,
      type: `aaep:agent.${type}`,
      session_id: "sess_3f6b1c0d9e8a47524f6b1c0d9e8a4752",
      timestamp: new Date(START + at).toISOString(),
      producer: { agent_id: "household", agent_name: "Household" },
      urgency: type === "progress.updated" ? "background" : "normal",
      localization_hints: { primary_language: "en-US", text_direction: "ltr" },
      ...fields,
    };
    said.push({ at, event });
  };
  const words = (terse: string, normal: string, detailed?: string) => ({
    summary_terse: terse,
    summary_normal: normal,
    ...(detailed === undefined ? {} : { summary_detailed: detailed }),
  });
  const state = (at: number, from_state: string, to_state: string, terse: string, normal: string) =>
    say(at, "state.changed", { from_state, to_state, ...words(terse, normal) });
  const progress = (at: number, percent: number) =>
    say(at, "progress.updated", {
      progress: { percent },
      ...words(`${percent} percent.`, `${percent} percent done.`),
    });
  const stream = (from: number, every: number, output_id: string, text: string) => {
    const tokens = text.match(/\S+\s*/g)!;
    for (const [index, chunk] of tokens.entries()) {
      say(from + index * every, "output.streaming", {
        output_id,
        chunk,
        position: 0,
        content_type: "text/plain",
        coalesce_hint: "none",
        complete: index === tokens.length - 1,
      });
    }
  };

  say(0, "session.started", words("Started.", "Moving money to savings.", "Asked to move $500 to savings."));
  state(100, "idle", "thinking", "Thinking.", "Thinking it through.");
  state(700, "thinking", "calling_tool", "Using a tool.", "Going to look at the accounts.");
  const balance = { tool: "read_balance", tool_call_id: "call_balance" };
  say(800, "tool.invoked", {
    ...balance,
    ...words("Balance.", "Checking your balance.", "Calling read_balance."),
  });
  progress(1150, 30);
  progress(1450, 60);
  progress(1750, 100);
  say(1950, "tool.completed", { ...balance, status: "success", ...words("Got it.", "The balance is in.") });
  state(2050, "calling_tool", "writing_output", "Answering.", "Writing an answer.");
  stream(
    2200,
    130,
    "out_answer",
    "You have $2,140.50 in checking. Rent of $1,200 leaves on May 1, so $500 is safe to move. Dr. Lee is paid. Shall I go on?",
  );
  state(5900, "writing_output", "awaiting_input", "Waiting for you.", "Waiting for your answer.");
  const transfer = { tool: "transfer", tool_call_id: "call_transfer" };
  say(6000, "awaiting.confirmation", {
    urgency: "critical",
    reply_token: TOKEN,
    action: "Move $500 to savings.",
    consequence: "The money moves at once and cannot be called back.",
    timeout_seconds: 60,
    default_decision: "reject",
    risk_level: "high",
    irreversible: true,
    reversibility: "irreversible",
    extra_context: { tool_call_id: transfer.tool_call_id },
    ...words("Move $500 to savings?", "Move $500 to savings? This cannot be undone."),
  });
  state(7300, "awaiting_input", "calling_tool", "Yes heard.", "You said yes. Moving the money.");
  say(7400, "tool.invoked", {
    ...transfer,
    irreversible: true,
    risk_level: "high",
    ...words("Moving $500.", "Moving $500 to savings.", "Calling transfer: 500 to savings."),
  });
  progress(7750, 40);
  progress(8100, 90);
  say(8400, "tool.completed", { ...transfer, status: "success", ...words("Moved.", "The money has moved.") });
  state(8500, "calling_tool", "writing_output", "Answering.", "Writing an answer.");
  stream(8600, 130, "out_done", "Done. Savings now holds $3,500.");
  state(9450, "writing_output", "idle", "Finished.", "Nothing left to do.");
  say(9600, "session.completed", words("Finished.", "$500 is in savings.", "Moved $500 to savings."));
  return { said, answer: { type: "resolution", reply_token: TOKEN, outcome: "accept" } };
}

export interface Arrival {
  /** Milliseconds from the start of the session. */
  readonly at: number;
  readonly event: AgentEvent;
  readonly critical: boolean;
}

/** What each listener gets, and when, until nothing is left to send. */
export async function hearSession(): Promise<{ listener: Listener; arrivals: readonly Arrival[] }[]> {
  let now = 0;
  let ids = 0;
  const store = createMemoryStore({ random: (length) => new Uint8Array(length).fill(7) });
  const engine = new Engine({
    log: store.identity,
    now: () => now,
    timestamp: () => new Date(START + now).toISOString(),
    ids: (prefix) => `${prefix}_${(++ids).toString(16).padStart(32, "0")}`,
  });
  store.follow(1, (entries) => engine.append(entries));
  const log = createLog({ store });
  const heard = LISTENERS.map((listener) => {
    const arrivals: Arrival[] = [];
    const send = ({ json, critical }: LaneDelivery): undefined =>
      void arrivals.push({ at: now, event: JSON.parse(json), critical });
    const { capabilities } = listener;
    engine.attach({
      sink: { send },
      terms: resolveTerms(capabilities, { languages: ["en-US"] }),
      view: { key: "all", hears: () => true },
    });
    return { listener, arrivals };
  });
  const advance = (to: number) => {
    while (engine.next <= to) {
      now = engine.next;
      engine.run();
    }
    now = to;
  };
  for (const { at, event } of tellSession().said) {
    advance(at);
    await log.append(event);
  }
  advance(60_000);
  return heard;
}

/** What an arrival says to its listener. */
export function wordsOf({ event }: Arrival): string {
  const { chunk, summary_terse, summary_normal, summary_detailed } = event as unknown as Record<
    string,
    string | undefined
  >;
  if (chunk !== undefined) return chunk;
  const spoken = { terse: summary_terse, normal: summary_normal, detailed: summary_detailed };
  return spoken[event.verbosity ?? "normal"] ?? summary_normal ?? "";
}
