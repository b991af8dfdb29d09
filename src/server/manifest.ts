/** The manifest (5.10): built from what is actually served, and signed if there is a key (MAN-*, CON-55, CON-56). */
import {
  CompactSign,
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JSONWebKeySet,
  type JWK,
} from "jose";
import { EarshotError } from "../protocol/errors.ts";
import { EXTENSION_PREFIX, EXTENSION_URI } from "../protocol/extension.ts";
import type { Offer } from "../protocol/negotiate.ts";
import { CORE_CONTEXT, type ProducerManifest } from "../protocol/types.ts";

/** A transport that is served, and where, if that does not follow from the HTTP address. */
export interface Endpoint {
  readonly transport: string;
  /** The path of the Unix socket, or the name of the pipe. */
  readonly socket?: string;
  readonly grpcPort?: number;
}

interface ManifestOptions {
  readonly endpoints: readonly Endpoint[];
  readonly prefix?: string | undefined;
  /** How many connections the server accepts. */
  readonly connections: number;
  readonly contact?: string | undefined;
  /** Where the public keys are, if the manifest is signed. */
  readonly keys?: string | undefined;
}

/** The order in which listeners should try them (TRN-14): those without a token first, then the most common. */
const BEST_FIRST = ["unix-socket", "named-pipe", "sse", "websocket", "grpc"];

export function buildManifest(offer: Offer, options: ManifestOptions): ProducerManifest {
  const { endpoints, prefix, connections, contact, keys } = options;
  const { producer, versions, levels, languages, max_subscriptions = connections, extensions = [] } = offer;
  const has = (name: string): boolean => endpoints.some(({ transport }) => transport === name);
  const { socket, grpcPort }: Partial<Endpoint> = Object.assign({}, ...endpoints);
  return {
    "@context": [CORE_CONTEXT, EXTENSION_URI],
    type: "aaep:producer.manifest",
    agent_id: producer.agent_id,
    ...(producer.agent_version === undefined ? {} : { agent_version: producer.agent_version }),
    ...(producer.agent_name === undefined ? {} : { agent_name: producer.agent_name }),
    aaep_versions_supported: [...versions],
    conformance_levels_supported: [...levels],
    transports_supported: BEST_FIRST.filter(has),
    languages_supported: [...new Set([languages.primary, ...languages.available])],
    event_types_emitted: ["aaep:agent.*"],
    extensions_supported: extensions.map(({ uri }) => uri),
    default_verbosity: "normal",
    max_concurrent_subscriptions: Math.min(connections, max_subscriptions),
    ...(contact === undefined ? {} : { contact }),
    [EXTENSION_PREFIX]: {
      ...(prefix === undefined ? {} : { prefix }),
      ...(has("sse")
        ? {
            subscriptions: `${prefix}/subscriptions`,
            events: `${prefix}/events`,
            replies: `${prefix}/replies`,
          }
        : {}),
      ...(has("websocket") ? { websocket: `${prefix}/ws` } : {}),
      // MAN-03: nothing else tells a listener which framings are available.
      ...(socket === undefined ? {} : { socket, framings: ["length-prefix", "ndjson"] }),
      ...(grpcPort === undefined ? {} : { grpc_port: grpcPort }),
      ...(keys === undefined ? {} : { keys }),
    },
  };
}

/** The key that signs a manifest. */
export interface SigningKey {
  readonly key: CryptoKey | JWK;
  readonly kid: string;
  readonly alg?: "ES256" | "RS256" | "EdDSA";
  /** How long a signature is valid; a day by default. It is renewed after half that time. */
  readonly seconds?: number;
}

const DAY = 86_400;
const SAFE_ALGORITHMS = ["ES256", "RS256", "EdDSA"];

/** Signs a manifest as a compact JWS. */
export async function signManifest(
  manifest: ProducerManifest,
  signing: SigningKey,
  nowSeconds: number,
): Promise<string> {
  const { key, kid, alg = "ES256", seconds = DAY } = signing;
  if (!SAFE_ALGORITHMS.includes(alg)) {
    throw new EarshotError(
      "unsafe_algorithm",
      `A manifest cannot be signed with ${alg}: use ES256, RS256 or EdDSA.`,
    );
  }
  const imported = "kty" in key ? await importJWK(key as JWK, alg) : key;
  return new CompactSign(new TextEncoder().encode(JSON.stringify(manifest)))
    .setProtectedHeader({
      alg,
      kid,
      typ: "aaep-manifest+jws",
      iat: nowSeconds,
      exp: nowSeconds + seconds,
    } as never)
    .sign(imported as CryptoKey);
}

/** A new ES256 key pair as JWKs: keep the private key, publish the public one. */
export async function generateSigningKey(kid: string): Promise<{ privateKey: JWK; publicKey: JWK }> {
  const pair = await generateKeyPair("ES256", { extractable: true });
  const common = { kid, alg: "ES256", use: "sig" };
  return {
    privateKey: { ...(await exportJWK(pair.privateKey)), ...common },
    publicKey: { ...(await exportJWK(pair.publicKey)), ...common },
  };
}

/** What anyone may read before subscribing. */
export interface Publication {
  manifest(): ProducerManifest;
  /** The signed manifest, if there is a key. */
  signed(): string | undefined;
  /** The public half of the signing key, if the key is a JWK. */
  keys(): JSONWebKeySet | undefined;
  /** Signs the manifest as it is now. */
  renew(): Promise<void>;
  stop(): void;
}

interface PublicationOptions {
  readonly manifest: () => ProducerManifest;
  readonly signing?: SigningKey | undefined;
  /** Called with every new signature: listeners that require one get the newest. */
  readonly renewed: (signed: string) => void;
  readonly failed: (error: unknown) => void;
  /** Wall-clock seconds. */
  readonly now?: () => number;
  /** Calls back once after this time, unless cancelled. */
  readonly after?: (ms: number, callback: () => void) => () => void;
}

/** Renews the signature, so that it is always valid for at least half its lifetime. */
export function createPublication(options: PublicationOptions): Publication {
  const {
    manifest,
    signing,
    renewed,
    failed,
    now = () => Math.floor(Date.now() / 1000),
    after = later,
  } = options;
  let signed: string | undefined;
  let cancel = () => {};
  let stopped = false;
  const renew = async (): Promise<void> => {
    if (!signing || stopped) return;
    cancel();
    const jws = await signManifest(manifest(), signing, now());
    signed = jws;
    renewed(jws);
    if (!stopped) cancel = after(((signing.seconds ?? DAY) / 2) * 1000, () => void renew().catch(retry));
  };
  const retry = (error: unknown) => {
    failed(error);
    // The last signature stays valid for a while: retry before it expires.
    if (!stopped) cancel = after(((signing?.seconds ?? DAY) / 20) * 1000, () => void renew().catch(retry));
  };
  return {
    manifest,
    signed: () => signed,
    keys: () =>
      signing && "kty" in signing.key ? { keys: [publicHalf(signing.key as JWK, signing)] } : undefined,
    renew,
    stop() {
      stopped = true;
      cancel();
    },
  };
}

function later(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, Math.min(ms, 2_000_000_000));
  timer.unref();
  return () => clearTimeout(timer);
}

/** Only fields known to be public: an unknown field may be secret. */
function publicHalf({ kty, crv, x, y, n, e }: JWK, { kid, alg = "ES256" }: SigningKey): JWK {
  const known = Object.entries({ kty, crv, x, y, n, e }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(known), kid, alg, use: "sig" } as JWK;
}
