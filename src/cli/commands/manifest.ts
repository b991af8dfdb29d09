/** `earshot manifest`: prints, signs and verifies the manifest of an agent. */
import { readFile } from "node:fs/promises";
import type { JWK } from "jose";
import {
  AAEP_VERSION,
  describeIssues,
  type ProducerManifest,
  parse,
  type SubscriptionAccepted,
} from "../../protocol/index.ts";
import { discover, type SigningKey, signManifest } from "../../server/index.ts";
import { type Trust, verifyManifest } from "../../subscriber/trust.ts";
import { CommandError, command, EXIT, type Io, print, say, usage, wholeNumber } from "../command.ts";
import { openInput, plain } from "../io.ts";
import { isPrivate, publicHalf, readKeys } from "../key-files.ts";

const DAY_SECONDS = 86_400;

export default command({
  takes: "<address|file>",
  most: 1,
  about:
    "Prints an agent's manifest, signs it, or checks a signature against keys you trust. The manifest comes from an agent's address, a file, or standard input (-).",
  flags: {
    sign: {
      type: "string",
      value: "KEY",
      help: 'Sign it with this private key and print the result. "earshot keys" creates a key.',
    },
    days: { type: "string", value: "N", help: "With --sign: validity of the signature in days; default 1." },
    verify: {
      type: "string",
      value: "KEYS",
      help: "Check that one of these keys signed it: a file with a JWK or JWKS, or an https address. Do not use an address that the agent itself names.",
    },
    agent: { type: "string", value: "ID", help: "With --verify: the agent_id you expect." },
    "max-age": { type: "string", value: "DAYS", help: "With --verify: refuse signatures older than this." },
    json: { type: "boolean", help: "With --verify: print the verdict as one JSON line." },
  },
  examples: [
    ["earshot manifest http://127.0.0.1:4600", "Prints an agent's manifest."],
    ["earshot manifest manifest.json --sign signing-key.json > manifest.jws", "Signs a manifest."],
    [
      "earshot manifest manifest.jws --verify public-keys.json --agent com.example.planner",
      "Verifies the signature.",
    ],
  ],
  exits: [
    [0, "Printed or signed, or the signature is valid."],
    [1, "It is not a manifest, or the signature is not trusted."],
    [2, "The command line is wrong, or a file cannot be read."],
    [3, "Nothing answers at the address."],
  ],
  async run({ args: [source], flags, io }) {
    if (source === undefined) throw usage("Give an address, such as http://127.0.0.1:4600, or a file.");
    if (flags.sign !== undefined && flags.verify !== undefined)
      throw usage("Give either --sign or --verify, not both.");
    const onlyWithVerify = (["agent", "max-age"] as const).find((name) => flags[name] !== undefined);
    if (flags.verify === undefined && (onlyWithVerify ?? (flags.json ? "json" : undefined)))
      throw usage(`--${onlyWithVerify ?? "json"} works only with --verify KEYS.`);
    if (flags.days !== undefined && flags.sign === undefined)
      throw usage("--days works only with --sign KEY.");
    const found = await findManifest(io, source, flags.verify !== undefined);
    if (flags.verify !== undefined) {
      const days = flags["max-age"];
      const trust = await check(io, found, flags.verify, {
        ...(flags.agent === undefined ? {} : { agent_id: flags.agent }),
        ...(days === undefined
          ? {}
          : { maxAgeSeconds: wholeNumber("max-age", days, { least: 1 }) * DAY_SECONDS }),
      });
      return tell(io, trust, flags.json);
    }
    const { manifest, warnings } = parseManifest(isSigned(found.text) ? unsigned(found) : found);
    if (warnings !== "") say(io, warnings);
    if (flags.sign === undefined) {
      print(io, JSON.stringify(manifest, undefined, 2));
      if (isSigned(found.text))
        say(io, "It is signed, but the signature was not checked. Use --verify KEYS.");
      return EXIT.ok;
    }
    const days = flags.days === undefined ? 1 : wholeNumber("days", flags.days, { least: 1, most: 3_650 });
    const key = signingKey(await readKeys(io, flags.sign), flags.sign, days * DAY_SECONDS);
    print(io, await signManifest(manifest, key, Math.floor(Date.now() / 1000)));
    return EXIT.ok;
  },
});

function signingKey({ keys }: { keys: JWK[] }, name: string, seconds: number): SigningKey {
  const key = keys.find(isPrivate);
  if (!key) throw new CommandError(`${name} contains no private key, so it cannot sign.`);
  if (typeof key.kid !== "string" || key.kid === "")
    throw new CommandError(
      `The key in ${name} has no id. Add a "kid" field, so that listeners know which key it is.`,
    );
  return { key, kid: key.kid, alg: (key.alg ?? "ES256") as NonNullable<SigningKey["alg"]>, seconds };
}

/** The signed content, without checking the signature. For display only. */
function unsigned({ text, where }: Found): Found {
  return { text: Buffer.from(text.trim().split(".")[1]!, "base64url").toString("utf8"), where };
}

async function check(
  io: Io,
  found: Found,
  keys: string,
  expected: { agent_id?: string; maxAgeSeconds?: number },
): Promise<Trust> {
  if (!isSigned(found.text)) return { trusted: false, reason: "The manifest is not signed." };
  const { manifest } = parseManifest(unsigned(found));
  const accepted: SubscriptionAccepted = {
    type: "subscription.accepted",
    subscription_id: "sub_0",
    aaep_version: manifest.aaep_versions_supported[0] ?? AAEP_VERSION,
    producer: { agent_id: manifest.agent_id },
    honored_capabilities: {},
    signed_manifest: found.text.trim(),
  };
  const trusted = /^https?:\/\//i.test(keys) ? keys : await readKeys(io, keys);
  const set = typeof trusted === "string" ? trusted : { keys: trusted.keys.map(publicHalf) };
  return verifyManifest(accepted, { keys: set, ...expected });
}

function tell(io: Io, trust: Trust, json: boolean): number {
  if (json) print(io, JSON.stringify(trust));
  else if (trust.trusted) {
    const when = trust.iat === undefined ? "" : `, on ${new Date(trust.iat * 1000).toISOString()}`;
    print(
      io,
      `Trusted: the manifest of ${plain(trust.manifest.agent_id)}, signed with the key ${plain(trust.kid)}${when}.`,
    );
  } else print(io, `Not trusted. ${trust.reason}`);
  return trust.trusted ? EXIT.ok : EXIT.failed;
}

const WELL_KNOWN = "/.well-known/aaep-manifest.json";
const TIMEOUT_MS = 10_000;
const MOST_BYTES = 1_048_576;

/** A manifest as text: JSON, or a compact JWS. */
interface Found {
  readonly text: string;
  readonly where: string;
}

const isSigned = (text: string): boolean => /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text.trim());

async function findManifest(io: Io, source: string, signed: boolean): Promise<Found> {
  if (/^(?:https?|wss?):/i.test(source)) return fetchManifest(io, source, signed);
  if (/^(?:unix|pipe):/i.test(source)) return nextToSocket(source);
  if (/^(?:grpcs?|stdio):/i.test(source))
    throw new CommandError(
      `The manifest cannot be read from ${plain(source)}. Give the agent's http address, or a file.`,
      EXIT.usage,
    );
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of await openInput(io, source)) {
    pieces.push(Buffer.from(chunk));
    size += chunk.length;
    if (size > MOST_BYTES) throw new CommandError(`${source} is too large to be a manifest.`);
  }
  return { text: Buffer.concat(pieces).toString("utf8"), where: source === "-" ? "standard input" : source };
}

async function fetchManifest(io: Io, source: string, signed: boolean): Promise<Found> {
  const url = new URL(source.replace(/^ws/i, "http"));
  if (url.pathname === "/" || /^ws/i.test(source)) url.pathname = WELL_KNOWN;
  const signal = AbortSignal.any([io.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      headers: { accept: signed ? "application/jose" : "application/json" },
      signal,
    });
    text = await response.text();
  } catch (error) {
    io.signal.throwIfAborted();
    const { code = (error as Error).message } = ((error as Error).cause ?? {}) as { code?: string };
    throw new CommandError(
      `Nothing answers at ${url.href} (${code}). Is the agent running?`,
      EXIT.unreachable,
    );
  }
  if (!response.ok)
    throw new CommandError(
      `There is no manifest at ${url.href}: status ${response.status}.`,
      EXIT.unreachable,
    );
  return { text, where: url.href };
}

async function nextToSocket(source: string): Promise<Found> {
  const path = source.slice(source.indexOf(":") + 1).replace(/^\/\/(?=\/)/, "");
  try {
    const where = `${path.replace(/\.sock$/, "")}.json`;
    return { text: await readFile(where, "utf8"), where };
  } catch {
    const others = (await discover()).map(({ address }) => address);
    throw new CommandError(
      `There is no manifest next to ${plain(path)}. ${others.length > 0 ? `Running agents: ${others.join(", ")}.` : "No agent is running on this machine."}`,
      EXIT.unreachable,
    );
  }
}

function parseManifest({ text, where }: Found): { manifest: ProducerManifest; warnings: string } {
  const parsed = parse(text, { mode: "tolerant" });
  if (!parsed.ok)
    throw new CommandError(`${where} is not a valid manifest.\n${describeIssues(parsed.issues)}`);
  if (parsed.message.type !== "aaep:producer.manifest")
    throw new CommandError(`${where} is ${plain(parsed.message.type)}, not a manifest.`);
  return { manifest: parsed.message as ProducerManifest, warnings: describeIssues(parsed.diagnostics) };
}
