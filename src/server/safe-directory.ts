/**
 * A directory that only this user can access (A23, CON-61): created with mode 0700, and refused if another user could
 * have prepared it, can read it, or can replace it. On Unix this keeps other accounts away from a socket: Node has no
 * access to peer credentials (SO_PEERCRED), so anyone who can open the socket counts as this user.
 */
import { chmodSync, lstatSync, mkdirSync, realpathSync, type Stats } from "node:fs";
import { dirname } from "node:path";
import { EarshotError } from "../protocol/errors.ts";

/** Undefined on systems without user ids. */
export const ownUid = (): number | undefined => process.getuid?.();

const unsafe = (directory: string, what: string): EarshotError =>
  new EarshotError(
    "unsafe_directory",
    `${directory} is not safe for a socket: ${what}. Remove it, or set XDG_RUNTIME_DIR or \`directory\` to a directory that only you can access.`,
  );

/** Whether other users can replace entries of a directory: if they can write to it and there is no sticky bit. */
function isReplaceable({ mode, uid }: Stats, own: number): boolean {
  const writable = (mode & 0o022) !== 0 && (mode & 0o1000) === 0;
  return writable || (uid !== own && uid !== 0);
}

function check(directory: string, own: number | undefined): Stats {
  const stat = lstatSync(directory);
  // Not followed: a link may point elsewhere a moment later.
  if (stat.isSymbolicLink()) throw unsafe(directory, "it is a symbolic link");
  if (!stat.isDirectory()) throw unsafe(directory, "it is not a directory");
  if (own === undefined) return stat;
  if (stat.uid !== own) throw unsafe(directory, "it belongs to another user");
  // Links in parent directories are common (/var/run, /tmp on macOS) and safe if other users cannot replace them.
  for (let above = realpathSync(dirname(directory)); ; above = dirname(above)) {
    if (isReplaceable(lstatSync(above), own)) throw unsafe(directory, `other users can change ${above}`);
    if (above === dirname(above)) return stat;
  }
}

/** Creates it if it is missing, and checks it. */
export function ensureSafeDirectory(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const own = ownUid();
  const { mode } = check(directory, own);
  if (own !== undefined && (mode & 0o077) !== 0) chmodSync(directory, 0o700);
}

/** Whether its files can be trusted; creates nothing. */
export function isSafeDirectory(directory: string): boolean {
  try {
    const own = ownUid();
    return (check(directory, own).mode & 0o077) === 0 || own === undefined;
  } catch {
    return false;
  }
}
