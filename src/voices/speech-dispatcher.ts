/**
 * Speech through speech-dispatcher's protocol (SSIP): language and rate per run, a notification at the end of each message,
 * and `CANCEL SELF`, which stops this client only and not the person's screen reader.
 */
import { connect } from "node:net";
import type { Utterance } from "../subscriber/announcer.ts";
import type { Voice } from "../subscriber/voice.ts";
import { speechRuns } from "./speech-programs.ts";

/** Options of `createSpeechDispatcherVoice`. */
export interface SsipOptions {
  /** Default: $XDG_RUNTIME_DIR/speech-dispatcher/speechd.sock. */
  readonly socket?: string;
  /** Words a minute. */
  readonly rate?: number;
  readonly module?: string;
  /** Languages of this voice, if the module does not list them. */
  readonly languages?: readonly string[];
}

/** Words a minute at rate 0; rates range from -100 to 100. */
const USUAL_WPM = 175;
export const ssipRate = (wpm: number): number =>
  Math.max(-100, Math.min(100, Math.round(((wpm - USUAL_WPM) / (wpm < USUAL_WPM ? 95 : 275)) * 100)));

/** Escapes leading dots: a line with only a dot would end the message. */
export const ssipBody = (text: string): string =>
  text
    .split(/\r?\n/u)
    .map((line) => (line.startsWith(".") ? `.${line}` : line))
    .join("\r\n");

interface Reply {
  readonly code: number;
  readonly lines: readonly string[];
}

/** A voice that speaks through speech-dispatcher. */
export async function createSpeechDispatcherVoice(options: SsipOptions = {}): Promise<Voice> {
  const path = options.socket ?? `${process.env["XDG_RUNTIME_DIR"] ?? "/tmp"}/speech-dispatcher/speechd.sock`;
  const socket = connect(path);
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  const waiting: ((reply: Reply) => void)[] = [];
  const ends = new Map<string, () => void>();
  const ended = new Set<string>();
  let lines: string[] = [];
  let rest = "";
  const finish = (id: string) => {
    const done = ends.get(id);
    if (done) done();
    else ended.add(id);
  };
  const read = (line: string) => {
    const code = Number(line.slice(0, 3));
    lines.push(line.slice(4));
    if (line[3] === "-") return;
    const reply = { code, lines };
    lines = [];
    // 702 is the end, 703 a cancel; the first line of a notification is the message id.
    if (code >= 700) {
      if (code === 702 || code === 703) finish(reply.lines[0]!);
    } else waiting.shift()?.(reply);
  };
  socket.setEncoding("utf8");
  socket.on("data", (data: string) => {
    const parts = (rest + data).split("\r\n");
    rest = parts.pop()!;
    for (const line of parts) if (line !== "") read(line);
  });
  const gone = () => {
    for (const done of ends.values()) done();
    for (const answer of waiting.splice(0))
      answer({ code: 500, lines: ["The connection to speech-dispatcher was lost."] });
  };
  socket.on("error", gone).on("close", gone);
  const command = (text: string): Promise<Reply> =>
    new Promise((resolve) => {
      if (socket.destroyed) return resolve({ code: 500, lines: [] });
      waiting.push(resolve);
      socket.write(`${text}\r\n`);
    });

  await command("SET SELF CLIENT_NAME user:earshot:main");
  if (options.module !== undefined) await command(`SET SELF OUTPUT_MODULE ${options.module}`);
  await command("SET SELF NOTIFICATION END ON");
  await command("SET SELF NOTIFICATION CANCEL ON");
  if (options.rate !== undefined) await command(`SET SELF RATE ${ssipRate(options.rate)}`);
  const voices = await command("LIST SYNTHESIS_VOICES");
  const listed =
    voices.code < 300 ? voices.lines.map((line) => line.split("\t")[1]?.toLowerCase() ?? "") : [];
  const known = new Set(
    [...listed, ...(options.languages ?? [])]
      .map((tag) => tag.split("-")[0]!)
      .filter((tag) => /^[a-z]{2,3}$/.test(tag)),
  );

  let turn = 0;
  return {
    async say(utterance: Utterance) {
      const mine = ++turn;
      for (const { text, language } of speechRuns(utterance)) {
        if (mine !== turn) return;
        if (language !== undefined)
          await command(
            `SET SELF LANGUAGE ${language
              .split("-")[0]!
              .toLowerCase()
              .replace(/[^a-z]/g, "")}`,
          );
        const ready = await command("SPEAK");
        if (ready.code >= 300) return;
        const { lines: taken } = await command(`${ssipBody(text)}\r\n.`);
        const id = taken[0]!;
        if (!ended.delete(id)) await new Promise<void>((resolve) => ends.set(id, resolve));
        ends.delete(id);
      }
    },
    stop() {
      turn++;
      void command("CANCEL SELF");
    },
    // A module that lists no voices is assumed to support every language.
    can: (language) => known.size === 0 || known.has(language.split("-")[0]!.toLowerCase()),
    async close() {
      socket.end("QUIT\r\n");
    },
  };
}
