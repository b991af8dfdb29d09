/** The page's title says that a question waits: it is what one hears of a tab one is not in. */

const waiting = new Map<object, string>();
let added = "";

/** Whatever the page makes of its title meanwhile stays. */
export function markTitle(owner: object, words: string | undefined): void {
  if (words === undefined) waiting.delete(owner);
  else waiting.set(owner, words);
  const plain =
    added !== "" && document.title.startsWith(added) ? document.title.slice(added.length) : document.title;
  const [first] = waiting.values();
  added = first === undefined ? "" : `${first} – `;
  if (document.title !== added + plain) document.title = added + plain;
}
