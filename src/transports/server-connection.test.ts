import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import type { Handled, HubPort, Incoming } from "../protocol/hub-port.ts";
import { type Parsed, parseValue } from "../protocol/parse.ts";
import { LOCAL_USER } from "../protocol/principal.ts";
import { ServerConnection } from "./server-connection.ts";

const parsed = (message: object): Parsed => parseValue(message, { mode: "tolerant" });
const REQUEST = parsed({
  type: "subscription.request",
  aaep_version: "1.0.0",
  subscriber_id: "test",
  capabilities: {},
});
const status = (n: number): Parsed =>
  parsed({ type: "earshot:status", subscription_id: "sub_1", session_id: `sess_${n}` });

/** A connection to a hub that answers only when told to. */
function open() {
  const handling: { message: Incoming; finish: (handled: Handled) => void; fail: (error: Error) => void }[] =
    [];
  const hub: HubPort = {
    subscribe: () => ({
      answer: {
        type: "subscription.accepted",
        subscription_id: "sub_1",
        honored_capabilities: {},
      } as never,
      subscription: { id: "sub_1", connect: () => {}, disconnect: () => {} },
    }),
    find: () => undefined,
    handle: (message) => new Promise((finish, fail) => void handling.push({ message, finish, fail })),
    retryAfter: () => undefined,
  };
  const socket = {
    transport: "test",
    framing: "test",
    resumable: true,
    hasCloseCodes: true,
    encode: () => new Uint8Array(),
    write: () => undefined,
    tell: vi.fn(),
    close: vi.fn(),
  };
  const observer = { closed: vi.fn(), failed: vi.fn() };
  const connection = new ServerConnection(socket, hub, LOCAL_USER, observer);
  connection.receive(REQUEST, () => {});
  return { connection, handling, socket, observer };
}

describe("a server connection", () => {
  it("handles one message after the other, so that answers keep their order", async () => {
    const { connection, handling } = open();
    const answered: number[] = [];
    for (const n of [1, 2, 3]) connection.receive(status(n), () => answered.push(n));
    for (const n of [1, 2, 3]) {
      expect(handling).toHaveLength(n);
      expect(answered).toHaveLength(n - 1);
      handling[n - 1]!.finish({ taken: true });
      await turn();
    }
    expect(answered).toEqual([1, 2, 3]);
    expect(handling.map(({ message }) => (message as { session_id?: string }).session_id)).toEqual([
      "sess_1",
      "sess_2",
      "sess_3",
    ]);
  });

  it("applies backpressure to a peer that sends faster than the hub answers", async () => {
    const { connection, handling } = open();
    let sent = 0;
    let backpressure: Promise<void> | undefined;
    while (!backpressure) {
      backpressure = connection.receive(status(sent++), () => {});
      expect(sent).toBeLessThan(1_000);
    }
    const released = vi.fn();
    void backpressure.then(released);
    await turn();
    expect(released).not.toHaveBeenCalled();
    handling[0]!.finish({ taken: true });
    await turn();
    expect(released).toHaveBeenCalledTimes(1);
  });

  it("that is closed handles nothing that still waits, and releases the backpressure", async () => {
    const { connection, handling, socket, observer } = open();
    let backpressure: Promise<void> | undefined;
    while (!backpressure) backpressure = connection.receive(status(1), () => {});
    connection.close("too_slow");
    await backpressure;
    handling[0]!.finish({ taken: true });
    await turn();
    expect(handling).toHaveLength(1);
    expect(socket.close).toHaveBeenCalledExactlyOnceWith("too_slow", true);
    expect(observer.closed).toHaveBeenCalledExactlyOnceWith("test", "too_slow");
  });

  it("goes on after a message the hub could not handle, and reports it", async () => {
    const { connection, handling, observer } = open();
    const error = new Error("broken");
    connection.receive(status(1), () => {});
    connection.receive(status(2), () => {});
    handling[0]!.fail(error);
    await turn();
    expect(observer.failed).toHaveBeenCalledExactlyOnceWith("test", error);
    expect(handling).toHaveLength(2);
  });
});
