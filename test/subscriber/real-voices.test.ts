// Real engines: espeak-ng and speech-dispatcher leave WAV files that are counted and measured, liblouis leaves cells.
import { type ChildProcess, spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { run } from "../../src/subscriber/announcer/utterance.ts";
import { Announcer, type Utterance } from "../../src/subscriber/announcer.ts";
import { brailleOf } from "../../src/voices/braille.ts";
import {
  createBrailleVoice,
  createEspeakVoice,
  createLiblouis,
  createSpeechDispatcherVoice,
  speakWith,
} from "../../src/voices/index.ts";
import { needs } from "./needs.ts";
import { eventsOf } from "./support.ts";

const home = mkdtempSync(join(tmpdir(), "earshot-voices-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const utterance = (text: string, language: string, over: Partial<Utterance> = {}): Utterance => ({
  id: 1,
  kind: "output",
  urgency: "normal",
  words: 1,
  runs: [run(text, language)],
  ...over,
});

/** Seconds of sound in a WAV file of 16 bit mono. */
function seconds(file: string): number {
  const bytes = readFileSync(file);
  expect(bytes.toString("latin1", 0, 4)).toBe("RIFF");
  return (bytes.length - 44) / 2 / bytes.readUInt32LE(24);
}

const until = async (ready: () => boolean, ms = 20_000): Promise<void> => {
  for (const end = Date.now() + ms; !ready(); ) {
    if (Date.now() > end) throw new Error("It did not come to that in time.");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};

describe.runIf(needs("espeak-ng"))("espeak-ng", () => {
  it("says each run in its own language, at the rate asked for, and has no voice for Yoruba", async () => {
    const files: string[] = [];
    const voice = (rate: number) =>
      createEspeakVoice({
        rate,
        wav: (count) => {
          const file = join(home, `e${rate}-${count}.wav`);
          files.push(file);
          return file;
        },
      });
    const slow = await voice(120);
    const fast = await voice(300);
    for (const tag of ["en", "es-MX", "fr", "pt-BR", "ar", "ja", "sw"]) expect(slow.can(tag), tag).toBe(true);
    for (const tag of ["yo", "ha", "ig"]) expect(slow.can(tag), tag).toBe(false);
    const mixed = utterance("", "en", {
      runs: [run("The agent says that your rent is paid: ", "en"), run("tu alquiler está pagado.", "es")],
    });
    await slow.say(mixed);
    await fast.say(mixed);
    expect(files).toHaveLength(4);
    const lengths = files.map(seconds);
    expect(Math.min(...lengths)).toBeGreaterThan(0.5);
    expect(lengths[0]! / lengths[2]!).toBeGreaterThan(1.5);
  });
});

/** A dispatcher of our own: its one module writes each message to a numbered WAV and takes as long as the sound would. */
async function dispatcher(folder: string): Promise<{ child: ChildProcess; socket: string; wavs: string }> {
  const wavs = join(folder, "wavs");
  mkdirSync(join(folder, "conf", "modules"), { recursive: true });
  mkdirSync(wavs);
  const script = join(folder, "speak.sh");
  writeFileSync(
    script,
    `#!/bin/sh\nn=$(ls ${wavs}/*.txt 2>/dev/null | wc -l)\nf=$(printf "${wavs}/%03d" "$n")\ncat > "$f.txt"\necho "$1" > "$f.lang"\nespeak-ng -v "$1" --stdin -w "$f.wav" < "$f.txt"\nsleep 0.6\ntouch "$f.end"\n`,
    { mode: 0o755 },
  );
  writeFileSync(
    join(folder, "conf", "modules", "wav.conf"),
    `Debug 0\nGenericExecuteSynth "printf %s \\'$DATA\\' | ${script} $LANGUAGE"\nGenericLanguage "en" "en" "utf-8"\nGenericLanguage "es" "es" "utf-8"\nAddVoice "en" "MALE1" "en"\nAddVoice "es" "MALE1" "es"\nGenericRateAdd 0\nGenericRateMultiply 1\nGenericRateForceInteger 1\nGenericMaxChunkLength 10000\nGenericDelimiters "~"\n`,
  );
  writeFileSync(
    join(folder, "conf", "speechd.conf"),
    `LogLevel 1\nLogDir "${folder}"\nDefaultVolume 100\nAudioOutputMethod "libao"\nAddModule "wav" "sd_generic" "wav.conf"\nDefaultModule wav\nDefaultLanguage en\nDisableAutoSpawn\n`,
  );
  const socket = join(folder, "s.sock");
  const child = spawn(
    "speech-dispatcher",
    [
      "-s",
      "-C",
      join(folder, "conf"),
      "-c",
      "unix_socket",
      "-S",
      socket,
      "-P",
      join(folder, "pid"),
      "-t",
      "0",
      "-l",
      "1",
      "-L",
      folder,
    ],
    { stdio: "ignore" },
  );
  await until(() => existsSync(socket));
  return { child, socket, wavs };
}

describe.runIf(needs("espeak-ng", "speech-dispatcher"))("speech-dispatcher", () => {
  it("says utterances in order, one WAV each, critical interrupting; the broken one comes again (DEL-26)", async () => {
    const folder = join(home, "spd");
    mkdirSync(folder);
    const { child, socket, wavs } = await dispatcher(folder);
    try {
      const voice = await createSpeechDispatcherVoice({ socket, languages: ["en", "es"] });
      const announcer = new Announcer({ can: voice.can });
      const speaker = speakWith(announcer, voice);
      const event = eventsOf();
      const hear = (...args: Parameters<typeof event>) => {
        announcer.hear(event(...args), performance.now());
        speaker.pump();
      };
      const texts = () =>
        readdirSync(wavs)
          .filter((file) => file.endsWith(".txt"))
          .sort()
          .map((file) => readFileSync(join(wavs, file), "utf8").trim());
      hear("session.started", { summary_normal: "Paying the rent." });
      hear("tool.invoked", { tool: "t", summary_normal: "Transferring the money to the bank." });
      await until(() => texts().length === 2 && existsSync(join(wavs, "001.lang")));
      hear("handoff.requested", { reason: "A person must decide.", target_kind: "human" });
      await until(() => existsSync(join(wavs, "003.end")));
      expect(texts()).toEqual([
        "Started: Paying the rent.",
        "Transferring the money to the bank.",
        "Planner cannot finish and passes this on to a person: A person must decide.",
        "Transferring the money to the bank.",
      ]);
      for (const number of ["000", "002", "003"])
        expect(seconds(join(wavs, `${number}.wav`))).toBeGreaterThan(0.5);
      expect(statSync(join(wavs, "002.wav")).size).toBeGreaterThan(statSync(join(wavs, "000.wav")).size);
      await speaker.close();
    } finally {
      child.kill("SIGTERM");
    }
  });
});

describe.runIf(needs("lou_translate", "stdbuf"))("liblouis", () => {
  it("writes contracted English, Spanish and Arabic, and has no table for Yoruba", async () => {
    const louis = createLiblouis();
    expect(await louis.translate("Your rent is paid, and the people know it.", "en-GB")).toBe(
      "⠠⠽⠗⠀⠗⠢⠞⠀⠊⠎⠀⠏⠙⠂⠀⠯⠀⠮⠀⠏⠀⠐⠅⠀⠭⠲",
    );
    const spanish = await louis.translate("Tu alquiler está pagado.", "es");
    const arabic = await louis.translate("دُفع الإيجار في هذا الشهر.", "ar");
    for (const cells of [spanish, arabic]) expect(cells).toMatch(/^[\u2800-\u28ff]+$/u);
    expect(spanish).not.toBe(arabic);
    expect(["yo", "ha", "ig"].filter((tag) => louis.can(tag))).toEqual([]);
    const long = await louis.translate("money ".repeat(400), "en");
    expect(long.split("\u2800")).toHaveLength(400);
    louis.close();
  });

  it("shows a question's essence, action first, in 20 cells; then the whole of it (CNF-39)", async () => {
    const louis = createLiblouis();
    const shown: string[] = [];
    const voice = createBrailleVoice({ translator: louis, width: 20, show: (line) => void shown.push(line) });
    const announcer = new Announcer({ medium: "braille", can: voice.can });
    const event = eventsOf();
    announcer.hear(
      event("awaiting.confirmation", {
        action: "Transfer $500 to savings.",
        consequence: "It moves.",
        reply_token: "rpl_1",
        timeout_seconds: 60,
        default_decision: "reject",
      }),
      0,
    );
    const [action] = announcer.advance(0);
    void voice.say(action!.utterance);
    await until(() => shown.length > 0);
    expect(shown[0]).toHaveLength(20);
    const transfer = await louis.translate("Transfer", "en");
    expect(shown[0]!.startsWith(transfer)).toBe(true);
    expect(shown[0]).toContain("⠦");
    const cells = await brailleOf(action!.utterance, louis, 19);
    let read = "";
    for (let i = 0; i < 30; i++) {
      read += voice.display.line().slice(0, 19);
      voice.forward();
      if (voice.display.line().slice(0, 19) === read.slice(-19)) break;
    }
    expect(read.replaceAll("\u2800", "")).toBe(cells.replaceAll("\u2800", ""));
    await voice.close();
  });
});
