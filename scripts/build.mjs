// Generated sources, JavaScript and declarations into dist/, and the element's bundle for pages without a build step.
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { binOf, must, root, run } from "./run.mjs";

// `npx earshot` in a clone links the package and prepares it once more. What is built must not vanish under a program
// that runs from it, nor a person wait for a build they did not ask for.
if (process.env.npm_command === "exec" && existsSync(join(root, "dist/cli/main.js"))) process.exit(0);

rmSync(join(root, "dist"), { recursive: true, force: true });
must("Generating", run(join(root, "scripts/generate.mjs"), ["--clean"]));
must("The build", run(binOf("typescript", "tsc"), ["-p", "tsconfig.build.json"]));
must("The element's bundle", run(join(root, "scripts/bundle-web.mjs")));
must("The Inspector", run(join(root, "scripts/bundle-inspector.mjs")));
