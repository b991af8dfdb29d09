import { it } from "vitest";
import { launchBrowser } from "../support/chromium.ts";
import { buildPage, connected, openDemo, openInspector } from "./inspector-support.ts";

it("look", async () => {
  const built = await buildPage();
  const place = await openDemo(built, 8);
  const browser = await launchBrowser();
  const page = await openInspector(browser, place.serving.inspector!);
  await page.waitForTimeout(1500);
  console.log(page.url(), page.watched.errors, page.watched.bytes());
  console.log(await page.locator("header").innerText());
  await connected(page);
  await page.fill("#prompt", "Transfer 500 dollars to savings");
  await page.keyboard.press("Enter");
  await page.waitForTimeout(3000);
  await page.screenshot({ path: "/tmp/inspector/a.png", fullPage: true });
  console.log(await page.locator("#asked").innerText());
  await page.click("#answer");
  await page.waitForTimeout(2500);
  await page.screenshot({ path: "/tmp/inspector/b.png" });
  console.log(page.watched.errors, page.watched.requests);
  await browser.close();
  await place.close();
  built.remove();
});
