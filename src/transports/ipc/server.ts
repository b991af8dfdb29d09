/**
 * AAEP over a Unix socket or a named pipe (B.3, B.4): the listener's first byte says how it frames, and it is answered
 * in kind (CON-61). Who connects has passed the file system's permissions; that is the authentication there is.
 */
import { type Decoder, type FramingFault, MOST_MESSAGE_BYTES } from "../../framing/bytes.ts";
import { createLengthPrefixDecoder, encodeLengthPrefix } from "../../framing/length-prefix.ts";
import { createLineDecoder, encodeLine } from "../../framing/ndjson.ts";
import type { CloseCode } from "../../protocol/close-reasons.ts";
import type { HubPort } from "../../protocol/hub-port.ts";
import { parse } from "../../protocol/parse.ts";
import type { Principal } from "../../protocol/principal.ts";
import { type OpenLine, openLine } from "../open-line.ts";

/** A stream socket as this binding needs it. */
export interface ServerStream {
  /** What is patient may wait a moment for more to go with it. */
  write(frame: Uint8Array, patient?: boolean): Promise<void> | undefined;
  /** Sends what is waiting, and ends. */
  end(): void;
}

export interface IpcSession {
  bytes(chunk: Uint8Array): void;
  closed(): void;
  leave(code: CloseCode): void;
  readonly subscribed: boolean;
  /** Bytes of a message that is not complete. */
  readonly waiting: number;
}

interface Framing {
  readonly name: string;
  decoder(most: number): Decoder;
  encode(text: string): Uint8Array;
}

const LENGTH_PREFIX: Framing = {
  name: "length-prefix",
  decoder: createLengthPrefixDecoder,
  encode: encodeLengthPrefix,
};
const LINES: Framing = { name: "ndjson", decoder: createLineDecoder, encode: encodeLine };

/** A length below 16 MiB begins with 0x00; a JSON object with a brace. Nothing begins with both. */
function framingOf(first: number): Framing | undefined {
  if (first === 0x00) return LENGTH_PREFIX;
  return first === 0x7b ? LINES : undefined;
}

export function openIpc(
  stream: ServerStream,
  hub: HubPort,
  principal: Principal,
  {
    transport = "ipc",
    message_bytes = MOST_MESSAGE_BYTES,
  }: { transport?: string; message_bytes?: number } = {},
): IpcSession {
  let framing: Framing | undefined;
  let decoder: Decoder | undefined;
  let ended = false;
  const encode = (text: string): Uint8Array => (framing ?? LINES).encode(text);
  const tell = (message: object) => void stream.write(encode(JSON.stringify(message)));
  const session: OpenLine = openLine(
    {
      transport,
      outlived: true,
      get framing() {
        return (framing ?? LINES).name;
      },
      encode: ({ json }) => encode(json),
      write: (frame, patient) => stream.write(frame, patient),
      tell,
      end() {
        ended = true;
        stream.end();
      },
    },
    hub,
    principal,
  );

  /** Where the next message begins is lost, so nothing more can be read; whoever is there is told in words. */
  function broken(fault: FramingFault): void {
    if (session.subscribed) return session.leave(fault === "too_large" ? "too_large" : "protocol_violation");
    const reason_message =
      fault === "too_large"
        ? `A message may have at most ${message_bytes} bytes.`
        : "Frame each message with a 4-byte big-endian length, or send one compact JSON object per line.";
    tell({ type: "subscription.rejected", reason_code: "unknown", reason_message });
    session.leave("protocol_violation");
  }

  return {
    bytes(chunk) {
      if (ended || chunk.byteLength === 0) return;
      framing ??= framingOf(chunk[0]!);
      if (!framing) return broken("not_framed");
      decoder ??= framing.decoder(message_bytes);
      for (const message of decoder.feed(chunk)) {
        if (ended) return;
        void session.receive(parse(message, { mode: "tolerant" }), tell);
      }
      if (decoder.fault && !ended) broken(decoder.fault);
    },
    closed: session.closed,
    leave: session.leave,
    get subscribed() {
      return session.subscribed;
    },
    get waiting() {
      return decoder?.waiting ?? 0;
    },
  };
}
