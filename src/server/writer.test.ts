import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { backToRealTime } from "../../test/support/writers.ts";
import { type Outlet, Writer, type WriterOptions } from "./writer.ts";

class FakeOutlet implements Outlet {
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

const create = (options: Partial<WriterOptions> = {}) => {
  const outlet = new FakeOutlet();
  const slow = vi.fn();
  return { outlet, slow, writer: new Writer(outlet, { cap: 1_000, blocked_ms: 60_000, slow, ...options }) };
};
const bytes = (text: string) => Buffer.from(text);
describe("writing to many sockets", () => {
  it("what is said in one turn leaves in one write, in order, also across microtasks", async () => {
    const { outlet, writer } = create();
    writer.write(bytes("a"));
    await Promise.resolve();
    writer.write(bytes("b"));
    expect(outlet.written).toEqual([]);
    await turn();
    writer.write(bytes("c"));
    await turn();
    expect(outlet.text).toEqual(["ab", "c"]);
  });

  it("sockets that send the same frames share their joined bytes; others get their own", async () => {
    const all = [create(), create(), create()];
    const [x, y, z] = [bytes("x"), bytes("y"), bytes("z")];
    for (const frame of [x, y]) for (const { writer } of all) writer.write(frame);
    all[2]!.writer.write(z);
    await turn();
    expect(all.map(({ outlet }) => outlet.text.join())).toEqual(["xy", "xy", "xyz"]);
    expect(all[0]!.outlet.written[0]).toBe(all[1]!.outlet.written[0]);
  });

  it("a single frame is written as it is, without a copy", async () => {
    const { outlet, writer } = create();
    const frame = bytes("alone");
    writer.write(frame);
    await turn();
    expect(outlet.written[0]).toBe(frame);
  });

  it("a socket that is full is waited for, and only then written to again", async () => {
    const { outlet, writer } = create();
    outlet.roomy = false;
    expect(writer.write(bytes("a"))).toBeUndefined();
    await turn();
    const blocked = writer.write(bytes("b"));
    expect(blocked).toBeInstanceOf(Promise);
    outlet.roomy = true;
    outlet.writableLength = 0;
    writer.drained();
    await blocked;
    await turn();
    expect(outlet.text).toEqual(["a", "b"]);
  });

  it("more than the cap is too slow: said once, what waited is dropped, nobody waits for ever (F14)", async () => {
    const { outlet, slow, writer } = create({ cap: 10 });
    outlet.roomy = false;
    writer.write(bytes("12345678"));
    await turn();
    const blocked = writer.write(bytes("9"));
    expect(slow).not.toHaveBeenCalled();
    writer.write(bytes("0123"));
    writer.write(bytes("0123"));
    expect(slow).toHaveBeenCalledTimes(1);
    await blocked;
    await turn();
    expect(outlet.text).toEqual(["12345678"]);
  });

  it("too long without draining is too slow, and whoever waits finds out after it was said (F14)", async () => {
    const order: string[] = [];
    const { outlet, writer } = create({ blocked_ms: 5, slow: () => order.push("slow") });
    outlet.roomy = false;
    writer.write(bytes("a"));
    await turn();
    await writer.write(bytes("b"))!.then(() => order.push("released"));
    expect(order).toEqual(["slow", "released"]);
  });

  it("a socket that drains in time is not slow", async () => {
    const { outlet, slow, writer } = create({ blocked_ms: 20 });
    outlet.roomy = false;
    writer.write(bytes("a"));
    await turn();
    writer.drained();
    await wait(40);
    expect(slow).not.toHaveBeenCalled();
  });

  it("one that fails takes nobody else along", async () => {
    const [broken, fine] = [create(), create()];
    broken.outlet.write = () => {
      throw new Error("gone");
    };
    broken.writer.write(bytes("a"));
    fine.writer.write(bytes("b"));
    await turn();
    expect(fine.outlet.text).toEqual(["b"]);
    expect(broken.writer.write(bytes("c"))).toBeUndefined();
  });

  it("text leaves as bytes, in one chunk where the body is chunked, and the last words too", async () => {
    const [plain, chunked] = [create(), create({ chunked: true })];
    for (const { writer } of [plain, chunked]) for (const text of ["naïve ", "日本"]) writer.write(text);
    await turn();
    for (const { writer } of [plain, chunked]) writer.end("👋");
    expect(plain.outlet.text).toEqual(["naïve 日本", "👋"]);
    expect(chunked.outlet.text).toEqual(["d\r\nnaïve 日本\r\n", "4\r\n👋\r\n"]);
  });

  it("text counts in bytes, and last words reach also who was too slow (F14)", async () => {
    const { outlet, slow, writer } = create({ cap: 10 });
    writer.write("abc");
    writer.write("日本");
    expect(slow).not.toHaveBeenCalled();
    writer.write("éé");
    expect(slow).toHaveBeenCalledTimes(1);
    writer.end("bye");
    expect(outlet.text).toEqual(["bye"]);
  });

  it("after a long round of writes what is patient rests a little, and goes together; what is not goes at once", async () => {
    await turn();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate"] });
    let now = performance.now() + 3_600_000;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    const pass = (ms: number) => {
      now += ms;
      vi.advanceTimersByTime(ms);
    };
    try {
      const { outlet, writer } = create();
      const others = Array.from({ length: 63 }, () => create().writer);
      const write = (frame: string, patient?: boolean) => {
        for (const one of [writer, ...others]) one.write(frame, patient);
      };
      let takes = 1.5;
      const take = outlet.write.bind(outlet);
      outlet.write = (written) => {
        now += takes;
        return take(written);
      };
      write("a", true);
      pass(0);
      expect(outlet.text).toEqual(["a"]);
      writer.write("b", true);
      pass(4);
      write("c", true);
      expect(outlet.text).toEqual(["a"]);
      pass(2);
      expect(outlet.text).toEqual(["a", "bc"]);
      writer.write("d", true);
      writer.write("critical");
      pass(0);
      expect(outlet.text).toEqual(["a", "bc", "dcritical"]);
      // However long it took, nobody waits longer than can be noticed.
      takes = 500;
      write("e");
      pass(0);
      write("f", true);
      pass(7);
      expect(outlet.text.at(-1)).toBe("e");
      pass(1);
      expect(outlet.text.at(-1)).toBe("f");
      // A round for few needs no rest.
      writer.write("g");
      pass(0);
      now += 8;
      writer.write("h", true);
      pass(0);
      writer.write("i", true);
      pass(0);
      expect(outlet.text.slice(-2)).toEqual(["h", "i"]);
    } finally {
      await backToRealTime();
    }
  });

  it("nobody has to wait out a rest: what is too much for one turn goes at once, and so does what comes behind it", async () => {
    await turn();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate"] });
    let now = performance.now() + 2 * 3_600_000;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    try {
      const all = Array.from({ length: 64 }, () => create({ cap: 1_000_000 }));
      for (const { writer, outlet } of all) {
        writer.write("a", true);
        outlet.write = (written) => {
          now += 1;
          return FakeOutlet.prototype.write.call(outlet, written);
        };
      }
      vi.advanceTimersByTime(0);
      const [{ writer, outlet }] = all as [ReturnType<typeof create>];
      expect(writer.write("b", true)).toBeUndefined();
      vi.advanceTimersByTime(1);
      expect(outlet.text).toEqual(["a"]);
      const replay = writer.write("x".repeat(100_000), true)!.then(() => writer.write("stop"));
      vi.advanceTimersByTime(0);
      await replay;
      vi.advanceTimersByTime(0);
      expect(outlet.text.join("").replaceAll("x", "")).toBe("abstop");
    } finally {
      await backToRealTime();
    }
  });

  it("after the last words nothing is written", async () => {
    const { outlet, writer } = create();
    writer.write(bytes("a"));
    writer.release();
    writer.write(bytes("b"));
    await turn();
    expect(outlet.text).toEqual(["a"]);
  });
});
