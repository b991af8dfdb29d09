/**
 * Server reflection, grpc.reflection.v1 and v1alpha, which differ in name only: ordinary tools learn from it what can be
 * called (TRN-17). It shows what the published .proto says and nothing of who is connected. Only our own service is
 * listed; a tool that is told of the reflection service goes on to ask for its file, which it has anyway.
 */
import { FILE, fileDescriptor, SERVICE, SYMBOLS } from "./descriptor.ts";
import { field, message, readFields } from "./wire.ts";

export const REFLECTION_PATHS: readonly string[] = [
  "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
  "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

const NOT_FOUND = 5;
const UNIMPLEMENTED = 12;
const refused = (code: number, sentence: string): Buffer =>
  field(7, message(field(1, code), field(2, sentence)));

/** The response to one request; undefined where the bytes are none. */
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
    return known
      ? field(4, field(1, fileDescriptor()))
      : refused(NOT_FOUND, "Nothing of that name is served here.");
  }
  if (fields.has(5) || fields.has(6)) return refused(NOT_FOUND, "There are no protobuf extensions here.");
  return refused(UNIMPLEMENTED, "This kind of question is not known here.");
}
