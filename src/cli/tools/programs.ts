/** Programs of the system: whether they are there, as the person's PATH has it. */
import { accessSync, constants, statSync } from "node:fs";
import { connect } from "node:net";
import { delimiter, join } from "node:path";
import type { Io } from "../command.ts";

export function findProgram({ env }: Io, ...names: string[]): string | undefined {
  const endings = process.platform === "win32" ? [".exe", ".cmd", ""] : [""];
  for (const name of names) {
    for (const folder of (env["PATH"] ?? "").split(delimiter).filter(Boolean)) {
      for (const ending of endings) {
        const path = join(folder, `${name}${ending}`);
        if (isProgram(path)) return path;
      }
    }
  }
  return undefined;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Whether somebody answers at a socket's path or a port of this machine. */
export function answers(place: string | number, timeout_ms = 500): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = typeof place === "string" ? connect(place) : connect(place, "127.0.0.1");
    const done = (yes: boolean) => {
      socket.destroy();
      resolve(yes);
    };
    socket.setTimeout(timeout_ms, () => done(false));
    socket.once("connect", () => done(true)).once("error", () => done(false));
  });
}
