/** The examples for pages, each started as a reader would start it and used by keyboard; and what the element weighs. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleWeb, MOST_BYTES } from "../../scripts/bundle-web.mjs";
import { BROWSER_NOTE, launchBrowser, skipsBrowser } from "../support/chromium.ts";
import { armed, dialogOf, newContext, openPage, tabTo, untilHeard, violationsOf } from "./support.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const changed = (file: string) => statSync(join(root, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** `npm ci` builds; after a change to the sources the build is a step behind. */
function buildIfStale(): void {
  const newest = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .reduce((latest, file) => Math.max(latest, changed(join("src", file))), 0);
  const node = (...args: string[]) => spawnSync(process.execPath, args, { cwd: root, stdio: "ignore" });
  if (changed("dist/web/react.js") < newest)
    node("node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json");
  if (changed("dist/web/earshot-live.js") < newest) node("scripts/bundle-web.mjs");
}

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
  let browser: Browser;
  const children: ChildProcess[] = [];
  beforeAll(async () => {
    buildIfStale();
    browser = await launchBrowser();
  }, 120_000);
  afterAll(async () => {
    for (const child of children) child.kill();
    await browser?.close();
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
    const context = await newContext(browser);
    try {
      const page = await openPage(context, await started(name));
      await page.evaluate(() => document.querySelector("earshot-live")!.setAttribute("speed", "fast"));
      await page.focus("#message");
      await page.keyboard.type("hello");
      await page.keyboard.press("Enter");
      await page.locator("earshot-live table", { hasText: "2100" }).waitFor();
      await page.keyboard.type("500");
      await page.keyboard.press("Enter");
      await dialogOf(page).waitFor();
      if (name === "react-chat")
        await page.locator("#status", { hasText: "Connected to Teller, open questions: 1." }).waitFor();
      await armed(page);
      await tabTo(page, "Check before allowing");
      await page.keyboard.press("Enter");
      await page.locator("earshot-live h2", { hasText: "Check before allowing" }).waitFor();
      await armed(page);
      await tabTo(page, "Allow now");
      await page.keyboard.press("Enter");
      await untilHeard(page, "Your savings are now 500 dollars.");
      expect(await page.locator("earshot-live .turn.person").allInnerTexts()).toEqual([
        "You\n\nhello",
        "You\n\n500",
      ]);
      expect(await violationsOf(page)).toEqual([]);
    } finally {
      await context.close();
    }
  });
});
