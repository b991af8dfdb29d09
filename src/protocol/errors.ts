/** Two kinds of error. One crosses the wire and says only what a peer may know; the other stays here with its cause. */
import { type Issue, quote } from "./issue.ts";

/** A fault in a message. Its text is safe to send to the peer. */
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

/** Issues as lines a person can read, for errors and command-line tools. */
export const describeIssues = (issues: readonly Issue[]): string =>
  issues
    .map(
      ({ path, message, ruling }) =>
        `${quote(path, 200) || "message"}: ${message}${ruling ? ` (${ruling})` : ""}`,
    )
    .join("\n");
