/** Addresses that are no URLs: a socket's path, a pipe's name, a command. */
import { EarshotError } from "../protocol/errors.ts";

const PIPES = "\\\\.\\pipe\\aaep\\";

/** `unix:/run/…/planner.sock` or `unix:///run/…`; `pipe:planner` or a pipe's full name. */
export function placeOf(address: string): string {
  const place = address.slice(address.indexOf(":") + 1);
  if (place === "")
    throw new EarshotError(
      "unknown_address",
      `"${address}" names no place: write unix:/path/to/agent.sock, or pipe:planner.`,
    );
  if (/^unix:/i.test(address)) return place.replace(/^\/\/(?=\/)/, "");
  return /^\\\\[.?]\\pipe\\/i.test(place) ? place : `${PIPES}${place}`;
}

/** Words and quotes as people write commands. Nothing is expanded and no shell sees it: an address is data. */
export function splitCommand(text: string): [string, ...string[]] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let i = 0; i < text.length; i++) {
    const character = text[i]!;
    if (quote !== "") {
      if (character === quote) quote = "";
      else if (character === "\\" && quote === '"' && (text[i + 1] === '"' || text[i + 1] === "\\"))
        word += text[++i]!;
      else word += character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= "";
    } else if (/\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  if (quote !== "")
    throw new EarshotError(
      "unknown_address",
      `A quotation mark (${quote}) is opened in "stdio:${text.slice(0, 80)}" and never closed.`,
    );
  if (word !== undefined) words.push(word);
  const [program, ...args] = words;
  if (!program)
    throw new EarshotError("unknown_address", "stdio: needs a command, such as stdio:node agent.mjs.");
  return [program, ...args];
}
