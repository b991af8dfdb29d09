/** The line to the agent, held by one tab for all of them. Loaded only there: other tabs need no parser and no transport. */

import type { Clock } from "../protocol/clock.ts";
import type { AgentEvent, Capabilities } from "../protocol/types.ts";
import type { Outgoing } from "../subscriber/announcer.ts";
import {
  type ClarificationAsk,
  type ClientConnection,
  type ClientTransport,
  type ConfirmationAsk,
  type ConnectionError,
  type SubscribeOptions,
  Subscriber,
  transportFor,
} from "../subscriber/index.ts";
import { backoff } from "../subscriber/resume.ts";
import type { LineOptions, LineState, Place } from "./shared.ts";

export interface Line {
  /** True if the agent took it; undefined where nobody can say. */
  send(message: Outgoing): Promise<boolean | undefined>;
  renegotiate(capabilities: Capabilities): Promise<Capabilities>;
  /** `handover`: another tab is there to take the subscription over. */
  close(handover: boolean): void;
}

const MOST_ASKS = 256;

export interface LineEvents {
  hear(event: AgentEvent, place: Place): void;
  state(state: LineState): void;
}

/**
 * A subscription taken over from another tab goes on where that one was. `drop` lets go of the line without a goodbye:
 * the subscription stays, for the tab that takes it over.
 */
function handed(transport: ClientTransport, place: Place | undefined): ClientTransport & { drop(): void } {
  let line: ClientConnection | undefined;
  let dropped = false;
  return {
    name: transport.name,
    async open(request, resume, events) {
      line = await transport.open(request, resume ?? place, {
        message: (text, cursor) => dropped || events.message(text, cursor),
        closed: (reason) => dropped || events.closed(reason),
      });
      return line;
    },
    drop() {
      dropped = true;
      line?.close();
    },
  };
}

/** Returns at once; the line comes up, and comes back, by itself. */
export function openLine(options: LineOptions, events: LineEvents, clock: Clock): Line {
  const { address, capabilities, token, place } = options;
  let closed = false;
  let subscriber: Subscriber | undefined;
  let transport: ReturnType<typeof handed> | undefined;
  const asks = new Map<string, ConfirmationAsk | ClarificationAsk>();
  let cancel: (() => void) | undefined;
  let wanted: Capabilities = capabilities;
  let up: (subscriber: Subscriber) => void;
  const ready = new Promise<Subscriber>((resolve) => {
    up = resolve;
  });
  const keep = (ask: ConfirmationAsk | ClarificationAsk) => {
    asks.set(ask.event.reply_token, ask);
    if (asks.size > MOST_ASKS) asks.delete(asks.keys().next().value!);
  };

  const listen = (heard: Subscriber) => {
    const agent = () => heard.accepted.producer.agent_name ?? heard.accepted.producer.agent_id;
    heard.on("event", (event) =>
      events.hear(event, { subscription_id: heard.id, last_event_id: heard.cursor }),
    );
    heard.on("confirmation", keep);
    heard.on("clarification", keep);
    heard.on("line", ({ state }) =>
      events.state({ state, agent: agent(), honored: heard.accepted.honored_capabilities }),
    );
    heard.on("closed", ({ code, message }) => {
      if (closed || code === "subscriber_closed") return;
      events.state({ state: "ended", agent: agent(), reason: message });
    });
  };

  const connect = async (attempt: number): Promise<void> => {
    if (closed) return;
    try {
      transport = handed(await transportFor(address, token === undefined ? {} : { token }), place);
      const settings: SubscribeOptions = { ...wanted, subscriber_id: "earshot-web", clock };
      subscriber = new Subscriber(transport, settings);
      listen(subscriber);
      await subscriber.connect();
      if (closed) return void subscriber.close();
      up(subscriber);
    } catch (error) {
      const { reconnect = false, message } = error as Partial<ConnectionError> & Error;
      if (closed) return;
      if (!reconnect) return events.state({ state: "ended", agent: "", reason: message });
      events.state({ state: "connecting", agent: "" });
      cancel = clock.timer(clock.now() + backoff(attempt, Math.random), () => void connect(attempt + 1));
    }
  };
  void connect(0);

  return {
    async send(message) {
      const line = await ready;
      const own = { reply_token: message.reply_token, subscription_id: line.id };
      const timestamp = clock.timestamp();
      if (message.do === "more_time") return (await line.send({ type: "earshot:more_time", ...own })).taken;
      // A question asked again after a lost line is answered again by its own ask; one heard by another tab has none here.
      const ask = asks.get(message.reply_token);
      if (message.do === "answer") {
        const { response } = message;
        if (ask) return (ask as ClarificationAsk).answer(response);
        return (await line.send({ type: "clarification.reply", ...own, response, timestamp })).taken;
      }
      const { decision } = message;
      if (ask)
        return decision === "accept" ? (ask as ConfirmationAsk).accept() : (ask as ConfirmationAsk).reject();
      return (await line.send({ type: "confirmation.reply", ...own, decision, timestamp })).taken;
    },
    async renegotiate(changed) {
      wanted = { ...wanted, ...changed };
      return (await (await ready).renegotiate(changed)).honored_capabilities;
    },
    close(handover) {
      closed = true;
      cancel?.();
      if (handover) transport?.drop();
      else void subscriber?.close();
    },
  };
}
