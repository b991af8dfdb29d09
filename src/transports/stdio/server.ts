/**
 * AAEP as JSON-RPC over a process's pipes (B.6, CON-62), the producer's side. `params` and `result` are the AAEP message
 * itself; a rejection is an ordinary result, and JSON-RPC errors speak of the RPC layer alone. The six methods:
 * aaep.subscribe and aaep.renegotiate are asked and answered; aaep.event, aaep.reply and aaep.close are only told;
 * aaep.ping may be asked by either side. The messages of our extension come as aaep.reply: their `type` says what they are.
 */
import { MOST_MESSAGE_BYTES } from "../../framing/bytes.ts";
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
import { type Answer, openLine } from "../open-line.ts";

interface ServerPipe {
  write(bytes: Uint8Array): Promise<void> | undefined;
  /** Sends what is waiting, and ends. */
  end(): void;
}

interface StdioSession {
  bytes(chunk: Uint8Array): void;
  closed(): void;
  leave(code: CloseCode): void;
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

export function openStdio(pipe: ServerPipe, hub: HubPort, principal: Principal): StdioSession {
  const decoder = createLineDecoder(MOST_MESSAGE_BYTES + ENVELOPE_BYTES);
  let ended = false;
  const line = (text: string) => void pipe.write(encodeLine(text));
  const session = openLine(
    {
      transport: "stdio",
      framing: "json-rpc",
      // The process's end is the subscription's: there is no other line to come back on (RPC-05).
      outlived: false,
      encode: ({ json }) => encodeLine(rpcNotification("aaep.event", json)),
      write: (frame) => pipe.write(frame),
      tell: (message) =>
        line(
          rpcNotification(
            message.type === "subscription.close" ? "aaep.close" : "aaep.event",
            JSON.stringify(message),
          ),
        ),
      end() {
        ended = true;
        pipe.end();
      },
    },
    hub,
    principal,
  );

  function call(method: string, id: RpcId | undefined, params: unknown, text: string): void {
    const respond = (make: (id: RpcId) => string) => id !== undefined && line(make(id));
    if (method === "aaep.ping") return void respond((to) => rpcResult(to, "{}"));
    const fits = Object.hasOwn(TYPES, method) ? TYPES[method] : undefined;
    if (!fits) return void respond((to) => rpcError(to, RPC_ERRORS.method));
    if (typeof params !== "object" || params === null || Array.isArray(params)) {
      return void respond((to) => rpcError(to, RPC_ERRORS.params));
    }
    const parsed = checked(parseValue(params, { mode: "tolerant" }), fits, text);
    let answered = false;
    const done = session.receive(parsed, (answer: Answer) => {
      answered = true;
      respond((to) => rpcResult(to, JSON.stringify(answer)));
    });
    // Whoever put an id on it waits for an answer, and learns from it nothing but that it came (A02).
    void done.then(() => {
      if (!answered) respond((to) => (parsed.ok ? rpcResult(to, "{}") : rpcError(to, RPC_ERRORS.params)));
    });
  }

  function take(bytes: Uint8Array): void {
    const text = lineText(bytes);
    const message = parseRpc(text);
    switch (message.kind) {
      case "request":
        return call(message.method, message.id, message.params, text!);
      case "notification":
        return call(message.method, undefined, message.params, text!);
      case "fault":
        return line(rpcError(message.id, message));
    }
  }

  return {
    bytes(chunk) {
      if (ended) return;
      for (const bytes of decoder.feed(chunk)) if (!ended) take(bytes);
      if (decoder.fault && !ended) {
        line(
          rpcError(null, {
            code: RPC_ERRORS.request.code,
            message: `A line may have at most ${MOST_MESSAGE_BYTES} bytes.`,
          }),
        );
        session.leave("too_large");
      }
    },
    closed: session.closed,
    leave: session.leave,
  };
}

const refused = (type: string | undefined, code: string, message: string, ruling: string): Parsed => ({
  ok: false,
  type,
  issues: [{ path: "", code, message, ruling }],
});

/** A decision must be readable in one way only, the envelope included (A14); and a method carries only what its name says. */
function checked(parsed: Parsed, fits: (type: string) => boolean, text: string): Parsed {
  if (!parsed.ok) return parsed;
  const { type } = parsed.message;
  if (!fits(type)) return refused(type, "method", "This message does not go with this method.", "RPC-02");
  if (type.endsWith(".reply") && hasDuplicateKeys(text)) {
    return refused(
      type,
      "duplicate_key",
      "A field stands twice in this reply; a decision must be readable in one way only.",
      "CNF-14",
    );
  }
  return parsed;
}
