/** What a text only names: its code, and where its links lead. Of the last text that had any, for those who ask. */
const MOST = 100;

export class Details {
  #of: unknown;
  all: readonly string[] = [];

  /** `of`: the text; one that streams comes in pieces. */
  add(of: unknown, details: readonly string[]): void {
    if (details.length === 0) return;
    this.all = [...(of === this.#of ? this.all : []), ...details].slice(-MOST);
    this.#of = of;
  }
}
