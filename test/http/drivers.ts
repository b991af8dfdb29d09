/** The scenarios' drivers over real sockets: what they need of a transport, done as B.1 and B.2 say. */
import { createParser } from "eventsource-parser";
import { WebSocket } from "ws";
import type { Producer } from "../../src/producer/producer.ts";
import { EXTENSION_URI } from "../../src/protocol/extension.ts";
import type {
  CoreEvent,
  OtherMessage,
  SubscriptionAccepted,
  SubscriptionRejected,
} from "../../src/protocol/types.ts";
import { Deduplicator } from "../../src/subscriber/deduplicate.ts";
import { closeOf } from "../../src/transports/websocket/client.ts";
import type { Driver, EarOptions, Wire } from "../support/driver.ts";
import { bearerOf, LOCAL, TestServer } from "./test-server.ts";

const servers = new Map<Producer, Promise<TestServer>>();

function hallOf(agent: Producer): Promise<TestServer> {
  const known = servers.get(agent);
  if (known) return known;
  const server = TestServer.open(agent, { limits: { heartbeatMs: 600_000 } });
  servers.set(agent, server);
  return server.then((open) => {
    open.hearTheEnd(agent);
    return open;
  });
}

export async function closeHalls(): Promise<void> {
  const open = [...servers.values()];
  servers.clear();
  for (const server of open) await (await server).close();
}

const requestOf = ({ capabilities, subscriber_id = "test-listener", extension }: EarOptions) => ({
  type: "subscription.request",
  aaep_version: "1.0.0",
  subscriber_id,
  capabilities: {
    supports_confirmation_reply: true,
    supports_clarification_reply: true,
    supported_conformance_levels: [1, 2, 3],
    ...(extension === false ? {} : { supported_extensions: [EXTENSION_URI] }),
    ...capabilities,
  },
});

const settle: Driver["settle"] = async (clock) => {
  await clock.settle();
  for (const server of servers.values()) await (await server).settle(() => clock.settle());
};

const handledBy = ({ status, body }: { status: number; body: string }) => {
  const answer = body
    ? (JSON.parse(body) as SubscriptionAccepted | SubscriptionRejected | { type?: undefined })
    : undefined;
  return answer?.type ? { answer } : { taken: status === 204 };
};

export const sseDriver: Driver = {
  name: "sse",
  settle,
  async connect(agent, options): Promise<Wire> {
    const server = await hallOf(agent);
    const { principal = LOCAL } = options;
    const posted = await server.post("/subscriptions", requestOf(options), principal);
    const accepted = JSON.parse(posted.body) as SubscriptionAccepted;
    if (posted.status !== 201) throw new Error(`The producer rejected the listener: ${posted.body}`);
    const events: CoreEvent[] = [];
    const messages: OtherMessage[] = [];
    let drop = () => {};
    let closed: string | undefined;
    let last: string | undefined;
    const reconnect = async (lastEventId?: string) => {
      closed = undefined;
      const { response, socket } = await server.stream(
        accepted.subscription_id,
        principal,
        lastEventId === undefined ? {} : { "last-event-id": lastEventId },
      );
      let mine = true;
      const parser = createParser({
        onEvent: ({ event, id, data }) => {
          if (!mine) return;
          const message = JSON.parse(data);
          if (event === "aaep.event") {
            events.push(message);
            last = id ?? last;
          } else if (message.type === "earshot:closing") closed = message.reason_code;
          else messages.push(message);
        },
      });
      response.setEncoding("utf8").on("data", (text: string) => parser.feed(text));
      response.on("error", () => {});
      drop = () => {
        mine = false;
        socket.destroy();
      };
    };
    await reconnect();
    return {
      accepted,
      events,
      messages,
      get closed() {
        return closed;
      },
      get lastEventId() {
        return last;
      },
      send: async (message, as) =>
        handledBy(await server.post("/replies", message, as ?? principal)) as never,
      drop: async () => drop(),
      reconnect,
    };
  },
};

export const webSocketDriver: Driver = {
  name: "websocket",
  settle,
  async connect(agent, options): Promise<Wire> {
    const server = await hallOf(agent);
    const { principal = LOCAL } = options;
    const events: CoreEvent[] = [];
    const messages: OtherMessage[] = [];
    const memory = new Deduplicator();
    let accepted: SubscriptionAccepted | undefined;
    let socket: WebSocket;
    let closed: string | undefined;
    const open = async (last_event_id?: string) => {
      closed = undefined;
      memory.reconnected();
      const headers = { authorization: `Bearer ${bearerOf(principal)}` };
      const mine = new WebSocket(`ws://127.0.0.1:${server.port}/aaep/v1/ws`, "aaep.v1", {
        headers,
        createConnection: () => server.dial(),
      });
      socket = mine;
      const resume = accepted && {
        extensions: {
          earshot: {
            resume: {
              subscription_id: accepted.subscription_id,
              ...(last_event_id === undefined ? {} : { last_event_id }),
            },
          },
        },
      };
      await new Promise<void>((resolve, reject) => {
        mine.on("open", () => mine.send(JSON.stringify({ ...requestOf(options), ...resume })));
        mine.on("error", reject);
        mine.on("message", (data) => {
          const message = JSON.parse(String(data));
          if (mine !== socket) return;
          if (message.type === "subscription.rejected")
            reject(new Error(`The producer rejected the listener: ${message.reason_message}`));
          else if (message.type === "subscription.accepted") {
            accepted ??= message;
            resolve();
          } else if (message.event_id) {
            memory.take(message, true);
            events.push(message);
          } else messages.push(message);
        });
        mine.on("close", (code, reason) => {
          if (mine === socket && code !== 1006) closed = closeOf(code, String(reason)).code;
        });
      });
    };
    await open();
    return {
      accepted: accepted!,
      events,
      messages,
      get closed() {
        return closed;
      },
      get lastEventId() {
        return memory.cursor;
      },
      async send(message, as) {
        if (as || socket.readyState !== WebSocket.OPEN)
          return handledBy(await server.post("/replies", message, as ?? principal)) as never;
        const { length } = server.handled;
        socket.send(JSON.stringify(message));
        await server.settle();
        return server.handled[length] ?? { taken: false };
      },
      drop: async () => {
        const dropped = socket;
        socket = undefined as never;
        dropped.terminate();
        socket = dropped;
      },
      reconnect: open,
    };
  },
};
