/** What a stream is on the wire, whichever HTTP it is: the same events, in the framing of that HTTP and no other (B.1). */
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { Principal } from "../../src/protocol/principal.ts";
import { requestWith } from "./raw-clients.ts";
import { bearerOf, byBearer, closeAll, LOCAL, open, type TestServer } from "./test-server.ts";

afterEach(closeAll);

const SAID = "naïve 日本 👋. ";
const PLAIN = /^: connected\nretry: \d+\n\n(?:(?:[a-z]+: [^\n]*\n)+\n)+$/;
const subscribe = async (server: TestServer): Promise<string> => {
  const capabilities = { coalesce_boundaries: ["none"] };
  const { body } = await server.post("/subscriptions", requestWith({ capabilities }));
  return JSON.parse(body).subscription_id;
};
const get = (id: string, version: string, principal: Principal = LOCAL, host = "127.0.0.1") =>
  `GET /aaep/v1/events?subscription_id=${id} HTTP/${version}\r\nhost: ${host}\r\nauthorization: Bearer ${bearerOf(principal)}\r\n\r\n`;

/** All that comes on a connection until it ends. */
const talk = (
  server: TestServer,
  sent: string,
  meanwhile: (socket: { readonly raw: string }) => void,
): Promise<string> => {
  const socket = server.dial();
  const heard = { raw: "" };
  socket.setEncoding("utf8").on("data", (part: string) => {
    heard.raw += part;
    meanwhile(heard);
  });
  socket.write(sent);
  return new Promise((resolve) => socket.on("close", () => resolve(heard.raw)));
};

/** The text of a chunked body, which must be whole. */
function unchunked(body: string): string {
  const bytes = Buffer.from(body);
  let text = "";
  for (let at = 0; ; ) {
    const line = bytes.indexOf("\r\n", at);
    const size = Number.parseInt(bytes.subarray(at, line).toString(), 16);
    const end = line + 2 + size;
    if (bytes.subarray(end, end + 2).toString() !== "\r\n") throw new Error(`No chunk at ${at}.`);
    if (size === 0) {
      if (end + 2 !== bytes.length) throw new Error("There is something after the end.");
      return text;
    }
    text += bytes.subarray(line + 2, end).toString();
    at = end + 2;
  }
}

const chunks = (text: string): string =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!).chunk ?? "").join("");

describe("a stream", () => {
  const speak = (agent: Awaited<ReturnType<typeof open>>["agent"]) => {
    let spoken = false;
    return ({ raw }: { readonly raw: string }) => {
      if (spoken || !raw.includes(": connected")) return;
      spoken = true;
      void agent
        .run({ summary: "Speaking." }, async (session) => {
          for (let i = 0; i < 50; i++) {
            void session.say(SAID);
            if (i % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
          }
        })
        .then(() => agent.close());
    };
  };

  it("is chunked over HTTP/1.1, to its very end: SSE-03", async () => {
    const { agent, server } = await open();
    const raw = await talk(server, get(await subscribe(server), "1.1"), speak(agent));
    const [head, ...rest] = raw.split("\r\n\r\n");
    expect(head).toMatch(/transfer-encoding: chunked/i);
    const text = unchunked(rest.join("\r\n\r\n"));
    expect(text).toMatch(PLAIN);
    expect(chunks(text)).toBe(SAID.repeat(50));
  });

  it("is plain over HTTP/1.0, which knows no chunks", async () => {
    const { agent, server } = await open();
    const raw = await talk(server, get(await subscribe(server), "1.0"), speak(agent));
    const [head, ...rest] = raw.split("\r\n\r\n");
    expect(head).not.toMatch(/transfer-encoding/i);
    expect(rest.join("\r\n\r\n")).toMatch(PLAIN);
    expect(chunks(rest.join("\r\n\r\n"))).toBe(SAID.repeat(50));
  });

  it("is chunked once where it had to wait for an answer before it on the same connection", async () => {
    let let_go = () => {};
    const held = new Promise<void>((resolve) => {
      let_go = resolve;
    });
    const slow: Principal = { ...LOCAL, id: "slow" };
    const { agent, server } = await open(
      {},
      {
        auth: async (credentials) => {
          const principal = (await byBearer(credentials)) as Principal | undefined;
          if (principal?.id === "slow") await held;
          return principal;
        },
      },
    );
    const id = await subscribe(server);
    const both = talk(server, get("sub_unknown", "1.1", slow) + get(id, "1.1"), speak(agent));
    // The second is answered first, into a response that has no socket yet.
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    let_go();
    const raw = await both;
    const second = raw.slice(raw.lastIndexOf("HTTP/1.1 200"));
    const [, ...rest] = second.split("\r\n\r\n");
    const text = unchunked(rest.join("\r\n\r\n"));
    expect(text).toMatch(PLAIN);
    expect(chunks(text)).toBe(SAID.repeat(50));
  });

  it("is in HTTP/2's own frames over HTTP/2", async () => {
    const { agent, server } = await open();
    const id = await subscribe(server);
    const http2 = createHttp2Server((request, response) => server.httpApp.node(request, response));
    await new Promise<void>((resolve) => http2.listen(0, "127.0.0.1", resolve));
    const client = connectHttp2(`http://127.0.0.1:${(http2.address() as AddressInfo).port}`);
    try {
      const stream = client.request({
        ":path": `/aaep/v1/events?subscription_id=${id}`,
        authorization: `Bearer ${bearerOf(LOCAL)}`,
      });
      const heard = { raw: "" };
      const meanwhile = speak(agent);
      stream.setEncoding("utf8").on("data", (part: string) => {
        heard.raw += part;
        meanwhile(heard);
      });
      await new Promise((resolve) => stream.on("end", resolve));
      expect(heard.raw).toMatch(PLAIN);
      expect(chunks(heard.raw)).toBe(SAID.repeat(50));
    } finally {
      client.destroy();
      await new Promise((resolve) => http2.close(resolve));
    }
  });

  it("of a web handler is its reader's alone: what one does with its bytes is nobody else's matter", async () => {
    const { agent, server } = await open();
    const listen = async () => {
      const url = `http://127.0.0.1:${server.port}/aaep/v1/events?subscription_id=${await subscribe(server)}`;
      const headers = { authorization: `Bearer ${bearerOf(LOCAL)}`, host: `127.0.0.1:${server.port}` };
      const { body } = await server.httpApp.web(new Request(url, { headers }));
      return body!.getReader();
    };
    const [careless, careful] = [await listen(), await listen()];
    const read = async (reader: typeof careful, use: (bytes: Uint8Array) => void) => {
      let text = "";
      const decoder = new TextDecoder();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return text;
        text += decoder.decode(value, { stream: true });
        use(value);
      }
    };
    const gone: number[] = [];
    const texts = Promise.all([
      read(careless, (bytes) => {
        gone.push(structuredClone(bytes, { transfer: [bytes.buffer] }).byteLength);
      }),
      read(careful, () => {}),
    ]);
    speak(agent)({ raw: ": connected" });
    const [one, other] = await texts;
    expect(gone.length).toBeGreaterThan(1);
    for (const text of [one, other]) expect(chunks(text)).toBe(SAID.repeat(50));
  });
});
