/** The manifest (5.10): built from what is actually served, signed where a key was given (MAN-*, CON-55, CON-56). */
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

/** A transport that is served, and where, if that does not follow from the server's own address. */
export interface Way {
  readonly transport: string;
  /** The path of the Unix socket, or the pipe's name. */
  readonly socket?: string;
  readonly grpc_port?: number;
}

interface Endpoints {
  readonly ways: readonly Way[];
  readonly prefix?: string | undefined;
  /** Connections the server takes. */
  readonly connections: number;
  readonly contact?: string | undefined;
  /** Where the public keys are, for a manifest that is signed. */
  readonly keys?: string | undefined;
}

/** As a listener should try them (TRN-14): what needs no token, then what most speak. */
const BEST_FIRST = ["unix-socket", "named-pipe", "sse", "websocket", "grpc"];

export function buildManifest(offer: Offer, endpoints: Endpoints): ProducerManifest {
  const { ways, prefix, connections, contact, keys } = endpoints;
  const { producer, versions, levels, languages, max_subscriptions = connections, extensions = [] } = offer;
  const has = (name: string): boolean => ways.some(({ transport }) => transport === name);
  const { socket, grpc_port }: Partial<Way> = Object.assign({}, ...ways);
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
      // MAN-03: which framings are spoken is said here, because nothing else says it.
      ...(socket === undefined ? {} : { socket, framings: ["length-prefix", "ndjson"] }),
      ...(grpc_port === undefined ? {} : { grpc_port }),
      ...(keys === undefined ? {} : { keys }),
    },
  };
}

/** The key that signs a manifest. */
export interface SigningKey {
  readonly key: CryptoKey | JWK;
  readonly kid: string;
  readonly alg?: "ES256" | "RS256" | "EdDSA";
  /** How long a signature is good for; a day by default. It is renewed at half that time. */
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

/** A fresh ES256 pair as JWKs: keep the first, publish the second. */
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
  /** The newest signature, where there is a key. */
  signed(): string | undefined;
  /** The public half of the signing key, where it can be told from the private one. */
  keys(): JSONWebKeySet | undefined;
}

interface PublicationOptions {
  readonly manifest: () => ProducerManifest;
  readonly signing?: SigningKey | undefined;
  /** Hears every new signature: listeners that insist on one are sent the newest. */
  readonly renewed: (signed: string) => void;
  readonly failed: (error: unknown) => void;
  /** Wall-clock seconds. */
  readonly now?: () => number;
  /** Calls back once after so many milliseconds, unless cancelled. */
  readonly after?: (ms: number, callback: () => void) => () => void;
}

/** Keeps a signature that is always good for at least half its time. */
export function createPublication(
  options: PublicationOptions,
): Publication & { renew(): Promise<void>; stop(): void } {
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
    if (!stopped) cancel = after(((signing.seconds ?? DAY) / 2) * 1000, () => void renew().catch(again));
  };
  const again = (error: unknown) => {
    failed(error);
    // The last signature is good for a while yet: half of it is left to find out.
    if (!stopped) cancel = after(((signing?.seconds ?? DAY) / 20) * 1000, () => void renew().catch(again));
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

/** Only what is known to be public: a field nobody here has heard of may be a secret. */
function publicHalf({ kty, crv, x, y, n, e }: JWK, { kid, alg = "ES256" }: SigningKey): JWK {
  const known = Object.entries({ kty, crv, x, y, n, e }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(known), kid, alg, use: "sig" } as JWK;
}
