/** A person's answer, on its way while the agent restarts: it is sent again, and nobody is told less than the truth. */
import { afterEach, describe, expect, it } from "vitest";
import { createProducer } from "../../src/producer/producer.ts";
import { serve } from "../../src/server/index.ts";
import { Subscriber } from "../../src/subscriber/subscriber.ts";
import { createFakeClock } from "../../src/testing/clock.ts";
import type { ClientTransport, Sent } from "../../src/transports/client-connection.ts";
import { ConnectionError } from "../../src/transports/client-connection.ts";
import { createSseClient } from "../../src/transports/sse/client.ts";
import { TRANSFER } from "../support/driver.ts";
import { createWriter } from "../support/legal-session.ts";

const cleanups: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type Fetch = typeof fetch;

/** Answers a question over SSE, by a network that does this to the first two replies. */
async function answerOver(first: (send: () => ReturnType<Fetch>) => ReturnType<Fetch>) {
  const agent = createProducer({ agent_id: "com.example.bank", warn: () => {} });
  const auth = () => ({ id: "ada", role: "reply", audiences: "all" }) as const;
  const serving = await serve(agent, { port: 0, tokenFile: false, auth, log: () => {} });
  cleanups.push(() => serving.close());
  let tries = 0;
  const network: Fetch = (input, init) => {
    const send = () => fetch(input, init);
    return String(input).endsWith("/replies") && ++tries <= 2 ? first(send) : send();
  };
  const transport = createSseClient({ url: serving.http, token: "ada", fetch: network });
  const ear = await new Subscriber(transport, { random: () => 0.01 }).connect();
  cleanups.push(() => ear.close());
  const session = agent.start({ summary: "Paying the rent." });
  let ran = 0;
  const outcome = session.tool(TRANSFER, () => void ran++);
  const taken = await new Promise<boolean | undefined>((resolve, reject) => {
    ear.on("confirmation", (ask) => void ask.accept().then(resolve, reject));
  });
  await outcome;
  return { taken, ran, tries };
}

describe("an answer over SSE", () => {
  it("is sent again when nobody answers there", async () => {
    const refused = () => Promise.reject(new TypeError("fetch failed"));
    expect(await answerOver(refused)).toEqual({ taken: true, ran: 1, tries: 3 });
  });

  it("is sent again when only a proxy answers", async () => {
    const proxy = async () => new Response("Bad gateway", { status: 502 });
    expect(await answerOver(proxy)).toEqual({ taken: true, ran: 1, tries: 3 });
  });

  it("is not called refused when it had arrived and only the word of that was lost", async () => {
    const lost = async (send: () => ReturnType<Fetch>) => {
      await send();
      throw new TypeError("fetch failed");
    };
    expect(await answerOver(lost)).toEqual({ taken: undefined, ran: 1, tries: 3 });
  });
});

describe("an answer that does not get through", () => {
  const QUESTION = createWriter().confirm("rpl_1", "Transfer 500 dollars");

  function answering(send: () => Promise<Sent>) {
    const clock = createFakeClock("2026-01-01T00:00:00.000Z");
    const transport: ClientTransport = {
      name: "test",
      async open(_request, _resume, events) {
        queueMicrotask(() => events.message(JSON.stringify(QUESTION), true));
        return {
          answer: { type: "subscription.accepted", subscription_id: "sub_1" } as never,
          send,
          close: () => {},
        };
      },
    };
    const ear = new Subscriber(transport, { clock, random: () => 1 });
    const answered = new Promise<unknown>((resolve) => {
      ear.on("confirmation", (ask) => void ask.accept().then(resolve, resolve));
    });
    return { clock, ear, answered };
  }

  it("is given up with the question's time, in words that say what is known and what to do", async () => {
    let tries = 0;
    const { clock, ear, answered } = answering(async () => {
      tries++;
      throw new ConnectionError("unreachable", "The agent cannot be reached.", true);
    });
    await ear.connect();
    await clock.advance(301_000);
    const error = (await answered) as Error & { code: string };
    expect(error.code).toBe("agent_unreachable");
    expect(error.message).toContain("not known whether it has your answer");
    expect(error.message).toContain("answer again");
    expect(tries).toBeGreaterThan(3);
    expect(tries).toBeLessThan(20);
  });

  it("is not tried again where that makes no sense", async () => {
    let tries = 0;
    const { clock, ear, answered } = answering(async () => {
      tries++;
      throw new ConnectionError("authentication_failed", "The credentials are not valid.", false);
    });
    await ear.connect();
    await clock.advance(301_000);
    expect(await answered).toMatchObject({ code: "authentication_failed" });
    expect(tries).toBe(1);
  });
});
