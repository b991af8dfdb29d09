/** Who a caller is and what they may do: authentication, then authorization, the same for every transport. */
import {
  type Authenticator,
  type Authorizer,
  type Caller,
  type Credentials,
  failClosed,
  keepExpiry,
} from "../auth/authenticate.ts";
import type { HttpRequest } from "../transports/http.ts";
import { mayUseCookie } from "./http/guard.ts";
import type { Logger } from "./telemetry.ts";

/** "denied": the caller is known, but may do nothing here. Undefined: the credentials are not valid. */
export type Admission = (credentials: Credentials) => Promise<Caller | "denied" | undefined>;

export const UNAUTHENTICATED = {
  type: "subscription.rejected",
  reason_code: "authentication_required",
  reason_message: "Send credentials: Authorization: Bearer with the token of this agent.",
} as const;
export const DENIED = {
  type: "subscription.rejected",
  reason_code: "authorization_denied",
  reason_message:
    "Your credentials are valid, but you have no access to this agent. Ask the person who runs it.",
} as const;

const authenticationFailed =
  (log: Logger) =>
  (error: unknown): void =>
    log("error", "authentication_failed", { message: "`auth` threw, so the caller was refused.", error });

const authorizationFailed = (log: Logger, error: unknown): void =>
  log("error", "authorize_failed", { message: "`authorize` threw, so the caller was refused.", error });

/** Refuses where either function throws. */
export function createAdmission(
  authenticate: Authenticator,
  authorize: Authorizer | undefined,
  log: Logger,
): Admission {
  const authenticated = failClosed(authenticate, authenticationFailed(log));
  const authorized = authorize && keepExpiry(authorize);
  return async (credentials) => {
    const identity = await authenticated(credentials);
    if (!identity || !authorized) return identity && { identity, principal: identity };
    try {
      const principal = await authorized(identity);
      return principal ? { identity, principal } : "denied";
    } catch (error) {
      authorizationFailed(log, error);
      return "denied";
    }
  };
}

export function credentialsOf({
  url,
  method,
  header,
  certificate,
}: Pick<HttpRequest, "url" | "method" | "header" | "certificate">): Credentials {
  return {
    bearer: /^Bearer +([^\s]+)$/i.exec(header("authorization") ?? "")?.[1],
    ticket: url.searchParams.get("ticket") ?? undefined,
    subscription_id: url.searchParams.get("subscription_id") ?? undefined,
    cookie: mayUseCookie(method, header) ? header("cookie") : undefined,
    certificate,
    proxied: ["x-forwarded-for", "forwarded", "via", "x-real-ip"].some((name) => header(name) !== undefined),
  };
}
