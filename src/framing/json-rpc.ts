/** Parses and encodes JSON-RPC 2.0, one message per line (B.6, RPC-01). The transport defines the methods. */

export type RpcId = string | number | null;

type RpcMessage =
  | { readonly kind: "request"; readonly id: RpcId; readonly method: string; readonly params: unknown }
  /** `json`: the text of the params, if it can be taken from the line unchanged. */
  | {
      readonly kind: "notification";
      readonly method: string;
      readonly params: unknown;
      readonly json: string | undefined;
    }
  | { readonly kind: "result"; readonly id: RpcId; readonly result: unknown }
  | { readonly kind: "error"; readonly id: RpcId; readonly code: number; readonly message: string }
  /** Not a valid message, with the error to answer. */
  | { readonly kind: "fault"; readonly id: RpcId; readonly code: number; readonly message: string };

/** JSON-RPC 2.0, 5.1. */
export const RPC_ERRORS = {
  parse: { code: -32700, message: "This line is not UTF-8 JSON. Send one JSON-RPC 2.0 object per line." },
  request: {
    code: -32600,
    message:
      'This is not a JSON-RPC 2.0 message. Send one object per line, with "jsonrpc": "2.0" and a method.',
  },
  method: {
    code: -32601,
    message:
      "There is no such method. Use aaep.subscribe, aaep.renegotiate, aaep.reply, aaep.close or aaep.ping.",
  },
  params: { code: -32602, message: "params must be the AAEP message itself: one JSON object." },
} as const;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isId = (value: unknown): value is RpcId =>
  value === null || typeof value === "string" || typeof value === "number";

/** The text of a line; undefined if it is not UTF-8. */
export function lineText(line: Uint8Array): string | undefined {
  try {
    return decoder.decode(line);
  } catch {
    return undefined;
  }
}

export function parseRpc(text: string | undefined): RpcMessage {
  let value: unknown;
  if (text === undefined) return { kind: "fault", id: null, ...RPC_ERRORS.parse };
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: "fault", id: null, ...RPC_ERRORS.parse };
  }
  // Batches, which are arrays, are not supported.
  if (!isObject(value)) return { kind: "fault", id: null, ...RPC_ERRORS.request };
  const { jsonrpc, id, method, params, result, error } = value;
  const known = isId(id) ? id : null;
  const fault: RpcMessage = { kind: "fault", id: known, ...RPC_ERRORS.request };
  if (jsonrpc !== "2.0" || (id !== undefined && !isId(id))) return fault;
  if (typeof method === "string") {
    if (id !== undefined) return { kind: "request", id: known, method, params };
    // Usually params come last, and then their text is used as it is (TRN-01).
    const start = rpcNotification(method, "").length - 1;
    const asWritten =
      Object.keys(value).length === 3 &&
      text.startsWith(rpcNotification(method, "").slice(0, start)) &&
      text.endsWith("}");
    return { kind: "notification", method, params, json: asWritten ? text.slice(start, -1) : undefined };
  }
  if (method !== undefined || id === undefined) return fault;
  if (Object.hasOwn(value, "result") && error === undefined) return { kind: "result", id: known, result };
  if (isObject(error) && typeof error["code"] === "number") {
    return { kind: "error", id: known, code: error["code"], message: String(error["message"] ?? "") };
  }
  return fault;
}

/** `json` is compact JSON and inserted unchanged: an event is serialized once (TRN-01). */
export const rpcNotification = (method: string, json: string): string =>
  `{"jsonrpc":"2.0","method":"${method}","params":${json}}`;

export const rpcRequest = (id: number, method: string, json: string): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${json}}`;

export const rpcResult = (id: RpcId, json: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${json}}`;

export const rpcError = (
  id: RpcId,
  { code, message }: { readonly code: number; readonly message: string },
): string => JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } });
