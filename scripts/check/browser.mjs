// Bundles every entry point a browser may load and looks for what a browser, or a strict CSP, would refuse.
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { root } from "../run.mjs";

/** Entry points that must run in browsers and workers, with the size each promises (min+gzip), if any. */
const BROWSER_ENTRIES = {
  "src/protocol/index.ts": 15 * 1024,
  "src/protocol/lifecycle.ts": 6 * 1024,
  "src/delivery/index.ts": undefined,
};

const bundle = async (options) => {
  const { outputFiles } = await build({
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: "es2022",
    logLevel: "silent",
    ...options,
  });
  const code = outputFiles[0].text;
  return { code, gzip: gzipSync(code, { level: 9 }).length };
};

export const bundleForBrowser = (entry) => bundle({ entryPoints: [join(root, entry)] });

/** `subscribe` as a page loads it: SSE and WebSocket in it, what only Node has and what checks signatures left outside. */
const SUBSCRIBE_LIMIT = 20 * 1024;
const notForPages = {
  name: "not-for-pages",
  setup: ({ onResolve }) =>
    onResolve(
      { filter: /(?:transports\/(?:ipc|stdio|grpc)\/client|(?:^\.|subscriber)\/trust)\.ts$|^ws$/ },
      ({ path }) => ({
        path,
        external: true,
      }),
    ),
};
const from = (folder, contents, plugins = []) =>
  bundle({ stdin: { contents, resolveDir: join(root, folder) }, plugins, external: ["node:*"] });

/** The size of `subscribe`, next to what other protocols' clients weigh (packages of bench/). */
export async function findSubscribeSize() {
  const ours = await from(".", 'export { subscribe } from "./src/subscriber/index.ts";', [notForPages]);
  const agUi = await from("bench", 'export { HttpAgent } from "@ag-ui/client";');
  const mcp = await from(
    "bench",
    'export { Client } from "@modelcontextprotocol/sdk/client/index.js";' +
      'export { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";',
  );
  const kb = ({ gzip }) => `${(gzip / 1024).toFixed(1)} KB`;
  console.log(`      subscribe ${kb(ours)} min+gzip; @ag-ui/client ${kb(agUi)}; the MCP client ${kb(mcp)}`);
  if (ours.gzip <= SUBSCRIBE_LIMIT) return [];
  return [`subscribe is ${ours.gzip} bytes min+gzip; at most ${SUBSCRIBE_LIMIT}`];
}

const FORBIDDEN = [
  [/\beval\s*\(/, "eval"],
  [/\bnew Function\b|[^.\w]Function\s*\(/, "new Function"],
  [/\bBuffer\b/, "Buffer"],
  [/\bprocess\./, "process"],
  [/\brequire\s*\(/, "require"],
  [/["']node:/, "a node: import"],
];

export async function findBrowserProblems() {
  const problems = [];
  for (const [entry, limit] of Object.entries(BROWSER_ENTRIES)) {
    try {
      const { code, gzip } = await bundleForBrowser(entry);
      for (const [pattern, name] of FORBIDDEN)
        if (pattern.test(code)) problems.push(`${entry} reaches ${name}`);
      if (limit !== undefined && gzip > limit)
        problems.push(`${entry} is ${gzip} bytes min+gzip; at most ${limit}`);
    } catch (error) {
      problems.push(`${entry}: ${error.message.split("\n").slice(0, 4).join(" ")}`);
    }
  }
  return problems;
}
