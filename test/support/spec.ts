/** Where the AAEP spec's schemas and fixtures are, if this machine has them: AAEP_SPEC_DIR, else beside the project. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const candidates = [
  process.env["AAEP_SPEC_DIR"],
  fileURLToPath(new URL("../../../shared/spec", import.meta.url)),
];

export const specDir: string | undefined = candidates.find((dir) => dir !== undefined && existsSync(dir));
