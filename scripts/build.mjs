// Generated sources, then JavaScript and declarations into dist/.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { binOf, must, root, run } from "./run.mjs";

rmSync(join(root, "dist"), { recursive: true, force: true });
must("Generating", run(join(root, "scripts/generate.mjs"), ["--clean"]));
must("The build", run(binOf("typescript", "tsc"), ["-p", "tsconfig.build.json"]));
