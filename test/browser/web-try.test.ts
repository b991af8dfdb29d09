import { it } from "vitest";
import {
  focused,
  heardBy,
  newContext,
  openPlace,
  pageOf,
  tabTo,
  transfer,
} from "/work/main/test/browser/support.ts";
import { launchBrowser } from "/work/main/test/support/chromium.ts";

it("try", async () => {
  const place = await openPlace({ "/": pageOf({ body: '<label>Message <input id="m"></label>' }) });
  const browser = await launchBrowser();
  const context = await newContext(browser);
  const page = await context.newPage();
  page.on("console", (m) => console.log("console:", m.text()));
  page.on("pageerror", (m) => console.log("pageerror:", m.stack));
  await page.goto(place.url);
  await page.waitForTimeout(1000);
  await page.screenshot({ path: "/tmp/web/a.png" });
  const ran = { count: 0 };
  const done = transfer(place.agent, ran);
  await page.waitForTimeout(6000);
  console.log(await heardBy(page), await focused(page), await page.title());
  await page.screenshot({ path: "/tmp/web/b.png" });
  await tabTo(page, "Check before allowing");
  await page.keyboard.press("Enter");
  await page.waitForTimeout(1500);
  await page.screenshot({ path: "/tmp/web/c.png" });
  await tabTo(page, "Allow now");
  await page.keyboard.press("Enter");
  await page.waitForTimeout(9000);
  console.log(await heardBy(page), await focused(page), ran, await page.evaluate("violations"));
  await page.screenshot({ path: "/tmp/web/d.png", fullPage: true });
  await browser.close();
  await place.close();
}, 60000);
