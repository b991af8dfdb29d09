/**
 * The subscription that the leader tab holds for all tabs of a browser. Loaded only by that tab: other tabs need no
 * parser and no transport.
 */

import type { ResumePoint } from "../protocol/extension.ts";
import type { Clock } from "../protocol/platform.ts";
import type { AgentEvent, Capabilities } from "../protocol/types.ts";
import type { Outgoing } from "../subscriber/announcer.ts";
import { transportFor } from "../subscriber/connect.ts";
import type { ClientTransport, Token } from "../subscriber/index.ts";
import { Subscriber, sendReply } from "../subscriber/subscriber.ts";
import type { ConnectionState } from "./page-listener.ts";

export interface LeaderConnection {
  /** True if the agent accepted it; undefined where nobody can tell. */
  send(message: Outgoing): Promise<boolean | undefined>;
  renegotiate(capabilities: Capabilities): Promise<Capabilities>;
  /** `handover`: another tab continues the subscription. */
  close(handover: boolean): void;
}

export interface LeaderOptions {
  readonly address: string;
  readonly capabilities: Capabilities;
  readonly token: Token | undefined;
  /** Where the tab before this one was. */
  readonly resume: ResumePoint | undefined;
  readonly clock: Clock;
  /** Whether the question can still be answered. */
  isOpen(reply_token: string): boolean;
  event(event: AgentEvent, resume: ResumePoint): void;
  state(state: ConnectionState): void;
  /** For tests; by default the transport for the address. */
  readonly transport?: ClientTransport;
}

/** Returns at once; it connects, and reconnects, in the background. */
export function connectLeader(options: LeaderOptions): LeaderConnection {
  const { address, capabilities, token, resume, clock } = options;
  let wanted = capabilities;
  let closed = false;

  const start = async (): Promise<Subscriber> => {
    const transport =
      options.transport ?? (await transportFor(address, token === undefined ? {} : { token }));
    const subscriber = new Subscriber(transport, {
      ...wanted,
      subscriber_id: "earshot-web",
      clock,
      ...(resume ? { resume } : {}),
    });
    let agent = "";
    subscriber.on("event", (event) =>
      options.event(event, { subscription_id: subscriber.id, last_event_id: subscriber.cursor }),
    );
    subscriber.on("connection", ({ state }) => {
      if (state === "connecting") return options.state({ state, agent });
      const { producer, honored_capabilities: honored } = subscriber.accepted;
      agent = producer.agent_name ?? producer.agent_id;
      options.state({ state, agent, honored });
    });
    subscriber.on("closed", ({ message }) => {
      if (!closed) options.state({ state: "ended", agent, reason: message });
    });
    return subscriber;
  };
  const starting = start();
  const connected = starting.then((subscriber) =>
    closed ? subscriber : subscriber.connect({ retry: true }),
  );
  // An address or a transport that cannot work ends it; everything later is reported by the subscriber itself.
  starting.catch(
    (error: Error) => closed || options.state({ state: "ended", agent: "", reason: error.message }),
  );
  connected.catch(() => undefined);

  return {
    send: async (message) => sendReply(await connected, message, (token) => options.isOpen(token)),
    async renegotiate(changed) {
      wanted = { ...wanted, ...changed };
      return (await (await connected).renegotiate(changed)).honored_capabilities;
    },
    close(handover) {
      closed = true;
      void starting
        .then((subscriber) => (handover ? void subscriber.release() : subscriber.close()))
        .catch(() => undefined);
    },
  };
}
