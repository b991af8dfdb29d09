/** What the clients of all transports share: the listener's end of a line, as the subscriber's port has it, by shape. */
import { EXTENSION_PREFIX } from "../protocol/extension.ts";

/** Where a subscription was, for going on there. */
export interface ResumePoint {
  readonly subscription_id: string;
  readonly last_event_id: string | undefined;
}

export interface LineEvents {
  message(text: string, cursor: boolean): void;
  closed(reason: { readonly code: string; readonly reconnect: boolean; readonly message: string }): void;
}

/** A credential, or how to get one: asked before every connection, so that a new one is used once the old has expired. */
export type Token = string | (() => string | undefined | Promise<string | undefined>);

export const tokenOf = (token: Token | undefined): string | undefined | Promise<string | undefined> =>
  typeof token === "function" ? token() : token;

/** Three heartbeats: a line that stays silent for so long is dead. */
export const SILENCE_MS = 45_000;

export const lineError = (code: string, message: string, reconnect: boolean, cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { code, reconnect });

/** The request, asking to go on where an earlier subscription was. */
export const withResume = (request: object, resume: ResumePoint | undefined): object =>
  resume ? { ...request, extensions: { [EXTENSION_PREFIX]: { resume: { ...resume } } } } : request;

/** Rings once when nothing has been heard for a while. */
export interface Alarm {
  heard(): void;
  stop(): void;
}

export function createAlarm(silence_ms: number, ring: () => void): Alarm {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => clearTimeout(timer);
  const heard = () => {
    stop();
    timer = setTimeout(ring, silence_ms);
    (timer as { unref?: () => void }).unref?.();
  };
  heard();
  return { heard, stop };
}
