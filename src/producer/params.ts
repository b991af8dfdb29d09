/** Consent is to parameters: what was shown is what runs, frozen and bound by a hash (CON-49, A06). */
export interface ShownParam {
  readonly name: string;
  readonly label: string;
  readonly value: unknown;
  readonly masked?: true;
}

export type Params = Readonly<Record<string, unknown>>;

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const item of Object.values(value)) freeze(item);
  }
  return value;
}

/** A copy nobody can change: plain JSON, so that it reads the same for person, hash and tool. */
export function freezeParams<P extends Params>(params: P): P {
  return freeze(JSON.parse(JSON.stringify(params)));
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = value as Record<string, unknown>;
  return `{${Object.keys(fields)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(fields[key])}`)
    .join()}}`;
}

export async function hashParams(params: Params): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonical(params)));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** "amount_in_cents" is shown as "Amount in cents" unless the author gave a label. */
const labelOf = (name: string): string => {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replaceAll(/[_-]+/g, " ").toLowerCase().trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

export function showParams(params: Params, labels: Readonly<Record<string, string>>, secret: readonly string[]): ShownParam[] {
  return Object.entries(params).map(([name, value]) => ({
    name,
    label: labels[name] ?? labelOf(name),
    ...(secret.includes(name) ? { value: "hidden", masked: true as const } : { value }),
  }));
}
