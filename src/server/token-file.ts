/**
 * The loopback token in a file that only this user can read, so that local tools find running agents:
 * `$XDG_RUNTIME_DIR/earshot/<agent>-<port>.json`, else `<tmp>/earshot-<uid>/…`. The directory has mode 0700, the file
 * 0600. A directory that another user could have prepared is neither written to nor read from: a planted file would
 * make people answer another agent's questions.
 */
import { lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { EarshotError } from "../protocol/errors.ts";
import { isLoopback } from "./http/guard.ts";
import { ensureSafeDirectory, isSafeDirectory, ownUid } from "./safe-directory.ts";

/** What a server on this machine writes so that its user's programs can connect: address and token. */
export interface TokenFile {
  readonly agent_id: string;
  readonly url: string;
  /** The gRPC address, if there is one; the same token is valid for both. */
  readonly grpc?: string;
  readonly token: string;
  readonly pid: number;
}

/** The directory where servers on this machine write their token files. */
export function tokenDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const runtime = env["XDG_RUNTIME_DIR"];
  if (runtime) return join(runtime, "earshot");
  return join(tmpdir(), `earshot-${ownUid() ?? userInfo().username}`);
}

function ensureDirectory(directory: string): void {
  try {
    ensureSafeDirectory(directory);
  } catch (error) {
    throw new EarshotError(
      "unsafe_directory",
      `The token of this run cannot be stored in ${directory}. Set XDG_RUNTIME_DIR or \`tokenFile\` to a directory that only you can access, or pass \`tokenFile: false\`. ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/** Writes the file. Returns its path and a function that removes it. */
export function writeTokenFile(
  file: TokenFile,
  directory = tokenDirectory(),
): { path: string; remove: () => void } {
  ensureDirectory(directory);
  const safe = file.agent_id.replaceAll(/[^A-Za-z0-9._-]/g, "_").slice(0, 64);
  const path = join(directory, `${safe}-${new URL(file.url).port}.json`);
  // A symbolic link with this name is removed, not followed: "wx" creates a new file or fails.
  rmSync(path, { force: true });
  writeFileSync(path, `${JSON.stringify(file)}\n`, { mode: 0o600, flag: "wx" });
  const remove = () => {
    // Another agent may have the port by now; its file must stay.
    if (readOne(path)?.token === file.token) rmSync(path, { force: true });
  };
  return { path, remove };
}

function readOne(path: string): TokenFile | undefined {
  try {
    const stat = lstatSync(path);
    const uid = ownUid();
    if (!stat.isFile() || (uid !== undefined && (stat.uid !== uid || (stat.mode & 0o077) !== 0)))
      return undefined;
    const { agent_id, url, grpc, token, pid } = JSON.parse(readFileSync(path, "utf8")) as Partial<TokenFile>;
    if (typeof agent_id !== "string" || typeof url !== "string" || typeof token !== "string")
      return undefined;
    // A token of this machine must not be sent to another one.
    if (!isLoopback(new URL(url).hostname) || !Number.isInteger(pid) || pid! <= 0) return undefined;
    const loopbackGrpc = typeof grpc === "string" && isLoopback(new URL(grpc).hostname) ? { grpc } : {};
    return { agent_id, url, ...loopbackGrpc, token, pid: pid! };
  } catch {
    return undefined;
  }
}

/** The agents that run for this user; files of dead processes are skipped. */
export function readTokenFiles(directory = tokenDirectory()): TokenFile[] {
  let names: string[];
  try {
    if (!isSafeDirectory(directory)) return [];
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
