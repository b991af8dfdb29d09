/** The scenarios' drivers on the desk: a real Unix socket with either framing, and JSON-RPC over a pair of pipes, through our own clients. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { Producer } from "../../src/producer/producer.ts";
import { hubOf } from "../../src/producer/producer.ts";
import { EXTENSION_URI } from "../../src/protocol/extension.ts";
import type { Handled } from "../../src/protocol/hub-port.ts";
import type { Principal } from "../../src/protocol/principal.ts";
import type {
  CoreEvent,
  OtherMessage,
  SubscriptionAccepted,
  SubscriptionRequest,
} from "../../src/protocol/types.ts";
import { type ServingIpc, serveIpc } from "../../src/server/ipc/ipc.ts";
import { type ServingStdio, serveStdio } from "../../src/server/stdio/stdio.ts";
import { Deduplicator } from "../../src/subscriber/deduplicate.ts";
import type { ClientConnection, ClientTransport } from "../../src/transports/client-connection.ts";
import { createIpcClient } from "../../src/transports/ipc/client.ts";
import { createStdioClient } from "../../src/transports/stdio/client.ts";
import type { Driver, EarOptions, Wire } from "../support/driver.ts";

const LOCAL: Principal = { id: "local", role: "reply", audiences: "all" };

/** One agent on the desk: a socket for each person, since a socket knows one person only. */
class Desk {
  readonly directory = mkdtempSync(join(tmpdir(), "desk-"));
  readonly handled: Handled[] = [];
  readonly #agent: Producer;
  readonly #sockets = new Map<string, Promise<ServingIpc>>();
  readonly #pipes: ServingStdio[] = [];

  constructor(agent: Producer) {
    this.#agent = agent;
    const handle = hubOf(agent).handle.bind(hubOf(agent));
    hubOf(agent).handle = async (...given) => {
      const handled = await handle(...given);
      this.handled.push(handled);
      return handled;
    };
    // In memory, a session that has ended has been heard to end; stories told for that world expect no less here.
    const heard = async <T>(work: Promise<T>): Promise<T> => {
      try {
        return await work;
      } finally {
        await turns();
      }
    };
    const { start, run } = agent;
    const patient = agent as { -readonly [Name in keyof Producer]: Producer[Name] };
    patient.run = (...given) => heard(run(...given));
    patient.start = (...given) => {
      const session = start(...given);
      for (const end of ["complete", "fail", "cancel"] as const) {
        const call = session[end].bind(session) as (...given: unknown[]) => Promise<void>;
        session[end] = (...how: unknown[]) => heard(call(...how));
      }
      return session;
    };
  }

  async path(principal: Principal): Promise<string> {
    const known = this.#sockets.get(principal.id);
    const serving =
      known ??
      serveIpc(this.#agent, { path: join(this.directory, `${principal.id}.sock`), principal, log: () => {} });
    this.#sockets.set(principal.id, serving);
    return (await serving).path;
  }

  pipes(principal: Principal) {
    const [there, back] = [new PassThrough(), new PassThrough()];
    this.#pipes.push(serveStdio(this.#agent, { input: there, output: back, principal, log: () => {} }));
    return { input: back, output: there, close: () => void there.end() };
  }

  async close(): Promise<void> {
    for (const serving of this.#sockets.values()) await (await serving).close();
    for (const serving of this.#pipes) await serving.close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Within one process the kernel hands bytes over at once; each hop is a turn or two of the loop. */
const turns = async (count = 24): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
};

const desks = new Map<Producer, Desk>();

const deskOf = (agent: Producer): Desk => {
  const desk = desks.get(agent) ?? new Desk(agent);
  desks.set(agent, desk);
  return desk;
};

export async function clearDesks(): Promise<void> {
  const all = [...desks.values()];
  desks.clear();
  for (const desk of all) await desk.close();
}

const requestOf = ({
  capabilities,
  subscriber_id = "test-listener",
  extension,
}: EarOptions): SubscriptionRequest => ({
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
  await turns();
};

type Dial = (desk: Desk, principal: Principal) => Promise<ClientTransport>;

function driver(name: string, dial: Dial): Driver {
  return {
    name,
    settle,
    async connect(agent, options): Promise<Wire> {
      const desk = deskOf(agent);
      const { principal = LOCAL } = options;
      const events: CoreEvent[] = [];
      const messages: OtherMessage[] = [];
      const memory = new Deduplicator();
      let accepted: SubscriptionAccepted | undefined;
      let line: ClientConnection | undefined;
      let closed: string | undefined;
      const open = async (last_event_id?: string) => {
        closed = undefined;
        memory.reconnected();
        let mine = true;
        const resume = accepted && { subscription_id: accepted.subscription_id, last_event_id };
        const transport = await dial(desk, principal);
        const opened = await transport.open(requestOf(options), resume, {
          message(text) {
            if (!mine) return;
            const message = JSON.parse(text);
            if (message.event_id) {
              memory.take(message, true);
              events.push(message);
            } else messages.push(message);
          },
          closed({ code }) {
            if (mine && code !== "connection_lost") closed = code;
          },
        });
        if (opened.answer.type === "subscription.rejected")
          throw new Error(`The producer rejected the listener: ${opened.answer.reason_message}`);
        accepted = accepted && transport.name !== "stdio" ? accepted : opened.answer;
        line = {
          ...opened,
          close() {
            mine = false;
            opened.close();
          },
        };
      };
      await open();
      return {
        get accepted() {
          return accepted!;
        },
        events,
        messages,
        get closed() {
          return closed;
        },
        get lastEventId() {
          return memory.cursor;
        },
        async send(message, as) {
          // A socket knows one person: another's words come over another, so they are handed in at the hub.
          if (as || !line) return hubOf(agent).handle(message, as ?? principal);
          const { length } = desk.handled;
          const sent = await line.send(message as OtherMessage).catch(() => undefined);
          if (sent?.answer) return { answer: sent.answer };
          if (!sent) return hubOf(agent).handle(message, principal);
          await turns();
          return desk.handled[length] ?? { taken: false };
        },
        drop: async () => line?.close(),
        reconnect: open,
      };
    },
  };
}

export const lengthPrefixDriver = driver("unix socket, length prefix", async (desk, principal) =>
  createIpcClient({ path: await desk.path(principal) }),
);
export const linesDriver = driver("unix socket, lines", async (desk, principal) =>
  createIpcClient({ path: await desk.path(principal), framing: "ndjson" }),
);
export const stdioDriver = driver("stdio", async (desk, principal) =>
  createStdioClient({ pipes: () => desk.pipes(principal) }),
);
