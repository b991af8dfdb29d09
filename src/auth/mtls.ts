/** Client certificates: TLS has verified the chain; here the subject becomes a principal (TRN-10). */
import type { Principal } from "../protocol/principal.ts";
import type { Authenticator, Certificate } from "./authenticate.ts";

/**
 * By default the common name may hear and answer sessions of audience "user:<name>". Serve with
 * `tls: { key, cert, ca, requestCert: true }`, where `ca` holds the authorities you issue client certificates with and
 * no others: any name they sign is believed.
 */
export function certificateAuthenticator(
  authorize: (certificate: Certificate) => Principal | undefined = bySubject,
): Authenticator {
  return ({ certificate }) => {
    // A certificate without a name says only that somebody was known once.
    if (!certificate?.subject) return undefined;
    const principal = authorize(certificate);
    if (!principal || certificate.expires_at === undefined) return principal;
    return { ...principal, expires_at: Math.min(principal.expires_at ?? Infinity, certificate.expires_at) };
  };
}

const bySubject = ({ subject }: Certificate): Principal => ({
  id: `user:${subject}`,
  role: "reply",
  audiences: [`user:${subject}`],
});
