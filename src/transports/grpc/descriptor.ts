/** proto/aaep/v1/aaep.proto as reflection shows it: a FileDescriptorProto, kept true to the file by a test. */
import { field, message } from "./wire.ts";

export const SERVICE = "aaep.v1.AaepService";
export const FILE = "aaep/v1/aaep.proto";

/** FieldDescriptorProto.Type and Label. */
const STRING = 9;
const BYTES = 12;
const OPTIONAL = 1;

/** Of a singular field, with the name it has in JSON. */
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

/** Every name the file declares, so that a tool may ask by any of them. */
export const SYMBOLS: ReadonlySet<string> = new Set([
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
