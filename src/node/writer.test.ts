import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
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

  it("after the last words nothing is written", async () => {
    const { outlet, writer } = create();
    writer.write(bytes("a"));
    writer.release();
    writer.write(bytes("b"));
    await turn();
    expect(outlet.text).toEqual(["a"]);
  });
});
