/**
 * The agents a person has accepted or refused, in `$XDG_CONFIG_HOME/earshot/known-producers.json`, else
 * `~/.config/earshot/…`, on Windows below %APPDATA%. The file is written to a temporary name and renamed, so that a
 * crash leaves the old list or the new one. An unreadable list is an error, never an empty list: it contains refusals.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { EarshotError } from "../protocol/errors.ts";
import type { KnownProducer, TrustStore } from "../subscriber/known-producers.ts";

/** Where the list of known producers is stored for this user. */
export function knownProducersPath(env: NodeJS.ProcessEnv = process.env): string {
  const base = env["XDG_CONFIG_HOME"] ?? env["APPDATA"] ?? join(homedir(), ".config");
  return join(base, "earshot", "known-producers.json");
}

/** Each change reads the file again, so that changes by other programs are kept. */
export function createFileTrustStore(path = knownProducersPath()): TrustStore {
  let queue: Promise<unknown> = Promise.resolve();
  const read = (): readonly KnownProducer[] => {
    let text: string;
    try {
      text = readFileSync(path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw unreadable(path, error);
    }
    try {
      const { known } = JSON.parse(text) as { known: unknown };
      if (!Array.isArray(known) || !known.every(isKnown))
        throw new TypeError("The file does not contain a list of agents.");
      return known;
    } catch (error) {
      throw unreadable(path, error);
    }
  };
  return {
    read: async () => read(),
    change(change) {
      const result = queue.then(() => {
        const known = change(read());
        write(path, `${JSON.stringify({ known }, null, 2)}\n`);
        return known;
      });
      queue = result.catch(() => undefined);
      return result;
    },
  };
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = `${path}.${process.pid}`;
  try {
    writeFileSync(temporary, text, { mode: 0o600 });
    chmodSync(temporary, 0o600);
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}

function isKnown(one: unknown): one is KnownProducer {
  const { agent_id, name, addresses, since } = (one ?? {}) as Partial<Record<keyof KnownProducer, unknown>>;
  const texts = [agent_id, name, since].every((text) => typeof text === "string");
  return texts && Array.isArray(addresses) && addresses.every((address) => typeof address === "string");
}

const unreadable = (path: string, cause: unknown): EarshotError =>
  new EarshotError(
    "unreadable_trust",
    `The list of agents you trust, ${path}, cannot be read. Repair it, or delete it to be asked about every agent again. After deleting it, agents you refused are no longer refused.`,
    { cause },
  );
