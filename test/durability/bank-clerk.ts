/**
 * The process that is killed: an agent on the log on disk, a person who answers, and a bank whose book is a file. What
 * it must answer for is written down in the same breath, in a diary that outlives it: kill -9 does not take back a write.
 */

import { appendFileSync, existsSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createRecord } from "../../src/hub/record.ts";
import { createProducer, hubOf, type Producer } from "../../src/producer/producer.ts";
import type { Session } from "../../src/producer/session.ts";
import { EXTENSION_URI } from "../../src/protocol/extension.ts";
import { type FilePort, nodeFiles } from "../../src/stores/embedded/file-port.ts";
import { openEmbeddedStore } from "../../src/stores/embedded/index.ts";
import type { DiaryLine, Orders } from "./diary.ts";

const orders = JSON.parse(process.env["ORDERS"]!) as Orders;
const { directory, life, finish, crash, seed } = orders;
const book = join(directory, "book");
const diaryPath = join(directory, "diary");
/** Whoever holds the gun hears of every line, and shoots by what has happened rather than by the clock. */
const write = (line: DiaryLine): void => {
  appendFileSync(diaryPath, `${JSON.stringify(line)}\n`);
  writeSync(1, ".");
};
const die = (): void => {
  process.kill(process.pid, "SIGKILL");
  // The signal may take a moment; nothing may happen in it.
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
};
/** The same decision for the same transfer in every life. */
function chance(text: string, of: number): number {
  let hash = seed | 0;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 8) % of;
}

/** Stops at the chosen write: before it, in the middle of it, after it, or after it is safe and nobody knows yet. */
function mortalFiles(): FilePort {
  let writes = 0;
  return {
    ...nodeFiles,
    async open(path, exclusive, durable) {
      const file = await nodeFiles.open(path, exclusive, durable);
      if (!path.endsWith(".seg")) return file;
      return {
        ...file,
        async append(bytes) {
          const mine = crash?.at === "write" && ++writes === crash.number;
          if (mine && crash.how === "before") die();
          if (mine && crash.how === "torn") {
            await file.append(bytes.subarray(0, Math.floor(bytes.byteLength * crash.part)));
            die();
          }
          await file.append(bytes);
          if (mine && crash.how === "unsynced") die();
        },
        async sync() {
          await file.sync();
          if (crash?.at === "write" && writes === crash.number && crash.how === "synced") die();
        },
      };
    },
  };
}

let moved = 0;
/** The bank does what it is told, as often as it is told. */
function transfer(name: string): void {
  const mine = crash?.at === "bank" && ++moved === crash.number;
  if (mine && crash.how === "before") die();
  appendFileSync(book, `${name}\n`);
  if (mine && crash.how === "after") die();
}

/** Listens on one line through all lives: what it heard last is where it goes on. */
function listen(agent: Producer): void {
  const before = existsSync(diaryPath)
    ? readFileSync(diaryPath, "utf8")
        .split("\n")
        .filter((line) => line.includes('"heard"') || line.includes('"joined"'))
        .map((line) => JSON.parse(line) as DiaryLine)
    : [];
  before.reverse();
  const joined = before.find((line) => line.kind === "joined");
  const last = before.find((line) => line.kind === "heard" && line.cursor);
  const resume = joined && {
    subscription_id: joined.subscription_id,
    ...(last?.kind === "heard" ? { last_event_id: last.event_id } : {}),
  };
  const ada = { id: "ada", role: "reply", audiences: "all" } as const;
  const subscribed = hubOf(agent).subscribe(
    {
      type: "subscription.request",
      aaep_version: "1.0.0",
      subscriber_id: "ear",
      capabilities: {
        supports_confirmation_reply: true,
        supported_conformance_levels: [1, 2, 3],
        supported_extensions: [EXTENSION_URI],
        earshot: { resume: true },
      } as never,
      ...(resume ? { extensions: { earshot: { resume } } } : {}),
    },
    ada,
    "memory",
  );
  if (!subscribed.subscription) throw new Error(JSON.stringify(subscribed.answer));
  const { subscription } = subscribed;
  write({
    kind: "joined",
    subscription_id: subscription.id,
    again: subscription.id === joined?.subscription_id,
  });
  hubOf(agent).connect(subscription, {
    send: ({ json, event_id, cursor }) => {
      const event = JSON.parse(json) as Record<string, unknown>;
      const { type, session_id, chunk, reply_token, output_id } = event as Record<string, string>;
      write({
        kind: "heard",
        event_id,
        cursor,
        type: type!,
        session_id: session_id!,
        ...(chunk === undefined ? {} : { chunk, output_id: output_id! }),
        ...(reply_token === undefined ? {} : { reply_token, timestamp: event["timestamp"] as string }),
      });
      if (type === "aaep:agent.awaiting.confirmation") answerSoon(event);
      return undefined;
    },
    tell: () => undefined,
    close: () => undefined,
  });

  function answerSoon(question: Record<string, unknown>): void {
    const token = question["reply_token"] as string;
    const mood = chance(token, 10);
    // Some questions are slept over: they are answered in another life.
    if (mood === 0 && !finish && chance(`${token}${life}`, 3) > 0) return;
    const decision = mood <= 2 ? "reject" : "accept";
    const reply = () => {
      write({ kind: "answered", reply_token: token, decision });
      hubOf(agent).handle(
        {
          type: "confirmation.reply",
          reply_token: token,
          subscription_id: subscription.id,
          decision,
          timestamp: new Date().toISOString(),
        },
        ada,
      );
    };
    setTimeout(reply, mood % 3);
  }
}

async function serveCustomer(session: Session, name: string): Promise<void> {
  for (let word = 0; word < 2 + chance(name, 4); word++) {
    const text = `${name} life ${life} word ${word}.`;
    await session.say(`${text} `);
    write({ kind: "acknowledged", session_id: session.session_id, text });
  }
  const outcome = await session.tool(
    {
      tool: "transfer",
      key: name,
      risk: "high",
      irreversible: true,
      params: { name },
      summary: "Transferring.",
      action: `Transfer ${name}.`,
      consequence: "It cannot be undone.",
      timeout_seconds: 3600,
    },
    ({ name }) => transfer(name),
  );
  write({ kind: "outcome", name, outcome: outcome.ran ? "ran" : outcome.outcome });
  await session.complete();
  write({ kind: "completed", session_id: session.session_id });
}

const store = await openEmbeddedStore({
  directory: join(directory, "log"),
  files: mortalFiles(),
  warn: () => {},
});
const record = createRecord({ store });
const agent = createProducer({
  agent_id: "org.example.bank",
  store: record.store,
  audit: record.audit,
  hub: { resumeSeconds: 3600, graceSeconds: 30 },
});
listen(agent);
const customers = agent.interrupted.map(({ session_id, correlation_id }) =>
  serveCustomer(agent.resume(session_id), correlation_id!),
);
writeSync(1, ".");
if (finish) {
  await Promise.all(customers);
  await store.close();
} else {
  const fail = (error: unknown): void => {
    write({ kind: "failed", message: String((error as Error).stack) });
    process.exit(1);
  };
  for (const one of customers) one.catch(fail);
  // Several at a time, for as long as it lives.
  const line = async (desk: number) => {
    for (let i = 0; ; i++) {
      const name = `transfer ${life}.${desk}.${i}`;
      await serveCustomer(agent.start({ summary: "At your service.", correlation_id: name }), name);
    }
  };
  for (const desk of [1, 2]) line(desk).catch(fail);
}
