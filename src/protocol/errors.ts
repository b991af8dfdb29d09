/**
 * Errors. `ProtocolError` describes a peer's message and is safe to send back; `EarshotError` is ours and stays local.
 */

/** One problem in a message, described so that a person can act on it. */
export interface Issue {
  /** JSON Pointer; "" is the message itself. */
  path: string;
  /** Stable, for programs. */
  code: string;
  /** A sentence: what was expected and what was found. */
  message: string;
  /** The requirement or ruling behind it (ENV-09, CON-14, …), if there is one beyond the schema. */
  ruling?: string;
}

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu;

/**
 * Quotes untrusted text for a log or a terminal: shortened, on one line, with control, bidi and other invisible
 * characters escaped (A08, A16).
 */
export function quote(text: string, most = 60): string {
  const short = text.length > most ? `${text.slice(0, most - 3)}…` : text;
  return short.replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}

/** An invalid message. Its text is safe to send to the peer. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  readonly code: string;
  readonly issues: readonly Issue[];
  constructor(code: string, message: string, issues: readonly Issue[] = []) {
    super(message);
    this.code = code;
    this.issues = issues;
  }
}

/** A fault on our side or in how the library is used. Never sent to a peer; `code` is stable. */
export class EarshotError extends Error {
  override readonly name = "EarshotError";
  readonly code: string;
  constructor(code: string, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** Issues as text, one per line, for errors and command-line tools. */
export const describeIssues = (issues: readonly Issue[]): string =>
  issues
    .map(
      ({ path, message, ruling }) =>
        `${quote(path, 200) || "message"}: ${message}${ruling ? ` (${ruling})` : ""}`,
    )
    .join("\n");
