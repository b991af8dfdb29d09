/**
 * AAEP over a Unix socket or a named pipe (B.3, B.4). The subscriber's first byte tells which framing it uses, and it
 * is answered in the same framing (CON-61). File system permissions have authenticated the caller.
 */
import { type Decoder, type FramingFault, MAX_MESSAGE_BYTES } from "../../framing/bytes.ts";
import { createLengthPrefixDecoder, encodeLengthPrefix } from "../../framing/length-prefix.ts";
import { createLineDecoder, encodeLine } from "../../framing/ndjson.ts";
import type { CloseCode } from "../../protocol/close-reasons.ts";
import type { HubPort } from "../../protocol/hub-port.ts";
import { parse } from "../../protocol/parse.ts";
import type { Principal } from "../../protocol/principal.ts";
import { type Answer, type ConnectionObserver, ServerConnection } from "../server-connection.ts";

export interface ByteOutput {
  /** A promise is backpressure. */
  write(frame: Uint8Array, deferrable: boolean): Promise<void> | undefined;
  /** Ends the stream after everything written has been sent. */
  end(): void;
}

export interface IpcConnection {
  /** A promise is backpressure: read nothing more until it settles. */
  bytes(chunk: Uint8Array): Promise<void> | undefined;
  closed(): void;
  close(code: CloseCode): void;
  readonly subscribed: boolean;
}

interface Framing {
  readonly name: string;
  decoder(maxBytes: number): Decoder;
  encode(text: string): Uint8Array;
}

const LENGTH_PREFIX: Framing = {
  name: "length-prefix",
  decoder: createLengthPrefixDecoder,
  encode: encodeLengthPrefix,
};
const LINES: Framing = { name: "ndjson", decoder: createLineDecoder, encode: encodeLine };

/** A length below 16 MiB begins with 0x00, a JSON object with a brace: the first byte decides. */
function framingOf(first: number): Framing | undefined {
  if (first === 0x00) return LENGTH_PREFIX;
  return first === 0x7b ? LINES : undefined;
}

interface IpcConnectionOptions {
  readonly transport?: string;
  readonly messageBytes?: number;
  readonly observer?: ConnectionObserver;
}

export function openIpc(
  output: ByteOutput,
  hub: HubPort,
  principal: Principal,
  { transport = "ipc", messageBytes = MAX_MESSAGE_BYTES, observer }: IpcConnectionOptions = {},
): IpcConnection {
  let framing: Framing | undefined;
  let decoder: Decoder | undefined;
  let ended = false;
  const encode = (text: string): Uint8Array => (framing ?? LINES).encode(text);
  const tell = (message: object) => void output.write(encode(JSON.stringify(message)), false);
  const respond = (answer?: Answer) => answer && tell(answer);
  const connection = new ServerConnection(
    {
      transport,
      resumable: true,
      hasCloseCodes: false,
      get framing() {
        return (framing ?? LINES).name;
      },
      encode: ({ json }) => encode(json),
      write: output.write,
      tell,
      close() {
        ended = true;
        output.end();
      },
    },
    hub,
    principal,
    observer,
  );

  /** Where the next message begins is lost, so nothing more can be read. */
  function framingFailed(fault: FramingFault): void {
    if (connection.subscribed)
      return connection.close(fault === "too_large" ? "too_large" : "protocol_violation");
    const reason_message =
      fault === "too_large"
        ? `A message may have at most ${messageBytes} bytes.`
        : "Frame each message with a 4-byte big-endian length, or send one compact JSON object per line.";
    tell({ type: "subscription.rejected", reason_code: "unknown", reason_message });
    connection.close("protocol_violation");
  }

  return {
    bytes(chunk) {
      if (ended || chunk.byteLength === 0) return undefined;
      framing ??= framingOf(chunk[0]!);
      if (!framing) return void framingFailed("not_framed");
      decoder ??= framing.decoder(messageBytes);
      let backpressure: Promise<void> | undefined;
      for (const message of decoder.feed(chunk)) {
        if (ended) return undefined;
        backpressure = connection.receive(parse(message, { mode: "tolerant" }), respond);
      }
      if (decoder.fault && !ended) framingFailed(decoder.fault);
      return backpressure;
    },
    closed: () => connection.closed(),
    close: (code) => connection.close(code),
    get subscribed() {
      return connection.subscribed;
    },
  };
}
