/** Who listens to a replay, by what the server logs: the first to come, and when nobody is left. */
import type { LogEntry } from "../../server/index.ts";

export interface Audience {
  /** Hand it every log entry. */
  hear(entry: LogEntry): void;
  readonly arrived: Promise<void>;
  /** Resolves once no subscription is left, or is left already. */
  gone(): Promise<void>;
  close(): void;
}

/** So long after a line dropped, whoever had it is looked for once more. */
const LOST_MS = 65_000;

/** `subscriptions`: how many there are, those included that dropped and may come back. */
export function createAudience(subscriptions: () => number): Audience {
  let come = () => {};
  let leave: (() => void) | undefined;
  let again: NodeJS.Timeout | undefined;
  const arrived = new Promise<void>((resolve) => {
    come = resolve;
  });
  const look = () => {
    if (subscriptions() === 0) leave?.();
  };
  return {
    arrived,
    hear({ event }) {
      if (event === "stream_opened") come();
      if (event !== "stream_closed") return;
      // The log speaks first, then the subscription goes.
      setImmediate(look);
      clearTimeout(again);
      again = setTimeout(look, LOST_MS);
    },
    gone: () =>
      new Promise((resolve) => {
        leave = resolve;
        look();
      }),
    close: () => clearTimeout(again),
  };
}
