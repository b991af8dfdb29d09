// Bundles <earshot-live> for pages without a build step: dist/web/earshot-live.js and the pieces it fetches when needed.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { root } from "./run.mjs";

/** What the element alone may weigh, min+gzip. */
export const MOST_BYTES = 40 * 1024;

/** Modules that a page does not load: transports no browser has, and checks of signatures. */
const NOT_FOR_PAGES = /(?:transports\/(?:grpc|ipc|stdio)\/client|(?:^\.|subscriber)\/trust)\.(?:ts|js)$/;

/** Removes white space that styles need only for their readers. */
const minifyCss = (css) =>
  css
    .replaceAll(/\s*([{};,])\s*|(:) |^\s+/gu, "$1$2")
    .replaceAll(";}", "}")
    .replaceAll(/(?<!\d)0\./gu, ".");

/** English is in the bundle; other languages are pieces of their own. */
const forPages = {
  name: "for-pages",
  setup(bundler) {
    bundler.onResolve({ filter: /catalogs\/index\.(?:ts|js)$/ }, () => ({
      path: join(root, "src/web/catalogs-on-demand.ts"),
    }));
    bundler.onLoad({ filter: /web\/styles\.(?:ts|js)$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replaceAll(/`[^`]*`/gu, minifyCss),
      loader: "ts",
    }));
    bundler.onResolve({ filter: /^ws$/ }, () => ({ path: "ws", namespace: "not-for-pages" }));
    bundler.onResolve({ filter: NOT_FOR_PAGES }, ({ path }) => ({ path, namespace: "not-for-pages" }));
    bundler.onLoad({ filter: /.*/, namespace: "not-for-pages" }, () => ({
      contents: "export {}",
      loader: "js",
    }));
  },
};

/** `extra` entry points share the element's pieces; every file comes with its text and its size min+gzip. */
export async function bundleWeb(extra = {}) {
  const { outputFiles, metafile } = await build({
    entryPoints: { "earshot-live": join(root, "src/web/live.ts"), ...extra },
    bundle: true,
    minify: true,
    splitting: true,
    write: false,
    metafile: true,
    outdir: "/web",
    chunkNames: "earshot-[name]-[hash]",
    format: "esm",
    platform: "browser",
    target: "es2022",
    charset: "utf8",
    logLevel: "silent",
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [forPages],
  });
  const files = outputFiles.map(({ path, text }) => ({
    name: basename(path),
    text,
    gzip: gzipSync(text, { level: 9 }).length,
  }));
  const imports = (name) =>
    Object.entries(metafile.outputs)
      .filter(([path]) => basename(path) === name)
      .flatMap(([, output]) => output.imports.filter(({ kind }) => kind === "import-statement"))
      .map(({ path }) => basename(path));
  /** A file with everything it cannot run without. */
  const whole = (name, seen = new Set()) => {
    if (seen.has(name)) return 0;
    seen.add(name);
    const own = files.find((file) => file.name === name)?.gzip ?? 0;
    return imports(name).reduce((sum, one) => sum + whole(one, seen), own);
  };
  return { files, size: whole };
}

/** Writes the bundle into a folder and says what the element weighs. */
export async function writeWeb(folder) {
  const { files, size } = await bundleWeb();
  mkdirSync(folder, { recursive: true });
  for (const { name, text } of files) writeFileSync(join(folder, name), text);
  return { bytes: size("earshot-live.js") };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await writeWeb(join(root, "dist/web"));
