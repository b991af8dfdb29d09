/** The hub's scenarios, unchanged, over gRPC: while they run, this driver stands in for the memory's (GRPC-03). */
import { readdirSync } from "node:fs";
import { afterAll, afterEach, beforeAll, beforeEach, describe } from "vitest";
import { memoryDriver } from "../support/driver.ts";
import { closePlaces, grpcDriver } from "./driver.ts";

/** Properties talk to the hub itself; over a wire they would show nothing new. */
const FILES = readdirSync(new URL("../scenarios", import.meta.url)).filter(
  (file) => file.endsWith(".test.ts") && !file.startsWith("properties"),
);

/** Stories that hold in memory only, each with its reason. */
const TIED_TO_MEMORY: [title: string, why: string][] = [
  [
    "waits for somebody to come, if it was told to",
    "a close needs a moment on the wire, in which the question is asked",
  ],
  [
    "stops everything at once for the one who leaves",
    "looks at the far end in the very turn the near one spoke",
  ],
];

const memory = { ...memoryDriver };

describe("over gRPC", async () => {
  beforeAll(() => void Object.assign(memoryDriver, grpcDriver));
  beforeEach(({ task, skip }) => {
    const tied = TIED_TO_MEMORY.find(([title]) => task.name.startsWith(title));
    if (tied) skip(tied[1]);
  });
  afterEach(closePlaces);
  afterAll(() => void Object.assign(memoryDriver, memory));
  // A query: this transport needs the files' tests registered anew.
  for (const file of FILES) await import(/* @vite-ignore */ `../scenarios/${file}?grpc`);
});
