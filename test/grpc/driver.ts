/**
 * The scenarios' driver over gRPC. Whether everything has arrived is asked on the connection itself: a GetManifest that
 * is answered came after all that was sent before it, in both directions.
 */

import * as grpc from "@grpc/grpc-js";
import type { Producer } from "../../src/producer/producer.ts";
import { hubOf } from "../../src/producer/producer.ts";
import type { Handled, Incoming } from "../../src/protocol/hub-port.ts";
import type { CoreEvent, OtherMessage, SubscriptionAccepted } from "../../src/protocol/types.ts";
import { type ServingGrpc, serveGrpc } from "../../src/server/grpc/grpc.ts";
import { Deduplicator } from "../../src/subscriber/deduplicate.ts";
import { asBytes, MANIFEST_PATH, SUBSCRIBE_PATH } from "../../src/transports/grpc/library.ts";
import { decodeJson, encodeAaepMessage } from "../../src/transports/grpc/protobuf.ts";
import { closeOf } from "../../src/transports/grpc/status.ts";
import { bearerOf, byBearer, LOCAL } from "../http/test-server.ts";
import type { Driver, EarOptions, Wire } from "../support/driver.ts";
import { REQUEST } from "./support.ts";

interface Place {
  readonly server: ServingGrpc;
  readonly clients: Set<grpc.Client>;
  /** What the hub made of each message, in order: the stream does not say. */
  readonly handled: Handled[];
  /** Messages that have come to anybody. */
  heard: number;
}
const places = new Map<Producer, Promise<Place>>();

async function openPlace(agent: Producer): Promise<Place> {
  const limits = { heartbeatMs: 600_000, requestMs: 600_000 };
  const place: Place = {
    server: await serveGrpc(agent, { port: 0, auth: byBearer, limits, log: () => {} }),
    clients: new Set(),
    handled: [],
    heard: 0,
  };
  const handle = hubOf(agent).handle.bind(hubOf(agent));
  hubOf(agent).handle = async (message, ...rest) => {
    const handled = await handle(message, ...rest);
    place.handled.push(handled);
    return handled;
  };
  hearTheEnd(agent, place);
  return place;
}

/** In memory, a session that has ended has been heard to end; stories told for that world expect no less here. */
function hearTheEnd(agent: Producer, place: Place): void {
  const heard = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } finally {
      await settlePlace(place, turn);
    }
  };
  const { start, run } = agent;
  const patient = agent as { -readonly [Name in keyof Producer]: Producer[Name] };
  patient.run = (...given) => heard(run(...given));
  patient.start = (...given) => {
    const session = start(...given);
    for (const end of ["complete", "fail", "cancel"] as const) {
      const call = session[end].bind(session) as (...how: unknown[]) => Promise<void>;
      session[end] = (...how: unknown[]) => heard(call(...how));
    }
    return session;
  };
}

const turn = async () => {
  for (let i = 0; i < 4; i++) await new Promise((resolve) => setImmediate(resolve));
};

const arrived = (client: grpc.Client): Promise<void> =>
  new Promise((resolve) => {
    try {
      client.makeUnaryRequest(MANIFEST_PATH, asBytes, asBytes, Buffer.alloc(0), () => resolve());
    } catch {
      // The story is over, and its clients are closed.
      resolve();
    }
  });

/** Until nothing comes any more: what is heard may cause more to be said, and a long answer goes out in portions. */
async function settlePlace(place: Place, between: () => Promise<void>): Promise<void> {
  let before = -1;
  for (let calm = 0; calm < 2; calm++) {
    await between();
    await turn();
    await Promise.all([...place.clients].map(arrived));
    await turn();
    if (place.heard !== before) calm = 0;
    before = place.heard;
  }
  await between();
}

export async function closePlaces(): Promise<void> {
  const open = [...places.values()];
  places.clear();
  for (const place of open) {
    const { server, clients } = await place;
    for (const client of clients) client.close();
    await server.close();
  }
}

const requestOf = ({ capabilities, subscriber_id = "test-listener", extension }: EarOptions) => {
  const { supported_extensions, ...base } = REQUEST.capabilities;
  const extended = extension === false ? {} : { supported_extensions };
  const levels = { supported_conformance_levels: [1, 2, 3] };
  return { ...REQUEST, subscriber_id, capabilities: { ...base, ...levels, ...extended, ...capabilities } };
};

export const grpcDriver: Driver = {
  name: "grpc",
  async settle(clock) {
    await clock.settle();
    for (const place of places.values()) await settlePlace(await place, () => clock.settle());
  },
  async connect(agent, options): Promise<Wire> {
    const opening = places.get(agent) ?? openPlace(agent);
    places.set(agent, opening);
    const place = await opening;
    const { principal = LOCAL } = options;
    const events: CoreEvent[] = [];
    const messages: OtherMessage[] = [];
    const memory = new Deduplicator();
    let accepted: SubscriptionAccepted | undefined;
    let closed: string | undefined;
    let leave = () => {};
    let call: grpc.ClientDuplexStream<Buffer, Buffer> | undefined;
    const write = (message: object) =>
      call!.write(encodeAaepMessage(JSON.stringify(message), String((message as { type?: string }).type)));
    const open = async (last_event_id?: string) => {
      closed = undefined;
      memory.reconnected();
      const client = new grpc.Client(`127.0.0.1:${place.server.port}`, grpc.credentials.createInsecure(), {
        "grpc.use_local_subchannel_pool": 1,
      });
      place.clients.add(client);
      const metadata = new grpc.Metadata();
      metadata.set("authorization", `Bearer ${bearerOf(principal)}`);
      const mine = client.makeBidiStreamRequest(SUBSCRIBE_PATH, asBytes, asBytes, metadata);
      call = mine;
      leave = () => {
        call = undefined;
        mine.cancel();
      };
      const resume = accepted && {
        subscription_id: accepted.subscription_id,
        ...(last_event_id === undefined ? {} : { last_event_id }),
      };
      await new Promise<void>((resolve, reject) => {
        mine.on("error", () => {});
        mine.on("data", (bytes: Buffer) => {
          place.heard++;
          if (mine !== call) return;
          const message = JSON.parse(Buffer.from(decodeJson(bytes)!).toString());
          if (message.type === "subscription.accepted") {
            accepted ??= message;
            resolve();
          } else if (message.event_id) {
            memory.take(message, true);
            events.push(message);
          } else if (message.type !== "earshot:closing" && message.type !== "subscription.rejected")
            messages.push(message);
        });
        mine.on("status", ({ code, details, metadata: trailers }) => {
          reject(new Error(`The producer rejected the listener: ${details}`));
          if (mine === call)
            closed = closeOf(code, details, (name) => trailers.get(name)[0]?.toString()).code;
          if (mine === call) call = undefined;
        });
        write({ ...requestOf(options), ...(resume ? { extensions: { earshot: { resume } } } : {}) });
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
      async send(message: Incoming, as) {
        // On a stream everybody is who opened it; somebody else, or later, there is only the hub itself.
        if (as || !call) return hubOf(agent).handle(message, as ?? principal);
        const { length } = place.handled;
        write(message);
        await settlePlace(place, turn);
        return place.handled[length] ?? { taken: false };
      },
      drop: async () => leave(),
      reconnect: open,
    };
  },
};
