/**
 * AAEP as JSON-RPC over a process's pipes (B.6, CON-62), the producer's side. `params` and `result` are the AAEP message
 * itself; a rejection is an ordinary result, and JSON-RPC errors concern the RPC layer only. aaep.subscribe and
 * aaep.renegotiate are requests; aaep.event, aaep.reply and aaep.close are notifications; either side may send
 * aaep.ping. Messages of our extension arrive as aaep.reply: their `type` tells what they are.
 */
import { MAX_MESSAGE_BYTES } from "../../framing/bytes.ts";
import {
  lineText,
  parseRpc,
  RPC_ERRORS,
  type RpcId,
  rpcError,
  rpcNotification,
  rpcResult,
} from "../../framing/json-rpc.ts";
import { createLineDecoder, encodeLine } from "../../framing/ndjson.ts";
import type { CloseCode } from "../../protocol/close-reasons.ts";
import type { HubPort } from "../../protocol/hub-port.ts";
import { hasDuplicateKeys } from "../../protocol/limits.ts";
import { type Parsed, parseValue } from "../../protocol/parse.ts";
import type { Principal } from "../../protocol/principal.ts";
import { type ConnectionObserver, ServerConnection } from "../server-connection.ts";

interface PipeOutput {
  write(bytes: Uint8Array): Promise<void> | undefined;
  /** Ends the stream after everything written has been sent. */
  end(): void;
}

interface StdioConnection {
  /** A promise is backpressure: read nothing more until it settles. */
  bytes(chunk: Uint8Array): Promise<void> | undefined;
  closed(): void;
  close(code: CloseCode): void;
}

/** What each method's params must be. */
const TYPES: Readonly<Record<string, (type: string) => boolean>> = {
  "aaep.subscribe": (type) => type === "subscription.request",
  "aaep.renegotiate": (type) => type === "subscription.renegotiate",
  "aaep.reply": (type) => type.endsWith(".reply") || type.startsWith("earshot:"),
  "aaep.close": (type) => type === "subscription.close",
};

/** An envelope around the largest message. */
const ENVELOPE_BYTES = 4_096;

export function openStdio(
  pipe: PipeOutput,
  hub: HubPort,
  principal: Principal,
  observer?: ConnectionObserver,
): StdioConnection {
  const decoder = createLineDecoder(MAX_MESSAGE_BYTES + ENVELOPE_BYTES);
  let ended = false;
  const writeLine = (text: string) => void pipe.write(encodeLine(text));
  const connection = new ServerConnection(
    {
      transport: "stdio",
      framing: "json-rpc",
      // When the process ends, so does the subscription: there is no other connection to resume on (RPC-05).
      resumable: false,
      hasCloseCodes: false,
      encode: ({ json }) => encodeLine(rpcNotification("aaep.event", json)),
      write: (frame) => pipe.write(frame),
      tell: (message) =>
        writeLine(
          rpcNotification(
            message.type === "subscription.close" ? "aaep.close" : "aaep.event",
            JSON.stringify(message),
          ),
        ),
      close() {
        ended = true;
        pipe.end();
      },
    },
    hub,
    principal,
    observer,
  );

  function call(
    method: string,
    id: RpcId | undefined,
    params: unknown,
    text: string,
  ): Promise<void> | undefined {
    const respond = (make: (id: RpcId) => string): undefined => {
      if (id !== undefined) writeLine(make(id));
    };
    if (method === "aaep.ping") return respond((to) => rpcResult(to, "{}"));
    const fits = Object.hasOwn(TYPES, method) ? TYPES[method] : undefined;
    if (!fits) return respond((to) => rpcError(to, RPC_ERRORS.method));
    if (typeof params !== "object" || params === null || Array.isArray(params))
      return respond((to) => rpcError(to, RPC_ERRORS.params));
    const parsed = checked(parseValue(params, { mode: "tolerant" }), fits, text);
    // A request with an id is always answered; the answer says only that it arrived (A02).
    return connection.receive(parsed, (answer) =>
      respond((to) =>
        answer || parsed.ok
          ? rpcResult(to, answer ? JSON.stringify(answer) : "{}")
          : rpcError(to, RPC_ERRORS.params),
      ),
    );
  }

  function receive(bytes: Uint8Array): Promise<void> | undefined {
    const text = lineText(bytes);
    const message = parseRpc(text);
    switch (message.kind) {
      case "request":
        return call(message.method, message.id, message.params, text!);
      case "notification":
        return call(message.method, undefined, message.params, text!);
      case "fault":
        writeLine(rpcError(message.id, message));
    }
    return undefined;
  }

  return {
    bytes(chunk) {
      let backpressure: Promise<void> | undefined;
      if (ended) return undefined;
      for (const bytes of decoder.feed(chunk)) if (!ended) backpressure = receive(bytes) ?? backpressure;
      if (decoder.fault && !ended) {
        writeLine(
          rpcError(null, {
            code: RPC_ERRORS.request.code,
            message: `A line may have at most ${MAX_MESSAGE_BYTES} bytes.`,
          }),
        );
        connection.close("too_large");
      }
      return backpressure;
    },
    closed: () => connection.closed(),
    close: (code) => connection.close(code),
  };
}

const refused = (type: string | undefined, code: string, message: string, ruling: string): Parsed => ({
  ok: false,
  type,
  issues: [{ path: "", code, message, ruling }],
});

/** A reply with a repeated key is ambiguous, so it is refused (A14); and a method carries only what its name says. */
function checked(parsed: Parsed, fits: (type: string) => boolean, text: string): Parsed {
  if (!parsed.ok) return parsed;
  const { type } = parsed.message;
  if (!fits(type)) return refused(type, "method", "This message does not go with this method.", "RPC-02");
  if (type.endsWith(".reply") && hasDuplicateKeys(text)) {
    return refused(
      type,
      "duplicate_key",
      "A field appears twice in this reply; a decision must have exactly one meaning.",
      "CNF-14",
    );
  }
  return parsed;
}
