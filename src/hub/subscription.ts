/**
 * One listener from handshake to close. Being connected and being a subscription are two things: a listener that can
 * resume keeps its place while the line is down, and its answer is still waited for during a grace period (CON-04).
 */
import type { Attachment, Engine } from "../delivery/engine.ts";
import type { LaneDelivery, View } from "../delivery/lane.ts";
import type { Peer, SubscriptionHandle } from "../protocol/hub-port.ts";
import type { Terms } from "../protocol/negotiate.ts";
import type { Principal } from "../protocol/principal.ts";
import type { Capabilities } from "../protocol/types.ts";

type SubscriptionPhase = "unopened" | "open" | "away" | "closed";

/** A question this listener was sent and that was settled while it was away. */
export interface Missed {
  readonly session_id: string;
  readonly reply_token: string;
}
const MOST_MISSED = 32;

/** What a subscription needs of its hub. */
interface SubscriptionPort {
  connect(subscription: HubSubscription, peer: Peer, lastEventId?: string): void;
  disconnect(subscription: HubSubscription, peer: Peer): void;
}

export class HubSubscription implements SubscriptionHandle {
  readonly id: string;
  readonly principal: Principal;
  readonly transport: string;
  readonly aaep_version: string;
  /** The end of the log when it was accepted. */
  readonly joinedAt: string;
  request: Capabilities;
  terms: Terms;
  view: View;
  /** Sessions named by the listener; none means all it may hear. */
  followed: readonly string[];
  phase: SubscriptionPhase = "unopened";
  peer: Peer | undefined;
  /** The last event that may serve as a cursor. */
  lastEventId: string | undefined;
  /** Whether its answer is still waited for. */
  live = true;
  cancelTimer: (() => void) | undefined;
  missed: Missed[] = [];
  /** Terms and resume point of a handshake whose stream has not been opened yet. */
  pending: { readonly terms: Terms; readonly lastEventId: string | undefined } | undefined;
  readonly port: SubscriptionPort;
  /** Every set of terms that something may have been delivered under: while there is one, a cursor is exact. */
  under: readonly Terms[];
  #attachment: Attachment | undefined;

  constructor(given: {
    id: string;
    principal: Principal;
    transport: string;
    aaep_version: string;
    request: Capabilities;
    terms: Terms;
    view: View;
    joinedAt: string;
    port: SubscriptionPort;
    under?: readonly Terms[];
    followed?: readonly string[];
  }) {
    this.id = given.id;
    this.port = given.port;
    this.principal = given.principal;
    this.transport = given.transport;
    this.aaep_version = given.aaep_version;
    this.joinedAt = given.joinedAt;
    this.request = given.request;
    this.terms = given.terms;
    this.view = given.view;
    this.under = given.under ?? [];
    this.followed = given.followed ?? [];
  }

  connect(peer: Peer, lastEventId?: string): void {
    this.port.connect(this, peer, lastEventId);
  }

  disconnect(peer: Peer): void {
    this.port.disconnect(this, peer);
  }

  /** SSE resumes by nature; elsewhere our extension must have been agreed on; a process's end is the end. */
  get resumable(): boolean {
    if (this.transport === "stdio") return false;
    return this.transport === "sse" || this.terms.extension_terms["earshot"]?.["resume"] === true;
  }

  answers(type: string): boolean {
    return type === "aaep:agent.awaiting.confirmation" ? this.terms.confirmation : this.terms.clarification;
  }

  follows(session_id: string): boolean {
    return this.followed.length === 0 || this.followed.includes(session_id);
  }

  /** "What is happening?": where things stand, told to this listener alone. */
  standing(session_id?: string): void {
    this.#attachment?.summarize(session_id);
  }

  /** A question it heard was settled while it could not hear. */
  miss(question: Missed): void {
    this.missed.push(question);
    if (this.missed.length > MOST_MISSED) this.missed.shift();
  }

  /** `asked` hears of every question that leaves for this listener, and says what must follow one sent again. */
  attach(
    engine: Engine,
    peer: Peer,
    lastEventId: string | undefined,
    asked: (delivery: LaneDelivery, token: string) => LaneDelivery | undefined,
  ): Attachment["start"] {
    this.#attachment?.detach();
    this.peer = peer;
    this.phase = "open";
    this.live = true;
    const previous = this.under.length < 2 ? (this.under[0] ?? this.terms) : undefined;
    this.#governed(this.terms);
    const sink = {
      send: (delivery: LaneDelivery) => {
        const { token, cursor } = delivery;
        const next = token === undefined ? undefined : asked(delivery, token);
        if (cursor) this.lastEventId = delivery.event_id;
        const sent = peer.send(delivery);
        if (!next) return sent;
        return sent ? sent.then(() => peer.send(next)) : peer.send(next);
      },
    };
    this.#attachment = engine.attach({
      sink,
      terms: this.terms,
      view: this.view,
      // Who names no event has heard none since it was accepted: that is where it goes on, or starts.
      resume: { event_id: lastEventId ?? this.joinedAt, ...(previous ? { previous } : {}) },
    });
    return this.#attachment.start;
  }

  renegotiate(terms: Terms): void {
    this.terms = terms;
    if (!this.#attachment) return;
    this.#governed(terms);
    this.#attachment.renegotiate(terms);
  }

  /** The last event a listener got may be from before a change: then the overlap is its to drop, and nothing is lost. */
  #governed(terms: Terms): void {
    if (!this.under.includes(terms)) this.under = [...this.under.slice(-1), terms];
  }

  detach(): void {
    this.#attachment?.detach();
    this.#attachment = undefined;
    this.peer = undefined;
  }
}
