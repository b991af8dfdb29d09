/** Finds the agent a person means (an address, a port, a name, or the only one running) and connects to it. */
import { discover, readTokenFiles, tokenDirectory } from "../../server/index.ts";
import { neutralize } from "../../subscriber/announcer.ts";
import { type ConnectOptions, type Subscriber, subscribe } from "../../subscriber/index.ts";
import { CommandError, EXIT, type Io, say, stopped, usage } from "../command.ts";

/** An agent that can be listened to. */
export interface FoundAgent {
  readonly address: string;
  readonly name: string;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/iu;

/** Every agent that runs on this machine for this person, found by token files and sockets; each once. */
export async function findAgents(io: Io): Promise<FoundAgent[]> {
  const served = readTokenFiles(tokenDirectory(io.env));
  const sockets = await discover();
  const names = new Map(
    sockets.map(({ manifest }) => [manifest?.agent_id, manifest?.agent_name ?? manifest?.agent_id]),
  );
  const known = new Set(served.map(({ agent_id }) => agent_id));
  return [
    ...served.map(({ agent_id, url }) => ({
      address: url,
      name: shortName(names.get(agent_id) ?? agent_id),
    })),
    ...sockets
      .filter(({ manifest }) => manifest === undefined || !known.has(manifest.agent_id))
      .map(({ address, path, manifest }) => ({
        address,
        name: shortName(manifest?.agent_name ?? manifest?.agent_id ?? path.replace(/^.*[\\/]|\.sock$/gu, "")),
      })),
  ];
}

/** A numbered list, one agent per line. */
export const listed = (agents: readonly FoundAgent[]): string[] =>
  agents.map(({ address, name }, index) => `${index + 1}: ${name}, ${address}`);

export async function chooseAgent(
  io: Io,
  wanted: string | undefined,
  ask: (lines: readonly string[]) => Promise<string | undefined>,
  command = "listen",
): Promise<FoundAgent> {
  if (wanted !== undefined) {
    const address = asAddress(wanted);
    if (address !== undefined) return { address, name: address };
  }
  const agents = await findAgents(io);
  if (agents.length === 0)
    throw new CommandError(
      wanted === undefined
        ? `No agent is running for you on this machine. Start one with "earshot demo", or give an address: earshot ${command} http://127.0.0.1:4600`
        : `"${shortName(wanted)}" is not an address, and no agent of that name is running for you on this machine. An address looks like http://127.0.0.1:4600.`,
      wanted === undefined ? EXIT.unreachable : EXIT.usage,
    );
  if (wanted !== undefined) return byName(agents, wanted);
  if (agents.length === 1) return agents[0]!;
  const lines = listed(agents);
  const answer = await ask(lines);
  const chosen = answer !== undefined && /^\d+$/u.test(answer) ? agents[Number(answer) - 1] : undefined;
  if (chosen) return chosen;
  throw usage(
    answer === undefined
      ? `Several agents are running. Choose one, e.g. earshot ${command} ${agents[0]!.address}\n${lines.join("\n")}`
      : `"${shortName(answer)}" is not a number from 1 to ${agents.length}. No agent was opened.`,
  );
}

function byName(agents: readonly FoundAgent[], wanted: string): FoundAgent {
  const same = agents.filter(({ name }) => name.toLowerCase() === wanted.toLowerCase());
  if (same.length === 1) return same[0]!;
  throw usage(
    same.length > 1
      ? `Several agents are called "${shortName(wanted)}". Give an address instead.\n${listed(same).join("\n")}`
      : `"${shortName(wanted)}" is not an address, and no agent of that name is running. These are:\n${listed(agents).join("\n")}`,
  );
}

/** `4600` and `localhost:4600` are addresses too. */
function asAddress(wanted: string): string | undefined {
  if (/^\d{1,5}$/u.test(wanted)) return `http://127.0.0.1:${wanted}`;
  if (/^(?:[\w.-]+|\[[\da-f:]+\]):\d{1,5}$/iu.test(wanted)) return `http://${wanted}`;
  return /^[a-z][a-z0-9+.-]*:/iu.test(wanted) ? wanted : undefined;
}

/** The token of an agent on this machine, read before every connection: a restarted agent has a new one. */
export function loopbackToken(io: Io, address: string): (() => string | undefined) | undefined {
  const key = loopbackKey(address);
  if (key === undefined) return undefined;
  return () =>
    readTokenFiles(tokenDirectory(io.env)).find(({ url, grpc }) =>
      [url, grpc].some((one) => one !== undefined && loopbackKey(one) === key),
    )?.token;
}

/** Identifies an agent on this machine by protocol and port. */
function loopbackKey(address: string): string | undefined {
  const [, kind] = /^(http|ws|grpc)s?:\/\//iu.exec(address) ?? [];
  if (kind === undefined || !URL.canParse(address)) return undefined;
  // URL normalizes host names only for schemes it knows.
  const { hostname, port } = new URL(address.replace(/^grpc/iu, "http"));
  if (!LOOPBACK.test(hostname)) return undefined;
  const secure = /^\w+s:/iu.test(address);
  return `${kind.toLowerCase() === "grpc" ? "grpc" : "http"} ${port || (secure ? "443" : "80")}`;
}

const SLOW_MS = 3_000;

/** Connects to an agent; throws a sentence that says why it failed and what to do. */
export async function connectTo(
  io: Io,
  address: string,
  token: string | undefined,
  options: ConnectOptions,
  connect: (address: string, options: ConnectOptions) => Promise<Subscriber> = subscribe,
): Promise<Subscriber> {
  const known = token ?? loopbackToken(io, address);
  const opening = connect(address, { ...options, ...(known === undefined ? {} : { token: known }) });
  // An address that never answers must not block Ctrl+C, nor leave the person without a message.
  const slow = setTimeout(
    () => say(io, `Still connecting to ${neutralize(address).text}. Press Ctrl+C to stop.`),
    SLOW_MS,
  );
  const left = stopped(io).then(() => {
    void opening.then((late) => late.close()).catch(() => undefined);
    throw new Error("Stopped while connecting.");
  });
  try {
    return await Promise.race([opening, left]);
  } catch (error) {
    if (io.signal.aborted) throw error;
    throw refusal(address, error, token !== undefined);
  } finally {
    clearTimeout(slow);
    left.catch(() => undefined);
  }
}

function refusal(address: string, error: unknown, hadToken: boolean): CommandError {
  const { code = "", message, cause } = error as Error & { code?: string };
  const said = neutralize(message).text;
  const shown = neutralize(address).text.slice(0, 120);
  if (code === "unknown_address" || error instanceof TypeError) return usage(said);
  if (code === "untrusted")
    return new CommandError(
      `${said} In a terminal you are asked first; --trust skips the question.`,
      EXIT.unreachable,
    );
  if (/auth|forbidden|401|403/iu.test(`${code} ${message}`))
    return new CommandError(
      hadToken
        ? `${shown} refuses this token. Check --token or EARSHOT_TOKEN: a restarted agent has a new token.`
        : `${shown} requires a token. Give it with --token or EARSHOT_TOKEN; the person who runs the agent has it. For your own agents on this machine it is found automatically.`,
      EXIT.unreachable,
    );
  if (code === "unreachable" && /^https?:|^wss?:|^grpcs?:/iu.test(address))
    return new CommandError(
      `Nothing answers at ${shown}${because(cause)}. Is the agent running? "earshot listen --discover" lists those on this machine.`,
      EXIT.unreachable,
    );
  return new CommandError(`${shown} cannot be listened to: ${said}`, EXIT.unreachable);
}

/** The operating system's reason, in words, where it helps. */
function because(cause: unknown): string {
  const { code = "" } = ((cause as Error | undefined)?.cause ?? cause ?? {}) as { code?: string };
  const reasons: Record<string, string> = {
    ECONNREFUSED: ": the connection was refused",
    ENOTFOUND: ": there is no host of that name",
    EAI_AGAIN: ": the name could not be looked up",
    ETIMEDOUT: ": no answer in time",
    DEPTH_ZERO_SELF_SIGNED_CERT: ": its certificate is not one this machine trusts",
  };
  return reasons[code] ?? "";
}

const LONGEST_NAME = 80;

/** Text of others, safe for a terminal, on one line. */

export const oneLine = (text: string): string => neutralize(text).text.replaceAll(/\s+/gu, " ").trim();

/** At most so many whole characters. */
export const shorten = (text: string, most: number): string => Array.from(text).slice(0, most).join("");

const shortName = (text: string): string => shorten(oneLine(text), LONGEST_NAME);

/** Without sentence ends: what follows a sentence end inside a name could pass for our own words. */
export const nameOf = (subscriber: Subscriber): string => {
  const { agent_id, agent_name = "" } = subscriber.accepted.producer;
  return shortName(agent_name.replaceAll(/[.!?:;…。！？：；؟۔]+(?=\s|$)/gu, " ")) || shortName(agent_id);
};
