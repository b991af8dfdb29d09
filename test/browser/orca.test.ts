/** A bank transfer through a real screen reader: Orca speaking Chromium, by keyboard, asserted on what Orca spoke. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ORCA_NOTE, type Orca, skipsOrca, startOrca } from "./orca.ts";
import { agentOf, type PageServer, pageOf, servePages, transfer } from "./support.ts";

describe.skipIf(skipsOrca)(`with Orca${ORCA_NOTE}`, () => {
  let orca: Orca;
  let server: PageServer;
  beforeAll(async () => {
    server = await servePages(
      { "/": pageOf({ body: '<label>Message <input id="message"></label>' }) },
      agentOf(),
    );
    orca = await startOrca();
  }, 60_000);
  afterAll(async () => {
    await orca?.close();
    await server?.close();
  });

  it("a whole transfer is heard: every critical event, every sentence once, the question once, no chatter (SUB-02, CNF-36, DEL-23)", async () => {
    const page = await orca.browser.newPage({ viewport: null });
    await page.goto(server.url);
    await orca.until((spoken) => spoken.some((one) => one.includes("Finished loading")), "the page");
    // The real focus goes into the page, as a person's would; the rest is keys.
    await orca.click(500, 600);
    await page.focus("#message");
    await orca.until((spoken) => spoken.some((one) => one.startsWith("Message")), "the focus in the page");
    const before = orca.spoken().length;
    const since = () => orca.spoken().slice(before);
    const until = (words: string, after = 0) =>
      orca.until((spoken) => spoken.slice(before + after).some((one) => one.includes(words)), words);
    const settle = () => page.waitForTimeout(900);

    const ran = { count: 0 };
    const done = transfer(server.agent, ran, () => page.waitForTimeout(700));
    await until("Decide later");
    await settle();
    await orca.type("Tab", "Tab");
    await settle();
    const first = since().length;
    await orca.type("Return");
    await until("Go back", first);
    await settle();
    await orca.type("Tab", "Tab");
    await settle();
    await orca.type("Return");
    expect((await done).ran).toBe(true);
    expect(ran.count).toBe(1);
    await until("The task is done.");

    const spoken = since();
    const all = spoken.join("\n");
    const times = (words: string) => spoken.filter((one) => one.includes(words)).length;
    // Every sentence of the answer, once and whole; the question once.
    for (const once of [
      "Started: Moving money to savings.",
      "You have enough money.",
      "Your savings account is open.",
      "Bank asks for permission: Transfer 500 dollars to savings.",
      "If you say yes: The money moves at once.",
      "You are about to let Bank do this.",
      "Amount: 500.",
      "To: savings.",
      "Allowed.",
      "Transferring the money. This cannot be undone.",
      "Your savings have grown.",
      "The task is done.",
    ])
      expect(times(once), `${once} in\n${all}`).toBe(1);
    // Consequence and parameters come before the buttons they are about.
    const at = (words: string, from = 0) =>
      spoken.findIndex((one, index) => index >= from && one.includes(words));
    expect(at("Careful, high risk.")).toBeLessThan(at("Bank asks for permission"));
    expect(at("If you say yes")).toBeLessThan(at("Refuse push button"));
    const step = at("You are about to let Bank do this.");
    expect(at("Amount: 500.", step)).toBeLessThan(at("Allow now push button", step));
    expect(at("To: savings.", step)).toBeLessThan(at("Refuse push button", step));
    expect(at("Allow now push button", step)).toBeLessThan(at("Go back push button", step));
    expect(at("Allowed.")).toBeLessThan(at("Transferring the money."));
    // No half sentences: nothing of the answer was heard in pieces.
    for (const piece of ["You have", "You have enough", "Your savings", "account is open."])
      expect(spoken).not.toContain(piece);
  }, 60_000);
});
