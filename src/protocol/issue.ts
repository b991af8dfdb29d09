/** What is wrong with a message, said so that a person can act on it. */
export interface Issue {
  /** JSON Pointer to the place; "" is the message itself. */
  path: string;
  /** Stable, for programs. */
  code: string;
  /** A sentence: what was expected and what was found. */
  message: string;
  /** The requirement or ruling behind it (ENV-09, CON-14, …), where there is one beyond the schema. */
  ruling?: string;
}

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/**
 * Something a peer sent, fit to stand in a sentence that ends up in a log or on a terminal: short, on one line, and
 * with control, bidi and other invisible characters written out (A08, A16).
 */
export function quote(text: string, most = 60): string {
  const short = text.length > most ? `${text.slice(0, most - 3)}…` : text;
  return short.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}
