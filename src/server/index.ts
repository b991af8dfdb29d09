/** `earshot/server`: put a producer on a server. */
export {
  type Authenticator,
  type Authorizer,
  anyOf,
  type Certificate,
  type Credentials,
  tokenAuthenticator,
} from "../auth/authenticate.ts";
export { type JwtOptions, jwtAuthenticator } from "../auth/jwt.ts";
export { certificateAuthenticator } from "../auth/mtls.ts";
export type { Principal, Role } from "../protocol/principal.ts";
export { type Discovered, type DiscoverOptions, discover } from "./discover.ts";
export { type GrpcLimits, type GrpcOptions, type GrpcTls, type ServingGrpc, serveGrpc } from "./grpc/grpc.ts";
export { createHttpApp, type HttpApp, type HttpAppOptions, type ServeLimits } from "./http/app.ts";
export type { InspectorOptions } from "./http/inspector.ts";
export type { Pages, Routes } from "./http/web.ts";
export { type IpcLimits, type IpcOptions, type ServingIpc, serveIpc } from "./ipc/ipc.ts";
export { safeName, socketDirectory, socketPath } from "./ipc/path.ts";
export { createFileTrustStore, knownProducersPath } from "./known-producers.ts";
export { generateSigningKey, type SigningKey, signManifest } from "./manifest.ts";
export { type ServeOptions, type Serving, serve } from "./serve.ts";
export { type ServingStdio, type StdioOptions, serveStdio } from "./stdio/stdio.ts";
export {
  formatTraceparent,
  type LogEntry,
  type LogLevel,
  type LogSink,
  parseTraceparent,
  type TraceContext,
} from "./telemetry.ts";
export { readTokenFiles, type TokenFile, tokenDirectory } from "./token-file.ts";
