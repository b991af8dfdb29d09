/** The string formats and counting rules that JSON Schema leaves to the implementation. Linear in the input. */

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const numberIn = (value: unknown, minimum: number, maximum: number): boolean =>
  typeof value === "number" && Number.isFinite(value) && value >= minimum && value <= maximum;

export const integerIn = (value: unknown, minimum: number, maximum: number): boolean =>
  Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum;

/** JSON Schema counts code points, JavaScript UTF-16 units: count only if the difference can matter. */
export const atMost = (text: string, maximum: number): boolean =>
  text.length <= maximum || (text.length <= 2 * maximum && codePoints(text) <= maximum);

export function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      count--;
      i++;
    }
  }
  return count;
}

/** JSON with sorted keys: equal values give equal text. Undefined values are omitted. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "null";
  return `{${Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`)
    .join()}}`;
}

export function isUnique(items: readonly unknown[]): boolean {
  if (items.length < 2) return true;
  if (items.length > 16 || isObject(items[0])) return new Set(items.map(canonicalJson)).size === items.length;
  for (let i = 1; i < items.length; i++) {
    for (let j = 0; j < i; j++) if (items[i] === items[j]) return false;
  }
  return true;
}

// RFC 3986 with every alternative starting on a different character, so that matching stays linear (A17).
const PCHAR = "(?:[\\w\\-.~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})";
const URI = /* @__PURE__ */ new RegExp(
  `^[A-Za-z][A-Za-z0-9+.\\-]*:(?://(?:(?:[\\w\\-.~!$&'()*+,;=:]|%[0-9A-Fa-f]{2})*@)?` +
    `(?:\\[[0-9A-Fa-f:.]+\\]|(?:[\\w\\-.~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?(?:/${PCHAR}*)*` +
    `|/(?:${PCHAR}+(?:/${PCHAR}*)*)?|${PCHAR}+(?:/${PCHAR}*)*)(?:\\?(?:${PCHAR}|[/?])*)?(?:#(?:${PCHAR}|[/?])*)?$`,
);

export const isUri = (text: string): boolean => URI.test(text);

const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
const DAYS = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const digits = (text: string, at: number): number =>
  (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48;

/** RFC 3339, leap seconds included. */
export function isDateTime(text: string): boolean {
  if (!DATE_TIME.test(text)) return false;
  const month = digits(text, 5);
  const day = digits(text, 8);
  const hour = digits(text, 11);
  const minute = digits(text, 14);
  const second = digits(text, 17);
  const year = digits(text, 0) * 100 + digits(text, 2);
  const leapDay = month === 2 && day === 29 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  if (month < 1 || month > 12 || day < 1 || (day > DAYS[month]! && !leapDay)) return false;
  const zone = text.charCodeAt(text.length - 1) | 32; // z
  let offset = 0;
  if (zone !== 122) {
    const zoneHour = digits(text, text.length - 5);
    const zoneMinute = digits(text, text.length - 2);
    if (zoneHour > 23 || zoneMinute > 59) return false;
    offset = (zoneHour * 60 + zoneMinute) * (text.charCodeAt(text.length - 6) === 45 ? 1 : -1);
  }
  if (hour > 23 || minute > 59) return false;
  if (second < 60) return true;
  // A leap second exists only at the end of a UTC day.
  return second === 60 && (((hour * 60 + minute + offset) % 1440) + 1440) % 1440 === 1439;
}
