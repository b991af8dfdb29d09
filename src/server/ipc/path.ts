/**
 * Where an agent's socket is (B.3.1, B.4.1, CON-60): `$XDG_RUNTIME_DIR/aaep/<id>.sock`, on macOS
 * `~/Library/Application Support/AAEP/<id>.sock`, as a last resort `/tmp/aaep-<uid>/<id>.sock`; on Windows the pipe
 * `\\.\pipe\aaep\<id>`. These are a contract with listeners that were not written here (docs/wire.md).
 */
import { createHash } from "node:crypto";
import { homedir, tmpdir, userInfo } from "node:os";
import { posix } from "node:path";
import { EarshotError } from "../../protocol/errors.ts";

/** The machine, as far as paths depend on it. */
interface Surroundings {
  readonly platform: NodeJS.Platform;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** Where everybody may write. Not $TMPDIR: two programs of one user need not have the same. */
  readonly tmp: string;
  readonly uid: number;
}

const surroundings = (): Surroundings => ({
  platform: process.platform,
  env: process.env,
  home: homedir(),
  tmp: process.platform === "win32" ? tmpdir() : "/tmp",
  uid: userInfo().uid,
});

export const PIPE_DIRECTORY = "\\\\.\\pipe\\aaep\\";
/** sun_path: 108 bytes on Linux, 104 on macOS and the BSDs, the closing NUL included. */
export const MOST_PATH_BYTES = 103;
/** Windows: 256 characters with the prefix. */
const MOST_NAME = 200;
const DIGITS = 16;

const hashOf = (id: string): string => createHash("sha256").update(id).digest("hex").slice(0, DIGITS);

/**
 * An agent_id is any text; a file's name is not. What had to be changed or cut carries a hash of the whole, so that
 * two agents never share a name.
 */
export function safeName(agent_id: string, most = MOST_NAME): string {
  if (agent_id.split(/[\\/]/).includes("..")) {
    throw new EarshotError(
      "unsafe_name",
      'An agent_id with ".." in it cannot name a socket: choose another, such as com.example.planner.',
    );
  }
  const kept = agent_id.replaceAll(/[^A-Za-z0-9._-]/g, "_");
  // A leading dot hides a file, and is how unfinished sockets are named here; a leading dash is an option to many tools.
  const clean = kept.replace(/^[.-]+/, (marks) => "_".repeat(marks.length));
  if (clean === agent_id && clean.length <= most && clean !== "") return clean;
  return `${(clean || "agent").slice(0, Math.max(1, most - DIGITS - 1))}-${hashOf(agent_id)}`;
}

/** The directory sockets and manifests are in; undefined on Windows, where pipes have none. */
export function socketDirectory({ platform, env, home, tmp, uid } = surroundings()): string | undefined {
  if (platform === "win32") return undefined;
  if (platform === "darwin") return posix.join(home, "Library", "Application Support", "AAEP");
  const runtime = env["XDG_RUNTIME_DIR"];
  return runtime && posix.isAbsolute(runtime) ? posix.join(runtime, "aaep") : posix.join(tmp, `aaep-${uid}`);
}

/** The path of an agent's socket, or the name of its pipe. */
export function socketPath(agent_id: string, directory?: string, where = surroundings()): string {
  const place = directory ?? socketDirectory(where);
  if (place === undefined) return `${PIPE_DIRECTORY}${safeName(agent_id)}`;
  const room = MOST_PATH_BYTES - Buffer.byteLength(place) - "/.sock".length;
  // Less than a hash and a letter, and names could no longer be told apart.
  if (room < DIGITS + 2) {
    throw new EarshotError(
      "path_too_long",
      `A socket's path may have ${MOST_PATH_BYTES} bytes, and ${place} leaves too few of them. Set XDG_RUNTIME_DIR, or give \`directory\`, to a shorter one.`,
    );
  }
  return posix.join(place, `${safeName(agent_id, Math.min(room, MOST_NAME))}.sock`);
}

/** Where things lie whose names are no files. */
export const isPipe = (path: string): boolean => /^\\\\[.?]\\pipe\\/i.test(path);

/** The manifest lies beside the socket (MAN-02). */
export const manifestPathFor = (socket: string): string => `${socket.replace(/\.sock$/, "")}.json`;
