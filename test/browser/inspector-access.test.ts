/** Who gets the Inspector and what it may do for them, without a browser: headers, credentials, other addresses. */
import { mkdtempSync, rmSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Principal } from "../../src/protocol/principal.ts";
import { inspectorFor } from "../../src/server/http/inspector.ts";
import { fromWebRequest } from "../../src/server/http/web.ts";
import type { Serving } from "../../src/server/index.ts";
import { endDemos, watch } from "../cli/demo-support.ts";
import { type BuiltPage, buildPage, serveAgent } from "./inspector-support.ts";
import { agentOf } from "./support.ts";

afterAll(endDemos);

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

describe("who gets the Inspector", () => {
  let built: BuiltPage;
  const cleanups: (() => unknown)[] = [];
  beforeAll(async () => {
    built = await buildPage();
  });
  afterAll(() => built.remove());
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  async function open(options: Parameters<typeof serveAgent>[2] = {}): Promise<Serving> {
    const serving = await serveAgent(agentOf(), built, options);
    cleanups.push(() => serving.close());
    return serving;
  }
  const bearer = ({ token }: Serving) => ({ authorization: `Bearer ${token}` });
  const listen = (serving: Serving, body: unknown, headers: Record<string, string> = bearer(serving)) =>
    fetch(`${serving.http}/inspector/listen`, { method: "POST", headers, body: JSON.stringify(body) });

  it("every file of the page comes with a policy that lets nothing in but this server", async () => {
    const { http } = await open();
    for (const path of ["/", "/inspector/inspector.js", "/inspector/inspector.css"]) {
      const answer = await fetch(`${http}${path}`);
      expect(answer.status, path).toBe(200);
      expect(answer.headers.get("content-security-policy")).toBe(POLICY);
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      expect(answer.headers.get("cache-control")).toBe("no-store");
      const text = await answer.text();
      if (path !== "/") continue;
      expect(text).not.toMatch(/<script(?![^>]*\bsrc=)|\son\w+=|style=|https?:\/\/(?!127\.0\.0\.1)/);
    }
    expect((await fetch(`${http}/inspector/..%2f..%2fpackage.json`)).status).not.toBe(200);
  });

  it("A20: another name for this machine, or a page from elsewhere, gets nothing of it", async () => {
    const serving = await open();
    const status = await new Promise<number | undefined>((resolve, reject) =>
      httpRequest(`${serving.http}/`, { headers: { host: "evil.example" } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .once("error", reject)
        .end(),
    );
    expect(status).toBe(421);
    const foreign = { ...bearer(serving), origin: "https://evil.example" };
    expect((await fetch(`${serving.http}/inspector/about`, { headers: foreign })).status).toBe(403);
    expect((await listen(serving, { address: "http://127.0.0.1:1" }, foreign)).status).toBe(403);
  });

  it("the page is there for the asking, what it shows is not", async () => {
    const serving = await open();
    expect(serving.inspector).toBe(`${serving.http}/#token=${serving.token}`);
    expect((await fetch(`${serving.http}/inspector/about`)).status).toBe(401);
    expect((await listen(serving, { address: serving.http }, {})).status).toBe(401);
    const about = await fetch(`${serving.http}/inspector/about`, { headers: bearer(serving) });
    expect(await about.json()).toEqual({ prefix: "/aaep/v1", elsewhere: true, prompt: null, example: null });
  });

  it("without tokens it opens by itself, and then listens nowhere else: anyone on this machine could ask it to", async () => {
    const serving = await open({ insecureLoopback: true });
    expect(serving.inspector).toBe(`${serving.http}/`);
    const about = await fetch(`${serving.http}/inspector/about`);
    expect(await about.json()).toMatchObject({ elsewhere: false });
    expect((await listen(serving, { address: serving.http }, {})).status).toBe(403);
  });

  it("starts no program, and says what an address looks like", async () => {
    const serving = await open();
    for (const address of ["stdio:touch /tmp/x", "file:///etc/passwd", "javascript:1", 7, undefined]) {
      const answer = await listen(serving, { address });
      expect(answer.status, String(address)).toBe(400);
      expect(((await answer.json()) as { message: string }).message).toMatch(/^Give the address of an agent/);
    }
    const clock = await listen(serving, { address: serving.http, capabilities: { clock: 5, languages: 5 } });
    expect(clock.status).toBe(400);
    const nobody = await listen(serving, { address: "http://127.0.0.1:1" });
    expect(nobody.status).toBe(502);
  });

  it("a page that goes away leaves no line behind, and another agent's questions do not wait for it", async () => {
    const other = agentOf({ agent_id: "com.example.other" });
    const there = await serveAgent(other, built);
    cleanups.push(() => there.close());
    const serving = await open();
    const gone = new AbortController();
    const answer = await fetch(`${serving.http}/inspector/listen`, {
      method: "POST",
      headers: bearer(serving),
      body: JSON.stringify({ address: there.ws, token: there.token, capabilities: { languages: ["en"] } }),
      signal: gone.signal,
    });
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    const reader = answer.body!.getReader();
    const first = new TextDecoder().decode((await reader.read()).value);
    expect(JSON.parse(first.slice("data: ".length))).toMatchObject({
      kind: "accepted",
      value: { honored_capabilities: { supports_confirmation_reply: false } },
    });
    expect(other.subscriptions).toBe(1);
    gone.abort();
    await expect.poll(() => other.subscriptions).toBe(0);
  });

  it("beyond this machine it is offered only if asked for, and only to admins", async () => {
    expect(inspectorFor({ local: false })).toBeUndefined();
    expect(inspectorFor({ local: true, inspector: false })).toBeUndefined();
    const { routes } = inspectorFor({ local: false, inspector: true, auth: () => undefined })!;
    const about = (principal: Principal) =>
      routes(fromWebRequest(new Request("https://agent.example/inspector/about"), 0), principal);
    const person: Principal = { id: "p", role: "reply", audiences: "all" };
    expect((await about(person))?.status).toBe(403);
    const admin = await about({ ...person, role: "admin" });
    expect(admin?.status).toBe(200);
    expect(JSON.parse(admin?.body as string)).toMatchObject({ elsewhere: false });
  });

  it("a page and routes of the agent's own come first", async () => {
    const serving = await open({
      pages: (request) => (new URL(request.url).pathname === "/" ? new Response("Mine.") : undefined),
      routes: (request) => (new URL(request.url).pathname === "/mine" ? new Response("Also.") : undefined),
    });
    expect(await (await fetch(`${serving.http}/`)).text()).toBe("Mine.");
    const headers = bearer(serving);
    expect(await (await fetch(`${serving.http}/mine`, { headers })).text()).toBe("Also.");
    expect((await fetch(`${serving.http}/inspector/about`, { headers })).status).toBe(200);
    expect((await fetch(`${serving.http}/nothing`, { headers })).status).toBe(404);
  });

  it("the demo prints the address to open, and its page has a box for requests", async () => {
    const demo = await watch(["demo", "--port", "0"]);
    const out = await demo.shows(/listener gets: \S+\n/);
    const [, http, token] = /listener gets: (http:\/\/127\.0\.0\.1:\d+)\/#token=([0-9a-f]{64})\n/.exec(out)!;
    const about = await fetch(`${http}/inspector/about`, { headers: { authorization: `Bearer ${token}` } });
    expect(await about.json()).toMatchObject({
      prompt: "/demo/sessions",
      example: "Transfer 500 dollars to savings",
    });
    demo.child.kill("SIGTERM");
    expect(await demo.ended).toBe(0);
  });

  it("says how to build the page where nobody has", async () => {
    const directory = mkdtempSync(join(tmpdir(), "earshot-empty-"));
    cleanups.push(() => rmSync(directory, { recursive: true }));
    const { http } = await open({ inspector: { directory } });
    const answer = await fetch(`${http}/`);
    expect(answer.status).toBe(503);
    expect(await answer.text()).toContain("npm run build");
  });
});
