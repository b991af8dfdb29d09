/**
 * Verifies who an agent is (10.4, MAN-08): a signed manifest is checked against keys this listener already trusts. A key
 * sent along with the signature proves nothing, and neither does an old signature (A22).
 */
import {
  type CompactJWSHeaderParameters,
  compactVerify,
  createLocalJWKSet,
  createRemoteJWKSet,
  decodeProtectedHeader,
  type JSONWebKeySet,
} from "jose";
import { parse } from "../protocol/parse.ts";
import type { ProducerManifest, SubscriptionAccepted } from "../protocol/types.ts";
import { type ClientTransport, ConnectionError } from "../transports/client-connection.ts";

export {
  createMemoryTrustStore,
  forget,
  type KnownOptions,
  type KnownProducer,
  originOf,
  type PresentedProducer,
  type Recognition,
  recognize,
  remember,
  requireKnown,
  revoke,
  type TrustStore,
} from "./known-producers.ts";

/** What a signed manifest is checked against. */
export interface TrustOptions {
  /** Keys you trust for this producer, or the address where they are published. Not those of other agents. */
  readonly keys: JSONWebKeySet | string;
  /** ES256, RS256 and EdDSA by default; never a shared secret. */
  readonly algorithms?: readonly string[];
  /** The agent you expect, if you know: the acceptance and the manifest must both name it. */
  readonly agent_id?: string;
  /** Wall-clock seconds. */
  readonly now?: () => number;
  /** The `iat` of the newest signature seen from this agent: an older one is a rollback. */
  readonly newestIat?: number;
  /** Refuse signatures older than this, and those without a date. */
  readonly maxAgeSeconds?: number;
  /** The transport in use; the manifest must offer it. */
  readonly transport?: string;
}

/** The verdict on a signed manifest. */
export type Trust =
  | {
      readonly trusted: true;
      readonly manifest: ProducerManifest;
      readonly kid: string;
      /** Keep it as `newestIat` for the next time. */
      readonly iat: number | undefined;
    }
  | { readonly trusted: false; readonly reason: string };

/**
 * A transport that connects to trusted producers only: it requires a signed manifest, checks it before any event is
 * passed on, and closes the connection if it does not hold. The newest signature is remembered.
 */
export function requireSigned(transport: ClientTransport, options: TrustOptions): ClientTransport {
  let { newestIat } = options;
  return {
    name: transport.name,
    async open(request, resume, events) {
      const capabilities = { ...request.capabilities, accept_signed_manifests_only: true };
      const connection = await transport.open({ ...request, capabilities }, resume, events);
      if (connection.answer.type === "subscription.rejected") return connection;
      const known = newestIat === undefined ? {} : { newestIat };
      const trust = await verifyManifest(connection.answer, {
        transport: transport.name,
        ...options,
        ...known,
      });
      if (trust.trusted) {
        newestIat = Math.max(newestIat ?? 0, trust.iat ?? 0);
        return connection;
      }
      connection.close();
      throw new ConnectionError("untrusted", `This agent is not trusted. ${trust.reason}`, false);
    },
  };
}

/** The key that signed; meaningful only where the signature was checked, e.g. behind `requireSigned`. */
export const keyIdOf = ({ signed_manifest }: SubscriptionAccepted): string | undefined =>
  signed_manifest === undefined ? undefined : decodeProtectedHeader(signed_manifest).kid;

type Header = CompactJWSHeaderParameters & { iat?: unknown; exp?: unknown; b64?: unknown };

const SKEW_SECONDS = 300;
const SAFE = [
  "ES256",
  "RS256",
  "EdDSA",
  "Ed25519",
  "ES384",
  "ES512",
  "PS256",
  "PS384",
  "PS512",
  "RS384",
  "RS512",
];
const refuse = (reason: string): Trust => ({ trusted: false, reason });

/**
 * Verifies the signed manifest of an acceptance against keys you trust. Never throws for a bad one: it says why not.
 */
export async function verifyManifest(accepted: SubscriptionAccepted, options: TrustOptions): Promise<Trust> {
  const { keys, algorithms = ["ES256", "RS256", "EdDSA"] } = options;
  if (algorithms.some((name) => !SAFE.includes(name))) {
    return refuse(
      "A manifest cannot be trusted by `none` or by a shared secret: allow asymmetric algorithms only.",
    );
  }
  if (!accepted.signed_manifest) return refuse("The agent did not sign its manifest.");
  let payload: Uint8Array;
  let header: Header;
  try {
    const set = typeof keys === "string" ? createRemoteJWKSet(addressOf(keys)) : createLocalJWKSet(keys);
    const verified = await compactVerify(accepted.signed_manifest, set, { algorithms: [...algorithms] });
    payload = verified.payload;
    header = verified.protectedHeader as Header;
  } catch {
    return refuse("The signature does not match any key trusted for this agent.");
  }
  const stale = faultOf(header, options);
  if (stale) return refuse(stale);
  const parsed = parse(payload, { mode: "tolerant" });
  if (!parsed.ok || parsed.message.type !== "aaep:producer.manifest")
    return refuse("What was signed is not a manifest.");
  const manifest = parsed.message as ProducerManifest;
  const conflict = inconsistency(manifest, accepted, options);
  if (conflict) return refuse(conflict);
  return { trusted: true, manifest, kid: header.kid!, iat: header.iat as number | undefined };
}

/** Why a valid signature is refused all the same. Dates are checked where they are given (CON-55). */
function faultOf(
  { kid, typ, b64, iat, exp }: Header,
  { now = () => Math.floor(Date.now() / 1000), newestIat, maxAgeSeconds }: TrustOptions,
): string | undefined {
  if (typeof kid !== "string") return "The signature does not name its key.";
  // The same key may sign other things: a token is not a manifest, whatever it contains.
  if (b64 === false || /jwt$/i.test(typ ?? "")) return "What was signed is not a manifest.";
  for (const time of [iat, exp]) {
    if (time !== undefined && !(typeof time === "number" && Number.isFinite(time)))
      return "The signature's dates cannot be read.";
  }
  const at = now();
  if (exp !== undefined && at > (exp as number) + SKEW_SECONDS) return "The signature has expired.";
  if (iat !== undefined && (iat as number) > at + SKEW_SECONDS)
    return "The signature is dated in the future.";
  if (newestIat !== undefined && ((iat as number | undefined) ?? 0) < newestIat)
    return "A newer signature of this agent is already known.";
  if (maxAgeSeconds !== undefined && at - ((iat as number | undefined) ?? 0) > maxAgeSeconds + SKEW_SECONDS) {
    return "The signature is older than you allow, or does not say how old it is.";
  }
  return undefined;
}

/** The manifest must describe the producer that accepted, and offer what was accepted (MAN-08). */
function inconsistency(
  manifest: ProducerManifest,
  { producer, honored_capabilities: honored, aaep_version }: SubscriptionAccepted,
  { transport, agent_id }: TrustOptions,
): string | undefined {
  if (manifest.agent_id !== producer.agent_id) return "The manifest belongs to another agent.";
  if (agent_id !== undefined && producer.agent_id !== agent_id) return "This is not the agent you expected.";
  if (transport !== undefined && !manifest.transports_supported.includes(transport))
    return `The manifest does not offer ${transport}.`;
  const levels = honored.supported_conformance_levels ?? [];
  if (levels.some((level) => !manifest.conformance_levels_supported.includes(level)))
    return "The manifest offers fewer conformance levels than were agreed on.";
  if (!manifest.aaep_versions_supported.includes(aaep_version))
    return "The manifest does not offer the version that was agreed on.";
  const spoken = manifest.languages_supported ?? [];
  if (
    spoken.length > 0 &&
    (honored.languages ?? []).some((tag) => !spoken.some((one) => primary(one) === primary(tag)))
  ) {
    return "The manifest does not offer a language that was agreed on.";
  }
  return undefined;
}

/** An agent that speaks `en` may promise `en-GB` (I18N-07): the primary subtag must agree. */
const primary = (tag: string): string => tag.split("-")[0]!.toLowerCase();

/** Keys fetched without TLS could be replaced on the way. */
function addressOf(keys: string): URL {
  const address = new URL(keys);
  const local = ["localhost", "127.0.0.1", "[::1]"].includes(address.hostname);
  if (address.protocol !== "https:" && !local) throw new TypeError("Fetch keys over https.");
  return address;
}
