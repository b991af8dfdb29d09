/** A real browser for the tests that need one. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const candidates = [
  process.env["EARSHOT_CHROMIUM"],
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];
const executablePath = candidates.find((path) => path !== undefined && existsSync(path));

/** Without a browser such tests are skipped on a person's machine; CI must have one. */
export const skipsBrowser = executablePath === undefined && process.env["CI"] !== "true";

export const BROWSER_NOTE = skipsBrowser
  ? " (skipped: no Chromium; apt-get install chromium, or name one in EARSHOT_CHROMIUM)"
  : "";

export function launchBrowser(): Promise<Browser> {
  if (executablePath === undefined) {
    throw new Error(
      "No Chromium found. Install it (apt-get install chromium) or name one in EARSHOT_CHROMIUM.",
    );
  }
  return chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--headless",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}
