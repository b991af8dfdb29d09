/** The language a person reads, from a flag or from their system. */
import { type Io, usage } from "../command.ts";

export function asTag(text: string): string {
  try {
    return Intl.getCanonicalLocales(text.replaceAll("_", "-"))[0]!;
  } catch {
    throw usage(`--lang takes a language tag such as en, es or pt-BR, not "${text}".`);
  }
}

/** As the system's other programs have it; a terminal that says nothing is spoken to in English. */
export function systemLanguage({ env }: Io): string {
  const set = env["LC_ALL"] || env["LC_MESSAGES"] || env["LANG"] || "";
  const tag = /^([a-z]{2,3}(?:[_-][A-Za-z]{2,4})?)(?:[.@]|$)/u.exec(set)?.[1];
  try {
    return (tag && Intl.getCanonicalLocales(tag.replace("_", "-"))[0]) || "en";
  } catch {
    return "en";
  }
}
