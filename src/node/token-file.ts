/**
 * The loopback token, kept where only this user can read it, so that local tools find running agents:
 * `$XDG_RUNTIME_DIR/earshot/<agent>-<port>.json`, else `<tmp>/earshot-<uid>/…`. The directory is 0700, the file 0600.
 * Both writing and reading refuse a directory somebody else could have prepared: whoever plants a file there would
 * have people answer another agent's questions.
 */
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, type Stats, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { EarshotError } from "../protocol/errors.ts";
import { isLoopback } from "./guard.ts";

export interface TokenFile {
  readonly agent_id: string;
  readonly url: string;
  readonly token: string;
  readonly pid: number;
}

/** Undefined on Windows, where a user's temporary directory is theirs alone. */
const ownUid = (): number | undefined => {
  const { uid } = userInfo();
  return uid >= 0 ? uid : undefined;
};

export function tokenDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const runtime = env["XDG_RUNTIME_DIR"];
  if (runtime) return join(runtime, "earshot");
  return join(tmpdir(), `earshot-${ownUid() ?? userInfo().username}`);
}

/** Why this directory is not to be trusted; undefined if it is. A symbolic link is none, wherever it points. */
function fault(directory: string, stat: Stats, uid: number | undefined): string | undefined {
  if (!stat.isDirectory()) return `${directory} is not a directory`;
  if (uid === undefined) return undefined;
  if (stat.uid !== uid) return `${directory} belongs to somebody else`;
  const above = lstatSync(dirname(directory));
  // Where others may write and nothing is sticky, they may put another directory in its place.
  const open = (above.mode & 0o022) !== 0 && (above.mode & 0o1000) === 0;
  const foreign = above.uid !== uid && above.uid !== 0;
  return open || foreign ? `${dirname(directory)} can be changed by other people` : undefined;
}

function ensureDirectory(directory: string): void {
  const uid = ownUid();
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    // Something else is there already: what, the next lines find out.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const stat = lstatSync(directory);
  const wrong = fault(directory, stat, uid);
  if (wrong) {
    throw new EarshotError(
      "unsafe_directory",
      `The token of this run cannot be kept: ${wrong}. Remove it, set XDG_RUNTIME_DIR or \`token_file\` to a directory of yours, or pass \`token_file: false\`.`,
    );
  }
  if (uid !== undefined && (stat.mode & 0o077) !== 0) chmodSync(directory, 0o700);
}

/** Writes the file and answers with its path and how to remove it. */
export function writeTokenFile(file: TokenFile, directory = tokenDirectory()): { path: string; remove: () => void } {
  ensureDirectory(directory);
  const safe = file.agent_id.replaceAll(/[^A-Za-z0-9._-]/g, "_").slice(0, 64);
  const path = join(directory, `${safe}-${new URL(file.url).port}.json`);
  // A link under this name is removed, not followed: "wx" makes a new file or none.
  rmSync(path, { force: true });
  writeFileSync(path, `${JSON.stringify(file)}\n`, { mode: 0o600, flag: "wx" });
  const remove = () => {
    // Another agent may have the port by now, and its file is not ours to remove.
    if (readOne(path)?.token === file.token) rmSync(path, { force: true });
  };
  return { path, remove };
}

function readOne(path: string): TokenFile | undefined {
  try {
    const stat = lstatSync(path);
    const uid = ownUid();
    if (!stat.isFile() || (uid !== undefined && (stat.uid !== uid || (stat.mode & 0o077) !== 0))) return undefined;
    const { agent_id, url, token, pid } = JSON.parse(readFileSync(path, "utf8")) as Partial<TokenFile>;
    if (typeof agent_id !== "string" || typeof url !== "string" || typeof token !== "string") return undefined;
    // A token of this machine goes nowhere else.
    if (!isLoopback(new URL(url).hostname) || !Number.isInteger(pid) || pid! <= 0) return undefined;
    return { agent_id, url, token, pid: pid! };
  } catch {
    return undefined;
  }
}

/** The agents that are running for this user; files of dead processes are passed over. */
export function readTokenFiles(directory = tokenDirectory()): TokenFile[] {
  let names: string[];
  try {
    if (fault(directory, lstatSync(directory), ownUid())) return [];
    names = readdirSync(directory);
  } catch {
    return [];
  }
  return names
    .filter((one) => one.endsWith(".json"))
    .sort()
    .map((name) => readOne(join(directory, name)))
    .filter((file) => file !== undefined)
    .filter(({ pid }) => isAlive(pid));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
