// `npm run sessions`: writes examples/sessions/*.jsonl from the demo agent.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "./load.mjs";
import { root } from "./run.mjs";

const { recordSessions } = await load("test/support/recorded-sessions.ts");
const folder = join(root, "examples/sessions");
const files = await recordSessions();
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const [name, text] of files) {
  writeFileSync(join(folder, name), text);
  console.log(`examples/sessions/${name}`);
}
