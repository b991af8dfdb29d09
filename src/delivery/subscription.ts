/** What the engine knows of one subscription: a place in its lane, a budget, a pace. Nothing here grows with the backlog. */
import type { Terms } from "../protocol/terms.ts";
import { type Budget, createBudget } from "./budget.ts";
import type { Heard } from "./heard.ts";
import type { Delivery, Lane, Run, View } from "./lane.ts";

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
}

export class Subscription {
  group!: Group;
  place = 0;
  /** A run that was taken but not sent whole, and its next event. */
  run: Run | undefined;
  index = 0;
  /** Set after a change of shape, until the new lane holds nothing that was heard before. */
  heard: Heard | undefined;
  /** Up to this index of the lane the old shape's pieces may lie between the new ones. */
  settled = 0;
  quietUntil = -Infinity;
  blocked = false;
  /** When the schedule will call; 0 if it will not. */
  wakeAt = 0;
  idle = false;
  gone = false;
  /** So far behind that what it missed is no longer held. */
  lost = false;
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
}
