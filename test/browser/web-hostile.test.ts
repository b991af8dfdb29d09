/** A page that is not built for it, hands that slip, tabs that crash: nothing is answered by accident, and nothing is lost. */
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { BROWSER_NOTE, launchBrowser, skipsBrowser } from "../support/chromium.ts";
import {
  agentOf,
  armed,
  dialogOf,
  focused,
  heardBy,
  newContext,
  openPage,
  openPlace,
  type Place,
  pageOf,
  tabTo,
  textsOf,
  transfer,
  untilHeard,
  violationsOf,
} from "./support.ts";

describe.skipIf(skipsBrowser)(`a question under rough hands and in rough pages${BROWSER_NOTE}`, () => {
  let browser: Browser;
  let context: BrowserContext;
  let place: Place;
  const cleanups: (() => unknown)[] = [];
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  async function open(body = "", extra: Record<string, string> = {}): Promise<Page> {
    place = await openPlace({ "/": pageOf({ attributes: "speed=fast", body }), ...extra }, agentOf());
    cleanups.push(() => place.close());
    context = await newContext(browser);
    cleanups.push(() => context.close());
    return openPage(context, place.url);
  }
  /** Something harmless to allow, in one step. */
  const ask = (action = "Delete the drafts.") =>
    place.agent.start({ summary: "Tidying up." }).confirm({ action, consequence: "They are gone." });
  const heading = (page: Page) => dialogOf(page).locator("h2").innerText();

  it("is not answered by a key that went down in the first moment, however long it is held, nor by its repeats (CNF-38)", async () => {
    const page = await open();
    for (const key of ["Enter", "Space"]) {
      let answered = false;
      void ask(key).then(() => {
        answered = true;
      });
      await dialogOf(page).waitFor();
      // At once to the button that allows, as someone would who has been here before.
      await page.keyboard.press("Tab");
      await page.keyboard.press("Tab");
      expect(await focused(page)).toBe("button Allow");
      await page.keyboard.down(key);
      await armed(page);
      for (let repeat = 0; repeat < 3; repeat++) await page.keyboard.down(key);
      await page.keyboard.up(key);
      // Pressed in earnest on a heading, carried over by Tab: still the same stroke.
      await page.keyboard.press("Shift+Tab");
      await page.keyboard.press("Shift+Tab");
      await page.keyboard.down(key);
      await page.keyboard.press("Tab");
      await page.keyboard.press("Tab");
      for (let repeat = 0; repeat < 3; repeat++) await page.keyboard.down(key);
      await page.keyboard.up(key);
      expect(await page.locator("earshot-live .sending").count()).toBe(0);
      expect(answered).toBe(false);
      await dialogOf(page).locator("button.refuse").click();
      await expect.poll(() => answered).toBe(true);
      await expect.poll(() => dialogOf(page).count()).toBe(0);
    }
    expect(await textsOf(page)).not.toContain("Allowed.");
  });

  it("is not answered by a press or touch that began before it could be read, or by a double tap", async () => {
    const page = await open();
    let answered = false;
    const first = ask().finally(() => {
      answered = true;
    });
    await dialogOf(page).waitFor();
    const allow = (await dialogOf(page).locator("button.allow").boundingBox())!;
    await page.mouse.move(allow.x + 9, allow.y + 9);
    await page.mouse.down();
    await armed(page);
    await page.mouse.up();
    await page.waitForTimeout(300);
    expect([answered, await dialogOf(page).count()]).toEqual([false, 1]);
    // A new press counts; its second tap must not reach the question that comes next in its place.
    const second = ask("Empty the trash.");
    await page.mouse.dblclick(allow.x + 9, allow.y + 9);
    expect(await first).toMatchObject({ accepted: true });
    await page.locator("earshot-live #body", { hasText: "Empty the trash." }).waitFor();
    expect(await page.locator("earshot-live .sending").count()).toBe(0);
    // Assistive programs press without a pointer or a key.
    await armed(page);
    await dialogOf(page)
      .locator("button.refuse")
      .evaluate((button: HTMLElement) => button.click());
    expect(await second).toMatchObject({ accepted: false });
  });

  it.each([
    ["an editable text", '<div id="there" contenteditable="true" aria-label="Letter">x</div>'],
    ["something that takes letters and says it is nothing", '<div id="there" tabindex="0">canvas</div>'],
    ["a frame", '<iframe id="there" title="Card" src="/card"></iframe>'],
  ])("takes no focus from someone who types in %s", async (_, body) => {
    const page = await open(`${body}<button id="next">Next</button>`, { "/card": "<input autofocus>" });
    await page.click("#there");
    await page.keyboard.type("a");
    void ask();
    const typing = (async () => {
      for (let letters = 0; letters < 12; letters++) await page.keyboard.type("x", { delay: 100 });
    })();
    await untilHeard(page, "Bank has a question. It opens when you stop typing");
    await typing;
    expect(await dialogOf(page).count()).toBe(0);
    expect(await focused(page)).toContain("#there");
    await page.focus("#next");
    await dialogOf(page).waitFor();
  });

  it("takes no focus while an input method is composing, and leaves Escape to it", async () => {
    const page = await open('<input id="message" aria-label="Message">');
    await page.focus("#message");
    const session = await context.newCDPSession(page);
    await session.send("Input.imeSetComposition", { text: "に", selectionStart: 1, selectionEnd: 1 });
    void place.agent.start({ summary: "Asking." }).clarify({ question: "Where to?", kinds: ["freetext"] });
    await untilHeard(page, "It opens when you stop typing");
    await page.waitForTimeout(2_300);
    expect(await dialogOf(page).count()).toBe(0);
    expect(await focused(page)).toContain("#message");
    await session.send("Input.insertText", { text: "日本" });
    await dialogOf(page).waitFor();
    await page.locator("earshot-live #answer").focus();
    await page.evaluate(() => {
      const field = document.querySelector("earshot-live")!.shadowRoot!.querySelector("#answer")!;
      const init = { key: "Escape", code: "Escape", isComposing: true, bubbles: true, composed: true };
      field.dispatchEvent(new KeyboardEvent("keydown", init));
    });
    expect(await dialogOf(page).count()).toBe(1);
  });

  it("comes up where it can be seen and heard when the page hides the element, also in the middle", async () => {
    const page = await open();
    const hide = (hidden: boolean) =>
      page.evaluate((on) => {
        document.querySelector("main")!.style.display = on ? "none" : "";
      }, hidden);
    await hide(true);
    const first = ask();
    const dialog = page.locator("dialog[open]");
    await dialog.waitFor();
    expect(await focused(page)).toBe("h2 #question Question from Bank");
    await armed(page);
    await dialog.locator("button.refuse").click();
    expect(await first).toMatchObject({ accepted: false });
    await untilHeard(page, "Refused.");
    expect(await page.locator("[aria-live]", { hasText: "Refused." }).count()).toBe(1);
    await hide(false);
    const second = ask("Empty the trash.");
    await dialogOf(page).waitFor();
    // Ready to be heard in before there is anything to say.
    expect(await dialogOf(page).locator("[role=alertdialog] [aria-live]").count()).toBe(4);
    await hide(true);
    await dialog.locator("#body", { hasText: "Empty the trash." }).waitFor();
    expect(await focused(page)).toBe("h2 #question Question from Bank");
    await armed(page);
    await dialog.locator("button.refuse").click();
    expect(await second).toMatchObject({ accepted: false });
    expect(await violationsOf(page)).toEqual([]);
  });

  it("stays a modal dialog when the element is moved, and leaves nothing behind when it is removed", async () => {
    const page = await open('<section id="other"></section><input id="message" aria-label="Message">');
    void ask();
    await dialogOf(page).waitFor();
    await page.evaluate(() =>
      document.getElementById("other")!.append(document.querySelector("earshot-live")!),
    );
    const modal = () => dialogOf(page).evaluateAll((all) => all.map((one) => one.matches(":modal")));
    await expect.poll(modal).toEqual([true]);
    expect(await focused(page)).toBe("h2 #question Question from Bank");
    expect(place.agent.subscriptions).toBe(1);
    await page.evaluate(() => document.querySelector("earshot-live")!.remove());
    expect(await page.title()).toBe("My bank");
    await page.click("#message");
    await page.keyboard.type("free");
    expect(await page.inputValue("#message")).toBe("free");
    await expect.poll(() => place.agent.subscriptions).toBe(0);
  });

  it("keeps what was typed into it when it is put off, or out of sight", async () => {
    const page = await open();
    const asked = place.agent
      .start({ summary: "Asking." })
      .clarify({ question: "Where to?", kinds: ["freetext"] });
    await dialogOf(page).waitFor();
    await page.locator("earshot-live #answer").fill("12 Long Street");
    await page.keyboard.press("Escape");
    await untilHeard(page, "Put off");
    // By the key that has a Q on it, wherever that is: on a French keyboard it is elsewhere.
    await page.evaluate(() => {
      const init = { key: "Q", code: "KeyA", altKey: true, shiftKey: true, bubbles: true };
      document.body.dispatchEvent(new KeyboardEvent("keydown", init));
    });
    await dialogOf(page).waitFor();
    expect(await page.locator("earshot-live #answer").inputValue()).toBe("12 Long Street");
    await armed(page);
    await dialogOf(page).locator("button.send").click();
    expect(await asked).toMatchObject({ response: "12 Long Street" });
  });

  it("goes away while nobody looks at the page, and is back with what was typed when someone does", async () => {
    const page = await open();
    void place.agent.start({ summary: "Asking." }).clarify({ question: "Where to?", kinds: ["freetext"] });
    await dialogOf(page).waitFor();
    await page.locator("earshot-live #answer").fill("12 Long Street");
    const see = (state: string) =>
      page.evaluate((visibility) => {
        Object.defineProperty(document, "visibilityState", { value: visibility, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }, state);
    await see("hidden");
    await expect.poll(() => dialogOf(page).count()).toBe(0);
    await see("visible");
    await dialogOf(page).waitFor();
    expect(await page.locator("earshot-live #answer").inputValue()).toBe("12 Long Street");
  });

  it("whose agent has forgotten it is answered into the void, and the person is told so", async () => {
    const page = await open('<input id="message" aria-label="Message">');
    await page.focus("#message");
    void ask().catch(() => undefined);
    await dialogOf(page).waitFor();
    await place.down();
    await untilHeard(page, "was lost");
    // Another process, which knows nothing of the question.
    await place.up(agentOf());
    await untilHeard(page, "Connected to Bank again.");
    await dialogOf(page).locator("button.allow").click();
    await untilHeard(page, "Your answer came too late: the question was already closed.");
    expect(await textsOf(page)).not.toContain("Allowed.");
    expect(await dialogOf(page).count()).toBe(0);
    expect(await focused(page)).toBe("input #message");
    expect(await page.title()).toBe("My bank");
  });

  it("of one element waits for that of another on the same page", async () => {
    const page = await open();
    await page.evaluate(() => {
      const second = document.createElement("earshot-live");
      second.setAttribute("src", "/");
      second.setAttribute("account", "second");
      document.querySelector("main")!.append(second);
    });
    await expect.poll(() => place.agent.subscriptions).toBe(2);
    const asked = ask();
    await dialogOf(page).waitFor();
    await page.waitForTimeout(1_200);
    expect(await dialogOf(page).count()).toBe(1);
    await dialogOf(page).locator("button.refuse").click();
    expect(await asked).toMatchObject({ accepted: false });
    await expect.poll(() => dialogOf(page).count()).toBe(0);
    await expect.poll(() => page.title()).toBe("My bank");
  });

  it("survives the crash of the tab that holds the line (F17)", async () => {
    const first = await open();
    const second = await openPage(context, place.url);
    const ran = { count: 0 };
    const done = transfer(place.agent, ran);
    await dialogOf(second).waitFor();
    const devtools = await context.newCDPSession(first);
    void devtools.send("Page.crash").catch(() => undefined);
    await armed(second);
    await tabTo(second, "Check before allowing");
    await second.keyboard.press("Enter");
    await expect.poll(() => heading(second)).toBe("Check before allowing");
    await armed(second);
    await tabTo(second, "Allow now");
    await second.keyboard.press("Enter");
    expect((await done).ran).toBe(true);
    expect(ran.count).toBe(1);
    await untilHeard(second, "Your savings have grown.");
  });

  it("is there again after the page is loaded anew", async () => {
    const page = await open();
    const asked = ask();
    await dialogOf(page).waitFor();
    await page.reload();
    await dialogOf(page).waitFor();
    await armed(page);
    await dialogOf(page).locator("button.refuse").click();
    expect(await asked).toMatchObject({ accepted: false });
  });

  it("and all else is heard where the browser denies a page its locks", async () => {
    place = await openPlace({ "/": pageOf({ attributes: "speed=fast" }) }, agentOf());
    cleanups.push(() => place.close());
    context = await newContext(browser);
    cleanups.push(() => context.close());
    await context.addInitScript(() => {
      LockManager.prototype.request = () => Promise.reject(new DOMException("Denied", "SecurityError"));
    });
    const page = await openPage(context, place.url);
    const asked = ask();
    await dialogOf(page).waitFor();
    await armed(page);
    await dialogOf(page).locator("button.refuse").click();
    expect(await asked).toMatchObject({ accepted: false });
  });

  it("a burst of announcements as a dialog opens is heard whole, in order", async () => {
    const page = await open('<dialog id="own" aria-label="Cookies"><button>OK</button></dialog>');
    await page.evaluate(() => (document.getElementById("own") as HTMLDialogElement).showModal());
    const session = place.agent.start({ summary: "Counting." });
    session.say("One. Two. Three. Four. Five. ");
    await session.complete();
    await untilHeard(page, "The task is done.");
    const heard = (await heardBy(page)).filter(({ how }) => how !== "dialog");
    expect(heard.map(({ text }) => text)).toEqual([
      "Started: Counting.",
      "One.",
      "Two.",
      "Three.",
      "Four.",
      "Five.",
      "The task is done.",
    ]);
    // Each stood long enough to be noticed.
    heard.slice(1).forEach(({ at }, index) => {
      expect(at - heard[index]!.at).toBeGreaterThan(150);
    });
  });

  it("a change of the page's language leaves what the person has set", async () => {
    const page = await open();
    await page.locator("earshot-live summary").click();
    await page.locator("earshot-live #set-load").selectOption("low");
    await page.evaluate(() => document.querySelector("earshot-live")!.setAttribute("lang", "fr"));
    await page.locator("earshot-live h2", { hasText: "Transcription" }).waitFor();
    expect(await page.locator("earshot-live #set-load").inputValue()).toBe("low");
  });

  it("the line at the top says how things stand, not the last sentence", async () => {
    const page = await open();
    const session = place.agent.start({ summary: "Counting." });
    session.say("There is one apple. There is one pear. And then ");
    await untilHeard(page, "There is one pear.");
    expect(await page.locator("earshot-live [part=status]").innerText()).toBe("Answering.");
    await session.complete();
    await page.locator("earshot-live [part=status]", { hasText: "The task is done." }).waitFor();
  });
});
