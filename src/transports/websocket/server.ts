/**
 * AAEP over WebSocket (B.2, CON-64): one endpoint, one message per text frame. It is given a socket that has already
 * been authenticated; event frames are built once and written straight to the socket.
 */
import { type CloseCode, closeReason } from "../../protocol/close-reasons.ts";
import type { HubPort } from "../../protocol/hub-port.ts";
import { parse } from "../../protocol/parse.ts";
import type { Principal } from "../../protocol/principal.ts";
import { type ConnectionObserver, ServerConnection } from "../server-connection.ts";

export const SUBPROTOCOL = "aaep.v1";
/** A rejected renegotiation ends an accepted subscription; 4001 is for a rejected handshake only (CON-64). */
const REJECTED_AFTER_HANDSHAKE = 4004;

export interface WebSocketOutput {
  /** Writes one whole text frame, as `frame` made it. A promise is backpressure. */
  write(frame: Uint8Array, deferrable: boolean): Promise<void> | undefined;
  frame(text: string): Uint8Array;
  close(code: number, reason: string): void;
}

export interface WebSocketConnection {
  /** Text, or binary bytes that are read as text all the same. A promise is backpressure. */
  message(data: string | Uint8Array): Promise<void> | undefined;
  closed(): void;
  close(code: CloseCode): void;
  readonly subscribed: boolean;
}

export function openWebSocket(
  output: WebSocketOutput,
  hub: HubPort,
  principal: Principal,
  observer?: ConnectionObserver,
): WebSocketConnection {
  const tell = (message: object) => void output.write(output.frame(JSON.stringify(message)), false);
  const connection = new ServerConnection(
    {
      transport: "websocket",
      framing: "websocket",
      resumable: true,
      hasCloseCodes: true,
      encode: ({ json }) => output.frame(json),
      write: output.write,
      tell,
      close: (code, established) => {
        const { websocket, sentence } = closeReason(code);
        output.close(code === "rejected" && established ? REJECTED_AFTER_HANDSHAKE : websocket, sentence);
      },
    },
    hub,
    principal,
    observer,
  );
  return {
    message: (data) =>
      connection.receive(parse(data, { mode: "tolerant" }), (answer) => answer && tell(answer)),
    closed: () => connection.closed(),
    close: (code) => connection.close(code),
    get subscribed() {
      return connection.subscribed;
    },
  };
}
