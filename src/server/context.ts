/**
 * What all transport servers of one agent share: the hub, log, metrics, write scheduling, and the manifest that lists
 * every open endpoint.
 */
import type { Producer } from "../producer/producer.ts";
import type { HubPort } from "../protocol/hub-port.ts";
import type { ProducerManifest } from "../protocol/types.ts";
import {
  buildManifest,
  createPublication,
  type Endpoint,
  type Publication,
  type SigningKey,
} from "./manifest.ts";
import {
  createLogger,
  createMetrics,
  createObserver,
  type Logger,
  type LogSink,
  type Metrics,
  type Observer,
} from "./telemetry.ts";
import { WriteScheduler } from "./writer.ts";

export interface ServerContext {
  readonly agent_id: string;
  readonly hub: HubPort;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly observer: Observer;
  readonly writes: WriteScheduler;
  readonly publication: Publication;
  /** As it is, or as it will be with one more endpoint. */
  manifest(more?: Endpoint): ProducerManifest;
  /** An endpoint is open: the manifest lists it from now on, and is signed again. */
  announce(endpoint: Endpoint): Promise<void>;
  /** Stops observing the hub and renewing the signature. */
  close(): void;
}

interface ContextOptions {
  readonly log?: LogSink | undefined;
  readonly contact?: string | undefined;
  readonly signing?: SigningKey | undefined;
  /** Where the public keys are, if the manifest is signed. */
  readonly keys?: string | undefined;
  readonly prefix?: string | undefined;
  readonly connections: number;
  /** Open from the start. */
  readonly endpoints?: readonly Endpoint[];
}

export function createContext(producer: Producer, options: ContextOptions): ServerContext {
  const { contact, signing, prefix, connections, keys } = options;
  const hub = producer.port;
  const log = createLogger(options.log);
  const metrics = createMetrics();
  metrics.gauge("earshot_subscriptions", () => hub.subscriptions);
  metrics.gauge("earshot_log_next", () => hub.nextPosition);
  metrics.gauge("process_resident_memory_bytes", () => process.memoryUsage.rss());
  const observer = createObserver(log, metrics);
  const stopObserving = hub.observe(observer);
  const open: Endpoint[] = [...(options.endpoints ?? [])];
  const manifest = (more?: Endpoint) =>
    buildManifest(hub.offer, {
      endpoints: more ? [...open, more] : open,
      prefix,
      connections,
      contact,
      keys,
    });
  const publication = createPublication({
    manifest: () => manifest(),
    signing,
    renewed: (signed) => {
      (hub.offer as { signed_manifest?: string }).signed_manifest = signed;
    },
    failed: (error) =>
      log("error", "signing_failed", {
        message: "The manifest could not be signed again; the last signature will expire.",
        error,
      }),
  });
  return {
    agent_id: producer.identity.agent_id,
    hub,
    log,
    metrics,
    observer,
    writes: new WriteScheduler(),
    publication,
    manifest,
    async announce(endpoint) {
      if (open.some(({ transport }) => transport === endpoint.transport)) return;
      open.push(endpoint);
      await publication
        .renew()
        .catch((error: unknown) =>
          log("error", "signing_failed", { message: "The manifest could not be signed.", error }),
        );
    },
    close() {
      stopObserving();
      publication.stop();
    },
  };
}

/** For a server of its own: closes the context with the server, or when the server cannot be opened. */
export async function withContext<Serving extends { close(): Promise<void> }>(
  context: ServerContext,
  open: () => Promise<Serving>,
): Promise<Serving> {
  try {
    const serving = await open();
    const { close } = serving;
    // Assigned, not spread: a server may have getters.
    return Object.assign(serving, {
      close: async () => {
        await close();
        context.close();
      },
    });
  } catch (error) {
    context.close();
    throw error;
  }
}
