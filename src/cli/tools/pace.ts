/** When a recorded event is due: its distance from the one before, at a speed, measured from when the replay began. */
export interface Pace {
  /** Milliseconds to wait from `now` for an event recorded at `at`. */
  wait(at: number, now: number): number;
}

export function createPace(speed: number): Pace {
  let began: { readonly recorded: number; readonly now: number } | undefined;
  let latest = 0;
  return {
    wait(at, now) {
      // Sessions may be mixed, and clocks set back: nothing waits for a time that has passed in the recording.
      if (!Number.isNaN(at)) latest = began ? Math.max(latest, at) : at;
      began ??= { recorded: latest, now };
      return Math.max(0, began.now + (latest - began.recorded) / speed - now);
    },
  };
}
