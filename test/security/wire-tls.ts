// Certificates made for one test run with openssl: an authority of ours, one of a stranger's, and whom they signed.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Certified {
  key: string;
  cert: string;
}

export interface Authority extends Certified {
  sign(name: string, options?: { days?: number; client?: boolean }): Certified;
}

export function createAuthorities<Name extends string>(
  ...names: Name[]
): { authorities: Record<Name, Authority>; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), "earshot-ca-"));
  const openssl = (...args: string[]) =>
    execFileSync("openssl", args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  const read = (name: string) => readFileSync(join(folder, name), "utf8");
  let serial = 0;
  const authority = (name: string): Authority => {
    const ca = `ca${serial++}`;
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", `${ca}.key`);
    openssl(
      "req",
      "-x509",
      "-new",
      "-key",
      `${ca}.key`,
      "-subj",
      `/CN=${name}`,
      "-days",
      "2",
      "-out",
      `${ca}.crt`,
    );
    return {
      key: read(`${ca}.key`),
      cert: read(`${ca}.crt`),
      sign(subject, { days = 1, client = false } = {}) {
        const one = `c${serial++}`;
        const extra = `subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=${client ? "clientAuth" : "serverAuth"}\n`;
        writeFileSync(join(folder, `${one}.ext`), extra);
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", `${one}.key`);
        openssl(
          "req",
          "-new",
          "-key",
          `${one}.key`,
          "-subj",
          subject === "" ? "/O=nameless" : `/CN=${subject}`,
          "-out",
          `${one}.csr`,
        );
        openssl(
          "x509",
          "-req",
          "-in",
          `${one}.csr`,
          "-CA",
          `${ca}.crt`,
          "-CAkey",
          `${ca}.key`,
          "-set_serial",
          String(1000 + serial),
          "-days",
          String(days),
          "-extfile",
          `${one}.ext`,
          "-out",
          `${one}.crt`,
        );
        return { key: read(`${one}.key`), cert: read(`${one}.crt`) };
      },
    };
  };
  const authorities = Object.fromEntries(names.map((name) => [name, authority(name)])) as Record<
    Name,
    Authority
  >;
  return { authorities, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
