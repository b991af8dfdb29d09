// gRPC is an optional peer: nobody pays for it who does not use it, and whoever lacks it is told what to install.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { afterAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "earshot-load-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a few lines with our sources in a process of their own, far from node_modules. */
function run(source: string): { stdout: string; stderr: string } {
  const entry = join(folder, "entry.mts");
  writeFileSync(entry, source.replaceAll("src/", `${root}src/`));
  const outfile = join(folder, "entry.mjs");
  buildSync({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    external: ["@grpc/grpc-js"],
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
    logLevel: "silent",
  });
  return spawnSync(process.execPath, [outfile], { encoding: "utf8", timeout: 30_000 });
}

describe("@grpc/grpc-js", () => {
  it("is not loaded by what merely could use it, and its absence is explained", () => {
    const { stdout, stderr } = run(`
      import { serve, serveGrpc } from "src/server/index.ts";
      import { subscribe } from "src/subscriber/index.ts";
      import { createProducer } from "src/producer/producer.ts";
      const producer = createProducer({ agent_id: "bank" });
      const server = await serve(producer, { port: 0, tokenFile: false, log: () => {} });
      await server.close();
      for (const work of [() => serveGrpc(producer, { port: 0 }), () => subscribe("grpc://127.0.0.1:1")])
        console.log(await work().catch(({ code, message }) => code + ": " + message));
    `);
    expect(stderr).toBe("");
    const told = "grpc_missing: gRPC needs a package of its own: npm install @grpc/grpc-js";
    expect(stdout.trim().split("\n")).toEqual([told, told]);
  });
});
