/** Whom a transport has authenticated, and what they may do (SEC-13, SEC-18). */

/** listen: hears. reply: hears and answers. admin: also hears sessions of every audience. */
export type Role = "listen" | "reply" | "admin";

export interface Principal {
  readonly id: string;
  readonly role: Role;
  /** Hears sessions of these audiences, and those without one; "all" hears everything. */
  readonly audiences: readonly string[] | "all";
  /** Most subscriptions at once. */
  readonly max_subscriptions?: number;
  /** Wall-clock milliseconds after which the credential is no longer valid. */
  readonly expires_at?: number;
}
