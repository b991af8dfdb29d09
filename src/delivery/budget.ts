/**
 * When a subscription may send (5.6.1; CON-06, CON-23): a budget that refills continuously, kept as the moment the
 * next event falls due rather than as a counter, and a pace that leaves time to speak what was sent last.
 * Times are milliseconds of one monotonic clock.
 */
export interface Budget {
  /** Between two events; 0 where the rate is unlimited. */
  readonly interval: number;
  /** How far ahead of its due time an event may go: bucket depth 1, or 10 ms' worth above 100 a second. */
  readonly slack: number;
  /** Most that a flush before a critical event may owe. */
  readonly debt: number;
  /** When the next event falls due. */
  due: number;
}

export function createBudget(rate: number): Budget {
  if (rate === Infinity) return { interval: 0, slack: 0, debt: Infinity, due: -Infinity };
  const interval = 1000 / rate;
  const depth = Math.max(1, rate / 100);
  return { interval, slack: (depth - 1) * interval, debt: Math.max(5, rate) * interval, due: -Infinity };
}

export const mayAt = (budget: Budget): number => budget.due - budget.slack;

export function spend(budget: Budget, now: number): void {
  budget.due = (budget.due > now ? budget.due : now) + budget.interval;
}

/** Whether `count` events may go at once, ahead of a critical one, without owing too much. */
export const mayOwe = (budget: Budget, count: number, now: number): boolean =>
  budget.interval === 0 ||
  Math.max(budget.due, now) + count * budget.interval - now <= budget.debt + budget.interval;

/** Most events on credit: also the most sessions a listener is told of at once. */
export const mostOwed = ({ interval, debt }: Budget): number =>
  interval === 0 ? Infinity : Math.round(debt / interval);

/** Never longer than this, however long the text (CON-23). */
export const LONGEST_PAUSE_MS = 30_000;

const UNSPACED =
  /(?!\p{M})[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu;

/** Words as a voice counts them: spaced words, and two characters to a word where words are not spaced. */
export function countWords(text: string): number {
  let words = 0;
  let inside = false;
  let beyondLatin = false;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    const space = unit <= 32 || unit === 0xa0 || unit === 0x3000;
    if (!space && !inside) words++;
    inside = !space;
    if (unit >= 0xe00) beyondLatin = true;
  }
  if (!beyondLatin) return words;
  const unspaced = text.match(UNSPACED)?.length ?? 0;
  return unspaced === 0 ? words : Math.max(words, Math.ceil(unspaced / 2));
}

/** A flush or a long text may pile up speaking time: the cap holds for the pile as well (CON-23). */
export const quietAfter = (quietUntil: number, words: number, wordsPerMinute: number, now: number): number =>
  Math.min(now + LONGEST_PAUSE_MS, Math.max(now, quietUntil) + speakingTime(words, wordsPerMinute));

const speakingTime = (words: number, wordsPerMinute: number): number =>
  Math.min(LONGEST_PAUSE_MS, (words / wordsPerMinute) * 60_000);
