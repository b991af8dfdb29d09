/** Credentials run out while a line is open (F18). Wall-clock time, because that is what their issuers write. */
import type { Principal } from "../protocol/principal.ts";

/** setTimeout fires at once beyond this; longer waits go in steps. */
const LONGEST_TIMEOUT = 2_000_000_000;

/** Calls back once the credential is no longer valid. The answer cancels it. */
export function whenExpired({ expires_at }: Principal, callback: () => void): () => void {
  if (expires_at === undefined) return () => {};
  let timer: ReturnType<typeof setTimeout>;
  const arm = () => {
    const wait = Math.min(Math.max(0, expires_at - Date.now()), LONGEST_TIMEOUT);
    timer = setTimeout(() => (Date.now() < expires_at ? arm() : callback()), wait);
    (timer as { unref?: () => void }).unref?.();
  };
  arm();
  return () => clearTimeout(timer);
}
