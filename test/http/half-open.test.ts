/** A listener over SSE whose machine fell asleep: what the system's table says of it reaches its stream (F15). */
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import type { HalfOpenDetector, TcpEnds } from "../../src/server/http/half-open.ts";
import { handleNodeRequest } from "../../src/server/http/node.ts";
import { createLogger, createMetrics, createObserver } from "../../src/server/telemetry.ts";
import { WriteScheduler } from "../../src/server/writer.ts";
import type { HttpStream } from "../../src/transports/http.ts";
import { later } from "../security/wire-support.ts";

it("F15: the stream of whoever does not answer any more is let go, and frees what it held", async () => {
  // Half a connection cannot be made on one machine; what finds it is proven in src/server/http/half-open.test.ts.
  const watched = new Map<TcpEnds, () => void>();
  let freed = () => {};
  const gone = new Promise<void>((resolve) => {
    freed = resolve;
  });
  const metrics = createMetrics();
  const log = createLogger(() => {});
  const halfOpen: HalfOpenDetector = {
    watch(ends, lost) {
      watched.set(ends, lost);
      return () => watched.delete(ends);
    },
    check: async () => {},
  };
  const options = {
    handle: async () => ({
      status: 200,
      headers: { "content-type": "text/event-stream" },
      stream: (stream: HttpStream) => {
        void stream.write(": connected\n\n");
        return { closed: freed, tooSlow: () => {} };
      },
    }),
    log,
    observer: createObserver(log, metrics),
    writes: new WriteScheduler(),
    halfOpen,
    limits: { bodyBytes: 1_024, queueBytes: 65_536, blockedMs: 1_000 },
  };
  const server = createServer(
    (request, response) =>
      void handleNodeRequest(options, request, response, { url: request.url ?? "/", mount: "" }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  later(() => server.close());
  const { port } = server.address() as AddressInfo;
  const localPort = await new Promise<number | undefined>((resolve, reject) => {
    const request = get({ port, host: "127.0.0.1", path: "/aaep/v1/events", agent: false }, (response) => {
      response.on("error", () => {});
      response.once("data", () => resolve(request.socket?.localPort));
    });
    request.on("error", reject);
    later(() => request.destroy());
  });

  const [[ends, lost]] = [...watched] as [[TcpEnds, () => void]];
  expect({ ...pick(ends), streams: watched.size }).toEqual({
    localPort: port,
    remotePort: localPort,
    streams: 1,
  });
  lost();
  await gone;
  expect(watched.size).toBe(0);
  expect(metrics.text()).toContain('earshot_disconnects_total{reason="unreachable"} 1');
});

const pick = ({ localPort, remotePort }: TcpEnds) => ({ localPort, remotePort });
