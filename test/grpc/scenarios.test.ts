/** The hub's scenarios, unchanged, over gRPC: while they run, this driver stands in for the memory's (GRPC-03). */
import { readdirSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe } from "vitest";
import { memoryDriver } from "../support/driver.ts";
import { closePlaces, grpcDriver } from "./driver.ts";

/** Properties talk to the hub itself; over a wire they would show nothing new. */
const FILES = readdirSync(new URL("../scenarios", import.meta.url)).filter(
  (file) => file.endsWith(".test.ts") && !file.startsWith("properties"),
);

const memory = { ...memoryDriver };

describe("over gRPC", async () => {
  beforeAll(() => void Object.assign(memoryDriver, grpcDriver));
  afterEach(closePlaces);
  afterAll(() => void Object.assign(memoryDriver, memory));
  // A query: this transport needs the files' tests registered anew.
  for (const file of FILES) await import(/* @vite-ignore */ `../scenarios/${file}?grpc`);
});
