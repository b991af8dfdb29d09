/**
 * The agents a person has met (T3, T6, SEC-05, SEC-11): a new one is asked about before it is heard, one that is not what
 * it was is asked about again, and one whose trust was withdrawn is not heard at all. Pure; where the list is kept is a
 * port's business.
 */
import type { SubscriptionAccepted } from "../protocol/types.ts";
import { type ClientTransport, ConnectionError } from "../transports/client-connection.ts";
import { agentName } from "./announcer/phrases.ts";

/** An agent the person has met, and what they decided about it. */
export interface KnownProducer {
  readonly agent_id: string;
  readonly name: string;
  /** The places it was heard from and accepted at. */
  readonly addresses: readonly string[];
  /** The key that signed its manifest, where that was checked. */
  readonly kid?: string;
  readonly since: string;
  /** Set when the person withdrew their trust. */
  readonly revoked?: string;
}

/** Where the list is kept. `change` is given what is there now, and what it returns is there afterwards. */
export interface TrustStore {
  read(): Promise<readonly KnownProducer[]>;
  change(
    change: (known: readonly KnownProducer[]) => readonly KnownProducer[],
  ): Promise<readonly KnownProducer[]>;
}

/** An agent as it presents itself. */
export interface Met {
  readonly agent_id: string;
  /** Fit to be spoken. */
  readonly name: string;
  readonly address: string;
  /** Only of a signature that was checked against keys trusted before. */
  readonly kid: string | undefined;
}

/** Why the person is asked. The announcer has a sentence for each: `first_met`, `met_elsewhere` and so on. */
export type Meeting = "new" | "elsewhere" | "unsigned" | "other_key" | "known" | "revoked";

/** Compares an agent with the list of known ones: new, known, changed or revoked. */
export function meet(known: readonly KnownProducer[], { agent_id, address, kid }: Met): Meeting {
  const one = known.find((producer) => producer.agent_id === agent_id);
  if (!one) return "new";
  if (one.revoked !== undefined) return "revoked";
  if (one.kid !== undefined && kid === undefined) return "unsigned";
  if (one.kid !== undefined && one.kid !== kid) return "other_key";
  // A signature says who it is, wherever it is; without one the place is all there is to go by.
  if (kid === undefined && !one.addresses.includes(address)) return "elsewhere";
  return "known";
}

/** The list after the person said yes to an agent. */
export function remember(known: readonly KnownProducer[], met: Met, at: string): KnownProducer[] {
  const { agent_id, name, address, kid } = met;
  const before = known.find((producer) => producer.agent_id === agent_id);
  const one: KnownProducer = {
    agent_id,
    name,
    // A place agreed to under one signature says nothing under another, or under none.
    addresses: [...new Set([...(before && before.kid === kid ? before.addresses : []), address])],
    ...(kid === undefined ? {} : { kid }),
    since: before?.since ?? at,
  };
  return [...known.filter((producer) => producer.agent_id !== agent_id), one];
}

/** The list after the person withdrew their trust. One never met can be refused in advance. */
export function revoke(known: readonly KnownProducer[], agent_id: string, at: string): KnownProducer[] {
  const before = known.find((producer) => producer.agent_id === agent_id);
  const one = before ?? { agent_id, name: agentName({ agent_id }), addresses: [], since: at };
  return [...known.filter((producer) => producer.agent_id !== agent_id), { ...one, revoked: at }];
}

/** The list as if the agent had never been met: the person is asked again. */
export const forget = (known: readonly KnownProducer[], agent_id: string): KnownProducer[] =>
  known.filter((producer) => producer.agent_id !== agent_id);

/** Options of `knownOnly`. */
export interface KnownOptions {
  readonly store: TrustStore;
  /** The person's word on an agent that is new, or not what it was. Never called for one that is known or revoked. */
  ask(met: Met, meeting: Exclude<Meeting, "known" | "revoked">): Promise<boolean>;
  /** The key of a signature that was checked, if there is one. */
  readonly kidOf?: (accepted: SubscriptionAccepted) => string | undefined;
  readonly timestamp?: () => string;
}

/**
 * A transport for agents the person knows. A stranger is let go of before a word of it is heard, and called again once
 * the person said yes: it must not fill a queue, or hold a question open, while they make up their mind.
 */
export function knownOnly(
  transport: ClientTransport,
  address: string,
  options: KnownOptions,
): ClientTransport {
  const { store, ask, kidOf, timestamp = () => new Date().toISOString() } = options;
  const place = placeOf(address);
  const refuse = (name: string, why: string) =>
    new ConnectionError("untrusted", `${name} is not heard: ${why}`, false);
  return {
    get name() {
      return transport.name;
    },
    async open(request, resume, events) {
      for (;;) {
        const line = await transport.open(request, resume, events);
        if (line.answer.type === "subscription.rejected") return line;
        const { producer, subscription_id } = line.answer;
        const met: Met = {
          agent_id: producer.agent_id,
          name: agentName(producer),
          address: place,
          kid: kidOf?.(line.answer),
        };
        const known = await store.read();
        const meeting = meet(known, met);
        if (meeting === "known") {
          const news =
            met.kid !== undefined &&
            !known.some(({ agent_id, kid }) => agent_id === met.agent_id && kid === met.kid);
          // From now on a signature is expected of it.
          if (news) await store.change((now) => remember(now, met, timestamp()));
          return line;
        }
        const reason_code = "subscriber_shutdown";
        await line.send({ type: "subscription.close", subscription_id, reason_code }).catch(() => undefined);
        line.close();
        if (meeting === "revoked") throw refuse(met.name, "you have withdrawn your trust in it.");
        if (!(await ask(met, meeting))) throw refuse(met.name, "you did not agree to it.");
        await store.change((known) => remember(known, met, timestamp()));
      }
    },
  };
}

/** An address as a person knows it: a name, not a path. On one's own machine the port is chance, and says nothing. */
export function placeOf(address: string): string {
  if (!/^(?:https?|wss?|grpcs?):/i.test(address) || !URL.canParse(address)) return address;
  const { hostname, host } = new URL(address);
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname) ? "localhost" : host;
}

/** A list that is gone with the program. */
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
