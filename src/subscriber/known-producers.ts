/**
 * The agents a person knows (T3, T6, SEC-05, SEC-11): trust on first use. The person is asked about a new agent before
 * it is heard, and again about one that changed; a revoked one is refused. Pure; the list is stored behind a port.
 */
import type { SubscriptionAccepted } from "../protocol/types.ts";
import { type ClientTransport, ConnectionError } from "../transports/client-connection.ts";
import { agentName } from "./announcer/phrases.ts";

/** An agent the person has met, and what they decided about it. */
export interface KnownProducer {
  readonly agent_id: string;
  readonly name: string;
  /** The addresses it was accepted at. */
  readonly addresses: readonly string[];
  /** The key that signed its manifest, where the signature was checked. */
  readonly kid?: string;
  readonly since: string;
  /** When the person revoked it. */
  readonly revoked?: string;
}

/** Stores the list. `change` receives the current list and returns the new one. */
export interface TrustStore {
  read(): Promise<readonly KnownProducer[]>;
  change(
    change: (known: readonly KnownProducer[]) => readonly KnownProducer[],
  ): Promise<readonly KnownProducer[]>;
}

/** An agent as it presents itself. */
export interface PresentedProducer {
  readonly agent_id: string;
  /** Safe to be spoken. */
  readonly name: string;
  readonly address: string;
  /** Only where the signature was checked against trusted keys. */
  readonly kid: string | undefined;
}

/** How a producer compares with the list. The announcer has a sentence for each: `first_met`, `met_elsewhere` ... */
export type Recognition = "new" | "elsewhere" | "unsigned" | "other_key" | "known" | "revoked";

/** Compares an agent with the list of known ones: new, known, changed or revoked. */
export function recognize(
  known: readonly KnownProducer[],
  { agent_id, address, kid }: PresentedProducer,
): Recognition {
  const one = known.find((producer) => producer.agent_id === agent_id);
  if (!one) return "new";
  if (one.revoked !== undefined) return "revoked";
  if (one.kid !== undefined && kid === undefined) return "unsigned";
  if (one.kid !== undefined && one.kid !== kid) return "other_key";
  // A signature identifies an agent at any address; without one, only the address does.
  if (kid === undefined && !one.addresses.includes(address)) return "elsewhere";
  return "known";
}

/** The list after the person accepted an agent. */
export function remember(
  known: readonly KnownProducer[],
  met: PresentedProducer,
  at: string,
): KnownProducer[] {
  const { agent_id, name, address, kid } = met;
  const before = known.find((producer) => producer.agent_id === agent_id);
  const one: KnownProducer = {
    agent_id,
    name,
    // An address accepted with one key is not accepted with another, or without one.
    addresses: [...new Set([...(before && before.kid === kid ? before.addresses : []), address])],
    ...(kid === undefined ? {} : { kid }),
    since: before?.since ?? at,
  };
  return [...known.filter((producer) => producer.agent_id !== agent_id), one];
}

/** The list after the person revoked an agent. An unknown one can be revoked in advance. */
export function revoke(known: readonly KnownProducer[], agent_id: string, at: string): KnownProducer[] {
  const before = known.find((producer) => producer.agent_id === agent_id);
  const one = before ?? { agent_id, name: agentName({ agent_id }), addresses: [], since: at };
  return [...known.filter((producer) => producer.agent_id !== agent_id), { ...one, revoked: at }];
}

/** The list without the agent: the person is asked about it again. */
export const forget = (known: readonly KnownProducer[], agent_id: string): KnownProducer[] =>
  known.filter((producer) => producer.agent_id !== agent_id);

/** Options of `requireKnown`. */
export interface KnownOptions {
  readonly store: TrustStore;
  /** Asks the person about an agent that is new or has changed. Not called for one that is known or revoked. */
  ask(met: PresentedProducer, meeting: Exclude<Recognition, "known" | "revoked">): Promise<boolean>;
  /** The key of a checked signature, if there is one. */
  readonly kidOf?: (accepted: SubscriptionAccepted) => string | undefined;
  readonly timestamp?: () => string;
}

/**
 * A transport that connects to known agents only. The connection to an unknown one is closed before anything is heard,
 * and opened again once the person accepts it: it must not fill a queue, or hold a question open, in the meantime.
 */
export function requireKnown(
  transport: ClientTransport,
  address: string,
  options: KnownOptions,
): ClientTransport {
  const { store, ask, kidOf, timestamp = () => new Date().toISOString() } = options;
  const origin = originOf(address);
  const refuse = (name: string, why: string) =>
    new ConnectionError("untrusted", `${name} is not heard: ${why}`, false);
  return {
    get name() {
      return transport.name;
    },
    async open(request, resume, events) {
      for (;;) {
        const connection = await transport.open(request, resume, events);
        if (connection.answer.type === "subscription.rejected") return connection;
        const { producer, subscription_id } = connection.answer;
        const met: PresentedProducer = {
          agent_id: producer.agent_id,
          name: agentName(producer),
          address: origin,
          kid: kidOf?.(connection.answer),
        };
        const known = await store.read();
        const meeting = recognize(known, met);
        if (meeting === "known") {
          const news =
            met.kid !== undefined &&
            !known.some(({ agent_id, kid }) => agent_id === met.agent_id && kid === met.kid);
          // From now on a signature is required of it.
          if (news) await store.change((now) => remember(now, met, timestamp()));
          return connection;
        }
        const reason_code = "subscriber_shutdown";
        await connection
          .send({ type: "subscription.close", subscription_id, reason_code })
          .catch(() => undefined);
        connection.close();
        if (meeting === "revoked") throw refuse(met.name, "you have withdrawn your trust in it.");
        if (!(await ask(met, meeting))) throw refuse(met.name, "you did not agree to it.");
        await store.change((known) => remember(known, met, timestamp()));
      }
    },
  };
}

/** The host of an address, without the path. On the local machine the port is random, so it is left out. */
export function originOf(address: string): string {
  if (!/^(?:https?|wss?|grpcs?):/i.test(address) || !URL.canParse(address)) return address;
  const { hostname, host } = new URL(address);
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname) ? "localhost" : host;
}

/** A list in memory, lost when the program ends. */
export function createMemoryTrustStore(first: readonly KnownProducer[] = []): TrustStore {
  let known = first;
  return {
    read: async () => known,
    change: async (change) => {
      known = change(known);
      return known;
    },
  };
}
