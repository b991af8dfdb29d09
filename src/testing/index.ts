/** `earshot/testing`: a scripted listener and a fake clock. */
export { createFakeClock, type FakeClock } from "./clock.ts";
export { type AnyQuestion, type ListenerOptions, listen, TestListener } from "./listener.ts";
export { spokenBy } from "./spoken.ts";
