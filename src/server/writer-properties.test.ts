/** Whatever is written to whom and when: all of it leaves, in order, within its time and its cap (F14). */
import fc from "fast-check";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type ByteSink, type Writer, WriteScheduler } from "./writer.ts";

const CAP = 900;
/** As many sockets as make deferrable frames wait after a flush. */
const SOCKETS = 64;
const MAX_DELAY_MS = 8;

let now = performance.now() + 3_600_000;
let scheduler: WriteScheduler;
beforeEach(() => {
  scheduler = new WriteScheduler();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setImmediate", "clearImmediate"] });
  vi.spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});
const pass = (ms: number) => {
  now += ms;
  vi.advanceTimersByTime(ms);
};

/** What is in a chunk of a chunked body, which must be whole. */
function bodyOf(chunk: Buffer): Buffer {
  const line = chunk.indexOf("\r\n");
  const size = Number.parseInt(chunk.toString("latin1", 0, line), 16);
  expect(chunk.toString("latin1", line + 2 + size)).toBe("\r\n");
  return chunk.subarray(line + 2, line + 2 + size);
}

/** A writer, the socket it writes to, and what is true of both. */
class Line implements ByteSink {
  readonly writer: Writer;
  readonly waits: Promise<void>[] = [];
  readonly #chunked: boolean;
  writableLength = 0;
  #said = Buffer.alloc(0);
  #left = Buffer.alloc(0);
  #roomy = true;
  #slow = false;
  #over = false;
  #urgent = false;
  #since = Infinity;

  constructor(chunked: boolean) {
    this.#chunked = chunked;
    const onSlow = () => {
      expect(this.#waiting + this.writableLength).toBeGreaterThan(CAP);
      this.#slow = true;
    };
    this.writer = scheduler.writer(this, { chunked, queueBytes: CAP, blockedMs: 60_000, onSlow });
  }

  write(bytes: Uint8Array): boolean {
    now += 0.25;
    const body = this.#chunked ? bodyOf(Buffer.from(bytes)) : bytes;
    this.#left = Buffer.concat([this.#left, body]);
    if (!this.#roomy) this.writableLength += bytes.byteLength;
    return this.#roomy;
  }

  get #waiting(): number {
    return this.#said.length - this.#left.length;
  }

  say(frame: Uint8Array | string, deferrable: boolean): void {
    const open = !this.#slow && !this.#over;
    if (open) this.#said = Buffer.concat([this.#said, Buffer.from(frame)]);
    this.#urgent ||= !deferrable;
    this.#since = Math.min(this.#since, now);
    const wait = this.writer.write(frame, deferrable);
    if (wait) this.waits.push(wait);
    if (open && !this.#slow) expect(this.#waiting).toBeLessThanOrEqual(CAP);
  }

  room(roomy: boolean): void {
    this.#roomy = roomy;
    if (!roomy) return;
    this.writableLength = 0;
    this.writer.drained();
  }

  end(frame: Uint8Array | string): void {
    // Whoever was too slow gets these words only, and nobody gets any twice.
    if (this.#slow && !this.#over) this.#said = Buffer.from(this.#left);
    if (!this.#over) this.#said = Buffer.concat([this.#said, Buffer.from(frame)]);
    this.writer.end(frame);
    this.#over = true;
    expect(this.#left.equals(this.#said)).toBe(true);
  }

  check(turned: boolean): void {
    expect(this.#said.subarray(0, this.#left.length).equals(this.#left)).toBe(true);
    if (this.#waiting === 0 || this.#slow) this.#since = Infinity;
    // A round of writes takes its time, and nothing can be written meanwhile.
    expect(now - this.#since).toBeLessThan(MAX_DELAY_MS + 2 * SOCKETS);
    if (!turned) return;
    if (this.#urgent && !this.#slow) expect(this.#waiting).toBe(0);
    this.#urgent = false;
  }

  checkAtLast(): void {
    if (!this.#slow) expect(this.#left.equals(this.#said)).toBe(true);
    this.writer.abandon();
  }
}

const frame = fc.constantFrom<string | Uint8Array>(
  "event",
  "naïve ",
  "日本👋",
  "w".repeat(300),
  Buffer.from("raw"),
);
const who = fc.nat({ max: 2 });
type Step = (lines: readonly Line[]) => unknown;
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ who, frame, deferrable: fc.boolean() }).map(
      ({ who, frame, deferrable }): Step =>
        (lines) =>
          lines[who]!.say(frame, deferrable),
    ),
  },
  {
    weight: 2,
    arbitrary: frame.map(
      (frame): Step =>
        (lines) => {
          for (const line of lines) line.say(frame, true);
        },
    ),
  },
  {
    weight: 2,
    arbitrary: fc.nat({ max: 30 }).map(
      (ms): Step =>
        () => {
          pass(ms);
          return true;
        },
    ),
  },
  fc.tuple(who, fc.boolean()).map(
    ([who, roomy]): Step =>
      (lines) =>
        lines[who]!.room(roomy),
  ),
  fc.tuple(who, frame).map(
    ([who, frame]): Step =>
      (lines) =>
        lines[who]!.end(frame),
  ),
  who.map(
    (who): Step =>
      (lines) =>
        lines[who]!.writer.flush(),
  ),
);

it("what is said leaves in order and in time, once, and nobody waits for ever (F14)", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.boolean(),
      fc.array(step, { minLength: 1, maxLength: 40 }),
      async (chunked, steps) => {
        const lines = Array.from({ length: SOCKETS }, () => new Line(chunked));
        for (const take of steps) {
          const turned = take(lines) === true;
          for (const line of lines) line.check(turned);
        }
        pass(0);
        pass(MAX_DELAY_MS);
        for (const line of lines) line.checkAtLast();
        await Promise.all(lines.flatMap(({ waits }) => waits));
      },
    ),
    { numRuns: 200 },
  );
});
