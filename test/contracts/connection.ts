/** What every connection promises, whatever carries it. Run over each implementation. */
import { describe, expect, it } from "vitest";
import type { Connection } from "../../src/protocol/connection.ts";

export interface ConnectionPair {
  readonly server: Connection;
  readonly client: Connection;
  cut(): void;
}

const turn = async (times = 20) => {
  for (let i = 0; i < times; i++) await Promise.resolve();
};

export function connectionContract(name: string, open: () => Promise<ConnectionPair>): void {
  describe(`a connection: ${name}`, () => {
    it("keeps the order, both ways, byte for byte (TRN-03)", async () => {
      const { server, client } = await open();
      const texts = Array.from({ length: 50 }, (_, i) =>
        JSON.stringify({ i, text: `ọmọ 👩‍👩‍👧 ${"x".repeat(i)}\u2028` }),
      );
      for (const [from, to] of [
        [server, client],
        [client, server],
      ] as const) {
        const got: string[] = [];
        to.receive((text) => void got.push(text));
        for (const json of texts) await from.send({ json });
        await turn();
        expect(got).toEqual(texts);
      }
    });

    it("keeps what came before there was a receiver", async () => {
      const { server, client } = await open();
      server.send({ json: "1" });
      server.send({ json: "2" });
      const got: string[] = [];
      client.receive((text) => void got.push(text));
      await turn();
      expect(got).toEqual(["1", "2"]);
    });

    it("asks the sender to wait for a slow reader, loses nothing, and lets it go on (DEL-17)", async () => {
      const { server, client } = await open();
      const got: string[] = [];
      let next = () => {};
      client.receive((text) => {
        got.push(text);
        return new Promise((resolve) => {
          next = resolve;
        });
      });
      let wait: Promise<void> | undefined;
      let sent = 0;
      while (!wait && sent < 100_000) wait = server.send({ json: String(sent++) });
      expect(wait).toBeInstanceOf(Promise);
      let free = false;
      void wait!.then(() => {
        free = true;
      });
      await turn();
      expect(free).toBe(false);
      for (let i = 0; i < sent; i++) {
        next();
        await turn(4);
      }
      expect(free).toBe(true);
      expect(got).toEqual(Array.from({ length: sent }, (_, i) => String(i)));
    });

    it("delivers what was sent before a close, and tells both sides the first reason", async () => {
      const { server, client } = await open();
      const got: string[] = [];
      server.send({ json: "last words" });
      server.close("producer_shutdown");
      client.close("subscriber_closed");
      client.receive((text) => void got.push(text));
      await turn();
      expect(got).toEqual(["last words"]);
      expect(await Promise.all([server.closed, client.closed])).toEqual([
        "producer_shutdown",
        "producer_shutdown",
      ]);
      await expect(server.send({ json: "too late" })).rejects.toMatchObject({ code: "connection_closed" });
    });

    it("that drops without a word is lost to both sides, and nobody waits for ever", async () => {
      const { server, client, cut } = await open();
      let wait: Promise<void> | undefined;
      for (let i = 0; i < 100_000 && !wait; i++) wait = server.send({ json: "x" });
      const waited = expect(wait).rejects.toMatchObject({ code: "connection_closed" });
      cut();
      await waited;
      const got: string[] = [];
      client.receive((text) => void got.push(text));
      await turn();
      expect(got).toEqual([]);
      expect(await Promise.all([server.closed, client.closed])).toEqual([
        "connection_lost",
        "connection_lost",
      ]);
    });
  });
}
