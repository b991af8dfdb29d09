/** Hubs in one process, by calling them: the library's default. Whoever appends finds it delivered when it goes on. */
import type { Backplane, LogEntry } from "../hub/backplane.ts";

export interface MemoryBackplaneOptions {
  /** Told what a listener threw. */
  readonly failed?: (error: unknown) => void;
}

interface Listener {
  readonly hear: (entries: readonly LogEntry[]) => void;
  gone: boolean;
}

interface Announcement {
  readonly entries: readonly LogEntry[];
  /** Who was listening when it was made. */
  readonly to: readonly Listener[];
}

export function createMemoryBackplane({ failed = () => {} }: MemoryBackplaneOptions = {}): Backplane {
  let listeners: readonly Listener[] = [];
  const waiting: Announcement[] = [];
  let busy = false;
  let closed = false;

  function tell({ entries, to }: Announcement): void {
    for (const listener of to) {
      if (listener.gone) continue;
      try {
        listener.hear(entries);
      } catch (error) {
        failed(error);
      }
    }
  }
  const leave = (listener: Listener): void => {
    listener.gone = true;
    listeners = listeners.filter((one) => one !== listener);
  };

  return {
    announce(entries) {
      if (closed || entries.length === 0) return;
      waiting.push({ entries, to: listeners });
      // Announced by somebody who is just being told something: that comes first, for everyone.
      if (busy) return;
      busy = true;
      try {
        for (let next = waiting.shift(); next; next = waiting.shift()) tell(next);
      } finally {
        busy = false;
      }
    },
    listen(hear) {
      const listener = { hear, gone: closed };
      if (!closed) listeners = [...listeners, listener];
      return () => leave(listener);
    },
    async close() {
      closed = true;
      for (const listener of listeners) leave(listener);
    },
  };
}
