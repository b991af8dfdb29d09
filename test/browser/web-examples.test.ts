/** The examples for pages, each started as a reader would start it and used by keyboard; and what the element weighs. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildIfStale } from "../../scripts/build-if-stale.mjs";
import { bundleWeb, MOST_BYTES } from "../../scripts/bundle-web.mjs";
import { BROWSER_NOTE, skipsBrowser } from "../support/chromium.ts";
import {
  armed,
  dialogOf,
  newContext,
  openPage,
  shown,
  tabTo,
  untilHeard,
  useBrowser,
  violationsOf,
} from "./support.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
describe("the element's bundle", () => {
  it("weighs at most 40 KB min+gzip; with the line to the agent, which one tab loads for all, it says so", async () => {
    const { files, size } = await bundleWeb();
    const alone = size("earshot-live.js");
    const line = files.filter(({ name }) => /^earshot-(?:line|client|chunk)/u.test(name));
    const whole = line.reduce(
      (sum, { gzip }) => sum + gzip,
      files.find(({ name }) => name === "earshot-live.js")!.gzip,
    );
    console.log(`<earshot-live>: ${alone} bytes min+gzip; with the line and both transports: ${whole}.`);
    expect(alone).toBeLessThanOrEqual(MOST_BYTES);
    for (const { text } of files)
      expect(text).not.toMatch(/\beval\(|new Function|innerHTML|insertAdjacentHTML|document\.write/u);
  });
});

describe.skipIf(skipsBrowser)(`the examples for pages${BROWSER_NOTE}`, () => {
  const browser = useBrowser();
  const children: ChildProcess[] = [];
  beforeAll(buildIfStale, 120_000);
  afterAll(() => {
    for (const child of children) child.kill();
  });

  async function started(name: string): Promise<string> {
    const child = spawn(process.execPath, [join("examples", name, "server.mjs")], {
      cwd: root,
      env: { ...process.env, PORT: "0" },
    });
    children.push(child);
    let errors = "";
    child.stderr.on("data", (chunk) => {
      errors += String(chunk);
    });
    return new Promise((resolve, reject) => {
      child.stdout.on("data", (chunk) => {
        const url = /http:\/\/[\d.:]+\d/.exec(String(chunk))?.[0];
        if (url) resolve(url);
      });
      child.once("exit", () => reject(new Error(`${name} ended: ${errors}`)));
    });
  }

  it.each(["web-chat", "react-chat"])("%s: a question answered in the page moves the money", async (name) => {
    const context = await newContext(browser());
    const page = await openPage(context, await started(name));
    await page.evaluate(() => document.querySelector("earshot-live")!.setAttribute("speed", "fast"));
    await page.focus("#message");
    await page.keyboard.type("hello");
    await page.keyboard.press("Enter");
    await shown(page.locator("earshot-live table", { hasText: "2100" }));
    await page.keyboard.type("500");
    await page.keyboard.press("Enter");
    await shown(dialogOf(page));
    if (name === "react-chat")
      await shown(page.locator("#status", { hasText: "Connected to Teller, open questions: 1." }));
    await armed(page);
    await tabTo(page, "Check before allowing");
    await page.keyboard.press("Enter");
    await shown(page.locator("earshot-live h2", { hasText: "Check before allowing" }));
    await armed(page);
    await tabTo(page, "Allow now");
    await page.keyboard.press("Enter");
    await untilHeard(page, "Your savings are now 500 dollars.");
    expect(await page.locator("earshot-live .turn.person").allInnerTexts()).toEqual([
      "You\n\nhello",
      "You\n\n500",
    ]);
    expect(await violationsOf(page)).toEqual([]);
  });
});
