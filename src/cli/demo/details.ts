/** The few details a request is searched for: an amount, a name, an address, a number of a record. */

/** Arabic-Indic and full-width digits as plain ones. */
const plainDigits = (text: string): string =>
  text.replaceAll(/[\u0660-\u0669\u06f0-\u06f9\uff10-\uff19]/g, (digit) =>
    String(digit.codePointAt(0)! & 0x0f),
  );

const MOST = 1_000_000;

/** The first number in a request, such as 500 in "$500" and 1200 in "1,200". */
export function numberIn(text: string): number | undefined {
  const found = /\d[\d,.\u00a0\u202f]*/.exec(plainDigits(text))?.[0];
  if (found === undefined) return undefined;
  // A mark before exactly three digits groups thousands; any other begins the cents.
  const whole = found.replaceAll(/[,.\u00a0\u202f](?=\d{3}(?!\d))/g, "").replace(",", ".");
  const value = Number.parseFloat(whole);
  return value > 0 && value <= MOST ? value : undefined;
}

/** A run of digits that is a name rather than an amount: a record's. */
export const recordIn = (text: string): string | undefined => /\d{1,12}/.exec(plainDigits(text))?.[0];

export const addressIn = (text: string): string | undefined =>
  /[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,190}\.[A-Za-z]{2,24}/.exec(text)?.[0];

/** Somebody a thing goes to: a capitalised word after "to", "a" or "à". */
export const nameIn = (text: string): string | undefined =>
  /(?:^|\s)(?:to|for|a|para|à|pour)\s+(\p{Lu}\p{Ll}{1,30})(?![\p{L}@])/u.exec(text)?.[1];

/** "I am in Lagos." names Lagos. */
export const placeIn = (answer: string): string =>
  answer
    .trim()
    .replace(/^(?:i['’]?\s?a?m|estoy|je suis)\s+/iu, "")
    .replace(/^(?:in|at|en|à|au|في)\s+/iu, "")
    .replace(/(?:にいます|です)?[.。!]*$/u, "");
