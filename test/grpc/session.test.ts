import { afterAll, describe, expect, it } from "vitest";
import * as grpc from "@grpc/grpc-js";
import type { AgentEvent } from "../../src/protocol/types.ts";
import { TRANSFER } from "../support/driver.ts";
import { admitted, Bare, Cable, eventually, listen, REQUEST, world } from "./support.ts";
import { asBytes, MANIFEST_PATH } from "../../src/transports/grpc/library.ts";
import { decodeJson, encodeAaepMessage } from "../../src/transports/grpc/message.ts";

const typesOf = (events: readonly AgentEvent[]) => events.map(({ type }) => type.replace("aaep:agent.", ""));

describe("a subscription over gRPC", () => {
  it("is asked for first, answered in full, and hears a whole session in order (GRPC-01, GRPC-03)", async () => {
    const here = await world();
    const listener = await listen(here);
    expect(listener.accepted).toMatchObject({ type: "subscription.accepted", honored: expect.anything() });
    const heard: AgentEvent[] = [];
    listener.on("event", (event) => heard.push(event));
    await here.producer.run({ summary: "Planning your week." }, async (session) => {
      await session.tool({ tool: "fetch", summary: "Checking your balance." }, () => 7);
      await session.say("Your balance is seven. ");
    });
    await eventually(() => typesOf(heard).includes("session.completed"), "completed");
    expect(typesOf(heard)[0]).toBe("session.started");
    expect(typesOf(heard).at(-1)).toBe("session.completed");
    expect(typesOf(heard).indexOf("tool.invoked")).toBeLessThan(typesOf(heard).indexOf("tool.completed"));
  });
});
