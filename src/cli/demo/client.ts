/** Finds the running demo by its token file, and sends it requests. */
import { readTokenFiles, tokenDirectory } from "../../server/index.ts";
import { CommandError, EXIT, type Io, usage } from "../command.ts";
import { loopbackToken } from "../listen/discovery.ts";
import { DEMO_ID } from "./agent.ts";
import { DEFAULT_PORT } from "./server.ts";

export interface DemoAddress {
  readonly url: string;
  readonly token: string | undefined;
}

const DEFAULT_URL = `http://127.0.0.1:${DEFAULT_PORT}`;

export function findDemo(io: Io, address: string | undefined, given: string | undefined): DemoAddress {
  const token = given ?? (io.env["EARSHOT_TOKEN"] || undefined);
  if (address !== undefined) {
    const url = asUrl(address);
    return { url, token: token ?? loopbackToken(io, url)?.() };
  }
  const demos = readTokenFiles(tokenDirectory({ ...io.env })).filter(({ agent_id }) => agent_id === DEMO_ID);
  const usual = demos.find(({ url }) => url === DEFAULT_URL);
  const [only] = demos.length === 1 ? demos : [usual];
  if (only) return { url: only.url, token: token ?? only.token };
  // A demo without a token has no token file.
  if (demos.length === 0) return { url: DEFAULT_URL, token };
  throw usage(
    `Several demos are running. Choose one: earshot ask "hello" --address ${demos[0]!.url}\n${demos.map(({ url }) => url).join("\n")}`,
  );
}

/** `4600` and `127.0.0.1:4600` mean HTTP. */
function asUrl(address: string): string {
  const full = /^\d{1,5}$/.test(address)
    ? `http://127.0.0.1:${address}`
    : /^[\w.-]+:\d{1,5}$/.test(address)
      ? `http://${address}`
      : address;
  if (/^https?:\/\//i.test(full) && URL.canParse(full)) return new URL(full).origin;
  throw usage(`--address needs the http address of the demo, such as ${DEFAULT_URL}, not "${address}".`);
}

export interface Request {
  readonly text?: string;
  readonly scenario?: string;
}

/** Starts a session and returns its id, or throws an error that says what to do. */
export async function askDemo(
  { url, token }: DemoAddress,
  request: Request,
  signal: AbortSignal,
): Promise<string> {
  let response: Response;
  try {
    response = await fetch(`${url}/demo/sessions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(request),
      signal,
    });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new CommandError(
      `No demo answers at ${url}. Start one with "npx earshot demo" and keep it running.`,
      EXIT.unreachable,
    );
  }
  const body = (await response.json().catch(() => ({}))) as { session_id?: unknown; message?: unknown };
  if (response.status === 202 && typeof body.session_id === "string") return body.session_id;
  if (response.status === 401 || response.status === 403)
    throw new CommandError(
      `The demo at ${url} refused the token. Give its token with --token; "earshot demo --json" prints it.`,
      EXIT.unreachable,
    );
  const said = typeof body.message === "string" ? body.message.slice(0, 300) : "";
  if (response.status === 400) throw usage(said);
  throw new CommandError(
    response.status === 404
      ? `The agent at ${url} is not the demo. Start the demo with "npx earshot demo".`
      : `The demo at ${url} did not start a session: ${said || `it answered with status ${response.status}`}.`,
  );
}
