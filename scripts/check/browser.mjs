// Bundles every entry point a browser may load and looks for what a browser, or a strict CSP, would refuse.
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { root } from "../run.mjs";

/** Entry points that must run in browsers and workers, with the size each promises (min+gzip), if any. */
export const BROWSER_ENTRIES = {
  "src/protocol/index.ts": 15 * 1024,
  "src/protocol/lifecycle.ts": 6 * 1024,
  "src/delivery/index.ts": undefined,
};

export async function bundleForBrowser(entry) {
  const { outputFiles } = await build({
    entryPoints: [join(root, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: "es2022",
    logLevel: "silent",
  });
  const code = outputFiles[0].text;
  return { code, gzip: gzipSync(code, { level: 9 }).length };
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
