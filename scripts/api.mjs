// `npm run api`: installs the tools, if they are missing, and writes the API reference (docs/api.md, docs/api/).
import { join } from "node:path";
import { install } from "./install.mjs";
import { must, root, run } from "./run.mjs";

must("The installation", install("tools") ? 0 : 1);
must("Generating", run(join(root, "scripts/generate.mjs")));
process.exit(run(join(root, "tools/api.mjs"), process.argv.slice(2)));
