import { describe, expect, it } from "vitest";
import { createStreamWriter, type MessageStream } from "./server.ts";

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
    const writer = createStreamWriter(stream, { queueBytes: 100, blockedMs: 60_000, onSlow: () => {} });
    expect(writer.write(Buffer.from("a"))).toBeUndefined();
    const wait = writer.write(Buffer.from("b"));
    expect(wait).toBeInstanceOf(Promise);
    expect(writer.write(Buffer.from("c"))).toBe(wait);
    drain();
    await wait;
  });

  it("never piles up more than its queueBytes: what is beyond it ends the line, once, before the wait is over", async () => {
    const { stream, sent } = blockedStream();
    const said: string[] = [];
    const writer = createStreamWriter(stream, {
      queueBytes: 10,
      blockedMs: 60_000,
      onSlow: () => said.push("slow"),
    });
    writer.write(Buffer.alloc(4));
    const wait = writer.write(Buffer.alloc(4))!.then(() => said.push("over"));
    expect(writer.write(Buffer.alloc(4))).toBeUndefined();
    expect(writer.write(Buffer.alloc(4))).toBeUndefined();
    await wait;
    expect(said).toEqual(["slow", "over"]);
    expect(sent).toHaveLength(2);
  });

  it("takes more as messages leave, and nothing once it is over", () => {
    const { stream, sent } = blockedStream();
    const writer = createStreamWriter(stream, { queueBytes: 10, blockedMs: 60_000, onSlow: () => {} });
    for (let i = 0; i < 10; i++) {
      writer.write(Buffer.alloc(9));
      sent.at(-1)!.done();
    }
    expect(sent).toHaveLength(10);
    writer.release();
    writer.write(Buffer.alloc(1));
    expect(sent).toHaveLength(10);
  });
});
