/** The gRPC library, an optional peer dependency that is loaded on first use, and our two methods. */
import { EarshotError } from "../../protocol/errors.ts";

export const SERVICE = "aaep.v1.AaepService";

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

/** Messages are encoded once for all listeners and decoded here, so gRPC passes bytes through. */
export const asBytes = (bytes: Buffer): Buffer => bytes;

/** The definition of a method. */
export const method = (path: string, streams: boolean) => ({
  path,
  requestStream: streams,
  responseStream: streams,
  requestSerialize: asBytes,
  requestDeserialize: asBytes,
  responseSerialize: asBytes,
  responseDeserialize: asBytes,
});
