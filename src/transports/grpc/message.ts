/** AaepMessage and Manifest as bytes (GRPC-02). The JSON inside is the message; `message_type` only repeats its type. */
import type { Delivery } from "../../protocol/hub-port.ts";
import { field, message, readFields } from "./wire.ts";

/** Events begin so, and then their type is found without parsing them. */
const BEGINNING =
  /^\{"@context":(?:"[^"\\]*"|\["[^\]\\]*"\]),(?:"aaep_version":"[^"\\]*",)?"type":"([^"\\]*)"/;

function typeOf(json: string): string {
  const found = BEGINNING.exec(json)?.[1];
  return found ?? String((JSON.parse(json) as { type?: unknown }).type ?? "");
}

export const encodeEvent = ({ json }: Delivery): Buffer => encodeAaepMessage(json, typeOf(json));

export const encodeAaepMessage = (json: string | Uint8Array, message_type: string): Buffer =>
  message(field(1, json), field(2, message_type));

/** The JSON of a message, unread; undefined where the bytes are no AaepMessage. The hint decides nothing (CON-63). */
export function decodeJson(bytes: Uint8Array): Uint8Array | undefined {
  const fields = readFields(bytes);
  return fields && (fields.get(1) ?? new Uint8Array());
}

export const encodeManifest = (json: string): Buffer => field(1, json);
