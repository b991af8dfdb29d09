/** Parameters of gated tools: what was shown is what runs, frozen and bound by a hash (CON-49, A06). */
import { EarshotError } from "../protocol/errors.ts";
import { sha256Hex } from "../protocol/sha256.ts";
import { canonicalJson } from "../protocol/validate.ts";
import { clusterStart, inLanguage, type Sentence } from "./envelope.ts";

export type Params = Readonly<Record<string, unknown>>;

/** How parameters are shown: their labels, their display values, and which of them are hidden. */
export interface Showing {
  readonly labels: Readonly<Record<string, Sentence | undefined>>;
  readonly display: Readonly<Record<string, ((value: never) => Sentence) | undefined>>;
  readonly secret: readonly string[];
}

interface ShownParam {
  readonly name: string;
  readonly label: string;
  readonly value: unknown;
  readonly masked?: true;
}

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const item of Object.values(value)) freeze(item);
  }
  return value;
}

/** A deep-frozen copy in plain JSON, so that person, hash and tool get the same values. */
export function freezeParams<P extends Params>(params: P): P {
  let lost: string | undefined;
  try {
    const copy = JSON.parse(JSON.stringify(params));
    lost = difference(params, copy, "params");
    if (!lost) return freeze(copy);
  } catch {
    lost = "params";
  }
  throw new EarshotError(
    "CON-49",
    `${lost} is not a plain JSON value, so it cannot be shown and approved. Pass plain JSON values.`,
  );
}

/** The path of the first value that JSON changes: a date, a function, NaN, an instance of a class. */
function difference(given: unknown, copy: unknown, path: string): string | undefined {
  if (typeof given !== "object" || given === null)
    return Object.is(given, copy) || given === copy ? undefined : path;
  const proto: unknown = Object.getPrototypeOf(given);
  const plain = Array.isArray(given) || proto === null || Object.getPrototypeOf(proto) === null;
  if (!plain || typeof copy !== "object" || copy === null) return path;
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined && !Array.isArray(given)) continue;
    const found = difference(value, (copy as Record<string, unknown>)[key], `${path}.${key}`);
    if (found) return found;
  }
  return undefined;
}

/** The hash that binds the run. Never sent: the hash of a four-digit secret reveals the secret. */
export const bindParams = (params: Params): string => sha256Hex(canonicalJson(params));

/** A hash of what a question is about. */
export const fingerprintOf = (...about: readonly unknown[]): string =>
  sha256Hex(canonicalJson(JSON.parse(JSON.stringify(about))));

/** The hash that listeners get: of secrets it covers only that they exist. */
export function hashParams(params: Params, secret: readonly string[]): string {
  const open = Object.entries(params).map(([name, value]) => [
    name,
    secret.includes(name) ? { masked: true } : value,
  ]);
  return sha256Hex(canonicalJson(Object.fromEntries(open)));
}

/** Parameter names that are always treated as secrets. */
const SECRET_NAME =
  /(?:^|[_-])(?:pass(?:word|wd|phrase)?|secret|api_?key|private_?key|token|pin|cvv|cvc)(?:$|[_-])/;

const isSecretName = (name: string): boolean =>
  SECRET_NAME.test(name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase());

/** At any depth: an object with a PIN in it is a secret as a whole. */
const holdsSecret = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  Object.entries(value).some(([name, item]) => isSecretName(name) || holdsSecret(item));

export function secretParams(
  params: Params,
  given: readonly string[],
  redact: (text: string) => string,
): string[] {
  return Object.entries(params).flatMap(([name, value]) => {
    const text = JSON.stringify(value);
    const secret = given.includes(name) || isSecretName(name) || holdsSecret(value) || redact(text) !== text;
    return secret ? [name] : [];
  });
}

/** The default label: "amount_in_cents" becomes "Amount in cents". */
const labelOf = (name: string): string => {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/[_-]+/g, " ")
    .toLowerCase()
    .trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** A longer value is truncated, with the number of characters that are not shown. */
const MOST_SHOWN = 2_000;

/** The parameters as shown, in declared order and one language. */
export function showParams(
  params: Params,
  { labels, display, secret }: Showing,
  language: string,
): ShownParam[] {
  return Object.entries(params).map(([name, value]) => {
    const label = inLanguage(labels[name] ?? labelOf(name), language);
    if (secret.includes(name)) return { name, label, value: "hidden", masked: true as const };
    const said = display[name]?.(value as never);
    return { name, label, value: said === undefined ? shown(value) : inLanguage(said, language) };
  });
}

function shown(value: unknown): unknown {
  if (typeof value === "string") return shorten(value);
  if (typeof value !== "object" || value === null) return value;
  const text = JSON.stringify(value);
  return depth(value) > 3 || text.length > MOST_SHOWN ? shorten(text) : value;
}

const depth = (value: unknown): number =>
  typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depth)) : 0;

function shorten(text: string): string {
  if (text.length <= MOST_SHOWN) return text;
  const cut = text.slice(0, clusterStart(text.slice(0, 2 * MOST_SHOWN), MOST_SHOWN));
  return `${cut}… and ${text.length - cut.length} more characters`;
}

/** Every language of labels and display values. */
export function shownLanguages({ labels, display }: Showing, params: Params): string[] {
  const words = [
    ...Object.values(labels),
    ...Object.entries(display).map(([name, say]) =>
      name in params ? say?.(params[name] as never) : undefined,
    ),
  ];
  return [...new Set(words.flatMap((one) => (typeof one === "object" ? Object.keys(one) : [])))];
}
