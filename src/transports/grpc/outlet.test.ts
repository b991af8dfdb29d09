import { describe, expect, it } from "vitest";
import { createOutlet, type MessageStream } from "./outlet.ts";

function blockedStream() {
  const sent: { bytes: Buffer; done: () => void }[] = [];
  const drains: (() => void)[] = [];
  const stream: MessageStream = {
    write(bytes, done) {
      sent.push({ bytes, done });
      return sent.length < 2;
    },
    once: (_, listener) => void drains.push(listener),
  };
  return { stream, sent, drain: () => drains.splice(0).forEach((listener) => void listener()) };
}

describe("writing to a gRPC stream", () => {
  it("is waited for once the stream is full, until it drains: DEL-17", async () => {
    const { stream, drain } = blockedStream();
    const outlet = createOutlet(stream, { cap: 100, blockedMs: 60_000, slow: () => {} });
    expect(outlet.write(Buffer.from("a"))).toBeUndefined();
    const wait = outlet.write(Buffer.from("b"));
    expect(wait).toBeInstanceOf(Promise);
    expect(outlet.write(Buffer.from("c"))).toBe(wait);
    drain();
    await wait;
  });

  it("never piles up more than its cap: what is beyond it ends the line, once, before the wait is over", async () => {
    const { stream, sent } = blockedStream();
    const said: string[] = [];
    const outlet = createOutlet(stream, { cap: 10, blockedMs: 60_000, slow: () => said.push("slow") });
    outlet.write(Buffer.alloc(4));
    const wait = outlet.write(Buffer.alloc(4))!.then(() => said.push("over"));
    expect(outlet.write(Buffer.alloc(4))).toBeUndefined();
    expect(outlet.write(Buffer.alloc(4))).toBeUndefined();
    await wait;
    expect(said).toEqual(["slow", "over"]);
    expect(sent).toHaveLength(2);
  });

  it("takes more as messages leave, and nothing once it is over", () => {
    const { stream, sent } = blockedStream();
    const outlet = createOutlet(stream, { cap: 10, blockedMs: 60_000, slow: () => {} });
    for (let i = 0; i < 10; i++) {
      outlet.write(Buffer.alloc(9));
      sent.at(-1)!.done();
    }
    expect(sent).toHaveLength(10);
    outlet.release();
    outlet.write(Buffer.alloc(1));
    expect(sent).toHaveLength(10);
  });
});
