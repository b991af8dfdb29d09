/** `earshot/testing`: a listener that follows a script and a clock that moves when told to. */
export { createFakeClock, type FakeClock } from "./clock.ts";
export { listen, type ListenerOptions, TestListener } from "./listener.ts";
