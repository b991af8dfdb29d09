/** What is SSE's own: paths, statuses, headers, heartbeats, and subscriptions whose stream never comes (B.1, CON-65). */
import { request as httpRequest } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { createFakeClock } from "../../src/testing/clock.ts";
import { requestWith } from "./raw-clients.ts";
import { bearerOf, closeAll, LOCAL, open } from "./test-server.ts";

afterEach(closeAll);

describe("SSE", () => {
  it("an accepted subscription whose stream is never opened goes away (CON-65)", async () => {
    const clock = createFakeClock();
    const { agent, server } = await open({ clock });
    await server.post("/subscriptions", requestWith());
    expect(agent.subscriptions).toBe(1);
    await clock.advance(31_000);
    expect(agent.subscriptions).toBe(0);
  });

  it("heartbeats are comments: they keep the line busy and move no cursor", async () => {
    const { server } = await open({}, { limits: { heartbeatMs: 10 } });
    const { body } = await server.post("/subscriptions", requestWith());
    const { response, socket } = await server.stream(JSON.parse(body).subscription_id);
    expect(response.headers).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    expect(response.headers["content-encoding"]).toBeUndefined();
    let raw = "";
    await new Promise<void>((resolve) => {
      response.setEncoding("utf8").on("data", (text: string) => {
        raw += text;
        if (raw.split(": \n\n").length > 3) resolve();
      });
      response.on("error", () => {});
    });
    socket.destroy();
    expect(raw.replaceAll(": \n\n", "")).toMatch(/^: connected\nretry: \d+\n\n$/);
  });

  it("a listener that lost its line keeps its place, also where the stream begins with what has no id: SSE-05", async () => {
    const { server } = await open();
    const { body } = await server.post("/subscriptions", requestWith());
    const first = async (last: string) => {
      const { response, socket } = await server.stream(JSON.parse(body).subscription_id, LOCAL, {
        "last-event-id": last,
      });
      const text = await new Promise((resolve) =>
        response
          .setEncoding("utf8")
          .once("data", resolve)
          .on("error", () => {}),
      );
      socket.destroy();
      return text;
    };
    expect(await first("evt_1")).toMatch(/^: connected\nretry: \d+\nid: evt_1\n\n/);
    expect(await first(`evt_${"x".repeat(400)}`)).toMatch(/^: connected\nretry: \d+\n\n/);
  });

  it("our client sends the headers the appendix asks for, on the stream and on replies: SSE-07", async () => {
    const { server } = await open();
    const { createSseClient } = await import("../../src/transports/sse/client.ts");
    const calls: { url: string; method: string; headers: Headers }[] = [];
    const spy: typeof fetch = (url, init) => {
      calls.push({ url: String(url), method: init?.method ?? "GET", headers: new Headers(init?.headers) });
      return fetch(url, init);
    };
    const client = createSseClient({ url: server.http, token: bearerOf(LOCAL), fetch: spy });
    const line = await client.open(requestWith() as never, undefined, { message() {}, closed() {} });
    await line.send({
      type: "subscription.close",
      subscription_id: (line.answer as { subscription_id: string }).subscription_id,
      reason_code: "subscriber_shutdown",
    });
    line.close();
    const [request, stream, reply] = calls;
    for (const { headers } of calls) expect(headers.get("authorization")).toBe(`Bearer ${bearerOf(LOCAL)}`);
    expect(stream!.method).toBe("GET");
    expect([stream!.headers.get("accept"), stream!.headers.get("cache-control")]).toEqual([
      "text/event-stream",
      "no-cache",
    ]);
    for (const { method, headers } of [request!, reply!])
      expect([method, headers.get("content-type")]).toEqual(["POST", "application/json"]);
  });

  it("wrong methods, media types and sizes are answered as HTTP knows them", async () => {
    const { server } = await open({}, { limits: { bodyBytes: 2_000 } });
    const status = (method: string, path: string) =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${bearerOf(LOCAL)}` };
        httpRequest(`${server.http}/aaep/v1${path}`, { method, headers, agent: false }, (response) =>
          resolve(response.resume().statusCode),
        )
          .on("error", reject)
          .end();
      });
    expect(await status("GET", "/subscriptions")).toBe(405);
    expect(await status("POST", "/events")).toBe(405);
    expect(await status("GET", "/nothing")).toBe(404);
    expect(
      (await server.post("/subscriptions", requestWith(), LOCAL, { "content-type": "text/plain" })).status,
    ).toBe(415);
    expect(
      (await server.post("/subscriptions", requestWith({ subscriber_name: "x".repeat(3_000) }))).status,
    ).toBe(413);
    expect((await server.post("/subscriptions", "{")).status).toBe(400);
  });
});
