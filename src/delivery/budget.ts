/**
 * When a subscription may send (5.6.1; CON-06, CON-23): its rate limit, a token bucket stored as the time the next
 * event is due instead of a counter, and its pace, which leaves time to speak what was sent last. Times are monotonic
 * milliseconds.
 */
export interface Budget {
  /** Milliseconds between two events; 0 if unlimited. */
  readonly interval: number;
  /** How early an event may be sent: bucket depth 1, or 10 ms worth of events above 100 per second. */
  readonly slack: number;
  /** How far a flush before a critical event may overdraw the bucket. */
  readonly debt: number;
  /** When the next event is due. */
  due: number;
}

export function createBudget(rate: number): Budget {
  if (rate === Infinity) return { interval: 0, slack: 0, debt: Infinity, due: -Infinity };
  const interval = 1000 / rate;
  const depth = Math.max(1, rate / 100);
  return { interval, slack: (depth - 1) * interval, debt: Math.max(5, rate) * interval, due: -Infinity };
}

export const nextSendAt = (budget: Budget): number => budget.due - budget.slack;

export function spend(budget: Budget, now: number): void {
  budget.due = (budget.due > now ? budget.due : now) + budget.interval;
}

/** Whether `count` events may be sent at once before a critical one without overdrawing the bucket too far. */
export const allowsBurst = (budget: Budget, count: number, now: number): boolean =>
  budget.interval === 0 ||
  Math.max(budget.due, now) + count * budget.interval - now <= budget.debt + budget.interval;

/** Most events in such a burst: also the most sessions summarized at once. */
export const maxBurst = ({ interval, debt }: Budget): number =>
  interval === 0 ? Infinity : Math.round(debt / interval);

/** Upper bound of a pause, however long the text (CON-23). */
export const LONGEST_PAUSE_MS = 30_000;

const UNSPACED =
  /(?!\p{M})[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu;

/** Counts words to be spoken: by spaces, and two characters per word in scripts without spaces. */
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

/** A flush or a long text may add up speaking time: the upper bound holds for the sum as well (CON-23). */
export const quietAfter = (quietUntil: number, words: number, wordsPerMinute: number, now: number): number =>
  Math.min(now + LONGEST_PAUSE_MS, Math.max(now, quietUntil) + speakingTime(words, wordsPerMinute));

const speakingTime = (words: number, wordsPerMinute: number): number =>
  Math.min(LONGEST_PAUSE_MS, (words / wordsPerMinute) * 60_000);
