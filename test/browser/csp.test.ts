/** The protocol entry points in a real browser, under a policy that forbids everything but scripts of the page's own. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleForBrowser } from "../../scripts/check/browser.mjs";
import { BROWSER_NOTE, launchBrowser, skipsBrowser } from "../support/chromium.ts";
import { sample } from "../support/messages.ts";

const POLICY = "default-src 'none'; script-src 'self'";

/** Runs in the page. Violations are collected from the first line on; what was found ends up in the page's text. */
const WATCH = `
  const violations = [];
  document.addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective));
  const tell = async (work) => {
    let result;
    try { result = await work(); } catch (error) { result = { error: String(error) }; }
    await new Promise((done) => setTimeout(done));
    const output = document.createElement("output");
    output.textContent = JSON.stringify({ result, violations });
    document.body.append(output);
  };
`;

const STARTED = sample("aaep:agent.session.started");
const TOOL = sample("aaep:agent.tool.invoked", { event_id: "evt_2", irreversible: true });
const REQUEST = sample("subscription.request", {
  capabilities: { languages: ["yo", "en"], max_events_per_second: 3 },
});

const USE = `
  ${WATCH}
  tell(async () => {
    const { parse, parseValue, negotiate, createIds } = await import("/protocol.js");
    const { startLifecycle, stepLifecycle } = await import("/lifecycle.js");
    const started = ${JSON.stringify(STARTED)};
    const answer = negotiate(${JSON.stringify(REQUEST)}, ${JSON.stringify({
      producer: { agent_id: "planner" },
      versions: ["1.0.0"],
      levels: [1, 2, 3],
      languages: { available: ["en-US"], primary: "en-US" },
    })}, "sub_1");
    const first = stepLifecycle(startLifecycle(), started);
    const second = stepLifecycle(first.state, ${JSON.stringify(TOOL)});
    return {
      strict: parse(JSON.stringify(started), { mode: "strict" }).ok,
      bytes: parse(new TextEncoder().encode(JSON.stringify(started)), { mode: "tolerant" }).ok,
      faults: parseValue({ ...started, event_id: "no", custom: 1 }, { mode: "strict" }).issues.map(({ code }) => code),
      mended: parseValue({ ...started, urgency: "novel" }, { mode: "tolerant" }).message.urgency,
      negotiated: answer,
      lifecycle: [first.violations, second.violations.map(({ id }) => id)],
      id: createIds()("evt"),
    };
  });
`;

const CONTROL = `
  ${WATCH}
  tell(() => { try { return eval("1 + 1"); } catch (error) { return error.name; } });
`;

describe.skipIf(skipsBrowser)(`in a browser under a strict policy${BROWSER_NOTE}`, () => {
  let browser: Browser;
  let server: Server;
  let origin: string;

  beforeAll(async () => {
    const page = (script: string) =>
      `<!doctype html><title>earshot</title><script type="module" src="${script}"></script>`;
    const files: Record<string, [type: string, body: string]> = {
      "/": ["text/html", page("/use.js")],
      "/control": ["text/html", page("/control.js")],
      "/use.js": ["text/javascript", USE],
      "/control.js": ["text/javascript", CONTROL],
      "/protocol.js": ["text/javascript", (await bundleForBrowser("src/protocol/index.ts")).code],
      "/lifecycle.js": ["text/javascript", (await bundleForBrowser("src/protocol/lifecycle.ts")).code],
    };
    server = createServer((request, response) => {
      const [type, body] = files[request.url ?? ""] ?? ["text/plain", undefined];
      response.writeHead(body === undefined ? 404 : 200, {
        "content-type": `${type}; charset=utf-8`,
        "content-security-policy": POLICY,
      });
      response.end(body);
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  async function open(path: string) {
    const page = await browser.newPage();
    try {
      await page.goto(`${origin}${path}`);
      const text = await page.locator("output").textContent({ timeout: 20_000 });
      return JSON.parse(text ?? "null") as { result: Record<string, unknown>; violations: string[] };
    } finally {
      await page.close();
    }
  }

  it("validating, negotiating and following a session work, and nothing is evaluated", async () => {
    const { result, violations } = await open("/");
    expect(violations).toEqual([]);
    expect(result).toMatchObject({
      strict: true,
      bytes: true,
      faults: ["pattern", "unknown_field"],
      mended: "normal",
      lifecycle: [[], ["SEQ-14"]],
    });
    expect(result["id"]).toMatch(/^evt_[0-9a-f]{32}$/);
    expect(JSON.stringify(result["negotiated"])).toContain("subscription.accepted");
  });

  it("the policy is in force: eval is refused on such a page, and noticed", async () => {
    const { result, violations } = await open("/control");
    expect(result).toBe("EvalError");
    expect(violations).toEqual(["script-src"]);
  });
});
