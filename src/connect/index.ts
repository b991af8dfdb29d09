/** `earshot/subscriber`: hear an agent and answer it, at any address. */
export * from "../subscriber/index.ts";
export { type ConnectOptions, subscribe, transportFor } from "./connect.ts";
export { addressesIn } from "./fallback.ts";
