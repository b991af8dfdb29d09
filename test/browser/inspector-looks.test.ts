/** Every state of the Inspector, as it looks and as axe sees it; small, and with more in it than anybody reads. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { BROWSER_NOTE, launchBrowser, skipsBrowser } from "../support/chromium.ts";
import {
  type BuiltPage,
  buildPage,
  connected,
  type DemoPlace,
  items,
  load,
  openDemo,
  openInspector,
  question,
  recording,
  type Watched,
} from "./inspector-support.ts";
import { axeProblems } from "./support.ts";

const artifacts = fileURLToPath(new URL("../../.artifacts/inspector", import.meta.url));
const MODES = {
  light: { colorScheme: "light", forcedColors: "none" },
  dark: { colorScheme: "dark", forcedColors: "none" },
  "forced-colors": { colorScheme: "dark", forcedColors: "active" },
} as const;

type Looked = Page & { watched: Watched };

describe.skipIf(skipsBrowser)(`the Inspector's looks${BROWSER_NOTE}`, () => {
  let browser: Browser;
  let built: BuiltPage;
  const cleanups: (() => unknown)[] = [];
  beforeAll(async () => {
    [browser, built] = await Promise.all([launchBrowser(), buildPage()]);
    mkdirSync(artifacts, { recursive: true });
  });
  afterAll(async () => {
    await browser?.close();
    built?.remove();
  });
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  async function open(url: string, options: BrowserContextOptions = {}): Promise<Looked> {
    const page = await openInspector(browser, url, options);
    cleanups.push(() => page.context().close());
    return page;
  }

  async function openWithDemo(options: BrowserContextOptions = {}): Promise<[Looked, DemoPlace]> {
    const place = await openDemo(built);
    cleanups.push(() => place.close());
    const page = await open(place.serving.inspector!, options);
    await connected(page);
    return [page, place];
  }

  /** Light, dark, forced colors: a picture of each, and nothing for axe to say. */
  async function inspect(page: Page, state: string): Promise<void> {
    for (const [mode, media] of Object.entries(MODES)) {
      await page.emulateMedia(media);
      await page.screenshot({ path: join(artifacts, `${state}-${mode}.png`), fullPage: true });
      expect(await axeProblems(page), `${state}, ${mode}`).toEqual([]);
    }
    await page.emulateMedia(MODES.light);
  }

  it("axe finds nothing in any state, in light, dark and forced colors", async () => {
    const place = await openDemo(built);
    cleanups.push(() => place.close());
    const closed = await open(place.serving.http);
    await closed.getByRole("heading", { name: "needs the token" }).waitFor();
    await inspect(closed, "closed");
    await closed.fill("#token", place.serving.token!);
    await closed.keyboard.press("Enter");
    await connected(closed);
    const page = closed;
    place.demo.start("Transfer 500 dollars to savings");
    await page.locator("#asked").waitFor();
    await inspect(page, "question-waits");
    await page.locator("#answer").click();
    await question(page).waitFor();
    await inspect(page, "question-dialog");
    await page.keyboard.press("Escape");
    await page.locator("#speak").uncheck();
    const wrong = recording().slice(0, 20);
    wrong[3] = wrong[3]!.replace('"urgency":"normal"', '"urgency":"loud"');
    wrong.splice(6, 0, wrong[6]!, "{ this is no JSON");
    await load(page, built, wrong);
    await page.locator("#to-end").click();
    await items(page, "#findings-box").filter({ hasText: "ENV-10" }).first().waitFor();
    await inspect(page, "replay");
  });

  it("at 200 % zoom nothing scrolls sideways, and targets are large enough to hit", async () => {
    const [page, { demo }] = await openWithDemo({
      viewport: { width: 640, height: 450 },
      deviceScaleFactor: 2,
      reducedMotion: "reduce",
    });
    demo.start("Transfer 500 dollars to savings");
    await page.locator("#asked").waitFor();
    await page.screenshot({ path: join(artifacts, "zoom.png"), fullPage: true });
    const sizes = await page.evaluate(() => ({
      wide: document.documentElement.scrollWidth <= document.documentElement.clientWidth,
      small: [...document.querySelectorAll<HTMLElement>("button, select")]
        .filter((one) => one.checkVisibility() && (one.offsetHeight < 44 || one.offsetWidth < 44))
        .map((one) => one.id),
      moving: [...document.querySelectorAll("*")].filter((one) => {
        const { transitionDuration, animationName } = getComputedStyle(one);
        return !/^0s(, 0s)*$/.test(transitionDuration) || animationName !== "none";
      }).length,
    }));
    expect(sizes).toEqual({ wide: true, small: [], moving: 0 });
  });

  it("stays quick with 100,000 events: all are kept, the page holds few of them", async () => {
    const [page] = await openWithDemo();
    const empty = await page.evaluate(() => document.querySelectorAll("*").length);
    const [first] = recording();
    const { summary_terse: _, summary_detailed: __, ...fields } = JSON.parse(first!);
    const type = "aaep:agent.progress.updated";
    const one = { ...fields, type, urgency: "background", progress: { percent: 50 }, event_id: "HERE" };
    const [before, after] = JSON.stringify(one).split("HERE");
    const many = Array.from(
      { length: 99_999 },
      (_, index) => `${before}evt_${String(index + 10).padStart(32, "0")}${after}`,
    );
    await load(page, built, [first!, ...many]);
    await page.locator("#to-end").click();
    await page.locator("#status", { hasText: "100,000 of 100,000" }).waitFor({ timeout: 50_000 });
    await page.locator("#raw .count", { hasText: "100 of 100,000, from number 99,901." }).waitFor();
    expect(await items(page, "#raw").count()).toBe(100);
    expect(await items(page, "#findings-box").allInnerTexts()).toEqual([]);
    expect(await items(page, "#reader").count()).toBeGreaterThan(0);
    const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
    expect(nodes - empty).toBeLessThan(6 * 100 * 8);
    await page.locator("#raw .earlier").click();
    expect(await items(page, "#raw").count()).toBe(200);
    await page.locator("#raw .count", { hasText: "from number 99,801." }).waitFor();
  });
});
