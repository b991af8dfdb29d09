/** The shapes a page's listener is made of, and what its tabs tell each other. */
import type { Clock } from "../protocol/clock.ts";
import type { ResumePoint } from "../protocol/extension.ts";
import type { AgentEvent, Capabilities } from "../protocol/types.ts";
import type { Outgoing, Utterance } from "../subscriber/announcer.ts";
import type { Token } from "../subscriber/index.ts";
import type { EarSettings } from "./settings.ts";
import type { TabsHost } from "./tabs.ts";

export type { Token };

/** The state of a page's connection to its agent. */
export interface ConnectionState {
  readonly state: "connecting" | "connected" | "lost" | "ended";
  /** Empty while nobody knows it. */
  readonly agent: string;
  readonly reason?: string;
  readonly honored?: Capabilities;
}

/** Options of a page's listener. */
export interface EarOptions {
  /** The agent's address: http(s) or ws(s). */
  readonly address: string;
  readonly settings: EarSettings;
  readonly token?: Token;
  /** Who is signed in: tabs of different accounts share nothing. */
  readonly account?: string;
  readonly host: TabsHost;
  readonly presence: { readonly at: number; readonly visible: boolean };
  readonly clock?: Clock;
}

/** What a page shows. Every call is about this tab only. */
export interface EarView {
  /** To be heard now. */
  say(utterance: Utterance): void;
  /** Everything heard, for the transcript. */
  event(event: AgentEvent): void;
  /** Words about it, in the order things happened, said aloud or not. */
  note(utterance: Utterance): void;
  /** The question to be put, or that there is none any more; or anything else changed. */
  changed(): void;
}

/** What tabs tell each other. */
export type Shared =
  | { readonly do: "event"; readonly event: AgentEvent; readonly resume: ResumePoint }
  | { readonly do: "state"; readonly state: ConnectionState }
  | { readonly do: "sync" }
  | {
      readonly do: "log";
      readonly events: readonly AgentEvent[];
      readonly state: ConnectionState;
      readonly resume: ResumePoint | undefined;
      readonly settings: EarSettings;
    }
  | { readonly do: "send"; readonly id: string; readonly message: Outgoing; readonly again: boolean }
  | { readonly do: "sent"; readonly id: string; readonly taken: boolean | undefined }
  | { readonly do: "said"; readonly key: string; readonly reply_token: string | undefined }
  | { readonly do: "postponed"; readonly reply_token: string }
  | { readonly do: "settings"; readonly settings: EarSettings };

/** Events a new tab is told, so that its transcript has a beginning. */
const MOST_LOGGED = 2_000;

/** Of what is too much, text goes first: a question that is still open must not be lost in it. */
export function keepIn(log: AgentEvent[], event: AgentEvent): void {
  log.push(event);
  if (log.length <= MOST_LOGGED) return;
  const text = log.findIndex(({ type }) => type === "aaep:agent.output.streaming");
  log.splice(Math.max(text, 0), 1);
}

/** What of a line's state a person should hear: the first connection is no news, a lost one is. */
export function newsOf(
  before: ConnectionState,
  { state }: ConnectionState,
): "lost" | "connected" | undefined {
  if (state === "lost" && before.state === "connected") return "lost";
  const gone = before.state === "lost" || (before.state === "connecting" && before.agent !== "");
  return state === "connected" && gone ? "connected" : undefined;
}
