/**
 * Speech through a program of the operating system: espeak-ng, `say` on macOS, SAPI through PowerShell on Windows. Text is
 * always passed on standard input, never as an argument or in a script: an agent's text must not become a command.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import type { Run, Utterance } from "../subscriber/announcer.ts";
import type { Voice } from "../subscriber/voice.ts";

/** A program that speaks what it reads on standard input, and its arguments. */
export interface SpeechCommand {
  readonly program: string;
  readonly args: readonly string[];
}

/** The spoken runs of an utterance, without `kept` ones; adjacent runs of one language are joined. */
export function speechRuns({ runs }: Pick<Utterance, "runs">): Pick<Run, "text" | "language">[] {
  const spoken: { text: string; language: string | undefined }[] = [];
  for (const { text, language, kept } of runs) {
    if (kept || !/[\p{L}\p{N}]/u.test(text)) continue;
    const last = spoken.at(-1);
    if (last && last.language === language) last.text += text;
    else spoken.push({ text: text.trim(), language });
  }
  return spoken;
}

/** A valid language tag or undefined: nothing else reaches a command line. */
const tagOf = (language: string | undefined): string | undefined =>
  language !== undefined && /^[a-z]{2,3}(?:-[a-z0-9]{2,8}){0,3}$/i.test(language)
    ? language.toLowerCase()
    : undefined;

/** The command that speaks standard input with espeak-ng. */
export function espeakCommand(language: string | undefined, wpm: number, wav?: string): SpeechCommand {
  const tag = tagOf(language);
  // espeak-ng names Mandarin cmn, and fails on unknown regions: pass the language only.
  const voice = tag && (tag.startsWith("zh") ? "cmn" : tag.split("-")[0]!);
  const args = [
    ...(voice ? ["-v", voice] : []),
    "-s",
    String(Math.max(80, Math.min(450, Math.round(wpm)))),
    "--stdin",
  ];
  return { program: "espeak-ng", args: wav === undefined ? args : [...args, "-w", wav] };
}

/** Voice names by language, parsed from `say -v ?`. */
export function macVoices(listing: string): Map<string, string> {
  const voices = new Map<string, string>();
  for (const [, name, tag] of listing.matchAll(/^(.+?)\s{2,}([a-z]{2,3}_[A-Z0-9]{2,4})\s+#/gmu)) {
    const language = tag!.toLowerCase().replace("_", "-");
    if (!voices.has(language)) voices.set(language, name!.trim());
    if (!voices.has(language.split("-")[0]!)) voices.set(language.split("-")[0]!, name!.trim());
  }
  return voices;
}

/** The command that speaks standard input on macOS, with `say`. */
export function sayCommand(
  language: string | undefined,
  wpm: number,
  voices: ReadonlyMap<string, string>,
): SpeechCommand {
  const tag = tagOf(language);
  const voice = tag && (voices.get(tag) ?? voices.get(tag.split("-")[0]!));
  return {
    program: "say",
    args: [...(voice ? ["-v", voice] : []), "-r", String(Math.round(wpm)), "-f", "-"],
  };
}

/** The command that speaks standard input on Windows, with SAPI. */
export function powershellCommand(language: string | undefined, wpm: number): SpeechCommand {
  // SAPI rates range from -10 to 10; 0 is about 175 words a minute.
  const rate = Math.max(-10, Math.min(10, Math.round((wpm - 175) / 20)));
  const tag = tagOf(language);
  const script = [
    "[Console]::InputEncoding = [Text.Encoding]::UTF8",
    "Add-Type -AssemblyName System.Speech",
    "$s = New-Object System.Speech.Synthesis.SpeechSynthesizer",
    `$s.Rate = ${rate}`,
    ...(tag
      ? [
          `$v = $s.GetInstalledVoices() | Where-Object { $_.VoiceInfo.Culture.Name -like '${tag.split("-")[0]}*' } | Select-Object -First 1`,
          "if ($v) { $s.SelectVoice($v.VoiceInfo.Name) }",
        ]
      : []),
    "$s.Speak([Console]::In.ReadToEnd())",
  ].join("; ");
  return { program: "powershell", args: ["-NoProfile", "-NonInteractive", "-Command", script] };
}

interface ProgramVoiceOptions {
  readonly rate?: number;
  command(language: string | undefined, wpm: number): SpeechCommand;
  can(language: string): boolean;
}

/** One child process per run; stopping ends only that process. */
export function createProgramVoice({ rate = 175, command, can }: ProgramVoiceOptions): Voice {
  let child: ChildProcess | undefined;
  let turn = 0;
  const speak = (text: string, { program, args }: SpeechCommand): Promise<void> =>
    new Promise((resolve, reject) => {
      child = spawn(program, [...args], { stdio: ["pipe", "ignore", "ignore"] });
      // A stopped process has no exit code; a non-zero code means that nothing was spoken.
      child
        .on("error", reject)
        .on("close", (code) => (code ? reject(new Error(`${program} ended with ${code}.`)) : resolve()));
      child.stdin!.on("error", () => undefined);
      child.stdin!.end(text);
    });
  const stop = () => {
    turn++;
    child?.kill("SIGTERM");
  };
  return {
    async say(utterance) {
      const mine = ++turn;
      for (const { text, language } of speechRuns(utterance)) {
        if (mine !== turn) return;
        await speak(text, command(language, rate));
      }
    },
    stop,
    can,
    close: async () => stop(),
  };
}

/** Language codes parsed from `espeak-ng --voices`. */
const espeakLanguages = (listing: string): Set<string> =>
  new Set([...listing.matchAll(/^\s*\d+\s+([a-z]{2,3})/gmu)].map(([, tag]) => tag!));

/** A voice that speaks with espeak-ng. */
export async function createEspeakVoice(
  options: { rate?: number; wav?: (count: number) => string } = {},
): Promise<Voice> {
  const listing = await new Promise<string>((resolve, reject) =>
    execFile("espeak-ng", ["--voices"], (error, out) => (error ? reject(error) : resolve(out))),
  );
  const languages = espeakLanguages(listing);
  let count = 0;
  return createProgramVoice({
    ...(options.rate === undefined ? {} : { rate: options.rate }),
    command: (language, wpm) => espeakCommand(language, wpm, options.wav?.(++count)),
    can: (language) =>
      languages.has(language.toLowerCase().startsWith("zh") ? "cmn" : language.split("-")[0]!.toLowerCase()),
  });
}
