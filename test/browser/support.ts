/**
 * A page with an agent behind it, on one loopback server, under the strictest content security policy.
 * Time in the page is virtual and stands still: it advances only while a test waits for something (`shown`,
 * `untilHeard`, `advance`). So a slow machine cannot let a delay of the page run out between two key presses, and no
 * test waits for a delay in real time.
 */
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { bundleWeb } from "../../scripts/bundle-web.mjs";
import { createProducer, type Producer, type ProducerOptions } from "../../src/producer/producer.ts";
import { createHttpApp, type HttpApp } from "../../src/server/index.ts";
import { launchBrowser } from "../support/chromium.ts";

export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'";

let bundled: Promise<ReadonlyMap<string, string>> | undefined;
/** The element's files, made once for all tests. */
export function webFiles(): Promise<ReadonlyMap<string, string>> {
  bundled ??= bundleWeb().then(
    ({ files }: { files: { name: string; text: string }[] }) =>
      new Map(files.map(({ name, text }) => [`/${name}`, text])),
  );
  return bundled;
}

export interface PageOptions {
  /** Attributes of the element. */
  readonly attributes?: string;
  /** More of the page's body. */
  readonly body?: string;
  readonly lang?: string;
}

export const pageOf = ({ attributes = "", body = "", lang = "en" }: PageOptions = {}): string =>
  `<!doctype html><html lang="${lang}"><head><meta charset="utf-8"><title>My bank</title>
<meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1">
<script type="module" src="/earshot-live.js"></script></head>
<body><main><h1>My bank</h1>${body}<earshot-live src="/" ${attributes}></earshot-live></main></body></html>`;

export interface PageServer {
  readonly agent: Producer;
  readonly url: string;
  httpApp: HttpApp;
  /** The server goes away, as in a restart. */
  down(): Promise<void>;
  /** And is back at the same address, with this agent or another. */
  up(agent?: Producer): Promise<void>;
  close(): Promise<void>;
}

export const agentOf = (options: Partial<ProducerOptions> = {}): Producer =>
  createProducer({ agent_id: "com.example.bank", agent_name: "Bank", warn: () => {}, ...options });

/** `pages` by path; the element's files are there as well. */
export async function servePages(
  pages: Readonly<Record<string, string>>,
  given: Producer = agentOf(),
): Promise<PageServer> {
  const files = await webFiles();
  let agent = given;
  let server: Server | undefined;
  let websockets: { close(): Promise<void> } | undefined;
  let port = 0;
  const served = {
    get agent() {
      return agent;
    },
    httpApp: undefined as unknown as HttpApp,
    url: "",
    async down() {
      await websockets?.close();
      server?.closeAllConnections();
      await new Promise<void>((closed) => (server ? server.close(() => closed()) : closed()));
      served.httpApp.stop();
      server = undefined;
    },
    async up(other: Producer = agent) {
      agent = other;
      const httpApp = await createHttpApp(agent, { insecureLoopback: true, log: () => {} });
      served.httpApp = httpApp;
      const listening = createServer((request, response) =>
        httpApp.node(request, response, () => {
          const path = new URL(request.url ?? "/", "http://localhost").pathname;
          const script = files.get(path);
          const body = script ?? pages[path];
          response.writeHead(body === undefined ? 404 : 200, {
            "content-type": `${path.endsWith(".js") ? "text/javascript" : "text/html"}; charset=utf-8`,
            "content-security-policy": POLICY,
          });
          response.end(body);
        }),
      );
      await new Promise<void>((ready) => listening.listen(port, "127.0.0.1", ready));
      port = (listening.address() as AddressInfo).port;
      served.url = `http://127.0.0.1:${port}`;
      server = listening;
      websockets = httpApp.attachWebSocket(listening);
    },
    close: () => served.down(),
  };
  await served.up();
  return served;
}

/** What live regions and dialogs said, in order, as a screen reader would be told; recorded from before the page's first script. */
export interface Heard {
  readonly text: string;
  readonly how: "polite" | "assertive" | "dialog";
  readonly lang: readonly string[];
  readonly dir: readonly string[];
  readonly inside: string;
  readonly at: number;
}

/** Runs in every page before its own scripts. Only what is in the page's accessibility tree counts. */
function listenIn(): void {
  const heard: unknown[] = [];
  Object.assign(window, { heard, violations: [] as string[] });
  document.addEventListener("securitypolicyviolation", (event) =>
    (window as never as { violations: string[] }).violations.push(
      `${event.violatedDirective} ${event.blockedURI}`,
    ),
  );
  const runs = (node: Element, name: "lang" | "dir") =>
    [...node.children].map((one) => one.getAttribute(name) ?? "");
  const look = (records: MutationRecord[]) => {
    for (const { target, addedNodes } of records) {
      for (const node of addedNodes) {
        if (!(node instanceof Element)) continue;
        for (const host of [node, ...node.querySelectorAll("*")]) if (host.shadowRoot) watch(host.shadowRoot);
        const dialog = node.matches("dialog") ? node : undefined;
        if (dialog) {
          // Read when it opens: its name, then its description.
          queueMicrotask(() => {
            const text = dialog.querySelector("#body")?.textContent ?? "";
            heard.push({ text, how: "dialog", lang: [], dir: [], inside: "", at: performance.now() });
          });
        }
      }
      const region = target instanceof Element ? target.closest("[aria-live]") : undefined;
      if (region && addedNodes.length > 0 && region === target)
        heard.push({
          text: region.textContent,
          how: region.getAttribute("aria-live"),
          lang: runs(region, "lang"),
          dir: runs(region, "dir"),
          inside: region.closest("dialog, [aria-modal]")?.id ?? "",
          at: performance.now(),
        });
    }
  };
  const watch = (root: Node) => new MutationObserver(look).observe(root, { childList: true, subtree: true });
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (init) {
    const root = attach.call(this, init);
    watch(root);
    return root;
  };
  watch(document);
  const announced: unknown[] = [];
  const received: string[] = [];
  Object.assign(window, { announced, received });
  document.addEventListener("earshot-announced", (event) => {
    const { utterance, by } = (event as CustomEvent).detail;
    const text = utterance.runs.map((run: { text: string }) => run.text).join("");
    announced.push({ text, by, kind: utterance.kind, urgency: utterance.urgency, own: utterance.id < 0 });
  });
  document.addEventListener(
    "earshot-event",
    (event) => received.push((event as CustomEvent).detail.type),
    true,
  );
}

/** What the element says it announced, in order. */
export interface Told {
  readonly text: string;
  readonly by: "live-region" | "dialog";
  readonly kind: string;
  readonly urgency: string;
  /** The page's own words, not the announcer's. */
  readonly own: boolean;
}
export const toldBy = (page: Page): Promise<Told[]> =>
  page.evaluate(() => (window as never as { announced: Told[] }).announced);

/** One browser for all tests of the file that calls this. */
export function useBrowser(): () => Browser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());
  return () => browser!;
}

/** Contexts whose pages have virtual time. */
const virtual = new WeakSet<BrowserContext>();

/** Closed when the test ends. */
export async function newContext(
  browser: Browser,
  { realTime = false, ...options }: BrowserContextOptions & { readonly realTime?: boolean } = {},
): Promise<BrowserContext> {
  const context = await browser.newContext({ locale: "en-US", ...options });
  onTestFinished(() => context.close());
  await context.addInitScript(listenIn);
  if (!realTime) {
    const time = Date.now();
    await context.clock.install({ time });
    await context.clock.pauseAt(time + 1000);
    virtual.add(context);
  }
  return context;
}

/** Lets this much time pass in all pages of the context. */
export const advance = (page: Page, ms: number): Promise<void> =>
  virtual.has(page.context()) ? page.clock.runFor(ms) : page.waitForTimeout(ms);

const STEP_MS = 50;
const PATIENCE_MS = 20_000;

/** Lets time pass in the page, in small steps, until this holds. */
export async function advanceUntil(page: Page, holds: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`Waited ${PATIENCE_MS} ms for ${what}.`);
    await advance(page, STEP_MS);
  }
}

/** Waits until this can be seen. */
export const shown = (locator: Locator): Promise<void> =>
  advanceUntil(locator.page(), () => locator.first().isVisible(), String(locator));

export const heardBy = (page: Page): Promise<Heard[]> =>
  page.evaluate(() => (window as never as { heard: Heard[] }).heard);

export const textsOf = async (page: Page): Promise<string[]> => (await heardBy(page)).map(({ text }) => text);

const wasHeard = async (page: Page, words: string): Promise<boolean> =>
  (await textsOf(page)).some((text) => text.includes(words));

/** Waits until something with these words was announced. */
export const untilHeard = (page: Page, words: string): Promise<void> =>
  advanceUntil(page, () => wasHeard(page, words), `the announcement ${words}`);

/** Types a letter every 100 ms until something with these words was announced, and `more` letters after that. */
export async function typeUntilHeard(page: Page, words: string, more: number): Promise<number> {
  let typed = 0;
  const type = async () => {
    await page.keyboard.type("x");
    await advance(page, 100);
    typed++;
  };
  await advanceUntil(page, () => type().then(() => wasHeard(page, words)), `the announcement ${words}`);
  for (let left = more; left > 0; left--) await type();
  return typed;
}

/** The types of the events the page has received, in order. */
export const receivedBy = (page: Page): Promise<string[]> =>
  page.evaluate(() => (window as never as { received: string[] }).received);

/** Waits in real time, while the page's time stands still, until the page has received such an event. */
export const untilReceived = (page: Page, type: string): Promise<void> =>
  expect.poll(() => receivedBy(page), { interval: 10, timeout: PATIENCE_MS }).toContain(type);

export const violationsOf = (page: Page): Promise<string[]> =>
  page.evaluate(() => (window as never as { violations: string[] }).violations);

/** The words of whatever has the focus, however deep. */
export const focused = (page: Page): Promise<string> =>
  page.evaluate(() => {
    let active = document.activeElement;
    while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
    const named = active?.id ? `#${active.id} ` : "";
    return `${active?.localName} ${named}${active?.textContent?.trim() ?? ""}`.trim();
  });

/** Tab until the control with this name has the focus, as a person with a keyboard would. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    await page.keyboard.press("Tab");
    if ((await focused(page)).endsWith(name)) return;
  }
  throw new Error(`No control named ${name} can be reached by Tab.`);
}

/** A transfer that cannot be undone, with an answer before and after. */
export function transfer(
  agent: Producer,
  ran: { count: number },
  pace: () => Promise<unknown> = async () => undefined,
) {
  return agent.run({ summary: "Moving money to savings." }, async (session) => {
    for (const token of ["You have ", "enough money. ", "Your savings ", "account is open. "]) {
      session.say(token);
      await pace();
    }
    const sent = await session.tool(
      {
        tool: "transfer",
        summary: "Transferring the money.",
        irreversible: true,
        risk: "high",
        params: { amount: 500, to: "savings" },
        action: ({ amount, to }) => `Transfer ${amount} dollars to ${to}.`,
        consequence: "The money moves at once.",
      },
      () => void ran.count++,
    );
    await session.say(sent.ran ? "Your savings have grown." : sent.summary);
    return sent;
  });
}

/** A page with the element, connected, looked at, and with the browser's errors watched. */
export async function openPage(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage();
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(String(error.stack)));
  Object.assign(page, { errors });
  await page.goto(url);
  await shown(page.locator("earshot-live [part=status]", { hasText: /\S/ }));
  const isConnected = () =>
    page.evaluate(() => {
      const element = document.querySelector("earshot-live") as {
        listener?: { connection: { state: string } };
      } | null;
      return element?.listener?.connection.state === "connected";
    });
  await advanceUntil(page, isConnected, "the connection");
  return page;
}

export const dialogOf = (page: Page) => page.locator("earshot-live dialog[open]");

/** Past the first moment of a dialog, in which no key or press counts. */
export const armed = (page: Page): Promise<void> => advance(page, 700);

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export async function axeProblems(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  let over = false;
  const problems = page.evaluate(async () => {
    interface Found {
      violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
    }
    const { violations } = await (
      window as never as { axe: { run(options: object): Promise<Found> } }
    ).axe.run({
      resultTypes: ["violations"],
    });
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 120)} ${failureSummary}`),
    );
  });
  const done = problems.finally(() => {
    over = true;
  });
  // axe waits on timers of its own.
  while (!over) await Promise.race([done, advance(page, 10)]);
  return done;
}
