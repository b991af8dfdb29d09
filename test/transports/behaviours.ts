/**
 * What every transport promises, each behaviour once, told in bytes. The tests run the list over every transport; the
 * table in docs/wire.md is made from the same list, exceptions included.
 */

import { expect } from "vitest";
import { createProducer, hubOf, type Producer } from "../../src/producer/producer.ts";
import { TRANSFER } from "../support/driver.ts";
import { type Heard, type Limits, type Raw, REQUEST, RESUMABLE, type Transport, until } from "./raw.ts";

interface Stage {
  readonly name: string;
  readonly outlived: boolean;
  open(limits?: Limits): Promise<{ agent: Producer; connect: () => Promise<Raw> }>;
}

interface Behaviour {
  /** For the table. */
  readonly says: string;
  /** For the test, with what it proves. */
  readonly title: string;
  run(stage: Stage): Promise<void>;
  /** Where it means something else, which `run` knows. */
  readonly but?: Readonly<Record<string, string>>;
  /** Transports on which it is otherwise, and how. */
  readonly not?: Readonly<Record<string, string>>;
}

/** Opens agents on a transport, and closes them all. */
export function createStage({ name, outlived, serve }: Transport): Stage & { close(): Promise<void> } {
  const close: (() => Promise<void>)[] = [];
  return {
    name,
    outlived,
    async open(limits) {
      const agent = createProducer({ agent_id: "com.example.desk", agent_name: "Desk", warn: () => {} });
      const serving = await serve(agent, limits);
      close.push(serving.close);
      return { agent, connect: serving.connect };
    },
    async close() {
      for (const one of close.splice(0)) await one();
    },
  };
}

const question = (raw: Raw): Heard =>
  raw.heard.filter(({ type }) => type === "aaep:agent.awaiting.confirmation").at(-1);
const reply = (raw: Raw, decision: string) => ({
  type: "confirmation.reply",
  reply_token: question(raw).reply_token,
  decision,
  subscription_id: raw.heard[0].subscription_id,
  timestamp: new Date().toISOString(),
});
const has = (raw: Raw, type: string) => () => raw.heard.some((message) => message?.type === type);

async function subscribed(connect: () => Promise<Raw>, request: object = REQUEST): Promise<Raw> {
  const raw = await connect();
  raw.send(request);
  await until(() => raw.heard.length > 0, "an answer");
  expect(raw.heard[0].type, JSON.stringify(raw.heard[0])).toBe("subscription.accepted");
  return raw;
}

function ask(agent: Producer) {
  const session = agent.start({ summary: "Moving money." });
  let ran = 0;
  const outcome = session.tool(TRANSFER, () => ++ran);
  return { session, outcome, ran: () => ran };
}

/** More than the buffers between two processes hold, before long. */
const large = (session_id: string, n: number): Record<string, unknown> => ({
  "@context": "https://aaep-protocol.org/context/v1",
  aaep_version: "1.0.0",
  type: "aaep:agent.tool.invoked",
  session_id,
  timestamp: new Date().toISOString(),
  producer: { agent_id: "com.example.desk" },
  urgency: "normal",
  localization_hints: { primary_language: "en", text_direction: "ltr" },
  tool: "read",
  tool_call_id: `call_${n}`,
  summary_normal: "Reading.",
  args_summary: "x".repeat(50_000),
});
const calls = (raw: Raw): string[] => raw.heard.flatMap(({ tool_call_id }) => tool_call_id ?? []);

const KEPT = "its position is kept for a while";

export const BEHAVIOURS: readonly Behaviour[] = [
  {
    says: "a complete session: request, response, events, a yes, the end",
    title:
      "request first, answer next, then events and replies on the same line, through to a yes: IPC-05, RPC-02, RPC-03, TRN-09",
    async run({ open }) {
      const { agent, connect } = await open();
      const raw = await subscribed(connect);
      const { outcome, session } = ask(agent);
      await until(has(raw, "aaep:agent.awaiting.confirmation"), "the question");
      raw.send(reply(raw, "accept"));
      expect(await outcome).toMatchObject({ ran: true, value: 1 });
      await session.complete();
      await until(has(raw, "aaep:agent.session.completed"), "the end");
      expect(raw.heard[1].type).toBe("aaep:agent.session.started");
    },
  },
  {
    says: "a request that cannot be met gets a rejection, then the connection ends",
    title:
      "a request that cannot be met gets its rejection as an ordinary message, then the end (CON-62, HS-04)",
    async run({ open }) {
      const { connect } = await open();
      const raw = await connect();
      raw.send({ ...REQUEST, aaep_version: "9.0.0" });
      await until(() => raw.closed, "the end");
      expect(raw.heard).toMatchObject([
        { type: "subscription.rejected", reason_code: "version_unsupported" },
      ]);
    },
  },
  {
    says: "anything before the request is refused with a message",
    title: "anything before the request is refused in words",
    not: { sse: "a call without a subscription is answered with 400" },
    async run({ open }) {
      const { connect } = await open();
      const raw = await connect();
      raw.send({
        type: "subscription.renegotiate",
        subscription_id: "sub_00000000000000000000000000000000",
        capabilities: { max_events_per_second: 1 },
      });
      await until(() => raw.closed, "the end");
      expect(raw.heard).toMatchObject([{ type: "subscription.rejected" }]);
      expect(raw.heard[0].reason_message).toContain("subscription.request");
    },
  },
  {
    says: "one subscription per connection; a second request is rejected",
    title:
      "there is one subscription per connection: a second request is rejected and the first goes on (CON-51)",
    not: { sse: "each POST is a subscription of its own" },
    async run({ open }) {
      const { agent, connect } = await open();
      const raw = await subscribed(connect);
      raw.send(REQUEST);
      await until(has(raw, "subscription.rejected"), "the rejection");
      expect(agent.subscriptions).toBe(1);
      await agent.run({ summary: "Hello." }, () => undefined);
      await until(has(raw, "aaep:agent.session.completed"), "events");
    },
  },
  {
    says: "every message byte for byte, in order",
    title: "each message arrives byte for byte, in order: TRN-01, TRN-03",
    async run({ open }) {
      const { agent, connect } = await open();
      const raw = await subscribed(connect);
      const sent: string[] = [];
      const subscription = hubOf(agent).find(raw.heard[0].subscription_id, {
        id: "local",
        role: "reply",
        audiences: "all",
      })!;
      const { peer } = subscription;
      const send = peer!.send.bind(peer);
      peer!.send = (event) => {
        sent.push(event.json);
        return send(event);
      };
      await agent.run({ summary: "Ọmọ 👩‍👩‍👧 \u2028 “quoted” \u0007" }, async (session) => {
        for (let i = 0; i < 50; i++) await session.say(`Sentence ${i}: ${"ẹ̀kọ́ 语 \n\r\t".repeat(i)}. `);
      });
      await until(has(raw, "aaep:agent.session.completed"), "the end");
      expect(raw.texts.slice(1)).toEqual(sent);
      expect(sent.length).toBeGreaterThan(10);
    },
  },
  {
    says: "messages of nearly 1 MiB are read; a larger one ends the connection with a reason",
    title:
      "a message of 64 KiB and one of nearly 1 MiB are read; a larger one ends the line in words: TRN-12, LIM-08 (A11)",
    not: { sse: "the call is answered with 413, the stream continues" },
    async run({ open }) {
      const { connect } = await open();
      const padded = (bytes: number) => ({
        type: "subscription.request",
        aaep_version: "1.0.0",
        subscriber_id: "raw",
        capabilities: REQUEST.capabilities,
        extensions: { x: { pad: "x".repeat(bytes) } },
      });
      for (const bytes of [65_536, 1_040_000]) await subscribed(connect, padded(bytes));
      const raw = await subscribed(connect);
      raw.send(padded(1_100_000));
      await until(() => raw.closed, "the end");
      expect(`${raw.reason} ${JSON.stringify(raw.heard.slice(1))}`).toMatch(
        /too_large|at most 1048576 bytes/,
      );
    },
  },
  {
    says: "unreadable messages after the handshake are ignored",
    title:
      "what cannot be read after the handshake is ignored, and a field that stands twice in a reply refuses it (A14, CNF-15)",
    async run({ open }) {
      const { agent, connect } = await open();
      const raw = await subscribed(connect);
      const { ran, outcome, session } = ask(agent);
      await until(has(raw, "aaep:agent.awaiting.confirmation"), "the question");
      raw.send({ type: "aaep:agent.session.started" });
      raw.text('{"type":"nonsense"}');
      raw.text(
        JSON.stringify(reply(raw, "reject")).replace(
          '"decision":"reject"',
          '"decision":"reject","decision":"accept"',
        ),
      );
      raw.text(
        JSON.stringify({ ...reply(raw, "accept"), reply_token: "rpl_00000000000000000000000000000000" }),
      );
      raw.send({
        type: "subscription.renegotiate",
        subscription_id: raw.heard[0].subscription_id,
        capabilities: { max_events_per_second: 50 },
      });
      await until(
        () => raw.heard.filter(({ type }) => type === "subscription.accepted").length === 2,
        "the line still works",
      );
      expect(ran()).toBe(0);
      raw.send(reply(raw, "reject"));
      expect(await outcome).toMatchObject({ ran: false, outcome: "rejected" });
      await session.complete();
    },
  },
  {
    says: "a connection can act for its own subscription only",
    title:
      "a reply or a close that names another subscription, be it the same person's, is ignored: SEC-13, TRN-18 (CON-28, A03)",
    not: { sse: "a call names the subscription, which must belong to the caller" },
    async run({ open }) {
      const { agent, connect } = await open();
      const [one, other] = [await subscribed(connect), await subscribed(connect)];
      const { outcome, session, ran } = ask(agent);
      for (const raw of [one, other])
        await until(has(raw, "aaep:agent.awaiting.confirmation"), "the question");
      one.send({ ...reply(one, "accept"), subscription_id: other.heard[0].subscription_id });
      one.send({
        type: "subscription.close",
        subscription_id: other.heard[0].subscription_id,
        reason_code: "subscriber_shutdown",
      });
      one.send({
        type: "subscription.renegotiate",
        subscription_id: one.heard[0].subscription_id,
        capabilities: { max_events_per_second: 50 },
      });
      await until(
        () => one.heard.filter(({ type }) => type === "subscription.accepted").length === 2,
        "both were looked at",
      );
      expect(agent.subscriptions).toBe(2);
      other.send(reply(other, "reject"));
      expect(await outcome).toMatchObject({ ran: false, outcome: "rejected" });
      expect(ran()).toBe(0);
      await session.complete();
    },
  },
  {
    says: "the listener's close message ends the subscription at once",
    title:
      "a listener's close ends it at once, its question falls to the default, and nobody else notices: HS-21, TRN-08 (CON-04)",
    async run({ open, outlived }) {
      const { agent, connect } = await open();
      const raw = await subscribed(connect, outlived ? RESUMABLE : REQUEST);
      const { outcome, session } = ask(agent);
      await until(has(raw, "aaep:agent.awaiting.confirmation"), "the question");
      raw.send({
        type: "subscription.close",
        subscription_id: raw.heard[0].subscription_id,
        reason_code: "subscriber_shutdown",
      });
      expect(await outcome).toMatchObject({ ran: false, outcome: "disconnected" });
      await until(() => raw.closed, "the end");
      expect(agent.subscriptions).toBe(0);
      await session.complete();
    },
  },
  {
    says: "a disconnect ends a subscription that cannot resume, and defaults apply at once",
    title:
      "a line that drops is the end of a subscription that cannot resume, with defaults applied at once: TRN-07, TRN-08, RPC-05",
    not: { sse: KEPT },
    async run({ open }) {
      const { agent, connect } = await open();
      const raw = await subscribed(connect);
      const { outcome, session } = ask(agent);
      await until(has(raw, "aaep:agent.awaiting.confirmation"), "the question");
      raw.drop();
      expect(await outcome).toMatchObject({ ran: false, outcome: "disconnected" });
      expect(agent.subscriptions).toBe(0);
      await session.complete();
    },
  },
  {
    says: "a subscription that can resume keeps its position",
    but: { stdio: "the end of the process ends the subscription" },
    title:
      "one that resumes by our extension keeps its place where connections can come back, and only there: CON-04, IPC-11",
    async run({ open, outlived }) {
      const { agent, connect } = await open();
      const first = await subscribed(connect, RESUMABLE);
      const { outcome, session } = ask(agent);
      await until(has(first, "aaep:agent.awaiting.confirmation"), "the question");
      first.drop();
      if (!outlived) {
        expect(await outcome).toMatchObject({ ran: false, outcome: "disconnected" });
        return session.complete();
      }
      const { subscription_id } = first.heard[0];
      const second = await subscribed(connect, {
        ...RESUMABLE,
        extensions: { earshot: { resume: { subscription_id, last_event_id: question(first).event_id } } },
      });
      expect(second.heard[0].subscription_id).toBe(subscription_id);
      await until(has(second, "aaep:agent.awaiting.confirmation"), "the question again");
      expect(question(second)).toEqual(question(first));
      second.send(reply(second, "accept"));
      expect(await outcome).toMatchObject({ ran: true });
      await session.complete();
    },
  },
  {
    says: "a new connection is a new subscription, unless it resumes",
    title: "a new connection is a new handshake and, without a resume, a new subscription: IPC-11",
    not: { sse: KEPT },
    async run({ open }) {
      const { agent, connect } = await open();
      const first = await subscribed(connect);
      first.drop();
      await until(() => agent.subscriptions === 0, "the first is gone");
      const second = await subscribed(connect);
      expect(second.heard[0].subscription_id).not.toBe(first.heard[0].subscription_id);
    },
  },
  {
    says: "a shutdown is announced before the connection ends",
    title: "the producer's end is told before the line ends: HS-19, TRN-07",
    async run({ open }) {
      const { agent, connect } = await open();
      const raw = await subscribed(connect);
      hubOf(agent).closeAll("producer_shutdown", "The agent is shutting down.");
      await until(() => raw.closed, "the end");
      expect(raw.heard.at(-1)).toMatchObject({
        type: "subscription.close",
        reason_code: "producer_shutdown",
      });
      expect(raw.heard.filter(({ type }) => type === "subscription.close")).toHaveLength(1);
    },
  },
  {
    says: "a reader that pauses misses nothing (backpressure)",
    title:
      "a reader that pauses is waited for, longer than any buffer holds, and misses nothing: DEL-17, TRN-05",
    async run({ open }) {
      const { agent, connect } = await open();
      const raw = await subscribed(connect);
      raw.pause();
      await agent.run({ summary: "Talking." }, async ({ session_id }) => {
        for (let i = 0; i < 160; i++) await hubOf(agent).append(large(session_id, i));
      });
      expect(has(raw, "aaep:agent.session.completed")()).toBe(false);
      raw.resume();
      await until(has(raw, "aaep:agent.session.completed"), "the end");
      expect(calls(raw)).toEqual(Array.from({ length: 160 }, (_, i) => `call_${i}`));
      expect(raw.closed).toBe(false);
    },
  },
  {
    says: "a reader that stops reading is disconnected; others are not affected",
    title: "a reader that stops reading is let go, and the others never notice: DEL-17 (F14)",
    not: { sse: "disconnected too; its position is kept for a while" },
    async run({ open }) {
      const { agent, connect } = await open({ blockedMs: 150, queueBytes: 262_144 });
      const slow = await subscribed(connect);
      const quick = await subscribed(connect);
      slow.pause();
      const sent: string[] = [];
      await agent.run({ summary: "Talking." }, async ({ session_id }) => {
        for (let i = 0; agent.subscriptions > 1 && i < 2_000; i++) {
          sent.push(`call_${i}`);
          await hubOf(agent).append(large(session_id, i));
          // In step with the quick reader: both ends live in this process, and one that was stalled would make it slow.
          await until(() => calls(quick).length === sent.length, "the other keeps up");
        }
      });
      expect(agent.subscriptions).toBe(1);
      await until(has(quick, "aaep:agent.session.completed"), "the other hears everything");
      expect(calls(quick)).toEqual(sent);
      expect(quick.closed).toBe(false);
      slow.resume();
    },
  },
];
