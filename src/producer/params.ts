/** Consent is to parameters: what was shown is what runs, frozen and bound by a hash (CON-49, A06). */
import { EarshotError } from "../protocol/errors.ts";
import { canonicalJson } from "../protocol/formats.ts";
import { sha256Hex } from "../protocol/sha256.ts";
import { clusterStart } from "./voice.ts";
import { inLanguage, type Sentence } from "./words.ts";

export type Params = Readonly<Record<string, unknown>>;

/** How parameters are shown: a label and, where the value itself says little, a value as one would say it. */
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

/** A copy nobody can change: plain JSON, so that it reads the same for person, hash and tool. */
export function freezeParams<P extends Params>(params: P): P {
  let lost: string | undefined;
  try {
    const copy = JSON.parse(JSON.stringify(params));
    lost = difference(params, copy, "params");
    if (!lost) return freeze(copy);
  } catch {
    lost = "params";
  }
  throw new EarshotError("CON-49", `${lost} cannot be shown and bound as it is; pass plain JSON values.`);
}

/** Where a value is not what JSON makes of it: a date, a function, NaN, an object with a class. */
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

/** What the run is bound to. It never leaves: a hash of a four-digit secret is the secret. */
export const bindParams = (params: Params): string => sha256Hex(canonicalJson(params));

/** What a question is about, in one short string. */
export const fingerprintOf = (...about: readonly unknown[]): string =>
  sha256Hex(canonicalJson(JSON.parse(JSON.stringify(about))));

/** What listeners get: the same, but for secrets, of which it says only that they are there. */
export function hashParams(params: Params, secret: readonly string[]): string {
  const open = Object.entries(params).map(([name, value]) => [
    name,
    secret.includes(name) ? { masked: true } : value,
  ]);
  return sha256Hex(canonicalJson(Object.fromEntries(open)));
}

/** Names that are secrets whether the author says so or not. */
const SECRET_NAME =
  /(?:^|[_-])(?:pass(?:word|wd|phrase)?|secret|api_?key|private_?key|token|pin|cvv|cvc)(?:$|[_-])/;

const isSecretName = (name: string): boolean =>
  SECRET_NAME.test(name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase());

/** At any depth: a card is as secret as the PIN in it. */
const holdsSecret = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  Object.entries(value).some(([name, item]) => isSecretName(name) || holdsSecret(item));

export function secretParams(
  params: Params,
  given: readonly string[],
  clean: (text: string) => string,
): string[] {
  return Object.entries(params).flatMap(([name, value]) => {
    const text = JSON.stringify(value);
    const secret = given.includes(name) || isSecretName(name) || holdsSecret(value) || clean(text) !== text;
    return secret ? [name] : [];
  });
}

/** "amount_in_cents" is shown as "Amount in cents" unless the author gave a label. */
const labelOf = (name: string): string => {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/[_-]+/g, " ")
    .toLowerCase()
    .trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** A value longer than this is shown by its beginning, and by how much more there is. */
const MOST_SHOWN = 2_000;

/** In the order they were declared, in one language. */
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

/** Every language that labels and display values come in. */
export function shownLanguages({ labels, display }: Showing, params: Params): string[] {
  const words = [
    ...Object.values(labels),
    ...Object.entries(display).map(([name, say]) =>
      name in params ? say?.(params[name] as never) : undefined,
    ),
  ];
  return [...new Set(words.flatMap((one) => (typeof one === "object" ? Object.keys(one) : [])))];
}
