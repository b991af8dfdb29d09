/** A page that is not built for it, hands that slip, tabs that crash: nothing is answered by accident, and nothing is lost. */
import type { BrowserContext, Page } from "playwright-core";
import { describe, expect, it, onTestFinished } from "vitest";
import { BROWSER_NOTE, skipsBrowser } from "../support/chromium.ts";
import {
  advance,
  advanceUntil,
  agentOf,
  armed,
  dialogOf,
  focused,
  heardBy,
  newContext,
  openPage,
  type PageServer,
  pageOf,
  servePages,
  shown,
  tabTo,
  textsOf,
  transfer,
  typeUntilHeard,
  untilHeard,
  untilReceived,
  useBrowser,
  violationsOf,
} from "./support.ts";

describe.skipIf(skipsBrowser)(`a question under rough hands and in rough pages${BROWSER_NOTE}`, () => {
  const browser = useBrowser();
  let context: BrowserContext;
  let server: PageServer;

  async function open(
    body = "",
    extra: Record<string, string> = {},
    options: Parameters<typeof newContext>[1] = {},
  ): Promise<Page> {
    server = await servePages({ "/": pageOf({ attributes: "speed=fast", body }), ...extra }, agentOf());
    onTestFinished(() => server.close());
    context = await newContext(browser(), options);
    return openPage(context, server.url);
  }
  /** Something harmless to allow, in one step. */
  const ask = (action = "Delete the drafts.") =>
    server.agent.start({ summary: "Tidying up." }).confirm({ action, consequence: "They are gone." });
  const heading = (page: Page) => dialogOf(page).locator("h2").innerText();

  it("is not answered by a key that went down in the first moment, however long it is held, nor by its repeats (CNF-38)", async () => {
    const page = await open();
    for (const key of ["Enter", "Space"]) {
      let answered = false;
      void ask(key).then(() => {
        answered = true;
      });
      await shown(dialogOf(page));
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
    await shown(dialogOf(page));
    const allow = (await dialogOf(page).locator("button.allow").boundingBox())!;
    await page.mouse.move(allow.x + 9, allow.y + 9);
    await page.mouse.down();
    await armed(page);
    await page.mouse.up();
    await advance(page, 300);
    expect([answered, await dialogOf(page).count()]).toEqual([false, 1]);
    // A new press counts; its second tap must not reach the question that comes next in its server.
    const second = ask("Empty the trash.");
    await page.mouse.dblclick(allow.x + 9, allow.y + 9);
    expect(await first).toMatchObject({ accepted: true });
    await shown(page.locator("earshot-live #body", { hasText: "Empty the trash." }));
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
    await typeUntilHeard(page, "Bank has a question. It opens when you stop typing", 12);
    expect(await dialogOf(page).count()).toBe(0);
    expect(await focused(page)).toContain("#there");
    await page.focus("#next");
    await shown(dialogOf(page));
  });

  it("takes no focus while an input method is composing, and leaves Escape to it", async () => {
    const page = await open('<input id="message" aria-label="Message">');
    await page.focus("#message");
    const session = await context.newCDPSession(page);
    await session.send("Input.imeSetComposition", { text: "に", selectionStart: 1, selectionEnd: 1 });
    void server.agent.start({ summary: "Asking." }).clarify({ question: "Where to?", kinds: ["freetext"] });
    await untilHeard(page, "It opens when you stop typing");
    await advance(page, 2_300);
    expect(await dialogOf(page).count()).toBe(0);
    expect(await focused(page)).toContain("#message");
    await session.send("Input.insertText", { text: "日本" });
    await shown(dialogOf(page));
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
    await shown(dialog);
    expect(await focused(page)).toBe("h2 #question Question from Bank");
    await armed(page);
    await dialog.locator("button.refuse").click();
    expect(await first).toMatchObject({ accepted: false });
    await untilHeard(page, "Refused.");
    expect(await page.locator("[aria-live]", { hasText: "Refused." }).count()).toBe(1);
    await hide(false);
    const second = ask("Empty the trash.");
    await shown(dialogOf(page));
    // Ready to be heard in before there is anything to say.
    expect(await dialogOf(page).locator("[role=alertdialog] [aria-live]").count()).toBe(4);
    await hide(true);
    await shown(dialog.locator("#body", { hasText: "Empty the trash." }));
    expect(await focused(page)).toBe("h2 #question Question from Bank");
    await armed(page);
    await dialog.locator("button.refuse").click();
    expect(await second).toMatchObject({ accepted: false });
    expect(await violationsOf(page)).toEqual([]);
  });

  it("stays a modal dialog when the element is moved, and leaves nothing behind when it is removed", async () => {
    const page = await open('<section id="other"></section><input id="message" aria-label="Message">');
    void ask();
    await shown(dialogOf(page));
    await page.evaluate(() =>
      document.getElementById("other")!.append(document.querySelector("earshot-live")!),
    );
    const modal = () => dialogOf(page).evaluateAll((all) => all.map((one) => one.matches(":modal")));
    await expect.poll(modal).toEqual([true]);
    expect(await focused(page)).toBe("h2 #question Question from Bank");
    expect(server.agent.subscriptions).toBe(1);
    await page.evaluate(() => document.querySelector("earshot-live")!.remove());
    expect(await page.title()).toBe("My bank");
    await page.click("#message");
    await page.keyboard.type("free");
    expect(await page.inputValue("#message")).toBe("free");
    await expect.poll(() => server.agent.subscriptions).toBe(0);
  });

  it("keeps what was typed into it when it is put off, or out of sight", async () => {
    const page = await open();
    const asked = server.agent
      .start({ summary: "Asking." })
      .clarify({ question: "Where to?", kinds: ["freetext"] });
    await shown(dialogOf(page));
    await page.locator("earshot-live #answer").fill("12 Long Street");
    await page.keyboard.press("Escape");
    await untilHeard(page, "Put off");
    // By the key that has a Q on it, wherever that is: on a French keyboard it is elsewhere.
    await page.evaluate(() => {
      const init = { key: "Q", code: "KeyA", altKey: true, shiftKey: true, bubbles: true };
      document.body.dispatchEvent(new KeyboardEvent("keydown", init));
    });
    await shown(dialogOf(page));
    expect(await page.locator("earshot-live #answer").inputValue()).toBe("12 Long Street");
    await armed(page);
    await dialogOf(page).locator("button.send").click();
    expect(await asked).toMatchObject({ response: "12 Long Street" });
  });

  it("goes away while nobody looks at the page, and is back with what was typed when someone does", async () => {
    const page = await open();
    void server.agent.start({ summary: "Asking." }).clarify({ question: "Where to?", kinds: ["freetext"] });
    await shown(dialogOf(page));
    await page.locator("earshot-live #answer").fill("12 Long Street");
    const see = (state: string) =>
      page.evaluate((visibility) => {
        Object.defineProperty(document, "visibilityState", { value: visibility, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }, state);
    await see("hidden");
    await expect.poll(() => dialogOf(page).count()).toBe(0);
    await see("visible");
    await shown(dialogOf(page));
    expect(await page.locator("earshot-live #answer").inputValue()).toBe("12 Long Street");
  });

  it("whose agent has forgotten it is answered into the void, and the person is told so", async () => {
    const page = await open('<input id="message" aria-label="Message">');
    await page.focus("#message");
    void ask().catch(() => undefined);
    await shown(dialogOf(page));
    await server.down();
    await untilHeard(page, "was lost");
    // Another process, which knows nothing of the question.
    await server.up(agentOf());
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
    await expect.poll(() => server.agent.subscriptions).toBe(2);
    const asked = ask();
    await shown(dialogOf(page));
    await advance(page, 1_200);
    expect(await dialogOf(page).count()).toBe(1);
    await dialogOf(page).locator("button.refuse").click();
    expect(await asked).toMatchObject({ accepted: false });
    const isOver = async () => (await dialogOf(page).count()) === 0 && (await page.title()) === "My bank";
    await advanceUntil(page, isOver, "the end of the question");
  });

  it("survives the crash of the tab that holds the line (F17)", async () => {
    // In real time: virtual time cannot be advanced in a context one of whose pages has crashed.
    const first = await open("", {}, { realTime: true });
    const second = await openPage(context, server.url);
    const ran = { count: 0 };
    const done = transfer(server.agent, ran);
    await shown(dialogOf(second));
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
    await shown(dialogOf(page));
    await page.reload();
    await shown(dialogOf(page));
    await armed(page);
    await dialogOf(page).locator("button.refuse").click();
    expect(await asked).toMatchObject({ accepted: false });
  });

  it("and all else is heard where the browser denies a page its locks", async () => {
    server = await servePages({ "/": pageOf({ attributes: "speed=fast" }) }, agentOf());
    onTestFinished(() => server.close());
    context = await newContext(browser());
    await context.addInitScript(() => {
      LockManager.prototype.request = () => Promise.reject(new DOMException("Denied", "SecurityError"));
    });
    const page = await openPage(context, server.url);
    const asked = ask();
    await shown(dialogOf(page));
    await armed(page);
    await dialogOf(page).locator("button.refuse").click();
    expect(await asked).toMatchObject({ accepted: false });
  });

  it("a burst of announcements as a dialog opens is heard whole, in order", async () => {
    const page = await open('<dialog id="own" aria-label="Cookies"><button>OK</button></dialog>');
    await page.evaluate(() => (document.getElementById("own") as HTMLDialogElement).showModal());
    const session = server.agent.start({ summary: "Counting." });
    session.say("One. Two. Three. Four. Five. ");
    await session.complete();
    // All of it is there before time moves on in the page: how fast it arrives must not change what is announced.
    await untilReceived(page, "aaep:agent.session.completed");
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
    await shown(page.locator("earshot-live h2", { hasText: "Transcription" }));
    expect(await page.locator("earshot-live #set-load").inputValue()).toBe("low");
  });

  it("the line at the top says how things stand, not the last sentence", async () => {
    const page = await open();
    const session = server.agent.start({ summary: "Counting." });
    session.say("There is one apple. There is one pear. And then ");
    await untilHeard(page, "There is one pear.");
    expect(await page.locator("earshot-live [part=status]").innerText()).toBe("Answering.");
    await session.complete();
    await shown(page.locator("earshot-live [part=status]", { hasText: "The task is done." }));
  });
});
