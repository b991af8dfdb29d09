/** Writing segments: where bytes are appended, and when a new segment starts. */
import { join } from "node:path";
import { type FilePort, type OpenFile, replaceFile } from "./file-port.ts";
import type { LogIndex, Recovered } from "./log-index.ts";
import { encodeHeader, HEADER, type LogRecord, RecordEncoder, segmentName } from "./segment.ts";

interface WriterOptions {
  readonly directory: string;
  readonly files: FilePort;
  readonly index: LogIndex;
  readonly segmentBytes: number;
  /** A segment older than this gets no more records, so that retention can remove it in time. */
  readonly segmentMs: number;
  readonly sync: boolean;
  readonly wallTime: () => number;
}

const CHECK_MS = 1000;

/** Truncates an unfinished write, and keeps its bytes in a file next to the log for inspection. */
export async function repairTail(
  directory: string,
  files: FilePort,
  { index, torn }: Recovered,
): Promise<string | undefined> {
  const last = index.segments.at(-1);
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
  return `The last write to the log was not finished (${torn.what}): ${torn.bytes} bytes were cut off ${last.name} and saved in ${kept}. Unless the machine lost power or the disk was full, check the disk.`;
}

/** Appends to the last segment, and starts a new one when it is full or old. */
export class SegmentWriter {
  readonly #options: WriterOptions;
  readonly #encoder = new RecordEncoder();
  #file: OpenFile | undefined;
  #started = false;
  #checkedAt = 0;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** Continues the last segment, unless it has an older version: those are never changed. */
  async open(headerMissing: boolean): Promise<void> {
    const { directory, files, index, sync, wallTime } = this.#options;
    const last = index.segments.at(-1);
    if (!last) return;
    if (headerMissing) {
      index.segments.pop();
      this.#file = await files.open(join(directory, last.name), false, sync);
      const created = wallTime();
      await this.#file.append(encodeHeader(last.first, created));
      if (sync) await this.#file.sync();
      index.addSegment(last.name, last.first, { version: 2, size: HEADER, created });
    } else if (last.header.version > 1)
      this.#file = await files.open(join(directory, last.name), false, sync);
  }

  /** One write and one sync for all records; then they are added to the index. */
  async write(records: readonly LogRecord[]): Promise<void> {
    if (records.length === 0) return;
    const places: number[] = [];
    const bytes = this.#encoder.encode(records, places);
    const file = await this.#fileFor(bytes.byteLength);
    await this.#checkFile();
    await file.append(bytes);
    if (this.#options.sync) await file.sync();
    const { index } = this.#options;
    const segment = index.segments.at(-1)!;
    const { size } = segment;
    for (let i = 0; i < records.length; i++) index.add(segment, records[i]!.batch, size + places[i]!);
    segment.size = size + bytes.byteLength;
  }

  /**
   * Appending to a file that was removed succeeds silently, and the data is lost. Checking each time would cost as much
   * as writing, so this checks once a second.
   */
  async #checkFile(): Promise<void> {
    const now = this.#options.wallTime();
    if (Math.abs(now - this.#checkedAt) < CHECK_MS) return;
    this.#checkedAt = now;
    const { directory, files, index } = this.#options;
    const { name, size } = index.segments.at(-1)!;
    const found = await files.stat(join(directory, name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") throw new Error(`${name} was removed while it was in use.`);
      throw error;
    });
    if (found.size !== size)
      throw new Error(`${name} has ${found.size} bytes in place of ${size}: something else writes to it.`);
  }

  /** Whether a segment was started since the last call: then an older one may be due for removal. */
  hasStartedSegment(): boolean {
    const started = this.#started;
    this.#started = false;
    return started;
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #fileFor(bytes: number): Promise<OpenFile> {
    const { directory, files, index, segmentBytes, segmentMs, sync, wallTime } = this.#options;
    const last = index.segments.at(-1);
    if (this.#file && last) {
      const empty = last.size === last.header.size;
      const fits = last.size + bytes <= segmentBytes && wallTime() - last.header.created < segmentMs;
      if (fits || empty) return this.#file;
    }
    await this.close();
    const first = index.next;
    const name = segmentName(first);
    const created = wallTime();
    this.#file = await files.open(join(directory, name), true, sync);
    await this.#file.append(encodeHeader(first, created));
    if (sync) await this.#file.sync();
    await files.syncDirectory(directory);
    index.addSegment(name, first, { version: 2, size: HEADER, created });
    this.#started = true;
    return this.#file;
  }
}
