/**
 * Existing test drivers send `{"kind":"user_input","text":…}` and take the first message that follows for its receipt. So
 * they get one, which is no event, before the session's own events.
 */
import type { Clock } from "../../index.ts";
import type { Demo } from "./agent.ts";

type Tell = (message: Readonly<Record<string, unknown>>) => void;

/** A driver may speak before its stream is open; so long it is waited for. */
const STREAM_MS = 2_000;
const LOOK_MS = 25;

export function createDriverHook(
  demo: Demo,
  clock: Clock,
): (value: unknown, who: unknown, tell: Tell) => void {
  const start = (text: string, tell: Tell): void => {
    try {
      tell({ kind: "user_input.received", session_id: demo.start(text) });
    } catch (error) {
      tell({ kind: "user_input.refused", message: (error as Error).message });
    }
  };
  return (value, _who, tell) => {
    const { kind, text } = value as { kind?: unknown; text?: unknown };
    if (kind !== "user_input" || typeof text !== "string") return;
    const until = clock.now() + STREAM_MS;
    const look = (): void => {
      if (demo.producer.subscriptions > 0 || clock.now() >= until) return start(text, tell);
      clock.timer(clock.now() + LOOK_MS, look);
    };
    look();
  };
}
