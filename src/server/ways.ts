/** The ways to an agent that `serve` opens beside HTTP: the Unix socket or named pipe, and gRPC. */
import type { Producer } from "../producer/producer.ts";
import { EarshotError } from "../protocol/errors.ts";
import { type GrpcOptions, type GrpcTls, openGrpcServer, type ServingGrpc } from "./grpc/grpc.ts";
import { type Inside, LIMITS, type Site } from "./http/site.ts";
import { type IpcOptions, openIpcServer, type ServingIpc } from "./ipc/ipc.ts";
import type { ServeOptions } from "./serve.ts";

/** Whose socket it is follows from the file system; the rest is as for the server. */
export type UnixWay = Pick<IpcOptions, "path" | "directory">;
/** Options for gRPC in `serve`; credentials and limits are those of the server. */
export type GrpcWay = Pick<GrpcOptions, "port" | "tls" | "reflection">;

export interface Ways {
  readonly unix: ServingIpc | undefined;
  readonly grpc: ServingGrpc | undefined;
  close(): Promise<void>;
}

/**
 * The socket opens by itself on one's own machine, as the token's file is written there: whoever can open one can read
 * the other. Where `auth` decides who somebody is, or nothing of this run is to be found, it opens only when asked for.
 */
const opensByItself = ({ unix, auth, tokenFile }: ServeOptions, local: boolean): boolean =>
  unix === undefined && local && auth === undefined && tokenFile !== false;

export async function openWays(
  producer: Producer,
  options: ServeOptions,
  { host, local, site, inside }: { host: string; local: boolean; site: Site; inside: Inside },
): Promise<Ways> {
  const grpc = await openGrpc(producer, options, host, site, inside);
  try {
    // Last, because the manifest it leaves beside its socket names all the others.
    const unix = await openUnix(producer, options, local, inside);
    return {
      unix,
      grpc,
      close: async () => void (await Promise.all([unix?.close(), grpc?.close()])),
    };
  } catch (error) {
    await grpc?.close();
    throw error;
  }
}

async function openUnix(
  producer: Producer,
  options: ServeOptions,
  local: boolean,
  inside: Inside,
): Promise<ServingIpc | undefined> {
  const byItself = opensByItself(options, local);
  const { unix = byItself, authorize } = options;
  if (unix === false) return undefined;
  const limits = { ...LIMITS, ...options.limits };
  try {
    const serving = await openIpcServer(
      producer.identity.agent_id,
      {
        ...(unix === true ? {} : unix),
        ...(authorize ? { authorize } : {}),
        limits: {
          ...limits,
          connections: options.limits?.connections ?? 1_024,
          messageBytes: limits.bodyBytes,
        },
      },
      inside,
    );
    await inside.announce(serving.way);
    return serving;
  } catch (error) {
    if (!byItself) throw error;
    inside.log("warn", "no_socket", {
      message: `No socket was opened, so local tools find this agent over HTTP only. ${(error as Error).message} To do without one, pass \`unix: false\`.`,
      error,
    });
    return undefined;
  }
}

async function openGrpc(
  producer: Producer,
  options: ServeOptions,
  host: string,
  site: Site,
  inside: Inside,
): Promise<ServingGrpc | undefined> {
  const { grpc, port = 4600, auth, authorize, insecureLoopback, hosts, limits } = options;
  if (!grpc) return undefined;
  const own = grpc === true ? {} : grpc;
  const tls = own.tls ?? grpcTls(options);
  const serving = await openGrpcServer(
    producer.identity.agent_id,
    {
      ...own,
      host,
      port: own.port ?? (port === 0 ? 0 : port + 1),
      ...(tls ? { tls } : {}),
      ...(auth ? { auth } : {}),
      ...(authorize ? { authorize } : {}),
      ...(hosts ? { hosts } : {}),
      ...(insecureLoopback ? { insecureLoopback } : {}),
      ...(site.token === undefined ? {} : { token: site.token }),
      limits: {
        ...limits,
        ...(limits?.bodyBytes === undefined ? {} : { messageBytes: limits.bodyBytes + 1_024 }),
        ...(limits?.connections === undefined ? {} : { streams: limits.connections }),
      },
    },
    inside,
  );
  await inside.announce({ transport: "grpc", grpc_port: serving.port });
  return serving;
}

/** The server's own certificate, where it is given in the form gRPC takes. */
function grpcTls({ tls }: ServeOptions): GrpcTls | undefined {
  if (!tls) return undefined;
  const pem = (value: unknown): string | Uint8Array | undefined =>
    typeof value === "string" || value instanceof Uint8Array ? value : undefined;
  const [key, cert, ca] = [pem(tls.key), pem(tls.cert), pem(tls.ca)];
  // gRPC asks everybody for a certificate or nobody; where callers may do without one, it asks nobody.
  const insists = tls.requestCert === true && tls.rejectUnauthorized !== false;
  if (key === undefined || cert === undefined || (insists && ca === undefined)) {
    throw new EarshotError(
      "unsafe_address",
      "gRPC takes one `key`, one `cert` and one `ca` in PEM, and `tls` has others: give `grpc: { tls: { key, cert } }`, with `ca` to ask for certificates.",
    );
  }
  return { key, cert, ...(insists ? { ca: ca! } : {}) };
}
