/** Finds the agents that run for this user: the sockets in the conventional directory that accept connections (MAN-02). */
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "../protocol/parse.ts";
import type { ProducerManifest } from "../protocol/types.ts";
import { probeSocket } from "./ipc/bind.ts";
import { manifestPathFor, PIPE_DIRECTORY, socketDirectory } from "./ipc/path.ts";
import { isSafeDirectory, ownUid } from "./safe-directory.ts";

/** An agent found by `discover`. */
export interface Discovered {
  /** For subscribe(). */
  readonly address: string;
  readonly path: string;
  /** Its manifest, if there is a manifest file. */
  readonly manifest: ProducerManifest | undefined;
}

/** Options of `discover`. */
export interface DiscoverOptions {
  readonly directory?: string;
  /** How long an agent may take to accept a connection; 500 by default. */
  readonly timeoutMs?: number;
}

/** Finds the agents that run on this machine and answer at their socket. */
export async function discover({ directory, timeoutMs = 500 }: DiscoverOptions = {}): Promise<Discovered[]> {
  const folder = directory ?? socketDirectory();
  if (folder === undefined) return discoverPipes();
  // A planted socket would make people answer another agent's questions.
  if (!isSafeDirectory(folder)) return [];
  const found = await Promise.all(
    namesIn(folder)
      .filter((name) => name.endsWith(".sock") && !name.startsWith("."))
      .sort()
      .map(async (name): Promise<Discovered[]> => {
        const path = join(folder, name);
        if (!isOwn(path, "isSocket") || (await probeSocket(path, timeoutMs)) !== "alive") return [];
        return [{ address: `unix:${path}`, path, manifest: readManifest(manifestPathFor(path)) }];
      }),
  );
  return found.flat();
}

/** Windows lists its pipes like a directory; a pipe exists only while it is served. */
export function discoverPipes(list: (directory: string) => string[] = readdirSync): Discovered[] {
  let names: string[];
  try {
    names = list("\\\\.\\pipe\\");
  } catch {
    return [];
  }
  return names
    .filter((name) => /^aaep\\[^\\]+$/i.test(name))
    .sort()
    .map((name) => `${PIPE_DIRECTORY}${name.slice("aaep\\".length)}`)
    .map((path) => ({ address: `pipe:${path}`, path, manifest: undefined }));
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function isOwn(path: string, kind: "isSocket" | "isFile"): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  const uid = ownUid();
  return stat?.[kind]() === true && (uid === undefined || stat.uid === uid);
}

function readManifest(path: string): ProducerManifest | undefined {
  try {
    if (!isOwn(path, "isFile")) return undefined;
    const parsed = parse(readFileSync(path), { mode: "tolerant" });
    return parsed.ok && parsed.kind === "message" && parsed.message.type === "aaep:producer.manifest"
      ? (parsed.message as ProducerManifest)
      : undefined;
  } catch {
    return undefined;
  }
}
