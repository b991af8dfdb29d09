/** One name per type, in a file of its own: whoever only compares types needs no parser. */

const CORE_TYPE = /^https:\/\/aaep-protocol\.org\/(?:types\/|vocab\/v1#)(.+)$/;

/** Both spellings of a core type are the same type (ENV-06, CON-35). */
export function compactType(type: string): string {
  const match = type.charCodeAt(0) === 104 ? CORE_TYPE.exec(type) : null;
  return match ? `aaep:${match[1]}` : type;
}
