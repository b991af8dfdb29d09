// Serves a page, the element's files and the agent on loopback. Start it and open the address it prints.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createHttpApp } from "earshot/server";
import { agent, answer } from "./agent.mjs";

// Everything is loaded from this server; anything else is blocked.
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'";
const TYPES = { html: "text/html", js: "text/javascript", css: "text/css" };

const read = (url) => readFileSync(fileURLToPath(url), "utf8");
/** The bundle and the chunks it fetches are in one folder. */
const element = new URL(import.meta.resolve("earshot/web/earshot-live.js"));

/** `files` maps each path to its text. */
export async function start(files, port = 4700) {
  // On your own machine, any local program may listen and answer. Elsewhere, use `auth` instead.
  const httpApp = await createHttpApp(agent, { insecureLoopback: true });
  const server = createServer((request, response) =>
    httpApp.node(request, response, () => {
      const { pathname } = new URL(request.url, "http://localhost");
      if (request.method === "POST" && pathname === "/chat") return chat(request, response);
      const body = files[pathname] ?? piece(pathname);
      const type =
        TYPES[files[pathname] && pathname === "/" ? "html" : pathname.split(".").at(-1)] ?? "text/plain";
      response.writeHead(body === undefined ? 404 : 200, {
        "content-type": `${type}; charset=utf-8`,
        "content-security-policy": POLICY,
      });
      response.end(body ?? "Not here.");
    }),
  );
  httpApp.attachWebSocket(server);
  await new Promise((listening) => server.listen(port, "127.0.0.1", listening));
  return { url: `http://127.0.0.1:${server.address().port}`, server };
}

function piece(pathname) {
  if (!/^\/earshot\/earshot-[\w-]+\.js$/.test(pathname)) return undefined;
  try {
    return read(new URL(basename(pathname), element));
  } catch {
    return undefined;
  }
}

function chat(request, response) {
  // Refuse requests from pages of other origins.
  if (request.headers["sec-fetch-site"] !== "same-origin") return response.writeHead(403).end();
  let text = "";
  request.on("data", (chunk) => {
    text += chunk;
    if (text.length > 1000) request.destroy();
  });
  request.on("end", () => {
    answer(text).catch((error) => console.error(error.message));
    response.writeHead(204).end();
  });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const here = (name) => read(new URL(name, import.meta.url));
  const files = { "/": here("index.html"), "/page.js": here("page.js"), "/style.css": here("style.css") };
  const { url } = await start(files, Number(process.env.PORT ?? 4700));
  console.log(`The chat is at ${url}. Stop it with Ctrl+C.`);
}
