/**
 * Server reflection, grpc.reflection.v1 and v1alpha, which differ in name only: tools such as grpcurl learn from it what
 * can be called (TRN-17). It shows proto/aaep/v1/aaep.proto, which a test compares with the file, and nothing about
 * who is connected. Only our own service is listed: a tool that sees the reflection service asks for its file too.
 */
import { SERVICE } from "./library.ts";
import { field, message, readFields } from "./protobuf.ts";

const FILE = "aaep/v1/aaep.proto";

/** FieldDescriptorProto.Type and Label. */
const STRING = 9;
const BYTES = 12;
const OPTIONAL = 1;

/** A singular field, with its JSON name. */
const fieldOf = (name: string, number: number, type: number, jsonName = name): Buffer =>
  field(
    2,
    message(field(1, name), field(3, number), field(4, OPTIONAL), field(5, type), field(10, jsonName)),
  );

const messageOf = (name: string, ...fields: readonly Buffer[]): Buffer =>
  field(4, message(field(1, name), ...fields));

const methodOf = (name: string, input: string, output: string, streams: boolean): Buffer =>
  field(
    2,
    message(
      field(1, name),
      field(2, `.aaep.v1.${input}`),
      field(3, `.aaep.v1.${output}`),
      ...(streams ? [field(5, 1), field(6, 1)] : []),
    ),
  );

export const fileDescriptor = (): Buffer =>
  message(
    field(1, FILE),
    field(2, "aaep.v1"),
    messageOf("AaepMessage", fieldOf("json", 1, BYTES), fieldOf("message_type", 2, STRING, "messageType")),
    messageOf("GetManifestRequest"),
    messageOf("Manifest", fieldOf("json", 1, BYTES)),
    field(
      6,
      message(
        field(1, "AaepService"),
        methodOf("Subscribe", "AaepMessage", "AaepMessage", true),
        methodOf("GetManifest", "GetManifestRequest", "Manifest", false),
      ),
    ),
    field(12, "proto3"),
  );

/** Every name the file declares: a tool may ask for any of them. */
const SYMBOLS: ReadonlySet<string> = new Set([
  SERVICE,
  `${SERVICE}.Subscribe`,
  `${SERVICE}.GetManifest`,
  "aaep.v1.AaepMessage",
  "aaep.v1.AaepMessage.json",
  "aaep.v1.AaepMessage.message_type",
  "aaep.v1.GetManifestRequest",
  "aaep.v1.Manifest",
  "aaep.v1.Manifest.json",
]);

export const REFLECTION_PATHS: readonly string[] = [
  "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
  "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

const NOT_FOUND = 5;
const UNIMPLEMENTED = 12;
const refused = (code: number, sentence: string): Buffer =>
  field(7, message(field(1, code), field(2, sentence)));

/** The response to one request; undefined if the bytes are not a request. */
export function answerReflection(request: Uint8Array): Buffer | undefined {
  const fields = readFields(request);
  if (!fields) return undefined;
  return message(field(1, fields.get(1)), field(2, request), answerTo(fields));
}

function answerTo(fields: ReadonlyMap<number, Uint8Array>): Buffer {
  const file = fields.get(3);
  const symbol = fields.get(4);
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("utf8");
  if (fields.has(7)) return field(6, field(1, field(1, SERVICE)));
  if (file || symbol) {
    const known = file ? text(file) === FILE : SYMBOLS.has(text(symbol!).replace(/^\./, ""));
    return known ? field(4, field(1, fileDescriptor())) : refused(NOT_FOUND, "This name is unknown.");
  }
  if (fields.has(5) || fields.has(6)) return refused(NOT_FOUND, "There are no protobuf extensions.");
  return refused(UNIMPLEMENTED, "This kind of request is not supported.");
}
