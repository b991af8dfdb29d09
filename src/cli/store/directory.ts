/** Where a served agent keeps its log, unless it is told otherwise. */
import { resolve } from "node:path";
import type { Flag, Io } from "../command.ts";

export const DATA = {
  type: "string",
  value: "DIR",
  help: "The directory the log is kept in; .earshot by default.",
} as const satisfies Flag;

export const dataDirectory = (io: Io, given: string | undefined): string =>
  resolve(io.cwd, given ?? ".earshot");
