/** Files on a machine that stops: after so many bytes nothing is written any more, and what was not synced may be gone. */
import { truncateSync } from "node:fs";
import { basename } from "node:path";
import { type FilePort, nodeFiles } from "../../src/stores/embedded/file-port.ts";

export interface CrashPoint {
  /** Bytes of log records that still reach the file. */
  readonly bytes: number;
  /** How much of what was written and not synced survives, from 0 to 1: all of it after kill -9, any part after a power cut. */
  readonly unsynced: number;
}

export interface CrashingFiles extends FilePort {
  readonly crashed: boolean;
  /** The machine stops now, if it has not yet. */
  crash(): void;
}

export function crashingFiles({ bytes: budget, unsynced }: CrashPoint): CrashingFiles {
  let left = budget;
  let crashed = false;
  const sizes = new Map<string, { synced: number; written: number }>();
  const alive = <T>(work: () => Promise<T>): Promise<T> =>
    crashed ? Promise.reject(new Error("The machine has stopped.")) : work();
  const crash = (): void => {
    if (crashed) return;
    crashed = true;
    for (const [path, { synced, written }] of sizes) {
      const kept = synced + Math.floor((written - synced) * unsynced);
      if (kept < written) truncateSync(path, kept);
    }
  };
  return {
    get crashed() {
      return crashed;
    },
    crash,
    list: (directory) => alive(() => nodeFiles.list(directory)),
    read: (path, from, to) => alive(() => nodeFiles.read(path, from, to)),
    stat: (path) => alive(() => nodeFiles.stat(path)),
    syncDirectory: (directory) => alive(() => nodeFiles.syncDirectory(directory)),
    remove: (path) => alive(() => nodeFiles.remove(path)),
    rename: (from, to) => alive(() => nodeFiles.rename(from, to)),
    link: (from, to) => alive(() => nodeFiles.link(from, to)),
    ensureDirectory: (path) => alive(() => nodeFiles.ensureDirectory(path)),
    open: (path, exclusive) =>
      alive(async () => {
        const file = await nodeFiles.open(path, exclusive);
        if (!basename(path).endsWith(".seg")) return file;
        const { size } = await nodeFiles.stat(path);
        const state = sizes.get(path) ?? { synced: size, written: size };
        sizes.set(path, state);
        return {
          append: (bytes) =>
            alive(async () => {
              const part = bytes.subarray(0, Math.max(0, left));
              left -= bytes.byteLength;
              await file.append(part);
              state.written += part.byteLength;
              if (left >= 0) return;
              crash();
              throw new Error("The machine has stopped.");
            }),
          sync: () =>
            alive(async () => {
              await file.sync();
              state.synced = state.written;
            }),
          truncate: (to) =>
            alive(async () => {
              await file.truncate(to);
              Object.assign(state, { synced: to, written: to });
            }),
          close: () => file.close(),
        };
      }),
  };
}
