/** What a page announces: the announcer's words, all of them, once, in order, in the right place, and no faster than agreed. */
import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AgentEvent } from "../../src/protocol/types.ts";
import { payRent } from "../subscriber/sessions.ts";
import type { TestListener } from "../subscriber/support.ts";
import { BROWSER_NOTE, skipsBrowser } from "../support/chromium.ts";
import {
  advance,
  agentOf,
  armed,
  dialogOf,
  heardBy,
  newContext,
  openPage,
  POLICY,
  pageOf,
  receivedBy,
  servePages,
  shown,
  textsOf,
  toldBy,
  transfer,
  untilHeard,
  useBrowser,
  violationsOf,
  webFiles,
} from "./support.ts";

type Step = { hear: AgentEvent } | { wait: number } | { answer: string };

/** A recorded session as its steps. */
function recorded(language: string): Step[] {
  const steps: Step[] = [];
  const ear = {
    hear: (...events: AgentEvent[]) => {
      for (const event of events) steps.push({ hear: event });
      return ear;
    },
    wait: (ms: number) => {
      steps.push({ wait: ms });
      return ear;
    },
    answer: (kind: string) => {
      steps.push({ answer: kind });
      return ear;
    },
  };
  payRent(ear as unknown as TestListener, language);
  return steps;
}

/** The lines of one section of a golden transcript, without times and marks. */
function golden(language: string, section: string): string[] {
  const file = fileURLToPath(new URL(`../subscriber/golden/${language}.txt`, import.meta.url));
  const part = readFileSync(file, "utf8")
    .split(/^## /mu)
    .find((one) => one.startsWith(`${section}\n`))!;
  return part
    .split("\n")
    .slice(1)
    .filter((line) => line !== "")
    .map((line) => line.slice(8).replaceAll(/⟨[^⟩]*⟩|\[[a-z-]+:|\]/gu, ""));
}

/** A producer that plays what was recorded, event by event, and takes every answer. */
async function playback(page: string) {
  const files = await webFiles();
  let stream: ServerResponse | undefined;
  let replies = 0;
  const server = createServer((request, response) => {
    const path = new URL(request.url!, "http://localhost").pathname;
    const send = (status: number, type: string, body: string) =>
      response.writeHead(status, { "content-type": type, "content-security-policy": POLICY }).end(body);
    if (path === "/aaep/v1/subscriptions") {
      const answer = {
        type: "subscription.accepted",
        aaep_version: "1.0.0",
        subscription_id: "sub_1",
        producer: { agent_id: "planner", agent_name: "Planner" },
        honored_capabilities: { max_events_per_second: 6 },
      };
      return send(201, "application/json", JSON.stringify(answer));
    }
    if (path === "/aaep/v1/events") {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(": hello\n\n");
      stream = response;
      return;
    }
    if (path === "/aaep/v1/replies") {
      replies++;
      return response.writeHead(204).end();
    }
    if (path.endsWith(".js")) return send(200, "text/javascript", files.get(path) ?? "");
    return send(200, "text/html; charset=utf-8", page);
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    play: (event: AgentEvent) =>
      void stream!.write(`event: aaep.event\nid: ${event.event_id}\ndata: ${JSON.stringify(event)}\n\n`),
    replies: () => replies,
    beat: () => void stream!.write(": beat\n\n"),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

describe.skipIf(skipsBrowser)(`what a page announces${BROWSER_NOTE}`, () => {
  const browser = useBrowser();
  const serve = async (page: Parameters<typeof pageOf>[0], extra: Record<string, string> = {}) => {
    const server = await servePages({ "/": pageOf(page), ...extra }, agentOf());
    onTestFinished(() => server.close());
    return server;
  };

  it.each([
    ["en", "normal, load medium", "speed=fast"],
    ["en", "terse, load medium", "speed=fast verbosity=terse"],
    ["ar", "normal, load medium", "speed=fast lang=ar"],
  ])(
    "of a recorded session in %s (%s) is its golden transcript, word for word (SUB-02, SUB-03)",
    async (language, section, attributes) => {
      const server = await playback(pageOf({ attributes }));
      onTestFinished(() => server.close());
      const page = await openPage(await newContext(browser()), server.url);
      let count = 0;
      let answers = 0;
      for (const step of recorded(language)) {
        if ("hear" in step) {
          server.play(step.hear);
          count++;
          const arrived = () => receivedBy(page).then(({ length }) => length);
          await expect.poll(arrived, { interval: 2, timeout: 15_000 }).toBe(count);
        } else if ("wait" in step) {
          for (let left = step.wait; left > 0; left -= 10_000) {
            server.beat();
            // The beat has to be there before time moves on.
            await page.waitForTimeout(30);
            await advance(page, Math.min(left, 10_000));
          }
        } else {
          await advance(page, 1000);
          await dialogOf(page)
            .locator(step.answer === "yes" ? "button.check" : "button.allow")
            .click();
          if (step.answer !== "yes")
            await expect.poll(() => server.replies(), { interval: 5 }).toBe(++answers);
        }
      }
      await advance(page, 10_000);
      const told = (await toldBy(page)).filter(({ own }) => !own);
      expect(told.map(({ text }) => text)).toEqual(golden(language, section));
      // What the regions were given is what was told, and the dialogs say their own.
      const mouth = (await heardBy(page)).filter(({ how }) => how !== "dialog");
      expect(mouth.map(({ text }) => text)).toEqual(
        told.filter(({ by }) => by === "live-region").map(({ text }) => text),
      );
      expect(told.filter(({ by }) => by === "dialog").map(({ kind }) => kind)).toEqual([
        "question",
        "question",
      ]);
      for (const { lang, dir } of mouth) {
        expect(lang.every((tag) => tag !== "")).toBe(true);
        expect(dir.every((one) => one === (language === "ar" ? "rtl" : "ltr"))).toBe(true);
      }
    },
  );

  it("at 1,000 tokens a second is whole sentences, never more of them than the honored terms allow (DEL-25)", async () => {
    const server = await serve({ attributes: "speed=fast" });
    // In real time on both sides: the agent keeps to the rate by its own clock.
    const page = await openPage(await newContext(browser(), { realTime: true }), server.url);
    const honored = await page.evaluate(
      () =>
        (
          document.querySelector("earshot-live") as never as {
            listener: { connection: { honored: { max_events_per_second: number } } };
          }
        ).listener.connection.honored.max_events_per_second,
    );
    expect(honored).toBe(6);
    const session = server.agent.start({ summary: "Counting." });
    const words = "This is one of very many sentences. ".split(/(?<= )/u);
    for (let batch = 0; batch < 40; batch++) {
      for (let token = 0; token < 100; token++) session.say(words[(batch * 100 + token) % words.length]!);
      await page.waitForTimeout(100);
    }
    const mouth = (await heardBy(page)).filter(({ how }) => how === "polite");
    expect(mouth.length).toBeGreaterThan(2);
    for (const { at, text } of mouth) {
      const within = mouth.filter((one) => one.at > at - 1000 && one.at <= at);
      expect(within.length).toBeLessThanOrEqual(honored);
      expect(text).toMatch(/[.:]$/u);
    }
  });

  it("twice in the same words is heard twice, in alternating regions that existed before", async () => {
    const server = await serve({ attributes: "speed=fast" });
    const page = await openPage(await newContext(browser()), server.url);
    const session = server.agent.start({ summary: "Knocking." });
    session.say("Knock knock. Knock knock. Knock knock. ");
    await session.complete();
    await untilHeard(page, "The task is done.");
    expect((await textsOf(page)).filter((text) => text === "Knock knock.")).toHaveLength(3);
  });

  it("goes inside the topmost dialog while one is open, also the page's own", async () => {
    const body =
      '<dialog id="own" aria-label="Cookies"><button>OK</button></dialog><div id="old" role="dialog" aria-modal="true" aria-label="Old" hidden><button>Fine</button></div>';
    const server = await serve({ body, attributes: "speed=fast" });
    const page = await openPage(await newContext(browser()), server.url);
    const say = (text: string) => server.agent.run({ summary: "Working." }, (session) => session.say(text));
    await page.evaluate(() => (document.getElementById("own") as HTMLDialogElement).showModal());
    await say("Heard inside.");
    await untilHeard(page, "Heard inside.");
    await page.evaluate(() => (document.getElementById("own") as HTMLDialogElement).close());
    await page.evaluate(() => {
      document.getElementById("old")!.hidden = false;
    });
    await say("Inside another.");
    await untilHeard(page, "Inside another.");
    await page.evaluate(() => {
      document.getElementById("old")!.hidden = true;
    });
    await say("Outside again.");
    await untilHeard(page, "Outside again.");
    const where = Object.fromEntries((await heardBy(page)).map(({ text, inside }) => [text, inside]));
    expect(where["Heard inside."]).toBe("own");
    expect(where["Inside another."]).toBe("old");
    expect(where["Outside again."]).toBe("");
    expect(await page.locator("#own [aria-live], #old [aria-live]").count()).toBe(0);
  });

  it("from a hostile agent is text and nothing else: no markup, no script, no request, no foreign link (CON-67, A07, A16)", async () => {
    const server = await serve({ attributes: "speed=fast" });
    const page = await openPage(await newContext(browser()), server.url);
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    const evil = `<img src=x onerror="window.pwned=1"><script>window.pwned=1</script><a href="javascript:window.pwned=1">x</a>`;
    const session = server.agent.start({ summary: `Hello ${evil}` });
    session.say(
      `${evil}\n\n[bank](javascript:window.pwned=1) ![pixel](http://127.0.0.1:1/pixel.png) [My bank](https://evil.example/login)\n\n- ${evil}\n\n| a | b |\n|---|---|\n| ${evil} | 1 |\n\n\`\`\`html\n${evil}\n\`\`\`\n\n<svg onload=alert(1)> [x](data:text/html,hi)\n\n`,
    );
    const outcome = session.confirm({ action: `Do ${evil}`, consequence: evil });
    await shown(dialogOf(page));
    await advance(page, 600);
    const found = await page.evaluate(() => {
      const root = document.querySelector("earshot-live")!.shadowRoot!;
      const all = [...root.querySelectorAll("*")];
      return {
        names: [...new Set(all.map(({ localName }) => localName))],
        handlers: all.flatMap((one) => one.getAttributeNames().filter((name) => name.startsWith("on"))),
        links: [...root.querySelectorAll("a")].map((one) => [
          one.href,
          one.textContent,
          one.nextSibling?.textContent,
        ]),
        pwned: (window as never as { pwned?: number }).pwned,
      };
    });
    expect(found.pwned).toBeUndefined();
    expect(found.handlers).toEqual([]);
    expect(found.names).not.toEqual(expect.arrayContaining(["img"]));
    expect(found.names).not.toEqual(expect.arrayContaining(["script"]));
    expect(found.names).not.toEqual(expect.arrayContaining(["svg"]));
    // Where a link leads is said, whatever its label claims.
    expect(found.links).toEqual([["https://evil.example/login", "My bank", " (evil.example)"]]);
    expect(found.names).toEqual(expect.arrayContaining(["table", "li", "pre"]));
    expect(asked.filter((url) => !url.startsWith(server.url))).toEqual([]);
    expect(await violationsOf(page)).toEqual([]);
    await armed(page);
    await dialogOf(page).locator("button.refuse").click();
    expect(await outcome).toMatchObject({ accepted: false });
  });

  it("whatever Markdown it is made from, is made of harmless elements only, and no word of it is lost (CON-67)", async () => {
    const { outputFiles } = await build({
      stdin: {
        contents:
          'import { markdownNodes } from "./src/web/markdown.ts"; window.markdownNodes = markdownNodes;',
        resolveDir: fileURLToPath(new URL("../..", import.meta.url)),
      },
      bundle: true,
      write: false,
      platform: "browser",
    });
    const page = await (await newContext(browser())).newPage();
    await page.addScriptTag({ content: outputFiles[0]!.text });
    const piece = fc.constantFrom(
      ..."word other *em* **bold** `code` [a](https://x.example) ![i](http://y) <b> <script> | |---| --- - 1. # ## > ``` ~~~ \\* _u_ https://z.example ~~s~~ [x]".split(
        " ",
      ),
      "\n",
      "\n\n",
      "  ",
    );
    const samples = fc.sample(
      fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(" ")),
      2_000,
    );
    const wrong = await page.evaluate((texts) => {
      const allowed = new Set(
        "p h4 h5 h6 ul ol li pre code table thead tbody tr th td blockquote hr a em strong del".split(" "),
      );
      const words = {
        image: (text: string) => text,
        code: (language: string) => language,
        task: (_done: boolean, text: string) => text,
      };
      const { markdownNodes } = window as never as {
        markdownNodes(source: string, level: number, words: object): HTMLElement[];
      };
      return texts.filter((text) => {
        const root = document.createElement("div");
        root.append(...markdownNodes(text, 3, words));
        const count = (where: string) => where.split("word").length;
        const names = [...root.querySelectorAll("*")].every(({ localName }) => allowed.has(localName));
        const labels = [...root.querySelectorAll("pre")].map((one) => one.getAttribute("aria-label"));
        return !names || count([root.textContent, ...labels].join(" ")) !== count(text);
      });
    }, samples);
    expect(wrong.slice(0, 3)).toEqual([]);
  });

  it("reads in order for a virtual screen reader: headings, lists, tables and code; then the question, then its buttons", async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: 'import { virtual } from "@guidepup/virtual-screen-reader"; window.virtual = virtual;',
        resolveDir: fileURLToPath(new URL("../..", import.meta.url)),
      },
      bundle: true,
      write: false,
      format: "esm",
      platform: "browser",
    });
    const server = await serve(
      { attributes: "speed=fast", body: '<script type="module" src="/virtual.js"></script>' },
      { "/virtual.js": outputFiles[0]!.text },
    );
    const page = await openPage(await newContext(browser()), server.url);
    await expect.poll(() => page.evaluate(() => "virtual" in window)).toBe(true);
    const session = server.agent.start({ summary: "Looking." });
    session.say(
      "Two accounts:\n\n- Current\n- Savings\n\n| Account | Balance |\n|---|---|\n| Current | 100 |\n\n",
    );
    await session.complete();
    await shown(page.locator("earshot-live table"));
    const read = (selector: string) =>
      page.evaluate(async (where) => {
        const { virtual } = window as never as {
          virtual: {
            start(options: object): Promise<void>;
            next(): Promise<void>;
            stop(): Promise<void>;
            spokenPhraseLog(): Promise<string[]>;
          };
        };
        const container = document.querySelector("earshot-live")!.shadowRoot!.querySelector(where);
        await virtual.start({ container });
        for (let steps = 0; steps < 70; steps++) await virtual.next();
        const log = await virtual.spokenPhraseLog();
        await virtual.stop();
        return log;
      }, selector);
    const transcript = (await read(".frame")).join("\n");
    const inOrder = [
      "heading, Transcript",
      "heading, Bank",
      "Two accounts:",
      "list",
      "Current",
      "Savings",
      "table",
      "Account",
      "Balance",
      "100",
    ];
    let at = 0;
    for (const words of inOrder) {
      at = transcript.indexOf(words, at);
      expect(at, `${words} in\n${transcript}`).toBeGreaterThanOrEqual(0);
    }
    void transfer(server.agent, { count: 0 });
    await shown(dialogOf(page));
    const question = (await read("dialog")).join("\n");
    const asked = [
      "alertdialog, Question from Bank",
      "Careful, high risk.",
      "Transfer 500 dollars to savings.",
      "If you say yes: The money moves at once.",
      "button, Refuse",
      "button, Check before allowing",
      "button, Decide later",
    ].map((words) => question.indexOf(words));
    expect(asked[0]).toBeGreaterThanOrEqual(0);
    expect(asked).toEqual([...asked].sort((one, other) => one - other));
  });
});
