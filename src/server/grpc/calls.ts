/** What happens on a gRPC server's calls: who may open one is asked first, then it is a subscription's line, or an answer. */
import type { PeerCertificate } from "node:tls";
import type { Metadata, Server, ServerDuplexStream, ServerUnaryCall } from "@grpc/grpc-js";
import type { Admission, Certificate } from "../../auth/authenticate.ts";
import type { HubPort } from "../../protocol/hub-port.ts";
import type { Principal } from "../../protocol/principal.ts";
import { type Grpc, MANIFEST_PATH, method, SUBSCRIBE_PATH } from "../../transports/grpc/library.ts";
import { encodeManifest } from "../../transports/grpc/message.ts";
import { createOutlet } from "../../transports/grpc/outlet.ts";
import { answerReflection, REFLECTION_PATHS } from "../../transports/grpc/reflection.ts";
import { type GrpcConnection, openGrpc } from "../../transports/grpc/server.ts";
import { type Ending, endingOf, STATUS } from "../../transports/grpc/status.ts";
import type { ConnectionObserver } from "../../transports/server-connection.ts";
import type { createGuard } from "../http/guard.ts";
import { credentialsOf } from "../http/http.ts";
import type { GrpcLimits } from "./grpc.ts";

export interface GrpcSite {
  readonly guard: ReturnType<typeof createGuard>;
  readonly admit: Admission;
  readonly hub: HubPort;
  readonly secure: boolean;
  readonly connections: Set<GrpcConnection>;
  readonly observer: ConnectionObserver;
  readonly limits: GrpcLimits;
  readonly grpc: Grpc;
  readonly manifest: () => string;
}

/** Whoever was told to leave has so long to read why. */
export const LINGER_MS = 1_000;

type Call = ServerDuplexStream<Buffer, Buffer>;

export function createGrpcServer(site: GrpcSite, reflects: boolean): Server {
  const { grpc, limits } = site;
  const server = new grpc.Server({
    "grpc.max_receive_message_length": limits.messageBytes,
    "grpc.max_concurrent_streams": limits.streamsPerConnection,
    "grpc.keepalive_time_ms": limits.heartbeatMs,
    "grpc.keepalive_timeout_ms": limits.heartbeatMs,
    "grpc.max_connection_idle_ms": limits.requestMs,
    "grpc-node.max_session_memory": 8,
    "grpc.enable_channelz": 0,
  });
  server.addService(
    { Subscribe: method(SUBSCRIBE_PATH, true), GetManifest: method(MANIFEST_PATH, false) },
    {
      Subscribe: (call: Call) => void subscribe(site, call),
      GetManifest: (
        call: ServerUnaryCall<Buffer, Buffer>,
        answer: (error: object | null, bytes?: Buffer) => void,
      ) => {
        const refusal = refusalBy(site, call);
        if (refusal) answer({ code: refusal.code, details: refusal.details });
        else answer(null, encodeManifest(site.manifest()));
      },
    },
  );
  for (const path of reflects ? REFLECTION_PATHS : []) {
    server.addService({ Info: method(path, true) }, { Info: (call: Call) => reflect(site, call) });
  }
  return server;
}

const headerOf = (metadata: Metadata) => (name: string) => {
  const values = metadata.get(name);
  return values.length === 0 ? undefined : values.join(", ");
};

/** No page has business here: an Origin is refused, and so is a name this server does not go by (A20). */
function refusalBy(site: GrpcSite, call: Pick<Call, "metadata" | "getHost">): Ending | undefined {
  const header = headerOf(call.metadata);
  const guarded = site.guard(call.getHost(), header("origin"), site.secure);
  if (guarded.ok && header("origin") === undefined) return undefined;
  const message = guarded.ok ? "Pages may not call this agent over gRPC." : guarded.message;
  return { ...endingOf("authorization_denied"), details: message };
}

async function subscribe(site: GrpcSite, call: Call): Promise<void> {
  // Without a listener an error of one stream would be everybody's.
  call.on("error", () => {});
  const refusal = refusalBy(site, call);
  if (refusal) return endCall(site.grpc, call, refusal);
  if (site.connections.size >= site.limits.streams) {
    return endCall(site.grpc, call, {
      ...endingOf("producer_shutdown"),
      details: "Too many are listening. Try again later.",
    });
  }
  const principal = await site.admit(
    credentialsOf({
      method: "POST",
      url: new URL("grpc://unused"),
      header: headerOf(call.metadata),
      certificate: certificateOf(call.getAuthContext().sslPeerCertificate),
    }),
  );
  if (call.cancelled) return;
  if (principal === "denied") endCall(site.grpc, call, endingOf("authorization_denied"));
  else if (principal) open(site, call, principal);
  else endCall(site.grpc, call, endingOf("authentication_failed"));
}

function open(site: GrpcSite, call: Call, principal: Principal): void {
  const { limits, connections } = site;
  const outlet = createOutlet(call as never, {
    cap: limits.queueBytes,
    blockedMs: limits.blockedMs,
    slow: () => {
      connection.close("too_slow");
      setTimeout(() => reset(call), LINGER_MS).unref();
    },
  });
  let gone = false;
  const leaving = () => {
    if (gone) return;
    gone = true;
    clearTimeout(idle);
    connections.delete(connection);
    outlet.release();
    connection.closed();
  };
  const connection = openGrpc(
    {
      write: outlet.write,
      end: (ending) => {
        outlet.release();
        endCall(site.grpc, call, ending);
      },
    },
    site.hub,
    principal,
    site.observer,
  );
  connections.add(connection);
  const idle = setTimeout(
    () => connection.subscribed || connection.close("protocol_violation"),
    limits.requestMs,
  );
  idle.unref();
  call.on("data", (bytes: Buffer) => {
    const backpressure = connection.message(bytes);
    if (!backpressure) return;
    call.pause();
    void backpressure.then(() => call.resume());
  });
  call.on("end", () => connection.halfClosed());
  call.on("cancelled", leaving);
  call.on("close", leaving);
}

/** A stream that is not read cannot be ended in words, and gRPC has no verb for letting go of it: its HTTP/2 stream has. */
function reset(call: unknown): void {
  const { stream } =
    (call as { call?: { stream?: { close?(code: number): void; closed?: boolean } } }).call ?? {};
  const CANCEL = 8;
  if (stream?.closed === false) stream.close?.(CANCEL);
}

function reflect(site: GrpcSite, call: Call): void {
  call.on("error", () => {});
  const refusal = refusalBy(site, call);
  if (refusal) return endCall(site.grpc, call, refusal);
  call.on("data", (bytes: Buffer) => {
    const answer = answerReflection(bytes);
    if (!answer)
      endCall(site.grpc, call, {
        code: STATUS.INVALID_ARGUMENT,
        details: "These bytes are no question.",
        trailers: {},
      });
    // One question at a time: whoever does not read the answers is not asked for more.
    else if (!call.write(answer)) {
      call.pause();
      call.once("drain", () => call.resume());
    }
  });
  call.on("end", () => call.end());
}

function endCall(grpc: Grpc, call: Call, { code, details, trailers }: Ending): void {
  const metadata = new grpc.Metadata();
  for (const [name, value] of Object.entries(trailers)) metadata.set(name, value);
  if (call.cancelled || call.writableEnded) return;
  if (code === STATUS.OK) call.end(metadata);
  else call.emit("error", Object.assign(new Error(details), { code, details, metadata }));
}

function certificateOf(shown: PeerCertificate | undefined): Certificate | undefined {
  if (!shown?.subject) return undefined;
  const expires_at = Date.parse(shown.valid_to);
  return {
    subject: String(shown.subject.CN ?? ""),
    fingerprint: shown.fingerprint256,
    ...(Number.isNaN(expires_at) ? {} : { expires_at }),
  };
}
