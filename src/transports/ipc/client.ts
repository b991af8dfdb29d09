/** The client for Unix sockets and named pipes. Each connection starts with a handshake (IPC-11); resuming needs our extension. */
import { connect } from "node:net";
import type { Decoder } from "../../framing/bytes.ts";
import { createLengthPrefixDecoder, encodeLengthPrefix } from "../../framing/length-prefix.ts";
import { createLineDecoder, encodeLine } from "../../framing/ndjson.ts";
import {
  type ClientTransport,
  type ConnectionClosed,
  ConnectionError,
  closedWith,
  openConnection,
  withResume,
} from "../client-connection.ts";

interface IpcClientOptions {
  /** The socket's path, or a pipe's name (\\.\pipe\aaep\planner). */
  readonly path: string;
  /** Length prefix by default, as B.4.4 recommends. The server answers with the framing it receives. */
  readonly framing?: "length-prefix" | "ndjson";
  /** How long the producer may take to answer a request. */
  readonly answerMs?: number;
}

const ANSWER_MS = 30_000;

/** The operating system's error as a sentence that says what to do. */
function connectFailure(path: string, error: NodeJS.ErrnoException | undefined): ConnectionClosed {
  const unreachable = (message: string) => ({ code: "unreachable", message, reconnect: true });
  if (!error) return unreachable(`The agent at ${path} closed the connection without an answer.`);
  switch (error.code) {
    case "ENOENT":
      return unreachable(
        `There is no socket at ${path}. Start the agent, or ask discover() where it listens.`,
      );
    case "ECONNREFUSED":
      return unreachable(`Nothing listens at ${path} any more. Start the agent again.`);
    case "EAGAIN":
      return unreachable(`Too many connections are waiting at ${path}. Try again in a moment.`);
    case "EACCES":
    case "EPERM":
      return {
        code: "authorization_denied",
        message: `${path} belongs to another user. Run the listener as the user who runs the agent.`,
        reconnect: false,
      };
    default:
      return unreachable(`${path} cannot be reached (${error.code ?? error.message}).`);
  }
}

export function createIpcClient({
  path,
  framing = "length-prefix",
  answerMs = ANSWER_MS,
}: IpcClientOptions): ClientTransport {
  const encode = framing === "ndjson" ? encodeLine : encodeLengthPrefix;
  const createDecoder = framing === "ndjson" ? createLineDecoder : createLengthPrefixDecoder;
  return {
    // As manifests spell it: a listener that checks signatures compares the two.
    name: path.startsWith("\\\\") ? "named-pipe" : "unix-socket",
    open: (request, resume, events) =>
      openConnection({
        request: withResume(request, resume),
        events,
        answerMs,
        connect(input) {
          const socket = connect(path);
          const decoder: Decoder = createDecoder();
          let failure: NodeJS.ErrnoException | undefined;
          socket.on("data", (chunk: Uint8Array) => {
            for (const bytes of decoder.feed(chunk))
              input.message(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
            // After a framing error the next message boundary is unknown: only a new connection can go on.
            if (decoder.fault) socket.destroy();
          });
          socket.on("error", (error) => {
            failure = error;
          });
          socket.on("close", () => {
            if (input.established) input.closed(closedWith("connection_lost"));
            else input.closed(connectFailure(path, failure), failure);
          });
          return {
            write(message) {
              if (!socket.writable)
                throw new ConnectionError("connection_lost", "The connection was lost.", true);
              socket.write(encode(JSON.stringify(message)));
            },
            close: () => socket.end(),
            destroy: () => socket.destroy(),
          };
        },
      }),
  };
}
