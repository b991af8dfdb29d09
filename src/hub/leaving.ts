/**
 * A process that stops and leaves everything open for the next one on the same log: listeners are told to come back,
 * questions keep their token and deadline, and nobody is taken for gone. As after a crash, only that the end of what
 * had begun is still waited for and written down.
 */
import type { Clock } from "../protocol/clock.ts";
import type { SubscriptionClose, SubscriptionRejected } from "../protocol/types.ts";
import type { Deliveries } from "./deliveries.ts";
import type { QuestionDesk } from "./desk.ts";
import type { Keeper } from "./keeping.ts";
import type { Log } from "./log.ts";
import type { AuditRecord, SessionHandle } from "./options.ts";
import type { Roster } from "./roster.ts";
import type { HubSubscription } from "./subscription.ts";
import type { WaitingRoom } from "./waiting.ts";

interface LeavingOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly keeper: Keeper;
  readonly desk: QuestionDesk;
  readonly waiting: WaitingRoom;
  readonly roster: Roster;
  readonly deliveries: Deliveries;
  readonly sessions: () => Iterable<SessionHandle>;
}

const RESTARTING = "The agent is restarting. Reconnect in a moment.";

/** To whoever comes back too early. */
export const COME_BACK: SubscriptionRejected = {
  type: "subscription.rejected",
  reason_code: "rate_limit",
  reason_message: RESTARTING,
  retry_after_seconds: 1,
};

export const closeOf = (
  { id }: HubSubscription,
  reason_code: string,
  reason_message: string,
): SubscriptionClose => ({ type: "subscription.close", subscription_id: id, reason_code, reason_message });

export class Leaving {
  readonly #options: LeavingOptions;
  #done: Promise<void> | undefined;
  #phase: "open" | "ending" | "over" = "open";

  constructor(options: LeavingOptions) {
    this.#options = options;
  }

  get begun(): boolean {
    return this.#phase !== "open";
  }

  /** What is not in the log any more is not in the books either. */
  silences({ kind }: AuditRecord): boolean {
    return this.#phase === "over" || (this.#phase === "ending" && kind !== "ended");
  }

  leave(finish_seconds: number): Promise<void> {
    this.#done ??= this.#leave(finish_seconds);
    return this.#done;
  }

  async #leave(finish_seconds: number): Promise<void> {
    const { log, keeper, desk, waiting, roster, deliveries, sessions } = this.#options;
    this.#phase = "ending";
    keeper.flush();
    log.stop("ends");
    desk.leaveOpen();
    waiting.close();
    for (const subscription of roster.stop()) {
      const { peer, resumable } = subscription;
      // Whoever can go on with it is only told that the line ends.
      if (!resumable) peer?.tell(closeOf(subscription, "producer_shutdown", RESTARTING));
      subscription.detach();
      peer?.close("producer_shutdown");
    }
    deliveries.stop();
    await this.#within(finish_seconds, Promise.all([...sessions()].map((session) => session.finished())));
    this.#phase = "over";
    log.stop("nothing");
  }

  async #within(seconds: number, work: Promise<unknown>): Promise<void> {
    const { clock } = this.#options;
    let cancel: () => void = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = clock.timer(clock.now() + seconds * 1000, resolve);
    });
    await Promise.race([work, late]);
    cancel();
  }
}
