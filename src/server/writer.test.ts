import { stat } from "node:fs";
import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type ByteSink, type WriterOptions, WriteScheduler } from "./writer.ts";

class FakeSink implements ByteSink {
  readonly written: Uint8Array[] = [];
  writableLength = 0;
  roomy = true;
  write(bytes: Uint8Array): boolean {
    this.written.push(bytes);
    if (!this.roomy) this.writableLength += bytes.byteLength;
    return this.roomy;
  }
  get text(): string[] {
    return this.written.map((bytes) => Buffer.from(bytes).toString());
  }
}

let scheduler: WriteScheduler;
beforeEach(() => {
  scheduler = new WriteScheduler();
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});
const create = (options: Partial<WriterOptions> = {}) => {
  const sink = new FakeSink();
  const onSlow = vi.fn();
  const writer = scheduler.writer(sink, { queueBytes: 1_000, blockedMs: 60_000, onSlow, ...options });
  return { sink, onSlow, writer };
};
const bytes = (text: string) => Buffer.from(text);
describe("writing to many sockets", () => {
  it("what is said in one turn leaves in one write, in order, also across microtasks", async () => {
    const { sink, writer } = create();
    writer.write(bytes("a"));
    await Promise.resolve();
    writer.write(bytes("b"));
    expect(sink.written).toEqual([]);
    await turn();
    writer.write(bytes("c"));
    await turn();
    expect(sink.text).toEqual(["ab", "c"]);
  });

  it("sockets that send the same frames share their joined bytes; others get their own", async () => {
    const all = [create(), create(), create()];
    const [x, y, z] = [bytes("x"), bytes("y"), bytes("z")];
    for (const frame of [x, y]) for (const { writer } of all) writer.write(frame);
    all[2]!.writer.write(z);
    await turn();
    expect(all.map(({ sink }) => sink.text.join())).toEqual(["xy", "xy", "xyz"]);
    expect(all[0]!.sink.written[0]).toBe(all[1]!.sink.written[0]);
  });

  it("a single frame is written as it is, without a copy", async () => {
    const { sink, writer } = create();
    const frame = bytes("alone");
    writer.write(frame);
    await turn();
    expect(sink.written[0]).toBe(frame);
  });

  it("a socket that is full is waited for, and only then written to again", async () => {
    const { sink, writer } = create();
    sink.roomy = false;
    expect(writer.write(bytes("a"))).toBeUndefined();
    await turn();
    const blocked = writer.write(bytes("b"));
    expect(blocked).toBeInstanceOf(Promise);
    sink.roomy = true;
    sink.writableLength = 0;
    writer.drained();
    await blocked;
    await turn();
    expect(sink.text).toEqual(["a", "b"]);
  });

  it("more than the cap is too slow: said once, what waited is dropped, nobody waits for ever (F14)", async () => {
    const { sink, onSlow, writer } = create({ queueBytes: 10 });
    sink.roomy = false;
    writer.write(bytes("12345678"));
    await turn();
    const blocked = writer.write(bytes("9"));
    expect(onSlow).not.toHaveBeenCalled();
    writer.write(bytes("0123"));
    writer.write(bytes("0123"));
    expect(onSlow).toHaveBeenCalledTimes(1);
    await blocked;
    await turn();
    expect(sink.text).toEqual(["12345678"]);
  });

  it("too long without draining is too slow, and whoever waits finds out after it was said (F14)", async () => {
    const order: string[] = [];
    const { sink, writer } = create({ blockedMs: 5, onSlow: () => order.push("slow") });
    sink.roomy = false;
    writer.write(bytes("a"));
    await turn();
    await writer.write(bytes("b"))!.then(() => order.push("released"));
    expect(order).toEqual(["slow", "released"]);
  });

  it("a socket that drains in time is not slow", async () => {
    const { sink, onSlow, writer } = create({ blockedMs: 20 });
    sink.roomy = false;
    writer.write(bytes("a"));
    await turn();
    writer.drained();
    await wait(40);
    expect(onSlow).not.toHaveBeenCalled();
  });

  it("a reader is not slow because this process was stalled: pending I/O is looked at first", async () => {
    const { sink, onSlow, writer } = create({ blockedMs: 20 });
    sink.roomy = false;
    writer.write(bytes("a"));
    await turn();
    stat(import.meta.filename, () => writer.drained());
    for (const end = performance.now() + 60; performance.now() < end; );
    await wait(10);
    expect(onSlow).not.toHaveBeenCalled();
  });

  it("one that fails takes nobody else along", async () => {
    const [broken, fine] = [create(), create()];
    broken.sink.write = () => {
      throw new Error("gone");
    };
    broken.writer.write(bytes("a"));
    fine.writer.write(bytes("b"));
    await turn();
    expect(fine.sink.text).toEqual(["b"]);
    expect(broken.writer.write(bytes("c"))).toBeUndefined();
  });

  it("text leaves as bytes, in one chunk where the body is chunked, and the last words too", async () => {
    const [plain, chunked] = [create(), create({ chunked: true })];
    for (const { writer } of [plain, chunked]) for (const text of ["naïve ", "日本"]) writer.write(text);
    await turn();
    for (const { writer } of [plain, chunked]) writer.end("👋");
    expect(plain.sink.text).toEqual(["naïve 日本", "👋"]);
    expect(chunked.sink.text).toEqual(["d\r\nnaïve 日本\r\n", "4\r\n👋\r\n"]);
  });

  it("text counts in bytes, and last words reach also who was too slow (F14)", async () => {
    const { sink, onSlow, writer } = create({ queueBytes: 10 });
    writer.write("abc");
    writer.write("日本");
    expect(onSlow).not.toHaveBeenCalled();
    writer.write("éé");
    expect(onSlow).toHaveBeenCalledTimes(1);
    writer.end("bye");
    expect(sink.text).toEqual(["bye"]);
  });

  it("after a long round of writes what is deferrable waits a little, and goes together; what is not goes at once", async () => {
    await turn();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate"] });
    let now = performance.now() + 3_600_000;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    const pass = (ms: number) => {
      now += ms;
      vi.advanceTimersByTime(ms);
    };
    const { sink, writer } = create();
    const others = Array.from({ length: 63 }, () => create().writer);
    const write = (frame: string, deferrable?: boolean) => {
      for (const one of [writer, ...others]) one.write(frame, deferrable);
    };
    let takes = 1.5;
    const take = sink.write.bind(sink);
    sink.write = (written) => {
      now += takes;
      return take(written);
    };
    write("a", true);
    pass(0);
    expect(sink.text).toEqual(["a"]);
    writer.write("b", true);
    pass(4);
    write("c", true);
    expect(sink.text).toEqual(["a"]);
    pass(2);
    expect(sink.text).toEqual(["a", "bc"]);
    writer.write("d", true);
    writer.write("critical");
    pass(0);
    expect(sink.text).toEqual(["a", "bc", "dcritical"]);
    // However long it took, nobody waits longer than can be noticed.
    takes = 500;
    write("e");
    pass(0);
    write("f", true);
    pass(7);
    expect(sink.text.at(-1)).toBe("e");
    pass(1);
    expect(sink.text.at(-1)).toBe("f");
    // A round for few needs no rest.
    writer.write("g");
    pass(0);
    now += 8;
    writer.write("h", true);
    pass(0);
    writer.write("i", true);
    pass(0);
    expect(sink.text.slice(-2)).toEqual(["h", "i"]);
  });

  it("nobody has to wait out a rest: what is too much for one turn goes at once, and so does what comes behind it", async () => {
    await turn();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate"] });
    let now = performance.now() + 2 * 3_600_000;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    const all = Array.from({ length: 64 }, () => create({ queueBytes: 1_000_000 }));
    for (const { writer, sink } of all) {
      writer.write("a", true);
      sink.write = (written) => {
        now += 1;
        return FakeSink.prototype.write.call(sink, written);
      };
    }
    vi.advanceTimersByTime(0);
    const [{ writer, sink }] = all as [ReturnType<typeof create>];
    expect(writer.write("b", true)).toBeUndefined();
    vi.advanceTimersByTime(1);
    expect(sink.text).toEqual(["a"]);
    const replay = writer.write("x".repeat(100_000), true)!.then(() => writer.write("stop"));
    vi.advanceTimersByTime(0);
    await replay;
    vi.advanceTimersByTime(0);
    expect(sink.text.join("").replaceAll("x", "")).toBe("abstop");
  });

  it("after the last words nothing is written", async () => {
    const { sink, writer } = create();
    writer.write(bytes("a"));
    writer.release();
    writer.write(bytes("b"));
    await turn();
    expect(sink.text).toEqual(["a"]);
  });
});
