/** Programs of the system that some tests need. */
import { execFileSync } from "node:child_process";

/** Skips with a message where a program is missing; in CI that is a failure. */
export function needs(...programs: string[]): boolean {
  const missing = programs.filter((program) => {
    try {
      execFileSync("which", [program], { stdio: "ignore" });
      return false;
    } catch {
      return true;
    }
  });
  if (missing.length === 0) return true;
  const words = `Missing: ${missing.join(", ")}. Run .ci/install-system.sh.`;
  if (process.env["CI"] === "true") throw new Error(words);
  console.warn(words);
  return false;
}
