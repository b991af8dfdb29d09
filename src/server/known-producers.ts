/**
 * The agents a person has met, in a file of theirs: `$XDG_CONFIG_HOME/earshot/known-producers.json`, else
 * `~/.config/earshot/…`, on Windows below %APPDATA%. Written beside and moved into place, so that a crash leaves the old
 * list or the new one. A list that cannot be read is an error, never an empty list: revocations are in it.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { EarshotError } from "../protocol/errors.ts";
import type { KnownProducer, TrustStore } from "../subscriber/trust-store.ts";

/** Where the list of known producers is stored for this user. */
export function knownProducersPath(env: NodeJS.ProcessEnv = process.env): string {
  const base = env["XDG_CONFIG_HOME"] ?? env["APPDATA"] ?? join(homedir(), ".config");
  return join(base, "earshot", "known-producers.json");
}

/** Each change reads the file again, so that what another program wrote meanwhile is kept. */
export function createFileTrustStore(path = knownProducersPath()): TrustStore {
  let turn: Promise<unknown> = Promise.resolve();
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
      if (!Array.isArray(known) || !known.every(isKnown)) throw new TypeError("It is no list of agents.");
      return known;
    } catch (error) {
      throw unreadable(path, error);
    }
  };
  return {
    read: async () => read(),
    change(change) {
      const mine = turn.then(() => {
        const known = change(read());
        write(path, `${JSON.stringify({ known }, null, 2)}\n`);
        return known;
      });
      turn = mine.catch(() => undefined);
      return mine;
    },
  };
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const beside = `${path}.${process.pid}`;
  try {
    writeFileSync(beside, text, { mode: 0o600 });
    chmodSync(beside, 0o600);
    renameSync(beside, path);
  } finally {
    rmSync(beside, { force: true });
  }
}

function isKnown(one: unknown): one is KnownProducer {
  const { agent_id, name, addresses, since } = (one ?? {}) as Partial<Record<keyof KnownProducer, unknown>>;
  const texts = [agent_id, name, since].every((text) => typeof text === "string");
  return texts && Array.isArray(addresses) && addresses.every((place) => typeof place === "string");
}

const unreadable = (path: string, cause: unknown): EarshotError =>
  new EarshotError(
    "unreadable_trust",
    `The list of agents you trust, ${path}, cannot be read. Put it right, or remove it to be asked about every agent again; agents you had refused are then no longer refused.`,
    { cause },
  );
