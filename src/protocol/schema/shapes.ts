/**
 * Helpers for the message definitions: JSON Schema 2020-12 with three private annotations that are not published. Read
 * by scripts/generate.mjs only; nothing imports it at run time.
 *
 * `$tolerate` says which keyword may fail in tolerant mode, by which ruling of PROTOCOL.md, and, for an
 * enum, which cautious value is used instead (CON-70; `null` drops the field) and which values are never tolerated.
 * `$ruling` names the requirement behind a condition, which a receiver may tolerate or not.
 * `$name` gives a nested object a TypeScript name of its own.
 */
export type Tolerance =
  | string
  | readonly [ruling: string, instead: string | null, ...neverTolerated: string[]];

export interface Schema {
  $id?: string;
  $schema?: string;
  $name?: string;
  $tolerate?: Record<string, Tolerance>;
  title?: string;
  description?: string;
  type?: "object" | "array" | "string" | "number" | "integer" | "boolean";
  const?: string | boolean;
  enum?: readonly (string | number)[];
  pattern?: string;
  format?: "uri" | "date-time";
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  items?: Schema;
  prefixItems?: readonly Schema[];
  contains?: Schema;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  propertyNames?: Schema;
  additionalProperties?: boolean | Schema;
  required?: readonly string[];
  minProperties?: number;
  anyOf?: readonly Schema[];
  allOf?: readonly { $ruling: string; $tolerate?: boolean; if: Schema; then: Schema }[];
  default?: unknown;
}

export const CORE_CONTEXT = "https://aaep-protocol.org/context/v1";

const LANGUAGE_TAG = "^(?:[A-Za-z]{2,8}|[iIxX]-[A-Za-z0-9]{1,8})(?:-[A-Za-z0-9]{1,8})*$";
export const SEMVER = "^[0-9]+\\.[0-9]+\\.[0-9]+(-[A-Za-z0-9.-]+)?$";
const EXTENSION_PREFIX = "^(?!(?:aaep|xsd|rdf|rdfs)$)[A-Za-z][A-Za-z0-9_.-]{0,63}$";

export const text = (maxLength: number, description: string, minLength = 1): Schema => ({
  type: "string",
  ...(minLength > 0 ? { minLength } : {}),
  maxLength,
  $tolerate: { maxLength: "CON-41" },
  description,
});

/** Strings that are not spoken: an oversize one is an error in both modes. */
export const label = (maxLength: number, description: string, minLength = 1): Schema => ({
  type: "string",
  ...(minLength > 0 ? { minLength } : {}),
  maxLength,
  description,
});

export const id = (prefix: string, description: string): Schema => ({
  type: "string",
  pattern: `^${prefix}_[A-Za-z0-9]{1,64}$`,
  description,
});

export const uri = (description: string): Schema => ({ type: "string", format: "uri", description });
export const flag = (description: string): Schema => ({ type: "boolean", description });
export const anyString = (description: string): Schema => ({ type: "string", description });
export const openObject = (description: string): Schema => ({ type: "object", description });

export const integer = (minimum: number, maximum: number | undefined, description: string): Schema => ({
  type: "integer",
  minimum,
  ...(maximum === undefined ? {} : { maximum }),
  description,
});

export const milliseconds = (description: string): Schema => integer(0, 86_400_000, description);

/** An enum. `instead` is the value a receiver uses for an unknown one from a later version. */
export const word = (values: readonly string[], description: string, instead?: string): Schema => ({
  type: "string",
  enum: values,
  ...(instead === undefined ? {} : { $tolerate: { enum: ["CON-70", instead] as const } }),
  description,
});

export const language = (description: string): Schema => ({
  type: "string",
  pattern: LANGUAGE_TAG,
  $tolerate: { pattern: "I18N-02" },
  description,
});

export const timestamp = (description: string): Schema => ({
  type: "string",
  format: "date-time",
  pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\\.(?:[0-9]{3}|[0-9]{6}))?(?:Z|[+-][0-9]{2}:[0-9]{2})$",
  $tolerate: { pattern: "CON-40" },
  description,
});

export const list = (
  items: Schema,
  bounds: { min?: number; max?: number; unique?: boolean },
  description: string,
): Schema => ({
  type: "array",
  items,
  ...(bounds.min === undefined ? {} : { minItems: bounds.min }),
  ...(bounds.max === undefined ? {} : { maxItems: bounds.max }),
  ...(bounds.unique ? { uniqueItems: true } : {}),
  description,
});

export const closed = (
  properties: Record<string, Schema>,
  required: readonly string[],
  description: string,
): Schema => ({ type: "object", required, properties, additionalProperties: false, description });

export const extensionFields = (description: string): Schema => ({
  type: "object",
  propertyNames: { pattern: EXTENSION_PREFIX },
  $tolerate: { names: "CON-36" },
  additionalProperties: { type: "object" },
  description,
});

const optionalName = (description: string): Schema => ({
  type: "string",
  minLength: 1,
  $tolerate: { minLength: "ENV-17" },
  description,
});

export const producerIdentity: Schema = {
  ...closed(
    {
      agent_id: {
        type: "string",
        minLength: 1,
        description: "Stable name of the agent, the same across its versions.",
      },
      agent_version: optionalName("Version of the agent, SemVer advised."),
      agent_name: optionalName("Name a person would recognise, fit to be spoken."),
      model: optionalName("The model behind the agent."),
      manifest_uri: uri("Where the agent's manifest can be fetched."),
    },
    ["agent_id"],
    "Who is speaking.",
  ),
  $name: "ProducerIdentity",
  $tolerate: { additionalProperties: "CON-37" },
};
