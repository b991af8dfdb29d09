/** gRPC itself: an optional peer, loaded when the first address or server asks for it, and the two methods of ours. */
import { EarshotError } from "../../protocol/errors.ts";
import { SERVICE } from "./descriptor.ts";

export type Grpc = typeof import("@grpc/grpc-js");

export async function loadGrpc(): Promise<Grpc> {
  try {
    return await import("@grpc/grpc-js");
  } catch (cause) {
    throw new EarshotError("grpc_missing", "gRPC needs a package of its own: npm install @grpc/grpc-js", {
      cause,
    });
  }
}

export const SUBSCRIBE_PATH = `/${SERVICE}/Subscribe`;
export const MANIFEST_PATH = `/${SERVICE}/GetManifest`;

/** Messages are encoded once for everybody and read with care here, so gRPC is given bytes and gives bytes. */
export const asBytes = (bytes: Buffer): Buffer => bytes;

/** A method as gRPC wants it described. */
export const method = (path: string, streams: boolean) => ({
  path,
  requestStream: streams,
  responseStream: streams,
  requestSerialize: asBytes,
  requestDeserialize: asBytes,
  responseSerialize: asBytes,
  responseDeserialize: asBytes,
});
