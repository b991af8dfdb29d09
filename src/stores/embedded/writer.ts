/** The end of the log: where bytes go, and when a new segment is begun. */
import { join } from "node:path";
import { type FilePort, type OpenFile, replaceFile } from "./file-port.ts";
import type { Ledger } from "./ledger.ts";
import type { Recovered } from "./recover.ts";
import { encodeHeader, HEADER, type LogRecord, RecordEncoder, segmentName } from "./segment.ts";

interface WriterOptions {
  readonly directory: string;
  readonly files: FilePort;
  readonly ledger: Ledger;
  readonly segment_bytes: number;
  /** A segment older than this gets no more records, so that it can go when its time comes. */
  readonly segment_ms: number;
  readonly sync: boolean;
  readonly wallTime: () => number;
}

const LOOK_MS = 1000;

/** Cuts an unfinished write off the end, and keeps the bytes beside the log: they may be all there is of something. */
export async function repairTail(
  directory: string,
  files: FilePort,
  { ledger, torn }: Recovered,
): Promise<string | undefined> {
  const last = ledger.segments.at(-1);
  if (!torn || !last || torn.bytes === 0) return undefined;
  const path = join(directory, last.name);
  const kept = join(directory, `cut-${last.name.slice(4, -4)}-${last.size}.bytes`);
  const bytes = await files.read(path, last.size, last.size + torn.bytes);
  await replaceFile(files, directory, kept, bytes);
  const file = await files.open(path);
  try {
    await file.truncate(last.size);
    await file.sync();
  } finally {
    await file.close();
  }
  return `The last write to the log was not finished (${torn.what}): ${torn.bytes} bytes were cut off ${last.name} and kept in ${kept}. Unless the machine lost power or the disk was full, look at the disk.`;
}

export class SegmentWriter {
  readonly #options: WriterOptions;
  readonly #encoder = new RecordEncoder();
  #file: OpenFile | undefined;
  #begun = false;
  #lookedAt = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Goes on in the last segment, unless it is of an older version: those stay as they are. */
  async open(headerMissing: boolean): Promise<void> {
    const { directory, files, ledger, sync, wallTime } = this.#options;
    const last = ledger.segments.at(-1);
    if (!last) return;
    if (headerMissing) {
      ledger.segments.pop();
      this.#file = await files.open(join(directory, last.name), false, sync);
      const created = wallTime();
      await this.#file.append(encodeHeader(last.first, created));
      if (sync) await this.#file.sync();
      ledger.begin(last.name, last.first, { version: 2, size: HEADER, created });
    } else if (last.header.version > 1)
      this.#file = await files.open(join(directory, last.name), false, sync);
  }

  /** All of it in one write and one sync; afterwards the ledger knows it. */
  async write(records: readonly LogRecord[]): Promise<void> {
    if (records.length === 0) return;
    const places: number[] = [];
    const bytes = this.#encoder.encode(records, places);
    const file = await this.#fileFor(bytes.byteLength);
    await this.#lookAgain();
    await file.append(bytes);
    if (this.#options.sync) await file.sync();
    const { ledger } = this.#options;
    const segment = ledger.segments.at(-1)!;
    const { size } = segment;
    for (let i = 0; i < records.length; i++) ledger.take(segment, records[i]!.batch, size + places[i]!);
    segment.size = size + bytes.byteLength;
  }

  /**
   * A file that somebody removed or wrote to takes what is appended without a word, and it is lost. Looking each time
   * would cost as much as writing: now and then is enough to notice within a second that nothing is kept any more.
   */
  async #lookAgain(): Promise<void> {
    const now = this.#options.wallTime();
    if (Math.abs(now - this.#lookedAt) < LOOK_MS) return;
    this.#lookedAt = now;
    const { directory, files, ledger } = this.#options;
    const { name, size } = ledger.segments.at(-1)!;
    const found = await files.stat(join(directory, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") throw new Error(`${name} was removed while it was in use.`);
      throw error;
    });
    if (found.size !== size)
      throw new Error(`${name} has ${found.size} bytes in place of ${size}: something else writes to it.`);
  }

  /** Whether a segment was begun since this was last asked: then an older one may be due. */
  hasBegunSegment(): boolean {
    const begun = this.#begun;
    this.#begun = false;
    return begun;
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #fileFor(bytes: number): Promise<OpenFile> {
    const { directory, files, ledger, segment_bytes, segment_ms, sync, wallTime } = this.#options;
    const last = ledger.segments.at(-1);
    if (this.#file && last) {
      const empty = last.size === last.header.size;
      const fits = last.size + bytes <= segment_bytes && wallTime() - last.header.created < segment_ms;
      if (fits || empty) return this.#file;
    }
    await this.close();
    const first = ledger.next;
    const name = segmentName(first);
    const created = wallTime();
    this.#file = await files.open(join(directory, name), true, sync);
    await this.#file.append(encodeHeader(first, created));
    if (sync) await this.#file.sync();
    await files.syncDirectory(directory);
    ledger.begin(name, first, { version: 2, size: HEADER, created });
    this.#begun = true;
    return this.#file;
  }
}
