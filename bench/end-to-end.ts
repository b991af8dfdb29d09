/**
 * One token's whole walk, in one process: an agent says it, hub and log take it, SSE carries it over loopback, and a
 * listener's iterator hands it out; boundaries `none`, no rate limit, one event per `say`. Beside it the same text through
 * AG-UI's client (`run`, the bare stream, and `runAgent`, what applications call) and as notifications of MCP over its
 * HTTP transport, each with the server its own documentation shows.
 *
 * A round is one session of 20,000 tokens, a long day's work of one agent, in messages of 200, ten tokens to a turn of
 * the event loop, as a model's stream brings them. All of that matters. AG-UI's `runAgent` slows down as a session
 * grows, with every message and with the length of each: in one endless message, or with one token to a turn, it is about
 * twice as near to us as here, and with short messages much further away. The bare `run` is the other way round: an output
 * costs us more to open and to end than a message costs AG-UI, and one token to a turn is the socket's time for everybody.
 * E2E_EVENTS, E2E_MESSAGE and E2E_BURST show other sizes; none is the one true size.
 *
 * All take turns, and a ratio is the median of the rounds' ratios: whatever else the machine is doing, it does to all.
 */
import { randomUUID } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { HttpAgent } from "@ag-ui/client";
import { EventType, type RunAgentInput } from "@ag-ui/core";
import { EventEncoder } from "@ag-ui/encoder";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { createProducer } from "../src/index.ts";
import { serve } from "../src/server/index.ts";
import { subscribe } from "../src/subscriber/index.ts";
import { median, print } from "./_report.ts";

const EVENTS = Number(process.env["E2E_EVENTS"] ?? 20_000);
const ROUNDS = Number(process.env["E2E_ROUNDS"] ?? 12);
/** Rounds before anything is measured: compiling is not what an agent does all day. */
const WARM_UPS = 3;
/** Tokens in one message: an output of ours, a message of AG-UI's. */
const MESSAGE = Number(process.env["E2E_MESSAGE"] ?? 200);
/** Tokens an agent hands over in one turn of the event loop. */
const BURST = Number(process.env["E2E_BURST"] ?? 10);

const WORDS = "I looked at the three accounts you named and the second one has enough for the rent ".split(
  /(?<= )/,
);
const tokenOf = (n: number): string => WORDS[n % WORDS.length]!;

/** Every contender hands over its tokens at the same beat; `last` says that a token is a message's last. */
async function hand(events: number, say: (token: string, last: boolean) => unknown): Promise<void> {
  for (let n = 0; n < events; n++) {
    say(tokenOf(n), n % MESSAGE === MESSAGE - 1 || n === events - 1);
    if (n % BURST === BURST - 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

interface Contender {
  /** Resolves once so many events were handed out at the far end. */
  round(events: number): Promise<void>;
  close(): Promise<unknown>;
}

async function listen(handler: RequestListener) {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () =>
    new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

async function earshot(): Promise<Contender> {
  const agent = createProducer({ agent_id: "bench", agent_name: "Benchmark agent" });
  const served = await serve(agent, { port: 0, tokenFile: false });
  const subscriber = await subscribe(`http://127.0.0.1:${served.port}`, {
    token: served.token!,
    coalesce_boundaries: ["none"],
  });
  const heard = subscriber[Symbol.asyncIterator]();
  return {
    async round(events) {
      const done = agent.run({ summary: "Reading it out." }, (session) => {
        let output: ReturnType<typeof session.output> | undefined;
        return hand(events, (token, last) => {
          output ??= session.output();
          void output.say(token);
          if (!last) return;
          void output.end();
          output = undefined;
        });
      });
      let text = "";
      for (let count = 0, messages = Math.ceil(events / MESSAGE); count < events || messages > 0; ) {
        const { value, done: over } = await heard.next();
        if (over) throw new Error("The subscription ended early.");
        if (value.type !== "aaep:agent.output.streaming") continue;
        text += value["chunk"];
        // The end of an output is an event of its own.
        if (value["complete"]) messages--;
        else count++;
      }
      const whole = Array.from({ length: events }, (_, n) => tokenOf(n)).join("");
      if (text !== whole) throw new Error("What was heard is not what was said.");
      await done;
    },
    async close() {
      await subscriber.close();
      await served.close();
    },
  };
}

const INPUT: RunAgentInput = {
  threadId: "t",
  runId: "r",
  state: {},
  messages: [],
  tools: [],
  context: [],
  forwardedProps: {},
};

async function agUi(way: "run" | "runAgent"): Promise<Contender> {
  let events = 0;
  const encoder = new EventEncoder();
  const { url, close } = await listen(async (request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": encoder.getContentType(), "cache-control": "no-cache" });
    const send = (event: Parameters<EventEncoder["encode"]>[0]) => response.write(encoder.encode(event));
    let messageId: string | undefined;
    send({ type: EventType.RUN_STARTED, threadId: "t", runId: "r" } as never);
    await hand(events, (delta, last) => {
      if (!messageId) {
        messageId = randomUUID();
        send({ type: EventType.TEXT_MESSAGE_START, messageId, role: "assistant" } as never);
      }
      send({ type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta } as never);
      if (!last) return;
      send({ type: EventType.TEXT_MESSAGE_END, messageId } as never);
      messageId = undefined;
    });
    send({ type: EventType.RUN_FINISHED, threadId: "t", runId: "r" } as never);
    response.end();
  });
  return {
    async round(wanted) {
      events = wanted;
      let count = 0;
      const agent = new HttpAgent({ url });
      if (way === "run") {
        await new Promise<void>((resolve, reject) =>
          agent.run(INPUT).subscribe({
            next: ({ type }) => {
              if (type === EventType.TEXT_MESSAGE_CONTENT) count++;
            },
            complete: resolve,
            error: reject,
          }),
        );
      } else await agent.runAgent({}, { onTextMessageContentEvent: () => void count++ });
      if (count !== wanted) throw new Error(`AG-UI handed out ${count} of ${wanted} events.`);
    },
    close,
  };
}

async function mcp(): Promise<Contender> {
  const server = new McpServer({ name: "bench", version: "1.0.0" }, { capabilities: { logging: {} } });
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() });
  await server.connect(transport as never);
  const { url, close } = await listen((request, response) => void transport.handleRequest(request, response));
  const client = new Client({ name: "bench", version: "1.0.0" });
  let count = 0;
  let wanted = 0;
  let done = () => {};
  client.setNotificationHandler(LoggingMessageNotificationSchema, () => {
    if (++count === wanted) done();
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)) as never);
  // Its stream for notifications opens beside the handshake.
  await new Promise((resolve) => setTimeout(resolve, 200));
  return {
    async round(events) {
      count = 0;
      wanted = events;
      const all = new Promise<void>((resolve) => {
        done = resolve;
      });
      const failed = hand(events, (data) => server.server.sendLoggingMessage({ level: "info", data }));
      await Promise.all([all, failed]);
    },
    async close() {
      await client.close();
      await server.close();
      await close();
    },
  };
}

const contenders = {
  earshot: await earshot(),
  ag_ui_run: await agUi("run"),
  ag_ui_run_agent: await agUi("runAgent"),
  mcp: await mcp(),
};
type Name = keyof typeof contenders;
const names = (Object.keys(contenders) as Name[]).filter(
  (name) => !process.env["E2E_ONLY"] || process.env["E2E_ONLY"].split(",").includes(name),
);
const rates = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
for (let i = 0; i < WARM_UPS; i++) for (const name of names) await contenders[name].round(EVENTS);
for (let i = 0; i < ROUNDS; i++) {
  // Each begins in turn: whoever comes next pays for some of the garbage of whoever was before.
  for (const name of [...names.slice(i % names.length), ...names.slice(0, i % names.length)]) {
    const before = process.cpuUsage();
    await contenders[name].round(EVENTS);
    const { user, system } = process.cpuUsage(before);
    rates[name].push((EVENTS * 1e6) / (user + system));
  }
}
for (const contender of Object.values(contenders)) await contender.close();

const ratio = (theirs: Name) =>
  median((rates.earshot ?? []).map((rate, i) => rate / (rates[theirs]?.[i] ?? NaN))) ?? NaN;
print(
  {
    name: "end-to-end",
    figures: {
      events_per_round: EVENTS,
      tokens_per_message: MESSAGE,
      tokens_per_turn: BURST,
      ...Object.fromEntries(names.map((name) => [`${name}_events_per_cpu_second`, median([...rates[name]])])),
    },
    ratios: {
      vs_ag_ui_run: ratio("ag_ui_run"),
      vs_ag_ui_run_agent: ratio("ag_ui_run_agent"),
      vs_mcp: ratio("mcp"),
    },
  },
  { vs_ag_ui_run: "at least 0.6", vs_ag_ui_run_agent: "at least 5", vs_mcp: "at least 3" },
);
process.exit(0);
