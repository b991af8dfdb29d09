/** Braille translation with liblouis: one long-running `lou_translate` process per table. */
import { type ChildProcess, spawn } from "node:child_process";
import { matchLanguage } from "../text/language.ts";

/** Tables by language, contracted (grade 2) where readers expect it. liblouis has none for Yoruba, Hausa or Igbo. */
export const BRAILLE_TABLES: Readonly<Record<string, string>> = {
  en: "en-ueb-g2.ctb",
  es: "es-g2.ctb",
  fr: "fr-bfu-comp6.utb",
  pt: "pt-pt-g2.ctb",
  ar: "ar-ar-g2.ctb",
  sw: "sw-ke-g2.ctb",
  de: "de-g2.ctb",
  ja: "ja-kantenji.utb",
};

/** Translates text to braille. See `createLiblouis`. */
export interface Translator {
  can(language: string): boolean;
  /** Returns Unicode braille cells. Without a language, the listener's own is used. */
  translate(text: string, language: string | undefined): Promise<string>;
  close(): void;
}

interface TableProcess {
  readonly child: ChildProcess;
  readonly answers: { resolve(cells: string): void; reject(error: Error): void }[];
}

/** lou_translate has a line buffer; longer lines would be answered in pieces. */
const MAX_LINE_LENGTH = 400;

/** Translates text to braille with liblouis (`lou_translate`). */
export function createLiblouis(
  fallback = "en",
  tables: Readonly<Record<string, string>> = BRAILLE_TABLES,
): Translator {
  const running = new Map<string, TableProcess>();
  const tableOf = (language: string): string | undefined => {
    const match = matchLanguage([language], Object.keys(tables));
    return match && tables[match.available];
  };
  const start = (name: string): TableProcess => {
    const child = spawn("stdbuf", ["-oL", "lou_translate", "--forward", `unicode.dis,${name}`], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    const table: TableProcess = { child, answers: [] };
    let rest = "";
    child.stdout!.setEncoding("utf8").on("data", (data: string) => {
      const lines = (rest + data).split("\n");
      rest = lines.pop()!;
      for (const line of lines) table.answers.shift()?.resolve(line);
    });
    const fail = (cause?: unknown) => {
      running.delete(name);
      for (const { reject } of table.answers.splice(0))
        reject(new Error(`lou_translate stopped (${name}).`, { cause }));
    };
    child.on("error", fail).on("close", () => fail());
    child.stdin!.on("error", () => undefined);
    running.set(name, table);
    return table;
  };
  const ask = (name: string, line: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const table = running.get(name) ?? start(name);
      table.answers.push({ resolve, reject });
      table.child.stdin!.write(`${line}\n`);
    });
  return {
    can: (language) => tableOf(language) !== undefined,
    async translate(text, language) {
      const name = tableOf(language ?? fallback) ?? tableOf(fallback)!;
      const pieces = toPieces(text.replace(/\s+/gu, " ").trim());
      const cells = await Promise.all(pieces.map((piece) => ask(name, piece)));
      return cells.join("\u2800");
    },
    close() {
      for (const { child } of running.values()) child.stdin!.end();
      running.clear();
    },
  };
}

function toPieces(line: string): string[] {
  const pieces: string[] = [];
  let current = "";
  for (const word of line.split(" ")) {
    if (current !== "" && current.length + word.length >= MAX_LINE_LENGTH) {
      pieces.push(current);
      current = "";
    }
    current = current === "" ? word : `${current} ${word}`;
    while (current.length > MAX_LINE_LENGTH) {
      const head = Array.from(current)
        .slice(0, MAX_LINE_LENGTH / 2)
        .join("");
      pieces.push(head);
      current = current.slice(head.length);
    }
  }
  return current === "" ? pieces : [...pieces, current];
}
