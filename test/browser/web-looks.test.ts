/** Every state of the element, as it looks and as axe sees it: light, dark, forced colors, Arabic, 200 % zoom, no motion. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { BROWSER_NOTE, skipsBrowser } from "../support/chromium.ts";
import {
  agentOf,
  armed,
  axeProblems,
  dialogOf,
  focused,
  heardBy,
  newContext,
  openPage,
  type PageOptions,
  type PageServer,
  pageOf,
  servePages,
  shown,
  tabTo,
  transfer,
  untilHeard,
  useBrowser,
} from "./support.ts";

const artifacts = fileURLToPath(new URL("../../.artifacts/web", import.meta.url));

const MODES = {
  light: { colorScheme: "light", forcedColors: "none" },
  dark: { colorScheme: "dark", forcedColors: "none" },
  "forced-colors": { colorScheme: "dark", forcedColors: "active" },
} as const;

describe.skipIf(skipsBrowser)(`the element's looks${BROWSER_NOTE}`, () => {
  const browser = useBrowser();
  let context: BrowserContext;
  let server: PageServer;
  beforeAll(() => {
    mkdirSync(artifacts, { recursive: true });
  });

  async function open(page: PageOptions, options: BrowserContextOptions = {}): Promise<Page> {
    server = await servePages({ "/": pageOf(page) }, agentOf());
    onTestFinished(() => server.close());
    context = await newContext(browser(), options);
    return openPage(context, server.url);
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
    const page = await open({
      attributes: "speed=fast",
      body: '<label>Message <input id="message"></label>',
    });
    await inspect(page, "empty");
    const session = server.agent.start({ summary: "Looking at your accounts." });
    session.say(
      "# Accounts\n\nYou have **two** of them, see [the list](https://bank.example/list):\n\n1. Current\n   - daily\n2. Savings\n\n| Account | Balance |\n|---|---|\n| Current | 100 |\n| Savings | 2,000 |\n\n```js\nconst total = 2100; // everything there is, on one long line that has to scroll because it will not fit in any case at all\n```\n\n> All in dollars.\n\nThat is all.",
    );
    await session.complete();
    await page.evaluate(() =>
      (document.querySelector("earshot-live") as never as { addTurn(text: string): void }).addTurn(
        "Thank you!",
      ),
    );
    await shown(page.locator("earshot-live table"));
    await page.locator("earshot-live summary").click();
    await inspect(page, "transcript");
    const done = transfer(server.agent, { count: 0 });
    await shown(dialogOf(page));
    await inspect(page, "question");
    await armed(page);
    await dialogOf(page).locator("button.check").click();
    await shown(page.locator("earshot-live h2", { hasText: "Check before allowing" }));
    await inspect(page, "read-back");
    await page.keyboard.press("Escape");
    await untilHeard(page, "Put off");
    await inspect(page, "put-off");
    await page.locator("earshot-live button", { hasText: "Open the question" }).click();
    await armed(page);
    await dialogOf(page).locator("button.refuse").click();
    await done;
    const asking = server.agent.start({ summary: "Booking." });
    void asking.clarify({
      question: "When?",
      kinds: ["multiple_choice", "freetext"],
      choices: [
        { value: "m", label: "In the morning" },
        { value: "e", label: "In the evening" },
      ],
    });
    await shown(page.locator("earshot-live fieldset"));
    await armed(page);
    await dialogOf(page).locator("button.send").click();
    await inspect(page, "choices");
  });

  /** The whole transfer by keyboard, by the words of the page's language. */
  async function wholeTransfer(
    page: Page,
    words: { check: string; allow: string; from: string },
    lookAtQuestion: () => Promise<void>,
  ): Promise<void> {
    const ran = { count: 0 };
    const done = transfer(server.agent, ran);
    await shown(dialogOf(page));
    expect(await focused(page)).toBe(`h2 #question ${words.from}`);
    await lookAtQuestion();
    await armed(page);
    await tabTo(page, words.check);
    await page.keyboard.press("Enter");
    await shown(dialogOf(page).locator("button.go-back"));
    await armed(page);
    await tabTo(page, words.allow);
    await page.keyboard.press("Enter");
    await done;
    expect(ran.count).toBe(1);
    await untilHeard(page, "Your savings have grown.");
  }

  it("in Arabic everything runs from right to left, each text marked with its own language, and a transfer works by keyboard (I18N-14)", async () => {
    const page = await open({ attributes: "lang=ar speed=fast", lang: "ar" });
    const look = async () => {
      expect(await dialogOf(page).evaluate((dialog) => getComputedStyle(dialog).direction)).toBe("rtl");
      await page.screenshot({ path: join(artifacts, "question-arabic.png") });
    };
    await wholeTransfer(page, { check: "راجع قبل السماح", allow: "اسمح الآن", from: "سؤال من Bank" }, look);
    expect(await axeProblems(page)).toEqual([]);
    const heard = (await heardBy(page)).filter(({ how }) => how !== "dialog");
    expect(heard.flatMap(({ lang }) => lang)).toEqual(expect.arrayContaining(["ar"]));
    for (const { lang, dir } of heard)
      lang.forEach((tag, index) => {
        if (tag !== "") expect(dir[index]).toBe(tag === "ar" ? "rtl" : "ltr");
      });
    await page.screenshot({ path: join(artifacts, "transcript-arabic.png"), fullPage: true });
  });

  it("at 200 % zoom with reduced motion nothing is cut off or scrolls sideways, nothing moves, and a transfer works", async () => {
    const page = await open(
      { attributes: "speed=fast load=low" },
      { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2, reducedMotion: "reduce" },
    );
    const look = async () => {
      await page.screenshot({ path: join(artifacts, "question-zoom.png") });
      const sizes = await dialogOf(page).evaluate((dialog) => ({
        wide: dialog.scrollWidth <= dialog.clientWidth,
        page: document.documentElement.scrollWidth <= document.documentElement.clientWidth,
        small: [...dialog.querySelectorAll("button")].filter(
          (one) => one.offsetHeight < 44 || one.offsetWidth < 44,
        ).length,
        moving: [...dialog.querySelectorAll("*")].filter((one) => {
          const { transitionDuration, animationName } = getComputedStyle(one);
          return !/^0s(, 0s)*$/.test(transitionDuration) || animationName !== "none";
        }).length,
      }));
      expect(sizes).toEqual({ wide: true, page: true, small: 0, moving: 0 });
    };
    await wholeTransfer(
      page,
      { check: "Check before allowing", allow: "Allow now", from: "Question from Bank" },
      look,
    );
  });
});
