/** Connects, or ends with a sentence that says why not and what to do. */

import { neutralize } from "../../subscriber/announcer.ts";
import { type ConnectOptions, type Subscriber, subscribe } from "../../subscriber/index.ts";
import { CommandError, EXIT, type Io, say, stopped, usage } from "../command.ts";
import { loopbackToken } from "./find.ts";

const SLOW_MS = 3_000;

export async function openLine(
  io: Io,
  address: string,
  token: string | undefined,
  options: ConnectOptions,
  connect: (address: string, options: ConnectOptions) => Promise<Subscriber> = subscribe,
): Promise<Subscriber> {
  const known = token ?? loopbackToken(io, address);
  const opening = connect(address, { ...options, ...(known === undefined ? {} : { token: known }) });
  // An address that swallows everything must not swallow Ctrl+C, nor leave the person in silence.
  const slow = setTimeout(
    () => say(io, `Still connecting to ${neutralize(address).text}. Ctrl+C stops.`),
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
      `${said} In a terminal you are asked; --trust listens without asking.`,
      EXIT.unreachable,
    );
  if (/auth|forbidden|401|403/iu.test(`${code} ${message}`))
    return new CommandError(
      hadToken
        ? `${shown} refuses this token. Check --token or EARSHOT_TOKEN: an agent that was restarted has a new one.`
        : `${shown} wants a token. Give it with --token or EARSHOT_TOKEN: whoever runs the agent has it. For your own agents on this machine it is found by itself.`,
      EXIT.unreachable,
    );
  if (code === "unreachable" && /^https?:|^wss?:|^grpcs?:/iu.test(address))
    return new CommandError(
      `Nothing answers at ${shown}${because(cause)}. Is the agent running? "earshot listen --discover" lists those on this machine.`,
      EXIT.unreachable,
    );
  return new CommandError(`${shown} cannot be listened to: ${said}`, EXIT.unreachable);
}

/** The system's reason, in words, where it helps. */
function because(cause: unknown): string {
  const { code = "" } = ((cause as Error | undefined)?.cause ?? cause ?? {}) as { code?: string };
  const reasons: Record<string, string> = {
    ECONNREFUSED: ": the connection was refused",
    ENOTFOUND: ": there is no machine of that name",
    EAI_AGAIN: ": the name could not be looked up",
    ETIMEDOUT: ": no answer in time",
    DEPTH_ZERO_SELF_SIGNED_CERT: ": its certificate is not one this machine trusts",
  };
  return reasons[code] ?? "";
}
