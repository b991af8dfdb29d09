// `npm run transcripts`: writes the transcripts of docs/wire.md from sessions over real sockets and pipes.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "./load.mjs";
import { root } from "./run.mjs";

const { renew } = await load("test/transports/transcripts.ts");
const page = join(root, "docs/wire.md");
writeFileSync(page, await renew(readFileSync(page, "utf8")));
console.log("docs/wire.md");
process.exit(0);
