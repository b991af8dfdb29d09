/** What the tests of `capture` and `replay` share: an agent to record, and events without what differs by nature. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../../src/cli/run.ts";
import { createProducer, type Producer } from "../../src/index.ts";
import { type ServeOptions, type Serving, serve } from "../../src/server/index.ts";
import { listen } from "../support/hub-listener.ts";
import { type Terminal, terminal } from "./support.ts";

/** A folder of one's own, where tokens and sockets lie too. */
export function ownFolder(name: string): { path(file: string): string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), `earshot-${name}-`));
  process.env["XDG_RUNTIME_DIR"] = folder;
  return {
    path: (file) => join(folder, file),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export const env = () => ({ XDG_RUNTIME_DIR: process.env["XDG_RUNTIME_DIR"]! });

export interface Running extends Terminal {
  readonly code: Promise<number>;
  /** Resolves when standard error holds the text. */
  told(text: string): Promise<string>;
}

/** A command in this process that goes on until it ends or is stopped. */
export function begin(...argv: string[]): Running {
  const at = terminal({ env: env() });
  const told = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const late = setTimeout(
        () => reject(new Error(`Never told: ${text}\n${at.err()}\n${at.out()}`)),
        10_000,
      );
      const look = () => {
        if (!at.err().includes(text)) return;
        clearTimeout(late);
        at.io.stderr.off("data", look);
        resolve(at.err());
      };
      at.io.stderr.on("data", look);
      look();
    });
  return { ...at, told, code: run(argv, at.io, "0.0.0-test") };
}

export async function startAgent(options: ServeOptions = {}): Promise<{ agent: Producer; serving: Serving }> {
  const agent = createProducer({ agent_id: "com.example.bank", agent_name: "Bank" });
  const serving = await serve(agent, { port: 0, log: () => undefined, ...options });
  return { agent, serving };
}

/** A session with a bit of everything; a listener at the agent answers. */
export async function bankSession(agent: Producer): Promise<void> {
  const person = listen(agent, { confirm: () => "accept", clarify: () => "savings" });
  await agent.run({ summary: "Looking after your money." }, async (session) => {
    await session.tool({ tool: "balance", summary: "Checking your balance." }, () => 700);
    await session.clarify({ question: "Which account?" });
    session.say("You said ");
    session.say("\u0301where. ");
    await session.tool(
      {
        tool: "transfer",
        summary: "Transferring.",
        risk: "high",
        irreversible: true,
        params: { amount: 500, to: "savings" },
        action: "Transfer 500 dollars.",
        consequence: "Funds move at once.",
      },
      () => "done",
    );
    for (const token of ["It ", "is ", "do", "ne: ", "👩‍", "👩‍👧 5", "00 dollars. ", "Anything else?"])
      session.say(token);
    session.say("Une phrase. ", { language: "fr" });
  });
  person.close();
}

export type Json = Record<string, unknown>;

export const eventsIn = (file: string): Json[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

/** Without ids, tokens and times, and without the mark that says it was relayed. */
export function essence(events: readonly Json[]): Json[] {
  const sessions = new Map<unknown, number>();
  return events.map((event) => {
    const {
      "@context": _,
      event_id: __,
      timestamp: ___,
      reply_token,
      session_id,
      extensions,
      ...rest
    } = event;
    sessions.set(session_id, sessions.get(session_id) ?? sessions.size);
    const {
      relayed: ____,
      standing: _____,
      ...own
    } = ((extensions as Json | undefined)?.["earshot"] ?? {}) as Json;
    return {
      ...rest,
      session: sessions.get(session_id),
      asks: reply_token !== undefined,
      own: JSON.parse(JSON.stringify(own, (key, value) => (key === "reply_token" ? "rpl" : value))),
    };
  });
}
