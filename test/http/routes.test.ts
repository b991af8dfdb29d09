// What is served beside AAEP: pages for anyone who calls by the right name, routes for callers who are known.

import { request } from "node:http";
import { describe, expect, it } from "vitest";
import type { ServeOptions } from "../../src/server/index.ts";
import { people, world } from "../security/wire-support.ts";

const HTML = { "content-type": "text/html; charset=utf-8" };

async function beside(options: ServeOptions = {}) {
  const called: string[] = [];
  const { server, logs } = await world({
    pages: (request) => {
      const { pathname } = new URL(request.url);
      called.push(`page ${request.method} ${pathname}`);
      if (pathname === "/throws") throw new Error("broken");
      return pathname === "/" ? new Response("<title>Inspector</title>", { headers: HTML }) : undefined;
    },
    routes: async (request, principal) => {
      const { pathname } = new URL(request.url);
      called.push(`route ${request.method} ${pathname} ${principal.id}`);
      if (pathname !== "/demo/sessions") return undefined;
      return Response.json({ heard: await request.text(), at: request.url }, { status: 201 });
    },
    ...options,
  });
  const call = (path: string, init: RequestInit & { bearer?: string } = {}) => {
    const { bearer, ...rest } = init;
    const headers = new Headers(rest.headers);
    if (bearer !== undefined) headers.set("authorization", `Bearer ${bearer}`);
    return fetch(`${server.http}${path}`, { ...rest, headers });
  };
  return { server, logs, called, call };
}

/** With headers that fetch() keeps to itself. */
const statusOf = (url: string, headers: Record<string, string>): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    request(url, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });

const visit = (mode: string, dest: string) => ({
  "sec-fetch-site": "cross-site",
  "sec-fetch-mode": mode,
  "sec-fetch-dest": dest,
});

describe("pages", () => {
  it("are for anyone, and no other page may frame them", async () => {
    const { call } = await beside();
    const page = await call("/");
    expect(page.status).toBe(200);
    expect(await page.text()).toBe("<title>Inspector</title>");
    expect(page.headers.get("content-type")).toBe(HTML["content-type"]);
    expect(page.headers.get("content-security-policy")).toBe("frame-ancestors 'none'");
    expect(page.headers.get("x-frame-options")).toBe("DENY");
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    expect((await call("/", { method: "HEAD" })).status).toBe(200);
  });

  it("stand behind the checks of Host and Origin like everything else: A20", async () => {
    const { call, called, server } = await beside();
    expect((await call("/", { headers: { origin: "https://evil.example" } })).status).toBe(403);
    expect(await statusOf(server.http, { host: "evil.example" })).toBe(421);
    expect(called).toEqual([]);
  });

  it("may be linked to, and not be embedded", async () => {
    const { server } = await beside();
    expect(await statusOf(server.http, visit("navigate", "document"))).toBe(200);
    expect(await statusOf(server.http, visit("navigate", "iframe"))).toBe(403);
    expect(await statusOf(server.http, visit("no-cors", "image"))).toBe(403);
  });

  it("that throw are answered with 500 and logged; nobody is told why", async () => {
    const { call, logs } = await beside();
    const failed = await call("/throws");
    expect(failed.status).toBe(500);
    expect(await failed.text()).not.toContain("broken");
    expect(logs.find(({ event }) => event === "route_failed")).toMatchObject({
      error: { message: "broken" },
    });
  });

  it("never stand in for what AAEP has a path for", async () => {
    const { call, called } = await beside();
    for (const path of [
      "/aaep/v1/events",
      "/.well-known/aaep-manifest.json",
      "/metrics",
      "/healthz",
      "/readyz",
    ])
      await call(path);
    expect(called).toEqual([]);
  });
});

describe("routes", () => {
  it("are called for those who are known, with who they are", async () => {
    const { call, called, server } = await beside();
    const body = "hello";
    const without = await call("/demo/sessions", { method: "POST", body });
    expect(without.status).toBe(401);
    expect(called).toEqual([]);
    const answered = await call("/demo/sessions", { method: "POST", body, bearer: server.token! });
    expect(answered.status).toBe(201);
    expect(await answered.json()).toEqual({ heard: body, at: `${server.http}/demo/sessions` });
    expect(called).toEqual(["route POST /demo/sessions local"]);
    expect((await call("/elsewhere", { bearer: server.token! })).status).toBe(404);
  });

  it("hear only those `authorize` lets in, as it says who they are", async () => {
    const { call, called } = await beside({
      ...people({ ada: {}, eve: {} }),
      authorize: (who) => (who.id === "ada" ? { ...who, id: "ada, admin" } : undefined),
    });
    expect((await call("/demo/sessions", { method: "POST", bearer: "eve" })).status).toBe(403);
    expect((await call("/demo/sessions", { method: "POST", bearer: "ada" })).status).toBe(201);
    expect(called).toEqual(["route POST /demo/sessions ada, admin"]);
  });

  it("are not called by other people's pages, whatever the browser sends along: A20", async () => {
    const { server, called } = await beside({ insecureLoopback: true });
    expect(await statusOf(`${server.http}/demo/sessions`, visit("navigate", "document"))).toBe(403);
    expect(called.filter((one) => one.startsWith("route"))).toEqual([]);
  });

  it("are handed bodies up to the limit: A11", async () => {
    const { call, called, server } = await beside({ limits: { bodyBytes: 100 } });
    const large = await call("/demo/sessions", {
      method: "POST",
      body: "x".repeat(101),
      bearer: server.token!,
    });
    expect(large.status).toBe(413);
    expect(called).toEqual([]);
  });
});

it("without pages, routes and the Inspector, nothing is beside AAEP", async () => {
  const { server } = await world({ inspector: false });
  expect((await fetch(server.http)).status).toBe(404);
});
