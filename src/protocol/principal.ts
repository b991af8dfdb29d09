/** Whom a transport has authenticated, and what they may do (SEC-13, SEC-18). */

/** listen: receives events. reply: also answers. admin: also receives sessions of every audience. */
export type Role = "listen" | "reply" | "admin";

/** An authenticated caller and its rights. */
export interface Principal {
  readonly id: string;
  readonly role: Role;
  /** Receives sessions of these audiences, and sessions without one; "all" receives everything. */
  readonly audiences: readonly string[] | "all";
  /** Most subscriptions at once. */
  readonly maxSubscriptions?: number;
  /** Wall-clock milliseconds after which the credential is no longer valid. */
  readonly expiresAt?: number;
}

/** The one user of their own machine. */
export const LOCAL_USER: Principal = { id: "local", role: "reply", audiences: "all" };

export const isExpired = ({ expiresAt }: Principal, now: number): boolean =>
  expiresAt !== undefined && !(now < expiresAt);

/** Whether both may receive and answer the same. */
export const sameRights = (a: Principal, b: Principal): boolean => rightsOf(a) === rightsOf(b);

const rightsOf = ({ role, audiences }: Principal): string =>
  JSON.stringify([role, audiences === "all" ? "all" : [...audiences].sort()]);

/** Whether this principal may answer questions (SEC-18). */
export const mayAnswer = ({ role }: Principal): boolean => role !== "listen";

/** Whether this principal may receive sessions of an audience (SEC-15). */
export function mayHear({ role, audiences }: Principal, audience: readonly string[] | undefined): boolean {
  return (
    role === "admin" ||
    audiences === "all" ||
    audience === undefined ||
    audience.some((name) => audiences.includes(name))
  );
}
