/** `earshot/testing`: a listener that follows a script and a clock that moves when told to. */
export { createFakeClock, type FakeClock } from "./clock.ts";
export { type ListenerOptions, listen, TestListener } from "./listener.ts";
export { spokenBy } from "./spoken.ts";
