/** The producer end of a connection, played by the test: it receives requests and messages, and sends when told to. */

import type { ResumePoint } from "../../src/protocol/extension.ts";
import { CORE_CONTEXT, type OtherMessage, type SubscriptionRequest } from "../../src/protocol/types.ts";
import type { ConnectionClosed, ConnectionEvents } from "../../src/transports/client-connection.ts";

export class FakeProducer {
  readonly requests: SubscriptionRequest[] = [];
  readonly resumes: (ResumePoint | undefined)[] = [];
  readonly sent: OtherMessage[] = [];
  /** Lines the listener let go of. */
  closed = 0;
  /** What becomes of messages; undefined where the line cannot tell. */
  taken: boolean | undefined = true;
  /** Answers the next requests in another way: an error to throw, or other fields. */
  next: (Error | Record<string, unknown>)[] = [];
  producer: Record<string, unknown>;
  honored: Record<string, unknown> = {};
  extra: Record<string, unknown> = {};
  #events: ConnectionEvents | undefined;

  constructor(agent_id = "planner", agent_name = "Planner") {
    this.producer = { agent_id, agent_name };
  }

  get open(): boolean {
    return this.#events !== undefined;
  }

  readonly transport = {
    name: "fake",
    open: async (request: SubscriptionRequest, resume: ResumePoint | undefined, events: ConnectionEvents) => {
      this.requests.push(request);
      this.resumes.push(resume);
      const other = this.next.shift();
      if (other instanceof Error) throw other;
      const answer = {
        type: "subscription.accepted",
        aaep_version: "1.0.0",
        subscription_id: resume?.subscription_id ?? `sub_${this.requests.length}`,
        producer: this.producer,
        honored_capabilities: { ...request.capabilities, ...this.honored },
        ...this.extra,
        ...other,
      } as never;
      this.#events = events;
      return {
        answer,
        send: async (message: OtherMessage) => {
          if (this.#events !== events) throw new Error("This line is gone.");
          this.sent.push(message);
          return { taken: this.taken };
        },
        close: () => {
          this.closed++;
          if (this.#events === events) this.#events = undefined;
        },
      };
    },
  };

  /** Says anything, an event or a message, as the wire would carry it. */
  say(message: object): void {
    this.#events?.message(JSON.stringify(message), true);
  }

  drop(reason: Partial<ConnectionClosed> = {}): void {
    const events = this.#events;
    this.#events = undefined;
    events?.closed({ code: "connection_lost", reconnect: true, message: "Gone.", ...reason });
  }

  /** Events of this producer, strictly its own. */
  event(name: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
    const critical = /errored|awaiting|handoff/.test(name) ? { urgency: "critical" } : {};
    return {
      "@context": CORE_CONTEXT,
      type: `aaep:agent.${name}`,
      event_id: `evt_${String(this.producer["agent_id"]).replace(/[^a-z]/g, "")}${++this.#count}`,
      session_id: "sess_1",
      timestamp: "2026-01-01T00:00:00.000Z",
      producer: this.producer,
      localization_hints: { primary_language: "en" },
      ...critical,
      ...fields,
    };
  }
  #count = 0;

  ask(reply_token: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
    return this.event("awaiting.confirmation", {
      action: "Pay 5.",
      consequence: "It is paid.",
      reply_token,
      timeout_seconds: 60,
      default_decision: "reject",
      summary_normal: "May I pay?",
      ...fields,
    });
  }
}
