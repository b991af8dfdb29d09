/** The Inspector in a real browser: what it shows, what it lets through, and whether everyone can use it. */
import { readFileSync } from "node:fs";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { MOST_FIRST_BYTES } from "../../scripts/bundle-inspector.mjs";
import { REQUIREMENTS } from "../../src/conformance/requirements.ts";
import { parse } from "../../src/protocol/index.ts";
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
  serveAgent,
  type Watched,
} from "./inspector-support.ts";
import { agentOf, focused, tabTo } from "./support.ts";

type Looked = Page & { watched: Watched };

describe.skipIf(skipsBrowser)(`the Inspector${BROWSER_NOTE}`, () => {
  let browser: Browser;
  let built: BuiltPage;
  const cleanups: (() => unknown)[] = [];
  beforeAll(async () => {
    [browser, built] = await Promise.all([launchBrowser(), buildPage()]);
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

  it("a bank transfer by keyboard alone: asked for, put as a dialog, checked, allowed, and shown to all four", async () => {
    const [page, { serving }] = await openWithDemo();
    await tabTo(page, "Skip to the content");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    expect(await focused(page)).toBe("input #prompt");
    await page.keyboard.type("Transfer 500 dollars to savings");
    await page.keyboard.press("Enter");
    await page.locator("#asked", { hasText: "Transfer 500 dollars" }).waitFor();
    expect(await page.title()).toMatch(/question waits/);
    // Until it is switched on, nothing is announced but what came of the person's own action.
    expect(await page.locator("[aria-live], [role=log], [role=alert]").count()).toBe(0);
    expect(await page.locator("#speak").isChecked()).toBe(false);
    await tabTo(page, "Answer it here");
    await page.keyboard.press("Enter");
    await question(page).waitFor();
    await page.waitForTimeout(700);
    await tabTo(page, "Check before allowing");
    await page.keyboard.press("Enter");
    await question(page).locator("button.go-back").waitFor();
    await page.waitForTimeout(700);
    await tabTo(page, "Allow now");
    await page.keyboard.press("Enter");
    await page.locator("#timeline tr", { hasText: "Question accepted" }).waitFor();
    await page.locator("#timeline tr", { hasText: "Session completed" }).waitFor();
    const turns = await page.locator("#timeline th").allInnerTexts();
    expect(turns[0]).toBe("Session started");
    expect(turns.indexOf("Question")).toBeLessThan(turns.indexOf("Question accepted"));
    for (const id of ["braille", "reader", "captions"])
      await items(page, `#${id}`).filter({ hasText: "awaiting.confirmation, critical" }).waitFor();
    await items(page, "#raw").filter({ hasText: '"type":"aaep:agent.awaiting.confirmation"' }).waitFor();
    await items(page, "#spoken-box").filter({ hasText: "Transfer 500 dollars" }).first().waitFor();
    expect(await page.locator("#findings-box li").allInnerTexts()).toEqual([]);
    // The one mouth is the element; of the page itself nothing is announced but what the person's own action came to.
    const LIVE = "[aria-live], [role=log], [role=alert]";
    expect(await page.evaluate((live) => document.querySelectorAll(live).length, LIVE)).toBe(0);
    expect(await page.locator(`earshot-live ${LIVE.split(",")[0]}`).count()).toBeGreaterThan(0);
    const { origin } = new URL(serving.http);
    expect(page.watched.requests.filter((url) => new URL(url).host !== new URL(origin).host)).toEqual([]);
    expect(page.watched.errors).toEqual([]);
  });

  it("shows a recording as each listener would have got it, step by step, and saves it as capture writes it", async () => {
    const [page] = await openWithDemo();
    const lines = recording();
    await load(page, built, lines);
    await page.locator("#record").click();
    await page.locator("#step").click();
    await page.locator("#status", { hasText: `Event 1 of ${lines.length}: session.started.` }).waitFor();
    await expect.poll(() => items(page, "#raw").count()).toBe(1);
    await page.locator("#hold").check();
    await page.locator("#step").click();
    await page.locator("#raw .count", { hasText: "1 newer wait." }).waitFor();
    expect(await items(page, "#raw").count()).toBe(1);
    await page.locator("#hold").uncheck();
    await page.locator("#raw .count", { hasText: "2 in all." }).waitFor();
    await page.locator("#to-end").click();
    await page.locator("#raw .count", { hasText: `${lines.length} in all.` }).waitFor();
    const counts = await Promise.all(
      ["#braille", "#reader", "#captions", "#raw"].map((id) => items(page, id).count()),
    );
    expect(counts[0]).toBeLessThan(counts[1]!);
    expect(counts[1]).toBeLessThan(counts[2]!);
    expect(counts[2]).toBeLessThan(counts[3]!);
    await page.locator("#findings-box").waitFor();
    expect(await items(page, "#findings-box").allInnerTexts()).toEqual([]);
    expect(await page.locator("#spoken-box").innerText()).toContain("Rent of $1,200 leaves on May 1");
    const [saved] = await Promise.all([page.waitForEvent("download"), page.locator("#record").click()]);
    expect(saved.suggestedFilename()).toBe("session.jsonl");
    const kept = readFileSync((await saved.path())!, "utf8")
      .trimEnd()
      .split("\n");
    expect(kept).toEqual(lines);
    for (const line of kept) expect(parse(line, { mode: "tolerant" }).ok).toBe(true);
    const [all] = await Promise.all([page.waitForEvent("download"), page.locator("#export").click()]);
    const exported = JSON.parse(readFileSync((await all.path())!, "utf8"));
    expect(exported.columns).toHaveLength(4);
    expect(exported.columns[3].heard).toHaveLength(lines.length);
    await page.locator("#live").click();
    await connected(page);
    expect(await items(page, "#raw").count()).toBe(0);
  });

  it("tells what an agent does wrong, by the id of the requirement, and what that asks for", async () => {
    const [page] = await openWithDemo();
    const lines = recording();
    const invoked = lines.findIndex((line) => line.includes('"tool":"transfer"'));
    // The question is gone: money moves without anybody having been asked.
    const asked = lines.findIndex((line) => line.includes("awaiting.confirmation"));
    expect(asked).toBeLessThan(invoked);
    lines.splice(asked, 1);
    lines.push(lines.at(-1)!.replace(/evt_\d+/, `evt_${"9".repeat(32)}`));
    await load(page, built, lines);
    await page.locator("#to-end").click();
    const findings = page.locator("#findings-box li");
    await findings.filter({ hasText: "SEQ-02, session.completed" }).waitFor();
    const unasked = findings.filter({ hasText: "tool.invoked" });
    await unasked.filter({ hasText: "error, SEQ-14" }).waitFor();
    await unasked.filter({ hasText: REQUIREMENTS.find(({ id }) => id === "SEQ-14")!.text }).waitFor();
  });

  it("asks for other terms while it listens, and says what was agreed on", async () => {
    const [page, { demo }] = await openWithDemo();
    await page.selectOption("#listener", { label: "Captions" });
    expect(await page.inputValue("#rate")).toBe("10");
    await page.fill("#rate", "2");
    await page.selectOption("#verbosity", "terse");
    await page.getByRole("button", { name: "Ask for this" }).click();
    await page.locator("#status", { hasText: "Captions: negotiated 2 events a second" }).waitFor();
    await page.locator("#captions .terms", { hasText: "2 events a second; terse" }).waitFor();
    expect(demo.producer.subscriptions).toBe(4);
    await page.fill("#languages", "en, not_a_language");
    await page.getByRole("button", { name: "Ask for this" }).click();
    await page.locator("#status", { hasText: '"not_a_language" is not a language tag.' }).waitFor();
    expect(await focused(page)).toBe("input #languages");
    await page.fill("#languages", "fr");
    await page.keyboard.press("Enter");
    await page.locator("#captions .terms", { hasText: "languages: fr" }).waitFor();
    demo.start("What is my balance?");
    await items(page, "#captions").first().waitFor();
  });

  it("A08: what an agent says is text, whatever it looks like, and is marked with its language", async () => {
    const agent = agentOf();
    const serving = await serveAgent(agent, built);
    cleanups.push(() => serving.close());
    const page = await open(serving.inspector!);
    await connected(page);
    const hostile =
      '<img src=x onerror="document.title=1"><script>window.hit=1</script><b>bold</b>\u202egnol';
    const session = agent.start({ summary: hostile, language: "ar" });
    await session.say(`${hostile} مرحبا. `);
    void session.confirm({ action: hostile, consequence: hostile }).catch(() => undefined);
    await page.locator("#asked").waitFor();
    await items(page, "#reader").filter({ hasText: "<b>bold</b>" }).first().waitFor();
    expect(await page.locator("main img, main b, main script").count()).toBe(0);
    expect(await page.evaluate(() => "hit" in window)).toBe(false);
    expect(await page.locator("main").innerText()).not.toContain("\u202e");
    expect(await page.locator("#reader li p[lang=ar]").first().getAttribute("dir")).toBe("rtl");
    expect(page.watched.errors).toEqual([]);
    await session.cancel();
  });

  it("loads little, from here alone, and takes its token out of the address at once", async () => {
    const place = await openDemo(built);
    cleanups.push(() => place.close());
    const page = await open(place.serving.inspector!);
    await connected(page);
    expect(page.url()).toBe(`${place.serving.http}/`);
    expect(await page.evaluate(() => history.length)).toBeLessThanOrEqual(2);
    console.log(`Inspector: ${page.watched.bytes()} bytes at first, at most ${MOST_FIRST_BYTES}`);
    expect(page.watched.bytes()).toBeGreaterThan(10_000);
    expect(page.watched.bytes()).toBeLessThan(MOST_FIRST_BYTES);
    expect(built.bytes).toBeLessThan(MOST_FIRST_BYTES);
    // Still open after a reload, though the address holds nothing.
    await page.reload();
    await connected(page);
    expect(page.watched.errors).toEqual([]);
  });

  it("listens to another agent through this machine, on request only, and nobody waits for its answer", async () => {
    const other = agentOf({ agent_id: "com.example.other", agent_name: "Other" });
    const elsewhere = await serveAgent(other, built);
    cleanups.push(() => elsewhere.close());
    const [page, { demo }] = await openWithDemo();
    await page.fill("#address", elsewhere.http);
    await page.getByRole("button", { name: "Listen there" }).click();
    await page.locator("#status", { hasText: /wants|credential|token/i }).waitFor();
    await page.fill("#address-token", elsewhere.token!);
    await page.getByRole("button", { name: "Listen there" }).click();
    await page.locator("#source", { hasText: "Listening to Other" }).waitFor();
    expect(demo.producer.subscriptions).toBe(0);
    expect(other.subscriptions).toBe(4);
    await other.run({ summary: "Looking around." }, (session) => session.say("Hello from elsewhere."));
    await items(page, "#braille").filter({ hasText: "Hello from elsewhere." }).waitFor();
    await page.locator("#timeline tr", { hasText: "Session completed" }).waitFor();
    expect(await page.locator("#speak").isDisabled()).toBe(true);
    await page.locator("#return").click();
    await page.locator("#source", { hasText: "Listening to Demo assistant" }).waitFor();
    await expect.poll(() => other.subscriptions).toBe(0);
    expect(page.watched.requests.filter((url) => url.startsWith(elsewhere.http))).toEqual([]);
  });
});
