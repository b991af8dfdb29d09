// The real program in a real pseudo-terminal, at the end of a real connection: a whole bank transfer, and every way to
// answer without meaning to.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { createProducer } from "../../src/producer/producer.ts";
import { serve } from "../../src/server/index.ts";
import { program } from "../cli/support.ts";
import { findPython } from "../interop/programs.ts";

const python = findPython("pty");
const driver = fileURLToPath(new URL("terminal-session.py", import.meta.url));
const closing: (() => unknown)[] = [];
// Not after each: the tests wait for a person who types, so they run concurrently.
afterAll(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Text that would paint the screen, rename the window, ring, move the cursor and turn the line around, if it could. */
const HOSTILE =
  "Balance \u001b[2J\u001b[1;1H\u001b]0;owned\u0007\u009b31m\u001bP0;1|17/ab\u001b\\ \u202e005$\u202c \rDone: 0\b\b is 1,200.";

async function bank() {
  const directory = mkdtempSync(join(tmpdir(), "earshot-pty-"));
  closing.push(() => rmSync(directory, { recursive: true, force: true }));
  const agent = createProducer({ agent_id: "bank", agent_name: "Bank \u001b[31mhelper" });
  const served = await serve(agent, { port: 0, tokenFile: directory, unix: false });
  closing.push(() => served.close());
  const transfers: unknown[] = [];
  const transfer = (amount: number) =>
    agent.run({ summary: `Moving \u001b[5m${amount}.` }, async (session) => {
      await session.say(HOSTILE);
      const sent = await session.tool(
        {
          tool: "transfer",
          risk: "high",
          irreversible: true,
          params: { amount, to: "savings\u001b[8m" },
          summary: "Transferring the money.",
          action: (p) => `Transfer $${p.amount} to ${p.to}.`,
          consequence: "Funds move at once.\u0007",
        },
        (params) => void transfers.push(params.amount),
      );
      if (!sent.ran) await session.say(sent.summary);
    });
  return { served, transfer, transfers };
}

interface Session {
  shows(text: string | RegExp, times?: number): Promise<void>;
  /** After listening for a moment, letter by letter. */
  type(text: string, how?: { after?: number; pause?: number }): void;
  paste(text: string): void;
  readonly screen: () => string;
  readonly exit: Promise<number>;
}

async function session(address: string, token: string, ...flags: string[]): Promise<Session> {
  const child: ChildProcessWithoutNullStreams = spawn(
    python.path,
    [driver, process.execPath, await program(), "listen", address, ...flags],
    { env: { ...process.env, EARSHOT_TOKEN: token, TERM: "xterm-256color", LC_ALL: "en_US.UTF-8" } },
  );
  closing.push(() => child.kill());
  let screen = "";
  let errors = "";
  const waiting = new Set<() => void>();
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    screen += text;
    for (const look of waiting) look();
  });
  const order = (one: object) => void child.stdin.write(`${JSON.stringify(one)}\n`);
  return {
    screen: () => screen,
    exit: new Promise((resolve) => child.once("close", (code) => resolve(code ?? -1))),
    type: (text, { after = 0.5, pause = 0.05 } = {}) => order({ type: text, after, pause }),
    paste: (text) => order({ paste: text, after: 0.5 }),
    shows: (wanted, times = 1) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => {
          waiting.delete(look);
          reject(new Error(`Never shown ${times} times: ${wanted}\n${JSON.stringify(screen)}\n${errors}`));
        }, 15_000);
        const look = () => {
          const pattern = typeof wanted === "string" ? wanted : new RegExp(wanted, "g");
          const count =
            typeof pattern === "string"
              ? screen.split(pattern).length - 1
              : (screen.match(pattern)?.length ?? 0);
          if (count < times) return;
          clearTimeout(late);
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}

const QUESTION = "Say no, or say yes to review and confirm.";
const READ_BACK = "To allow it, say confirm. To refuse, say no.";

describe.skipIf(python.skip).concurrent(`a terminal session${python.note}`, () => {
  it("a transfer is refused, another allowed in two steps; paste, typing ahead and held keys accept nothing; no escape sequence from an event gets out (A16)", {
    timeout: 60_000,
  }, async () => {
    const { served, transfer, transfers } = await bank();
    const { shows, type, paste, screen, exit } = await session(served.http, served.token!);
    await shows("Type help and press Enter");

    // Typed before there was a question.
    type("ye", { after: 0 });
    await shows("ye");
    const first = transfer(500);
    await shows(QUESTION);
    await shows("What you typed before the question was finished does not count. Answer now.");
    type("s\r");
    await shows("That is not an answer to this question.");

    paste("yes\nyes\n");
    await shows("A text came in one piece, like a paste.");
    type("\r");
    await shows("so it was not taken as an answer");
    paste("yes\rconfirm\r");
    await shows("A text came in one piece, like a paste.", 2);
    type("\u0015");

    // Held down: the letter, then Enter.
    type("y".repeat(40), { pause: 0.03 });
    type("\r".repeat(40), { pause: 0.03, after: 0 });
    await shows("That is not an answer to this question.", 2);
    expect(screen()).not.toContain(READ_BACK);
    expect(transfers).toEqual([]);

    type("no\r");
    await shows("Refused.");
    await first;
    expect(transfers).toEqual([]);

    const second = transfer(20);
    await shows(QUESTION, 2);
    type("yes\r");
    await shows(READ_BACK);
    // On without listening: the second step has not been heard.
    type("yes\r");
    await shows(READ_BACK, 2);
    expect(transfers).toEqual([]);
    type("confirm\r");
    await shows("Allowed.");
    await second;
    expect(transfers).toEqual([20]);

    void transfer(7).catch(() => undefined);
    await shows(QUESTION, 3);
    type("\u0003");
    expect(await exit).toBe(130);
    expect(screen()).toContain("You leave this question unanswered: Transfer $7 to savings");
    expect(screen()).toMatch(
      /unanswered: .*\s+.*Without an answer within (?:5 minutes|4 minutes and 50 seconds), it will not/,
    );
    expect(transfers).toEqual([20]);

    // The bells are ours, for questions and endings; besides, there are letters and line ends and nothing else.
    const bells = screen().split("\u0007").length - 1;
    const rung = screen().match(/\u0007(?:Careful|You are about|The task is done|Stopped)/g)?.length;
    expect(bells).toBe(rung);
    const others = screen()
      .replaceAll(/\u0007|\r\n|\u0008 \u0008/g, "")
      .match(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/g);
    expect(others).toBeNull();
  });

  it("with single keys: refusing is one key, accepting none", { timeout: 40_000 }, async () => {
    const { served, transfer, transfers } = await bank();
    const { shows, type, screen, exit } = await session(served.ws, served.token!, "--keys", "--no-bell");
    await shows("Press question mark for help.");
    const asked = transfer(500);
    await shows(QUESTION);
    for (const key of ["y", "c", "1", " ", "\r"]) type(key.repeat(20), { pause: 0.03, after: 0.3 });
    type("\u0015");
    type("w", { after: 0.8 });
    await shows("Waiting for your answer.");
    expect(screen()).not.toContain(READ_BACK);
    type("n", { after: 0.8 });
    await shows("Refused.");
    await asked;
    expect(transfers).toEqual([]);
    type("quit\r");
    expect(await exit).toBe(0);
    expect(screen()).not.toContain("\u0007");
  });
});
