/**
 * Events that happened elsewhere (a replay, a bridge from another system): they are checked as a session must be, get
 * our ids, are marked as relayed, and run nothing. The one way to emit a tool call that no gate here has passed.
 */
import type { Hub } from "../hub/hub.ts";
import { GATE_PROOF } from "../hub/hub.ts";
import { EarshotError } from "../protocol/errors.ts";
import { EXTENSION_PREFIX, EXTENSION_URI } from "../protocol/extension.ts";
import { isObject } from "../protocol/formats.ts";
import type { Ids } from "../protocol/ids.ts";
import { gapLifecycle, type Lifecycle, startLifecycle, stepLifecycle } from "../protocol/lifecycle.ts";
import { parseValue } from "../protocol/parse.ts";
import { CORE_CONTEXT, type CoreEvent } from "../protocol/types.ts";
import { localizationHints } from "../text/language.ts";

export interface RelayOptions {
  readonly audience?: readonly string[];
  /**
   * The event comes from a recording and is told as it was recorded. Questions stay questions, with tokens of our own
   * that nobody waits for: answers to them are refused. A recording may begin inside a session and say what it lacks,
   * the question before an act included: so an agent that has sessions of its own cannot replay, and the other way round.
   */
  readonly recorded?: boolean;
}

/** Rejects, naming the requirement, what would not be a legal next event of its session. */
export type Relay = (event: Record<string, unknown>, options?: RelayOptions) => Promise<void>;

interface Relayed {
  readonly session_id: string;
  /** Recorded tokens, and what they are called here. */
  readonly tokens: Map<string, string>;
  life: Lifecycle;
  /** Its last event as it was logged here: it ends in the name of whoever sent it. */
  last: Record<string, unknown>;
}

/** Sessions relayed at the same time; beyond it the one that was silent longest is over. */
const MOST_SESSIONS = 4_096;

/** `replays` is told before the first event of a recording, and throws where there may be none. */
export function createRelay(hub: Hub, ids: Ids, replays: () => void): Relay {
  const sessions = new Map<string, Relayed>();
  return async (given, options = {}) => {
    // Nothing else that is handed in goes along: facts beside an event are no event, and would be believed.
    const { recorded: asRecording, audience } = options;
    const recorded = asRecording === true;
    if (recorded) replays();
    const parsed = parseValue(given, { mode: "tolerant" });
    if (!parsed.ok || parsed.kind === "message") {
      const why = parsed.ok ? "it is not an event" : (parsed.issues[0]?.message ?? "it is not valid");
      throw new EarshotError("EVT-13", `This cannot be relayed: ${why}`);
    }
    const event = parsed.message;
    const session = sessions.get(event.session_id) ?? {
      session_id: ids("sess"),
      tokens: new Map<string, string>(),
      life: startLifecycle({
        eventIds: "trusted",
        replies: "unseen",
        stateChain: "sampled",
        joined: recorded && event.type !== "aaep:agent.session.started" ? "mid" : "start",
      }),
      last: {},
    };
    const own = event.extensions?.[EXTENSION_PREFIX] ?? {};
    const before = recorded && own["gap"] !== undefined ? gapLifecycle(session.life) : session.life;
    const { state, violations } = stepLifecycle(before, event as CoreEvent);
    const [violation] = violations;
    if (violation) throw new EarshotError(violation.id, violation.message);
    session.life = state;
    sessions.delete(event.session_id);
    if (state.phase !== "ended") sessions.set(event.session_id, session);
    const named = (token: string): string => {
      const known = session.tokens.get(token) ?? ids("rpl");
      session.tokens.set(token, known);
      return known;
    };
    const fields = event as unknown as Record<string, unknown>;
    const told = recorded ? asRecorded(fields, named) : asHeardHere(fields);
    const { event_id: _, sequence_number: __, ...rest } = told;
    session.last = {
      ...rest,
      session_id: session.session_id,
      "@context": [...new Set([...[event["@context"]].flat(), EXTENSION_URI])],
      extensions: {
        ...event.extensions,
        [EXTENSION_PREFIX]: { ...(recorded ? aboutQuestions(own, named) : {}), relayed: true },
      },
    };
    const appended = hub.append(session.last, { ...(audience ? { audience } : {}), recorded }, GATE_PROOF);
    const [silent] = sessions.size > MOST_SESSIONS ? sessions : [];
    if (silent) sessions.delete(silent[0]);
    await Promise.all([appended, silent && hub.append(endOf(silent[1].last))]);
  };
}

/** Nothing will come of it any more: whoever listens hears that, and nobody keeps it for ever. */
export const endOf = ({ aaep_version, session_id, timestamp, producer }: Record<string, unknown>) => ({
  "@context": [CORE_CONTEXT, EXTENSION_URI],
  aaep_version,
  type: "aaep:agent.session.cancelled",
  session_id,
  timestamp,
  producer,
  urgency: "normal",
  localization_hints: localizationHints("en"),
  summary_normal: "Nothing more was heard of this, so it counts as stopped.",
  cancelled_by: "system",
  extensions: { [EXTENSION_PREFIX]: { relayed: true } },
});

type Named = (token: string) => string;

function asRecorded(event: Record<string, unknown>, named: Named): Record<string, unknown> {
  const { reply_token } = event;
  return typeof reply_token === "string" ? { ...event, reply_token: named(reply_token) } : event;
}

/** What our extension says of a question and of what is missing; where things stood for someone else is left out. */
function aboutQuestions(own: Record<string, unknown>, named: Named): Record<string, unknown> {
  const kept = ["resolves", "deadline", "gap"].filter((key) => isObject(own[key]));
  return Object.fromEntries(kept.map((key) => [key, asRecorded(own[key] as Record<string, unknown>, named)]));
}

/** A question that was put elsewhere cannot be answered here: what is asked is told, the token is not. */
function asHeardHere(event: Record<string, unknown>): Record<string, unknown> {
  if (typeof event["reply_token"] !== "string") return event;
  const kept = [
    "@context",
    "aaep_version",
    "session_id",
    "timestamp",
    "producer",
    "localization_hints",
    "extensions",
  ];
  const words = Object.entries(event).filter(([key]) => kept.includes(key) || key.startsWith("summary_"));
  return {
    summary_normal: event["action"] ?? event["question"],
    ...Object.fromEntries(words),
    type: "aaep:agent.state.changed",
    urgency: "normal",
    from_state: "awaiting_input",
    to_state: "awaiting_input",
  };
}
