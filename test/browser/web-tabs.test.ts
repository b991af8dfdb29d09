/** Several tabs, one browser: one connection, one mouth; whatever dies, nothing is lost and nothing is said twice (F17). */
import type { BrowserContext, Page } from "playwright-core";
import { describe, expect, it, onTestFinished } from "vitest";
import { BROWSER_NOTE, skipsBrowser } from "../support/chromium.ts";
import {
  advance,
  agentOf,
  armed,
  dialogOf,
  newContext,
  openPage,
  type PageServer,
  pageOf,
  servePages,
  shown,
  tabTo,
  textsOf,
  transfer,
  untilHeard,
  useBrowser,
} from "./support.ts";

describe.skipIf(skipsBrowser)(`several tabs${BROWSER_NOTE}`, () => {
  const browser = useBrowser();
  let context: BrowserContext;
  let server: PageServer;

  async function open(tabs: number, attributes = "speed=fast"): Promise<Page[]> {
    server = await servePages({ "/": pageOf({ attributes }) }, agentOf());
    onTestFinished(() => server.close());
    context = await newContext(browser());
    const pages: Page[] = [];
    for (let tab = 0; tab < tabs; tab++) {
      const page = await openPage(context, server.url);
      pages.push(page);
      // Virtual time stands still otherwise, and no tab would be the one looked at last.
      await advance(page, 10);
    }
    return pages;
  }
  const openDialogs = async (pages: readonly Page[]) =>
    (await Promise.all(pages.map((page) => dialogOf(page).count()))).map((count) => count > 0);

  async function approve(page: Page): Promise<void> {
    await shown(dialogOf(page));
    await armed(page);
    await tabTo(page, "Check before allowing");
    await page.keyboard.press("Enter");
    await shown(page.locator("earshot-live h2", { hasText: "Check before allowing" }));
    await armed(page);
    await tabTo(page, "Allow now");
    await page.keyboard.press("Enter");
  }

  it("six of them share one connection; only the one looked at last speaks and asks, and its reply goes through (F17)", async () => {
    const pages = await open(6);
    expect(server.agent.subscriptions).toBe(1);
    const looked = pages[2]!;
    // The person goes there, some time after the pages were opened.
    await advance(looked, 2_000);
    await looked.bringToFront();
    await looked.mouse.click(5, 5);
    const ran = { count: 0 };
    const done = transfer(server.agent, ran);
    await approve(looked);
    await done;
    expect(ran.count).toBe(1);
    await untilHeard(looked, "Your savings have grown.");
    for (const [index, page] of pages.entries()) if (index !== 2) expect(await textsOf(page)).toEqual([]);
    expect(await openDialogs(pages)).toEqual([false, false, false, false, false, false]);
    // All of them have it to read.
    for (const page of pages)
      await shown(page.locator("earshot-live .output", { hasText: "Your savings have grown." }));
    expect(server.agent.subscriptions).toBe(1);
  });

  it("the one that holds the line is killed in mid-question: another takes it over, and the answer counts once", async () => {
    const [first, second] = (await open(2)) as [Page, Page];
    const ran = { count: 0 };
    const done = transfer(server.agent, ran);
    await shown(dialogOf(second));
    await first.close();
    await approve(second);
    expect((await done).ran).toBe(true);
    expect(ran.count).toBe(1);
    await untilHeard(second, "Your savings have grown.");
    const heard = await textsOf(second);
    for (const once of ["You have enough money.", "Your savings account is open.", "Allowed."])
      expect(heard.filter((text) => text === once)).toHaveLength(1);
    expect(heard.join("\n")).not.toContain("Something is missing");
  });

  it("the one that shows the question is killed: the question comes up in another, untouched", async () => {
    const [first, second] = (await open(2)) as [Page, Page];
    const ran = { count: 0 };
    const done = transfer(server.agent, ran);
    await shown(dialogOf(second));
    expect(await openDialogs([first])).toEqual([false]);
    await second.close();
    await shown(dialogOf(first));
    expect(ran.count).toBe(0);
    await approve(first);
    expect((await done).ran).toBe(true);
    expect(ran.count).toBe(1);
  });

  it("a server that restarts under an open page is found again, and the person is told both", async () => {
    const [page] = (await open(1)) as [Page];
    await server.down();
    await untilHeard(page, "The connection to Bank was lost. Trying again.");
    await server.up();
    await untilHeard(page, "Connected to Bank again.");
    const ran = { count: 0 };
    const done = transfer(server.agent, ran);
    await approve(page);
    await done;
    expect(ran.count).toBe(1);
  });

  it("without locks and channels each tab has its own line, and works", async () => {
    server = await servePages({ "/": pageOf({ attributes: "speed=fast" }) }, agentOf());
    onTestFinished(() => server.close());
    context = await newContext(browser());
    await context.addInitScript(() => {
      Object.defineProperty(navigator, "locks", { value: undefined });
    });
    await openPage(context, server.url);
    const page = await openPage(context, server.url);
    expect(server.agent.subscriptions).toBe(2);
    const done = transfer(server.agent, { count: 0 });
    await approve(page);
    expect((await done).ran).toBe(true);
  });

  it("what a person sets is agreed with the agent at once, and holds in every tab (5.7)", async () => {
    const [first, second] = (await open(2, "")) as [Page, Page];
    await second.locator("earshot-live summary").click();
    await second.locator("earshot-live #set-verbosity").selectOption("terse");
    await second.locator("earshot-live #set-load").selectOption("low");
    await second.locator("earshot-live #set-speed").selectOption("slow");
    await second.locator("earshot-live #set-language").selectOption("es");
    for (const page of [first, second]) {
      await shown(page.locator("earshot-live h2", { hasText: "Transcripción" }));
      const honored = () =>
        page.evaluate(
          () =>
            (
              document.querySelector("earshot-live") as never as {
                listener: { connection: { honored: object } };
              }
            ).listener.connection.honored,
        );
      await expect.poll(honored).toMatchObject({
        preferred_verbosity: "terse",
        cognitive_load: "low",
        max_events_per_second: 1,
        pace_wpm: 120,
      });
    }
  });
});
