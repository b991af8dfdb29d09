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

/** The codes of an EarshotError, each with a sentence. docs/errors.md lists them too. */
export interface ErrorCodes {
  /** The agent could not be reached in time, so it is not known whether it received the reply. */
  agent_unreachable: never;
  /** The path of a Unix socket or named pipe is not valid. */
  bad_path: never;
  /** The request body was read before it reached Earshot. Mount Earshot before body parsers. */
  body_consumed: never;
  /** The braille display or its server, BrlAPI, cannot be used. */
  braille_unavailable: never;
  /** The package @grpc/grpc-js is not installed. */
  grpc_missing: never;
  /** The port is not a number from 0 to 65535. */
  invalid_port: never;
  /** The path prefix does not start with a slash, or ends with one. */
  invalid_prefix: never;
  /** Another call with the same key is still running in this session. */
  key_in_use: never;
  /** The log could not be written, so the producer accepts nothing more. */
  log_broken: never;
  /** The store has been closed. */
  log_closed: never;
  /** A file of the log is damaged or missing. Restore it from a backup. */
  log_damaged: never;
  /** The target directory of a backup or restore already contains a log. */
  log_exists: never;
  /** A write to the disk failed, so nothing more is acknowledged. */
  log_failed: never;
  /** Another process is writing this log. */
  log_in_use: never;
  /** There is no log in this directory. */
  log_missing: never;
  /** Retention removed the entries that come next. Start reading again. */
  log_moved_on: never;
  /** An entry was appended at a position that is not the next one. */
  log_out_of_order: never;
  /** One append is larger than the log allows. */
  log_too_large: never;
  /** The file is not an Earshot log, or was written by a newer version. */
  log_unreadable: never;
  /** The log cannot be created in this directory. */
  log_unwritable: never;
  /** A request to the demo agent is too long. */
  long_request: never;
  /** The subscription answers questions itself, so it cannot forward them. */
  may_not_forward: never;
  /** A request to the demo agent is empty. */
  no_request: never;
  /** The value was not made by createProducer. */
  not_a_producer: never;
  /** The subscription has not been accepted yet, or has ended. */
  not_connected: never;
  /** The path of a Unix socket is longer than the system allows. */
  path_too_long: never;
  /** Another program is using this port. */
  port_in_use: never;
  /** The record has no such entry or field. */
  record_unknown: never;
  /** A producer has sessions of its own or replays a recording, never both. */
  replay_apart: never;
  /** The session cannot be resumed because it has ended. */
  session_ended: never;
  /** The session cannot be resumed because it is already running in this process. */
  session_in_use: never;
  /** The log has no open session with this id. */
  session_unknown: never;
  /** Another agent is listening on this socket. */
  socket_in_use: never;
  /** Too many questions of one session wait for their turn. */
  too_many_questions: never;
  /** Too many demo sessions are running. */
  too_many_sessions: never;
  /** A tool took longer than its time limit. */
  tool_timeout: never;
  /** A tool was called without a function to run. */
  tool_without_function: never;
  /** The address has no scheme that Earshot knows. */
  unknown_address: never;
  /** The demo has no such scenario. */
  unknown_scenario: never;
  /** The list of trusted agents cannot be read. */
  unreadable_trust: never;
  /** The address would be reachable from other machines without TLS or authentication. */
  unsafe_address: never;
  /** The key or algorithm is not safe for signing a manifest. */
  unsafe_algorithm: never;
  /** Other users could write to the directory. */
  unsafe_directory: never;
  /** The agent_id cannot be used as the name of a socket. */
  unsafe_name: never;
  /** Something other than a socket of this user is at the socket's path. */
  unsafe_socket: never;
  /** Token verification is configured in a way that would accept other services' tokens. */
  unsafe_token_check: never;
  /** The agent is not trusted: it is unknown, or its key has changed. */
  untrusted: never;
}

/** The id of an AAEP requirement (`earshot/requirements`) that the call would violate, such as CON-49. */
export type RequirementId = `${Uppercase<string>}-${number}`;

/** A name from ErrorCodes, or the id of the requirement that the call would violate. */
export type ErrorCode = keyof ErrorCodes | RequirementId;

/** A fault on our side or in how the library is used. Never sent to a peer; `code` is stable. */
export class EarshotError extends Error {
  override readonly name = "EarshotError";
  readonly code: ErrorCode;
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
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
