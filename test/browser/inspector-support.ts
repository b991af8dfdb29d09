/** The Inspector in a browser, with the demo agent behind it, as `earshot demo` serves it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { writeInspector } from "../../scripts/bundle-inspector.mjs";
import { createDemo, type Demo } from "../../src/cli/demo/agent.ts";
import { DEMO_PATH, demoRoutes } from "../../src/cli/demo/server.ts";
import type { Producer } from "../../src/producer/producer.ts";
import { type ServeOptions, type Serving, serve } from "../../src/server/index.ts";
import { tellSession } from "../support/four-listeners.ts";

export interface BuiltPage {
  readonly directory: string;
  /** Of the first load, compressed. */
  readonly bytes: number;
  remove(): void;
}

export async function buildPage(): Promise<BuiltPage> {
  const directory = mkdtempSync(join(tmpdir(), "earshot-inspector-"));
  const bytes = await writeInspector(directory);
  return { directory, bytes, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

export interface DemoPlace {
  readonly demo: Demo;
  readonly serving: Serving;
  close(): Promise<void>;
}

export async function openDemo(page: BuiltPage, speed = 20): Promise<DemoPlace> {
  const demo = createDemo({ speed, warn: () => undefined });
  const serving = await serve(demo.producer, {
    port: 0,
    tokenFile: false,
    log: () => undefined,
    routes: demoRoutes(demo),
    inspector: { prompt: DEMO_PATH, example: "Transfer 500 dollars to savings", directory: page.directory },
  });
  return {
    demo,
    serving,
    async close() {
      await demo.stop();
      await serving.close();
    },
  };
}

/** Any agent, on this machine only. */
export const serveAgent = (agent: Producer, page: BuiltPage, options: ServeOptions = {}): Promise<Serving> =>
  serve(agent, {
    port: 0,
    tokenFile: false,
    log: () => undefined,
    inspector: { directory: page.directory },
    ...options,
  });

export interface Watched {
  /** Everything the page asked for. */
  readonly requests: string[];
  /** What the browser complained about. */
  readonly errors: string[];
  /** Bytes that came over the wire. */
  bytes(): number;
}

/** Opens the page and looks on while it works: requests, errors, and what its policy stopped. */
export async function openInspector(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Page & { watched: Watched }> {
  const context = await browser.newContext({
    locale: "en-US",
    viewport: { width: 1280, height: 900 },
    ...options,
  });
  const page = await context.newPage();
  const requests: string[] = [];
  const errors: string[] = [];
  let bytes = 0;
  page.on("request", (request) => requests.push(request.url()));
  page.on("websocket", (socket) => requests.push(socket.url()));
  page.on("pageerror", (error) => errors.push(String(error.stack)));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(message.text());
  });
  const network = await context.newCDPSession(page);
  await network.send("Network.enable");
  network.on("Network.loadingFinished", ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await page.goto(url);
  return Object.assign(page, { watched: { requests, errors, bytes: () => bytes } });
}

/** All four columns have been accepted. */
export const connected = (page: Page): Promise<unknown> =>
  page.waitForFunction(
    () =>
      [...document.querySelectorAll(".terms")].filter((one) => one.textContent?.startsWith("Agreed"))
        .length === 4,
  );

/** A recording without a fault: the session that the docs show. */
export function recording(): string[] {
  const places = new Map<unknown, number>();
  return tellSession().said.map(({ event }, index) => {
    const { output_id, chunk } = event;
    const position = places.get(output_id) ?? 0;
    if (typeof chunk === "string") places.set(output_id, position + [...chunk].length);
    const place = typeof chunk === "string" ? { position } : {};
    return JSON.stringify({ ...event, ...place, event_id: `evt_${String(index).padStart(32, "0")}` });
  });
}

/** Chooses these lines as a recording to replay. */
export async function load(page: Page, { directory }: BuiltPage, lines: readonly string[]): Promise<void> {
  const file = join(directory, "session.jsonl");
  writeFileSync(file, `${lines.join("\n")}\n`);
  await page.setInputFiles("#file", file);
  await page.locator("#status", { hasText: "is loaded" }).waitFor();
}

/** The question as it is put to a person. */
export const question = (page: Page) => page.locator("earshot-live dialog[open]");
export const items = (page: Page, list: string) => page.locator(`${list} li`);
