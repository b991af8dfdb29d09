/** Client certificates: TLS has verified the chain; the subject becomes a principal (TRN-10). */
import type { PeerCertificate } from "node:tls";
import type { Principal } from "../protocol/principal.ts";
import type { Authenticator, Certificate } from "./authenticate.ts";

/** The certificate of a connection whose chain TLS has verified. */
export function readCertificate(peer: PeerCertificate | undefined): Certificate | undefined {
  // A certificate with several common names would be ambiguous.
  if (typeof peer?.subject?.CN !== "string") return undefined;
  const expiresAt = Date.parse(peer.valid_to);
  return {
    subject: peer.subject.CN,
    fingerprint: peer.fingerprint256,
    ...(Number.isNaN(expiresAt) ? {} : { expiresAt }),
  };
}

/**
 * By default the common name may receive and answer sessions of audience "user:<name>". Serve with
 * `tls: { key, cert, ca, requestCert: true }`, where `ca` holds the authorities that issue your client
 * certificates and no others: every name they sign is accepted.
 */
export function certificateAuthenticator(
  authorize: (certificate: Certificate) => Principal | undefined = bySubject,
): Authenticator {
  return ({ certificate }) => {
    // Without a name there is nobody to authenticate.
    if (!certificate?.subject) return undefined;
    const principal = authorize(certificate);
    if (!principal || certificate.expiresAt === undefined) return principal;
    return { ...principal, expiresAt: Math.min(principal.expiresAt ?? Infinity, certificate.expiresAt) };
  };
}

const bySubject = ({ subject }: Certificate): Principal => ({
  id: `user:${subject}`,
  role: "reply",
  audiences: [`user:${subject}`],
});
