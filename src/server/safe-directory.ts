/**
 * A directory that is nobody's but ours (A23, CON-61): made with 0700, and refused where somebody else could have
 * prepared it, could look in, or could put another in its place. On Unix this is what keeps other accounts away from a
 * socket: Node shows no peer credentials (SO_PEERCRED), so whoever gets through here counts as this user.
 */
import { chmodSync, lstatSync, mkdirSync, realpathSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { EarshotError } from "../protocol/errors.ts";

/** Undefined where there are no user ids. */
export const ownUid = (): number | undefined => process.getuid?.();

const unsafe = (directory: string, what: string): EarshotError =>
  new EarshotError(
    "unsafe_directory",
    `${directory} is not safe for a socket: ${what}. Remove it, or set XDG_RUNTIME_DIR or \`directory\` to a directory of your own.`,
  );

/** Who may put another thing under this name: whoever may write above it, unless the sticky bit keeps others' things theirs. */
function changeable({ mode, uid }: Stats, own: number): boolean {
  const open = (mode & 0o022) !== 0 && (mode & 0o1000) === 0;
  return open || (uid !== own && uid !== 0);
}

function check(directory: string, own: number | undefined): Stats {
  const stat = lstatSync(directory);
  // Not followed: wherever a link points now, it may point elsewhere a moment later.
  if (stat.isSymbolicLink()) throw unsafe(directory, "it is a symbolic link");
  if (!stat.isDirectory()) throw unsafe(directory, "it is not a directory");
  if (own === undefined) return stat;
  if (stat.uid !== own) throw unsafe(directory, "it belongs to somebody else");
  // Links further up are common (/var/run, /tmp on macOS) and fine, as long as nobody else can move them.
  for (let above = realpathSync(dirname(directory)); ; above = dirname(above)) {
    if (changeable(lstatSync(above), own)) throw unsafe(directory, `other people can change ${above}`);
    if (above === dirname(above)) return stat;
  }
}

/** Makes it where it is missing, and makes sure of it either way. */
export function ensureSafeDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const own = ownUid();
  const { mode } = check(directory, own);
  if (own !== undefined && (mode & 0o077) !== 0) chmodSync(directory, 0o700);
}

/** Whether what lies there can be believed; for readers, who make nothing. */
export function isSafeDirectory(directory: string): boolean {
  try {
    const own = ownUid();
    return (check(directory, own).mode & 0o077) === 0 || own === undefined;
  } catch {
    return false;
  }
}
