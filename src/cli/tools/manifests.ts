/** A manifest, signed or not, from wherever it is: an agent's well-known place, its socket's side, a file, a pipe. */
import { readFile } from "node:fs/promises";
import { describeIssues, type ProducerManifest, parse } from "../../protocol/index.ts";
import { discover } from "../../server/index.ts";
import { CommandError, EXIT, type Io } from "../command.ts";
import { openInput } from "./input.ts";
import { plain } from "./output.ts";

const WELL_KNOWN = "/.well-known/aaep-manifest.json";
const TIMEOUT_MS = 10_000;
const MOST_BYTES = 1_048_576;

/** What was found: JSON, or a compact JWS. */
export interface Found {
  readonly text: string;
  readonly where: string;
}

export const isSigned = (text: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text.trim());

export async function findManifest(io: Io, source: string, signed: boolean): Promise<Found> {
  if (/^(?:https?|wss?):/i.test(source)) return fetchManifest(io, source, signed);
  if (/^(?:unix|pipe):/i.test(source)) return besideSocket(source);
  if (/^(?:grpcs?|stdio):/i.test(source))
    throw new CommandError(
      `The manifest cannot be read from ${plain(source)} this way. Give the agent's http address, or a file.`,
      EXIT.usage,
    );
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of await openInput(io, source)) {
    pieces.push(Buffer.from(chunk));
    size += chunk.length;
    if (size > MOST_BYTES) throw new CommandError(`${source} is too large to be a manifest.`);
  }
  return { text: Buffer.concat(pieces).toString("utf8"), where: source === "-" ? "standard input" : source };
}

async function fetchManifest(io: Io, source: string, signed: boolean): Promise<Found> {
  const url = new URL(source.replace(/^ws/i, "http"));
  if (url.pathname === "/" || /^ws/i.test(source)) url.pathname = WELL_KNOWN;
  const signal = AbortSignal.any([io.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      headers: { accept: signed ? "application/jose" : "application/json" },
      signal,
    });
    text = await response.text();
  } catch (error) {
    io.signal.throwIfAborted();
    const { code = (error as Error).message } = ((error as Error).cause ?? {}) as { code?: string };
    throw new CommandError(
      `Nothing answers at ${url.href} (${code}). Is the agent running?`,
      EXIT.unreachable,
    );
  }
  if (!response.ok)
    throw new CommandError(
      `There is no manifest at ${url.href}: status ${response.status}.`,
      EXIT.unreachable,
    );
  return { text, where: url.href };
}

async function besideSocket(source: string): Promise<Found> {
  const path = source.slice(source.indexOf(":") + 1).replace(/^\/\/(?=\/)/, "");
  try {
    const where = `${path.replace(/\.sock$/, "")}.json`;
    return { text: await readFile(where, "utf8"), where };
  } catch {
    const others = (await discover()).map(({ address }) => address);
    throw new CommandError(
      `No manifest lies beside ${plain(path)}. ${others.length > 0 ? `Running here: ${others.join(", ")}.` : "No agent is running here."}`,
      EXIT.unreachable,
    );
  }
}

export function parseManifest({ text, where }: Found): { manifest: ProducerManifest; warnings: string } {
  const parsed = parse(text, { mode: "tolerant" });
  if (!parsed.ok) throw new CommandError(`${where} is no valid manifest.\n${describeIssues(parsed.issues)}`);
  if (parsed.message.type !== "aaep:producer.manifest")
    throw new CommandError(`${where} is ${plain(parsed.message.type)}, not a manifest.`);
  return { manifest: parsed.message as ProducerManifest, warnings: describeIssues(parsed.diagnostics) };
}
