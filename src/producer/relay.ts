/**
 * Events that happened elsewhere (in a recording or in another system): checked like any session, given our ids,
 * marked as relayed, and running nothing. The only way to emit a tool call that has not passed the gate here.
 */
import { GATE_PROOF, type Hub } from "../hub/hub.ts";
import { EarshotError, type RequirementId } from "../protocol/errors.ts";
import { EXTENSION_PREFIX, EXTENSION_URI } from "../protocol/extension.ts";
import { gapLifecycle, type Lifecycle, startLifecycle, stepLifecycle } from "../protocol/lifecycle.ts";
import { parseValue } from "../protocol/parse.ts";
import type { Ids } from "../protocol/platform.ts";
import { CORE_CONTEXT, type CoreEvent } from "../protocol/types.ts";
import { isObject } from "../protocol/validate.ts";
import { localizationHints } from "../text/language.ts";

export interface RelayOptions {
  readonly audience?: readonly string[];
  /**
   * The event comes from a recording and is sent as it was recorded. Questions stay questions, with tokens of our own
   * that nothing waits for, so replies to them are refused. A recording may start in the middle of a session, after the
   * question that allowed a tool call; therefore a producer with sessions of its own cannot replay, and vice versa.
   */
  readonly recorded?: boolean;
}

/** Rejects an event that is not a legal next event of its session, naming the requirement. */
export type Relay = (event: Record<string, unknown>, options?: RelayOptions) => Promise<void>;

interface Relayed {
  readonly session_id: string;
  /** Our token for each recorded one. */
  readonly tokens: Map<string, string>;
  lifecycle: Lifecycle;
  /** Its last event as logged here, whose producer also ends it. */
  last: Record<string, unknown>;
}

/** Most sessions relayed at the same time; beyond it the one idle for longest is ended. */
const MOST_SESSIONS = 4_096;

/** `replays` is called before an event of a recording, and throws if this producer cannot replay. */
export function createRelay(hub: Hub, ids: Ids, replays: () => void): Relay {
  const sessions = new Map<string, Relayed>();
  return async (given, options = {}) => {
    // Other options, such as facts, must not get through: they would be stored and believed.
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
      lifecycle: startLifecycle({
        eventIds: "trusted",
        replies: "unseen",
        stateChain: "sampled",
        joined: recorded && event.type !== "aaep:agent.session.started" ? "mid" : "start",
      }),
      last: {},
    };
    const own = event.extensions?.[EXTENSION_PREFIX] ?? {};
    const before = recorded && own["gap"] !== undefined ? gapLifecycle(session.lifecycle) : session.lifecycle;
    const { state, violations } = stepLifecycle(before, event as CoreEvent);
    const [violation] = violations;
    if (violation) throw new EarshotError(violation.id as RequirementId, violation.message);
    session.lifecycle = state;
    sessions.delete(event.session_id);
    if (state.phase !== "ended") sessions.set(event.session_id, session);
    const renamed = (token: string): string => {
      const known = session.tokens.get(token) ?? ids("rpl");
      session.tokens.set(token, known);
      return known;
    };
    const fields = event as unknown as Record<string, unknown>;
    const relayed = recorded ? asRecorded(fields, renamed) : withoutToken(fields);
    const { event_id: _, sequence_number: __, ...rest } = relayed;
    session.last = {
      ...rest,
      session_id: session.session_id,
      "@context": [...new Set([...[event["@context"]].flat(), EXTENSION_URI])],
      extensions: {
        ...event.extensions,
        [EXTENSION_PREFIX]: { ...(recorded ? aboutQuestions(own, renamed) : {}), relayed: true },
      },
    };
    const appended = hub.append(session.last, { ...(audience ? { audience } : {}), recorded }, GATE_PROOF);
    const [idle] = sessions.size > MOST_SESSIONS ? sessions : [];
    if (idle) sessions.delete(idle[0]);
    await Promise.all([appended, idle && hub.append(endOf(idle[1].last))]);
  };
}

/** Ends a session of which nothing more was heard, so that it is not kept open forever. */
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

type Renamed = (token: string) => string;

function asRecorded(event: Record<string, unknown>, renamed: Renamed): Record<string, unknown> {
  const { reply_token } = event;
  return typeof reply_token === "string" ? { ...event, reply_token: renamed(reply_token) } : event;
}

/** Keeps what our extension says about questions and gaps, and drops summaries made for another listener. */
function aboutQuestions(own: Record<string, unknown>, renamed: Renamed): Record<string, unknown> {
  const kept = ["resolves", "deadline", "gap"].filter((key) => isObject(own[key]));
  return Object.fromEntries(
    kept.map((key) => [key, asRecorded(own[key] as Record<string, unknown>, renamed)]),
  );
}

/** A question asked elsewhere cannot be answered here: its text is sent, its token is not. */
function withoutToken(event: Record<string, unknown>): Record<string, unknown> {
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
