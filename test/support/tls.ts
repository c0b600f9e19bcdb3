// A certificate authority made with openssl for these tests, and certificates for localhost, 127.0.0.1 and
// receiver.test; the expired one was valid in January 2020, and the one not yet valid will be in January 2120. They
// protect nothing.
import { readFileSync } from "node:fs";

const pem = (name: string) =>
  readFileSync(new URL(`certificates/${name}.pem`, import.meta.url), "utf8");

export const CA_CERT = pem("authority");
const key = pem("key");
export const TLS = { cert: pem("localhost"), key };
export const SELF_SIGNED = { cert: pem("self-signed"), key };
export const EXPIRED = { cert: pem("expired"), key };
export const NOT_YET_VALID = { cert: pem("not-yet-valid"), key };
