import { existsSync, readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { createHalfOpenDetector, halfOpenIn, keyOf } from "./half-open.ts";

/** As Linux writes it: 127.0.0.1:4600 to 192.0.2.7:50000, sent again so many times. */
const row = (again: number, state = "01", remote = "070200C0:C350") =>
  `   1: 0100007F:11F8 ${remote} ${state} 000002A0:00000000 01:00000340 ${again.toString(16).padStart(8, "0").toUpperCase()}  1000        0 99 2 0000 21 4 26 10 -1`;
const HEADER =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
const GONE = { localPort: 4600, remoteAddress: "192.0.2.7", remotePort: 50_000 };

describe("a listener that is gone without a word (F15)", () => {
  it("is told by how often the system has sent to it in vain", () => {
    expect(halfOpenIn([HEADER, row(7)].join("\n"))).toEqual([keyOf(GONE)]);
    expect(halfOpenIn([HEADER, row(6)].join("\n"))).toEqual([]);
    // Only what is open: others are on their way out already.
    expect(halfOpenIn([HEADER, row(9, "04")].join("\n"))).toEqual([]);
    expect(halfOpenIn("")).toEqual([]);
    expect(halfOpenIn("nonsense\n: : : : : : :\n01 01")).toEqual([]);
  });

  it("is let go, once, and nobody else is", async () => {
    let table = HEADER;
    const { watch, check } = createHalfOpenDetector(60_000, async () => table);
    const [gone, beside, other] = [vi.fn(), vi.fn(), vi.fn()];
    const stop = watch(GONE, gone);
    watch(GONE, beside);
    watch({ ...GONE, remotePort: 50_001 }, other);
    await check();
    expect(gone).not.toHaveBeenCalled();
    table = [HEADER, row(8)].join("\n");
    await check();
    expect(gone).toHaveBeenCalledTimes(1);
    expect(beside).toHaveBeenCalledTimes(1);
    stop();
    await check();
    expect(gone).toHaveBeenCalledTimes(1);
    expect(other).not.toHaveBeenCalled();
  });

  it("is the same whether its address is written in version 4, mapped or in version 6", () => {
    expect(keyOf({ ...GONE, remoteAddress: "::ffff:192.0.2.7" })).toBe(keyOf(GONE));
    const mapped = "0000000000000000FFFF0000070200C0:C350";
    expect(halfOpenIn(row(7, "01", mapped))).toEqual([keyOf(GONE)]);
    const six = "B80D0120000000000000000001000000:C350";
    expect(halfOpenIn(row(7, "01", six))).toEqual([keyOf({ ...GONE, remoteAddress: "2001:db8::1" })]);
    expect(keyOf({})).toBeUndefined();
  });

  it.skipIf(!existsSync("/proc/net/tcp"))("is found in the table of this machine", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
    await new Promise((resolve) => server.once("listening", resolve));
    const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
    const socket = await accepted;
    expect(halfOpenIn(readFileSync("/proc/net/tcp", "latin1"), 0)).toContain(keyOf(socket));
    expect(halfOpenIn(readFileSync("/proc/net/tcp", "latin1"))).not.toContain(keyOf(socket));
    client.destroy();
    socket.destroy();
    server.close();
  });
});
