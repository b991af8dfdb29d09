/** Keys and passwords do not belong in text meant for people (EVT-16, SEC-09): common shapes are caught before they leave. */
export interface SecretCatcher {
  /** The text with every secret replaced. */
  clean(text: string): string;
}

const SHAPES: readonly RegExp[] = [
  /\bsk-(?:[A-Za-z0-9]+-)*[A-Za-z0-9_-]{16,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bglpat-[A-Za-z0-9_-]{16,}/g,
  /\bxox[abprs]-[A-Za-z0-9-]{10,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,}/g,
  /\bey[JK][A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]{0,8192}?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\b[Bb]earer\s+[A-Za-z0-9._~+/-]{16,}=*/g,
  /\b(?:password|passwd|api[_-]?key|secret|access[_-]?token)\s*[:=]\s*["']?[^\s"',;]{4,}/gi,
];

export const REMOVED = "[secret removed]";

/** `hook` sees text after the known shapes were removed, and may remove more. */
export function createSecretCatcher(hook?: (text: string) => string): SecretCatcher {
  return {
    clean(text) {
      let clean = text;
      for (const shape of SHAPES) clean = clean.replace(shape, REMOVED);
      return hook ? hook(clean) : clean;
    },
  };
}

/** Starts of secrets; a streamed word that begins like one is held until it ends. */
const STARTS = ["sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "AKIA", "ASIA", "AIza", "eyJ", "eyK", "-----BEGIN"];

/** How much of streamed text may go on: a secret may arrive in pieces, so its word waits for its end. */
export function heldFrom(text: string): number {
  const word = /\S*$/.exec(text.slice(-4096))![0];
  if (word === "") return text.length;
  const suspicious = STARTS.some((start) => (word.length < start.length ? start.startsWith(word) && word.length > 1 : word.includes(start)));
  return suspicious ? text.length - word.length : text.length;
}
