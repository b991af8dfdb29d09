/**
 * Questions that wait for a person (chapter 6): one token each, single use; the first valid reply wins; the deadline is
 * kept on a clock that does not jump; silence and a lost line mean the default, which never does harm (CON-01 … CON-17).
 * A question is settled exactly once, and only here.
 */
import type { LogEntry } from "../delivery/entry.ts";
import type { Clock } from "../protocol/clock.ts";
import type { Deadline, QuestionOutcome } from "../protocol/extension.ts";
import type {
  AwaitingClarification,
  AwaitingConfirmation,
  ClarificationReply,
  ConfirmationReply,
  Reply,
} from "../protocol/types.ts";
import type { Act } from "./options.ts";

export type Origin = "human" | "timeout" | "disconnect" | "withdrawn";

export interface Settlement {
  readonly outcome: QuestionOutcome;
  readonly origin: Origin;
  /** The reply that settled it, and who is known to have sent it. */
  readonly reply?: Reply;
  readonly principal?: string;
}

/** Where a question stood when the process stopped. */
export interface Standing {
  /** On the clock that never jumps. */
  readonly deadline: number;
  readonly extensionsUsed: number;
  readonly totalSeconds: number;
}

export interface QuestionSpec {
  /** What a yes would run, for the record. */
  readonly act?: Act | undefined;
  /** Who may hear the session that asks; absent means everyone. */
  readonly audience?: readonly string[] | undefined;
  readonly event: AwaitingConfirmation | AwaitingClarification;
  /** More time: how often, and the most seconds in all. */
  readonly extensions: number;
  readonly ceiling_seconds: number;
}

/** Replies may carry a clock that is off by this much (CON-12); arrival decides all the same. */
const SKEW_MS = 300_000;
/** Countdown notices are for questions that stay open longer than this (CNF-24, CON-48). */
const WARN_ABOVE_SECONDS = 60;
/** A person gets at least this long to ask for more time (WCAG 2.2.1). */
const LAST_WARNING_MS = 20_000;
const LEAST_EXTENSION_SECONDS = 20;

export interface QuestionHooks {
  /** Time is running out; `last` is the warning nobody may miss. */
  warn(question: Question, msLeft: number, last: boolean): void;
  /** Somebody asked for more time and got it. */
  extended(question: Question): void;
  /** How long there is now, in an event for one listener: said after a question that is sent again (CON-47). */
  remaining?(question: Question): Pick<LogEntry, "event" | "localized"> | undefined;
  settled(question: Question, settlement: Settlement): void;
}

export class Question implements Standing {
  readonly token: string;
  readonly spec: QuestionSpec;
  /** The subscriptions whose answer is waited for: live, hearing the session, able to reply (CON-04). */
  readonly holders = new Set<string>();
  /** The subscriptions that were sent the token: only their answer counts (CON-28). */
  readonly sentTo = new Set<string>();
  readonly result: Promise<Settlement>;
  readonly hooks: QuestionHooks;
  extensionsUsed = 0;
  deadline: number;
  readonly #clock: Clock;
  readonly #askedAt: number;
  #resolve!: (settlement: Settlement) => void;
  #open = true;
  #timers: (() => void)[] = [];
  #totalSeconds: number;

  constructor(spec: QuestionSpec, clock: Clock, hooks: QuestionHooks, standing?: Standing) {
    this.spec = spec;
    this.token = spec.event.reply_token;
    this.#clock = clock;
    this.hooks = hooks;
    this.#askedAt = Date.parse(spec.event.timestamp);
    this.#totalSeconds = standing?.totalSeconds ?? spec.event.timeout_seconds;
    this.extensionsUsed = standing?.extensionsUsed ?? 0;
    this.deadline = standing?.deadline ?? clock.now() + spec.event.timeout_seconds * 1000;
    this.result = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#arm();
  }

  get open(): boolean {
    return this.#open;
  }
  /** All the time it was given so far. */
  get totalSeconds(): number {
    return this.#totalSeconds;
  }
  get msLeft(): number {
    return Math.max(0, this.deadline - this.#clock.now());
  }
  get extensionsLeft(): number {
    if (this.#nextSeconds === 0) return 0;
    const room = Math.ceil(
      (this.spec.ceiling_seconds - this.#totalSeconds) / this.spec.event.timeout_seconds,
    );
    return Math.min(this.spec.extensions - this.extensionsUsed, room);
  }
  get deadlineNotice(): Deadline {
    return {
      reply_token: this.token,
      seconds_left: Math.ceil(this.msLeft / 1000),
      extensions_left: this.extensionsLeft,
      ceiling_seconds: this.spec.ceiling_seconds,
    };
  }

  /**
   * True if this reply settles the question. Why not is nobody's business but the log's, and finding out takes the
   * same steps whatever the reason (CNF-16, A02). `entitled` is what the hub knows of the sender.
   */
  answer(reply: Reply, principal: string, entitled: boolean): boolean {
    const now = this.#clock.now();
    const inTime = now < this.deadline;
    const at = Date.parse(reply.timestamp);
    const total = this.#totalSeconds * 1000;
    // When it was asked: as written then, and as this clock would write it, should it have been set since.
    const askedAt = [this.#askedAt, Date.parse(this.#clock.timestamp()) + this.deadline - now - total];
    const plausible =
      askedAt.filter((start) => at >= start - SKEW_MS && at <= start + total + SKEW_MS).length > 0;
    const outcome = outcomeOf(this.spec.event, reply);
    // A process that slept past the deadline finds the reply and the timer at once: the deadline came first (F26).
    if (!inTime) this.#settle({ outcome: "timed_out", origin: "timeout" });
    if (!entitled || !inTime || !plausible || outcome === undefined) return false;
    return this.#settle({ outcome, origin: "human", reply, principal });
  }

  /** One more stretch of the time there was at first, or what the operator's ceiling leaves of it (WCAG 2.2.1). */
  extend(): boolean {
    const seconds = this.#nextSeconds;
    if (!this.#open || this.extensionsLeft <= 0 || seconds === 0 || this.msLeft === 0) return false;
    this.extensionsUsed++;
    this.#totalSeconds += seconds;
    this.deadline += seconds * 1000;
    this.#arm();
    return true;
  }

  /** One listener less; without any, silence has spoken (CON-04, CNF-37). */
  drop(subscription_id: string): void {
    if (this.holders.delete(subscription_id) && this.holders.size === 0) {
      this.#settle({ outcome: "disconnected", origin: "disconnect" });
    }
  }

  withdraw(): boolean {
    return this.#settle({ outcome: "withdrawn", origin: "withdrawn" });
  }

  /** The process is about to stop: the question stays open, and is the next one's to settle. */
  leaveOpen(): void {
    this.#open = false;
    this.#disarm();
  }

  get #nextSeconds(): number {
    const { timeout_seconds } = this.spec.event;
    const seconds = Math.min(timeout_seconds, this.spec.ceiling_seconds - this.#totalSeconds);
    return seconds >= Math.min(timeout_seconds, LEAST_EXTENSION_SECONDS) ? seconds : 0;
  }

  #settle(settlement: Settlement): boolean {
    if (!this.#open) return false;
    this.#open = false;
    this.#disarm();
    try {
      this.hooks.settled(this, settlement);
    } finally {
      // Whatever goes wrong in telling it, whoever waits for the answer gets it.
      this.#resolve(settlement);
    }
    return true;
  }

  #disarm(): void {
    for (const cancel of this.#timers) cancel();
    this.#timers = [];
  }

  #arm(): void {
    this.#disarm();
    const end = () => void this.#settle({ outcome: "timed_out", origin: "timeout" });
    this.#timers.push(this.#clock.timer(this.deadline, end));
    if (this.#totalSeconds <= WARN_ABOVE_SECONDS) return;
    const total = this.spec.event.timeout_seconds * 1000;
    const last = Math.max(total / 10, LAST_WARNING_MS);
    this.#warnAt(last, true);
    if (total / 2 > last) this.#warnAt(total / 2, false);
  }

  #warnAt(left: number, last: boolean): void {
    const at = this.deadline - left;
    if (at <= this.#clock.now()) return;
    this.#timers.push(this.#clock.timer(at, () => this.hooks.warn(this, left, last)));
  }
}

/** What a reply says, if it is a reply this question takes (CNF-14, CNF-28, CON-29). */
function outcomeOf(
  event: AwaitingConfirmation | AwaitingClarification,
  reply: Reply,
): QuestionOutcome | undefined {
  if (event.type === "aaep:agent.awaiting.confirmation") {
    if (reply.type !== "confirmation.reply") return undefined;
    const { decision } = reply as ConfirmationReply;
    if (!(event.allowed_replies ?? ["accept", "reject"]).includes(decision)) return undefined;
    return decision === "accept" ? "accepted" : "rejected";
  }
  if (reply.type !== "clarification.reply") return undefined;
  return responseKind(event, (reply as ClarificationReply).response) ? "answered" : undefined;
}

export type ResponseKind = "freetext" | "yes_no" | "multiple_choice" | "numeric";

/** Which of the accepted kinds an answer is; no coercion. A choice is tried before free text. */
export function responseKind(
  event: Pick<AwaitingClarification, "accepted_response_kinds" | "choices">,
  response: string | boolean | number,
): ResponseKind | undefined {
  const kinds = event.accepted_response_kinds ?? ["freetext"];
  const fits: Record<ResponseKind, boolean> = {
    multiple_choice:
      typeof response === "string" && (event.choices ?? []).some(({ value }) => value === response),
    freetext: typeof response === "string" && response !== "",
    yes_no: typeof response === "boolean",
    numeric: typeof response === "number" && Number.isFinite(response),
  };
  return (["multiple_choice", "yes_no", "numeric", "freetext"] as const).find(
    (kind) => kinds.includes(kind) && fits[kind],
  );
}
