/** Questions in a page, by keyboard: found, understood, answered, put off; and never answered by accident (CNF-36 to 40). */
import type { BrowserContext, Page } from "playwright-core";
import { describe, expect, it, onTestFinished } from "vitest";
import { BROWSER_NOTE, skipsBrowser } from "../support/chromium.ts";
import {
  advance,
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
  useBrowser,
  violationsOf,
} from "./support.ts";

const FIELD = '<label>Message <input id="message"></label><button id="send">Send</button>';

describe.skipIf(skipsBrowser)(`a question in a page${BROWSER_NOTE}`, () => {
  const browser = useBrowser();
  let context: BrowserContext;
  let server: PageServer;

  async function open(attributes = "", body = FIELD): Promise<Page> {
    server = await servePages({ "/": pageOf({ attributes: `speed=fast ${attributes}`, body }) }, agentOf());
    onTestFinished(() => server.close());
    context = await newContext(browser());
    return openPage(context, server.url);
  }

  const buttons = (page: Page) => dialogOf(page).locator("button").allTextContents();

  it("of an irreversible transfer is answered by keyboard in two steps, the second reading the params back (CNF-38, A07)", async () => {
    const page = await open();
    const ran = { count: 0 };
    await page.focus("#message");
    const done = transfer(server.agent, ran);
    await shown(dialogOf(page));
    expect(await focused(page)).toBe("h2 #question Question from Bank");
    expect(await page.title()).toBe("Question waiting – My bank");
    expect(await dialogOf(page).ariaSnapshot()).toMatchInlineSnapshot(`
      "- dialog:
        - alertdialog "Question from Bank":
          - heading "Question from Bank" [level=2]
          - paragraph: Careful, high risk.
          - paragraph: This cannot be undone.
          - paragraph: "Bank asks for permission: Transfer 500 dollars to savings."
          - paragraph: "If you say yes: The money moves at once."
          - paragraph: Without an answer within 5 minutes, it will not be done.
          - button "Refuse"
          - button "Check before allowing"
          - button "More time"
          - button "Decide later""
    `);
    await armed(page);
    await tabTo(page, "Check before allowing");
    await page.keyboard.press("Enter");
    await shown(page.locator("earshot-live h2", { hasText: "Check before allowing" }));
    expect(await focused(page)).toBe("h2 #question Check before allowing");
    expect(await buttons(page)).toEqual(["Refuse", "Allow now", "Go back"]);
    expect(await dialogOf(page).locator("#body").innerText()).toMatch(/Amount: 500\.\s+To: savings\./);
    await armed(page);
    await tabTo(page, "Go back");
    await page.keyboard.press("Enter");
    expect(await focused(page)).toBe("h2 #question Question from Bank");
    expect(ran.count).toBe(0);
    await armed(page);
    await tabTo(page, "Check before allowing");
    await page.keyboard.press("Space");
    await shown(page.locator("earshot-live h2", { hasText: "Check before allowing" }));
    await armed(page);
    await tabTo(page, "Allow now");
    await page.keyboard.press("Enter");
    await done;
    expect(ran.count).toBe(1);
    await untilHeard(page, "Your savings have grown.");
    const heard = await textsOf(page);
    expect(heard.filter((text) => text === "Allowed.")).toHaveLength(1);
    expect(await focused(page)).toBe("input #message");
    expect(await page.title()).toBe("My bank");
    expect(await violationsOf(page)).toEqual([]);
  });

  it("never takes the focus from someone who types; it is announced, and opens on a pause or on their key (CNF-36)", async () => {
    const page = await open();
    await page.focus("#message");
    await page.keyboard.type("Dear");
    void transfer(server.agent, { count: 0 });
    const words = "Bank has a question. It opens when you stop typing, or with Alt+Shift+Q.";
    const letters = await typeUntilHeard(page, words, 30);
    expect(await focused(page)).toBe("input #message");
    expect(await page.inputValue("#message")).toBe(`Dear${"x".repeat(letters)}`);
    expect(await dialogOf(page).count()).toBe(0);
    await shown(dialogOf(page));
    // Postponed with Escape, and opened again by their key, even in the middle of a word.
    await page.keyboard.press("Escape");
    await untilHeard(
      page,
      "Put off, not answered. To return to it, press Alt+Shift+Q, or the button: Open the question.",
    );
    expect(await focused(page)).toBe("input #message");
    await advance(page, 600);
    await page.keyboard.type("y");
    await page.keyboard.press("Alt+Shift+KeyQ");
    await shown(dialogOf(page));
    expect(await focused(page)).toBe("h2 #question Question from Bank");
  });

  it("is not answered by keys held, typed ahead, struck twice or stormed: nothing but a choice accepts (CNF-38)", async () => {
    const page = await open();
    const ran = { count: 0 };
    await page.focus("#send");
    // Held since before the question came.
    await page.keyboard.down("Enter");
    const done = transfer(server.agent, ran);
    for (let typed = 0; typed < 12; typed++) {
      await page.keyboard.press(["Space", "Enter", "y"][typed % 3]!);
      await page.keyboard.down("Enter");
    }
    await shown(dialogOf(page));
    // Typed ahead, blind, to where yes would be: nothing is armed in the first moment.
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    expect(await dialogOf(page).locator("h2").innerText()).toBe("Question from Bank");
    await armed(page);
    // Struck twice: the first goes on to the second step, where the next lands on a heading.
    await tabTo(page, "Check before allowing");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    await page.keyboard.down("Enter");
    for (let repeat = 0; repeat < 10; repeat++) await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    expect(await focused(page)).toBe("h2 #question Check before allowing");
    // Escape and the rest, as fast as they come.
    for (const key of Array.from(
      { length: 40 },
      (_, index) => ["Escape", "Enter", "Escape", "Space", "a"][index % 5]!,
    ))
      await page.keyboard.press(key);
    await advance(page, 800);
    expect(ran.count).toBe(0);
    expect(await textsOf(page)).not.toContain("Allowed.");
    await page.locator("earshot-live button", { hasText: "Open the question" }).click();
    await armed(page);
    await dialogOf(page).getByRole("button", { name: "Refuse" }).click();
    expect((await done).ran).toBe(false);
    expect(ran.count).toBe(0);
    await untilHeard(page, "Refused.");
  });

  it("of several waits its turn, one dialog at a time, and the next one opens by itself", async () => {
    const page = await open();
    const ask = (action: string) =>
      server.agent.start({ summary: "Tidying up." }).confirm({ action, consequence: "It is gone." });
    const first = ask("Delete the drafts.");
    const second = ask("Empty the trash.");
    await shown(dialogOf(page));
    await untilHeard(page, "has another question. It waits its turn.");
    await armed(page);
    expect(await buttons(page)).toEqual(["Refuse", "Allow", "More time", "Decide later"]);
    await tabTo(page, "Allow");
    await page.keyboard.press("Enter");
    // The same key again must not fall through to the question that comes up.
    await page.keyboard.press("Enter");
    expect(await first).toMatchObject({ accepted: true });
    await shown(page.locator("earshot-live #body", { hasText: "Empty the trash." }));
    await armed(page);
    await tabTo(page, "Refuse");
    await page.keyboard.press("Enter");
    expect(await second).toMatchObject({ accepted: false });
  });

  it("gives more time where the agent does, and says so inside the dialog (WCAG 2.2.1)", async () => {
    const page = await open();
    void transfer(server.agent, { count: 0 });
    await shown(dialogOf(page));
    await armed(page);
    await tabTo(page, "More time");
    await page.keyboard.press("Enter");
    await untilHeard(page, "You now have");
    const { how } = (await heardBy(page)).find(({ text }) => text.startsWith("You now have"))!;
    expect(how).toBe("assertive");
    expect(await dialogOf(page).locator("[aria-live=assertive]", { hasText: "You now have" }).count()).toBe(
      1,
    );
    expect(await focused(page)).toBe("button More time");
  });

  it("of any kind has its fields: choices, a number, words, yes or no (CNF-27)", async () => {
    const page = await open("load=low");
    const session = server.agent.start({ summary: "Booking." });
    const choice = session.clarify({
      question: "When do you want to fly?",
      kinds: ["multiple_choice"],
      choices: [
        { value: "m", label: "In the morning" },
        { value: "e", label: "In the evening" },
      ],
    });
    await shown(dialogOf(page));
    // At low load the question is alone on the screen.
    const box = (await dialogOf(page).boundingBox())!;
    expect(box.width).toBe(page.viewportSize()!.width);
    await armed(page);
    await tabTo(page, "Send answer");
    await page.keyboard.press("Enter");
    expect(await dialogOf(page).locator("#error").innerText()).toBe("Give an answer first.");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    expect(await choice).toMatchObject({ response: "e" });
    const number = session.clarify({ question: "How many bags?", kinds: ["numeric"] });
    await shown(page.locator("earshot-live #body", { hasText: "How many bags?" }));
    await armed(page);
    await page.keyboard.press("Tab");
    await page.keyboard.type("two");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    expect(await focused(page)).toContain("#answer");
    await page.locator("earshot-live #answer").fill("2");
    await page.locator("earshot-live dialog button.send").click();
    expect(await number).toMatchObject({ response: 2 });
    const yes = session.clarify({ question: "A window seat?", kinds: ["yes_no"] });
    await shown(page.locator("earshot-live #body", { hasText: "A window seat?" }));
    expect(await buttons(page)).toEqual(["No", "Yes", "More time", "Decide later"]);
    await armed(page);
    await tabTo(page, "Yes");
    await page.keyboard.press("Enter");
    expect(await yes).toMatchObject({ response: true });
    const words = session.clarify({ question: "Anything else?", kinds: ["freetext"] });
    await shown(page.locator("earshot-live #body", { hasText: "Anything else?" }));
    await armed(page);
    await page.keyboard.press("Tab");
    await page.keyboard.type("No, thank you.");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    expect(await words).toMatchObject({ response: "No, thank you." });
  });
});
