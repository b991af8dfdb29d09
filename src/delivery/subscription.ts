/** What the engine knows of one subscription: a place in its lane, a budget, a pace. Nothing here grows with the backlog. */
import type { Terms } from "../protocol/negotiate.ts";
import { type Budget, createBudget } from "./budget.ts";
import type { Heard } from "./heard.ts";
import type { Delivery, Lane, Run, View } from "./lane.ts";
import type { Notice } from "./notices.ts";

/** Where deliveries go. A promise means: wait until it settles before sending more. */
export interface Sink {
  send(delivery: Delivery): Promise<void> | undefined;
}

/** The subscriptions of one lane. */
export interface Group {
  readonly key: string;
  readonly lane: Lane;
  readonly members: Set<Subscription>;
  /** Those who are up to date and may send at once. */
  idle: Subscription[];
  /** How many pieces the lane may hold before somebody looks which are still needed. */
  held: number;
}

export class Subscription {
  group!: Group;
  place = 0;
  /** A run that was taken but not sent whole, and its next event. */
  run: Run | undefined;
  index = 0;
  /** What is told before anything else. Waits only for a blocked sink, so it is as long as what stands. */
  readonly notices: Notice[] = [];
  /** Set after a change of shape, until the new lane holds nothing that was heard before. */
  heard: Heard | undefined;
  /** Before this index of the lane the listener is catching up with what it had reached under the old shape. */
  settled = 0;
  quietUntil = -Infinity;
  blocked = false;
  /** New terms were agreed on while an event was on its way: nothing more goes out on the old ones. */
  changing = false;
  /** When the schedule will call; 0 if it will not. */
  wakeAt = 0;
  idle = false;
  /** Where it lies among the idle of its group, so that whoever leaves need not be searched for. */
  idleAt = 0;
  gone = false;
  /** So far behind that what it missed, from this log place on, is no longer held; 0 if it is not. */
  lost = 0;
  budget: Budget;
  pace: number | undefined;
  readonly sink: Sink;
  readonly view: View;

  constructor(sink: Sink, view: View, terms: Terms) {
    this.sink = sink;
    this.view = view;
    this.budget = createBudget(terms.max_events_per_second);
    this.pace = terms.pace_wpm;
  }

  get limited(): boolean {
    return this.budget.interval > 0 || this.pace !== undefined;
  }

  /** Nothing may be sent now. */
  get halted(): boolean {
    return this.blocked || this.gone || this.changing;
  }
}
