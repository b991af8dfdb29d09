// Bundles the page like any React app, and serves it with the agent of the plain chat.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { start } from "../web-chat/server.mjs";

const path = (name) => fileURLToPath(new URL(name, import.meta.url));

const { outputFiles } = await build({
  entryPoints: [path("app.jsx")],
  bundle: true,
  minify: true,
  // Chunks that are loaded when needed: languages, transports.
  splitting: true,
  outdir: "/",
  write: false,
  format: "esm",
  platform: "browser",
  jsx: "automatic",
  define: { "process.env.NODE_ENV": '"production"' },
  // Transports for Node programs; a page has neither.
  external: ["ws", "@grpc/*", "node:*"],
});

const files = {
  "/": readFileSync(path("index.html"), "utf8"),
  ...Object.fromEntries(outputFiles.map(({ path, text }) => [`/${basename(path)}`, text])),
  "/style.css": readFileSync(path("../web-chat/style.css"), "utf8"),
};
const { url } = await start(files, Number(process.env.PORT ?? 4701));
console.log(`The chat is at ${url}. Stop it with Ctrl+C.`);
