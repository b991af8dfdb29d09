/** Which agent is meant: an address, a port, a name, or the only one that runs for this person. */
import { discover, readTokenFiles, tokenDirectory } from "../../server/index.ts";
import { CommandError, EXIT, type Io, usage } from "../command.ts";
import { shortName } from "./plain.ts";

export interface Place {
  readonly address: string;
  readonly name: string;
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/iu;

/** Every agent that runs here for this person, by their tokens and their sockets; each once. */
export async function findAgents(io: Io): Promise<Place[]> {
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

/** By number, for a list that is heard. */
export const listed = (agents: readonly Place[]): string[] =>
  agents.map(({ address, name }, index) => `${index + 1}: ${name}, ${address}`);

export async function chooseAgent(
  io: Io,
  wanted: string | undefined,
  ask: (lines: readonly string[]) => Promise<string | undefined>,
  command = "listen",
): Promise<Place> {
  if (wanted !== undefined) {
    const address = asAddress(wanted);
    if (address !== undefined) return { address, name: address };
  }
  const agents = await findAgents(io);
  if (agents.length === 0)
    throw new CommandError(
      wanted === undefined
        ? `No agent is running for you on this machine. Start one with "earshot demo", or say where one is: earshot ${command} http://127.0.0.1:4600`
        : `"${shortName(wanted)}" is no address, and no agent of that name is running for you on this machine. An address looks like http://127.0.0.1:4600.`,
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
      ? `Several agents are running. Say which, e.g. earshot ${command} ${agents[0]!.address}\n${lines.join("\n")}`
      : `"${shortName(answer)}" is none of the numbers 1 to ${agents.length}. Nothing was opened.`,
  );
}

function byName(agents: readonly Place[], wanted: string): Place {
  const same = agents.filter(({ name }) => name.toLowerCase() === wanted.toLowerCase());
  if (same.length === 1) return same[0]!;
  throw usage(
    same.length > 1
      ? `Several agents are called "${shortName(wanted)}". Give an address instead.\n${listed(same).join("\n")}`
      : `"${shortName(wanted)}" is no address, and no agent of that name is running. These are:\n${listed(agents).join("\n")}`,
  );
}

/** `4600` and `localhost:4600` are addresses too. */
function asAddress(wanted: string): string | undefined {
  if (/^\d{1,5}$/u.test(wanted)) return `http://127.0.0.1:${wanted}`;
  if (/^(?:[\w.-]+|\[[\da-f:]+\]):\d{1,5}$/iu.test(wanted)) return `http://${wanted}`;
  return /^[a-z][a-z0-9+.-]*:/iu.test(wanted) ? wanted : undefined;
}

/** The token of an agent on this machine, read again for every connection: one that was restarted has another. */
export function loopbackToken(io: Io, address: string): (() => string | undefined) | undefined {
  const place = loopbackPlace(address);
  if (place === undefined) return undefined;
  return () =>
    readTokenFiles(tokenDirectory(io.env)).find(({ url, grpc }) =>
      [url, grpc].some((one) => one !== undefined && loopbackPlace(one) === place),
    )?.token;
}

/** What tells one agent of this machine from another: what it speaks, and its port. */
function loopbackPlace(address: string): string | undefined {
  const [, kind] = /^(http|ws|grpc)s?:\/\//iu.exec(address) ?? [];
  if (kind === undefined || !URL.canParse(address)) return undefined;
  // Of a scheme it does not know, a URL keeps host names as they were written.
  const { hostname, port } = new URL(address.replace(/^grpc/iu, "http"));
  if (!LOOPBACK.test(hostname)) return undefined;
  const secure = /^\w+s:/iu.test(address);
  return `${kind.toLowerCase() === "grpc" ? "grpc" : "http"} ${port || (secure ? "443" : "80")}`;
}
