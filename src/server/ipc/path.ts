/**
 * Where an agent's socket is (B.3.1, B.4.1, CON-60): `$XDG_RUNTIME_DIR/aaep/<id>.sock`, on macOS
 * `~/Library/Application Support/AAEP/<id>.sock`, as a last resort `/tmp/aaep-<uid>/<id>.sock`; on Windows the pipe
 * `\\.\pipe\aaep\<id>`. These are a contract with listeners that were not written here (docs/wire.md).
 */
import { createHash } from "node:crypto";
import { homedir, tmpdir, userInfo } from "node:os";
import { posix } from "node:path";
import { EarshotError } from "../../protocol/errors.ts";

/** What paths depend on. */
interface Platform {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** The shared temporary directory. Not $TMPDIR: two programs of one user may have different ones. */
  readonly tmp: string;
  readonly uid: number;
}

const currentPlatform = (): Platform => ({
  platform: process.platform,
  env: process.env,
  home: homedir(),
  tmp: process.platform === "win32" ? tmpdir() : "/tmp",
  uid: userInfo().uid,
});

export const PIPE_DIRECTORY = "\\\\.\\pipe\\aaep\\";
/** sun_path: 108 bytes on Linux, 104 on macOS and the BSDs, the closing NUL included. */
export const MAX_PATH_BYTES = 103;
/** Windows: 256 characters with the prefix. */
const MAX_NAME = 200;
const DIGITS = 16;

const hashOf = (id: string): string => createHash("sha256").update(id).digest("hex").slice(0, DIGITS);

/**
 * A file name for an agent_id, which may be any text. A name that had to be changed or cut ends with a hash of the
 * whole, so that two agents never share one.
 */
export function safeName(agent_id: string, maxLength = MAX_NAME): string {
  if (agent_id.split(/[\\/]/).includes("..")) {
    throw new EarshotError(
      "unsafe_name",
      'An agent_id that contains ".." cannot name a socket. Choose another, such as com.example.planner.',
    );
  }
  const kept = agent_id.replaceAll(/[^A-Za-z0-9._-]/g, "_");
  // A leading dot hides a file and marks temporary sockets here; many tools read a leading dash as an option.
  const clean = kept.replace(/^[.-]+/, (marks) => "_".repeat(marks.length));
  if (clean === agent_id && clean.length <= maxLength && clean !== "") return clean;
  return `${(clean || "agent").slice(0, Math.max(1, maxLength - DIGITS - 1))}-${hashOf(agent_id)}`;
}

/** The directory of sockets and manifests; undefined on Windows, where pipes have none. */
export function socketDirectory({ platform, env, home, tmp, uid } = currentPlatform()): string | undefined {
  if (platform === "win32") return undefined;
  if (platform === "darwin") return posix.join(home, "Library", "Application Support", "AAEP");
  const runtime = env["XDG_RUNTIME_DIR"];
  return runtime && posix.isAbsolute(runtime) ? posix.join(runtime, "aaep") : posix.join(tmp, `aaep-${uid}`);
}

/** The path of an agent's socket, or the name of its pipe. */
export function socketPath(agent_id: string, directory?: string, where = currentPlatform()): string {
  const folder = directory ?? socketDirectory(where);
  if (folder === undefined) return `${PIPE_DIRECTORY}${safeName(agent_id)}`;
  const room = MAX_PATH_BYTES - Buffer.byteLength(folder) - "/.sock".length;
  // With less than a hash and a letter, names would not be unique.
  if (room < DIGITS + 2) {
    throw new EarshotError(
      "path_too_long",
      `The path of a socket may have ${MAX_PATH_BYTES} bytes, and ${folder} is too long. Set XDG_RUNTIME_DIR or \`directory\` to a shorter one.`,
    );
  }
  return posix.join(folder, `${safeName(agent_id, Math.min(room, MAX_NAME))}.sock`);
}

/** Whether a path names a Windows pipe. */
export const isPipe = (path: string): boolean => /^\\\\[.?]\\pipe\\/i.test(path);

/** The manifest file is next to the socket (MAN-02). */
export const manifestPathFor = (socket: string): string => `${socket.replace(/\.sock$/, "")}.json`;
