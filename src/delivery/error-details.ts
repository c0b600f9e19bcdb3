// The sentences in an attempt's `error_detail`: which check failed and how to fix it. They contain nothing the receiver
// sent, and no address, so that two runs with one random seed write the same journals.
import type { AttemptError } from "../domain/model.ts";

/** Certificate checks by the code of Node's error. */
const CERTIFICATE_CHECKS = new Map<string | undefined, string>([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "is self-signed"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "comes from a CA that is not trusted"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "comes from an unknown issuer"],
  ["UNABLE_TO_GET_ISSUER_CERT", "comes from an unknown issuer"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "comes from an unknown issuer"],
]);
const TRUST =
  "To trust it, set NODE_EXTRA_CA_CERTS to the file of its CA (PEM) and restart the server.";

const TLS_ERRORS = new Map<string | undefined, string>([
  ["CERT_HAS_EXPIRED", "The receiver's certificate has expired. Renew it."],
  [
    "CERT_NOT_YET_VALID",
    "The receiver's certificate is not valid yet. Check its dates and this machine's clock.",
  ],
  [
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "The receiver's certificate is for another host name. Use a host name in the URL that the certificate contains.",
  ],
  ["ECONNRESET", "The receiver closed the connection during the TLS handshake."],
]);

/** Explains why no TLS connection was established; `error` is Node's error. */
export function tlsDetail({ code, message }: NodeJS.ErrnoException): string {
  const check = CERTIFICATE_CHECKS.get(code);
  if (check !== undefined) return `The receiver's certificate ${check}. ${TRUST}`;
  if (/wrong version number|packet length too long|http request/.test(message))
    return "The receiver does not use TLS at this port. Use http in the URL, or correct the port.";
  if (/certificate required|bad certificate|handshake failure/.test(message))
    return "The receiver refused the TLS handshake. It may require a client certificate, which this server does not have.";
  return TLS_ERRORS.get(code) ?? `The TLS handshake failed (${code}).`;
}

/** Explains why the connection failed before anything was sent. */
export const connectDetail = ({ code }: NodeJS.ErrnoException): string =>
  code === "ECONNREFUSED"
    ? DETAILS.refused
    : `The connection failed (${code}). Check the host and port of the URL.`;

/** `rule` comes from `checkUrl` or `checkAddress`. */
export const blockedDetail = (rule: string): string => `The URL ${rule}.`;

const DETAILS = {
  dns: "The host name in the URL does not resolve. Check its spelling.",
  refused:
    "Nothing listens at the host and port of the URL. Start the receiver, or correct the URL.",
  reset: "The receiver closed the connection without a response.",
  tls: "The TLS handshake failed.",
  blocked_address: "The webhook policy refuses the address.",
  aborted: "The response is not valid HTTP, or its headers are larger than 16 KiB.",
  dropped: "A chaos rule dropped this attempt.",
};

/** The default detail of an error; null if the response says enough. */
export function errorDetail(error: AttemptError, timeout_ms = 0): string | null {
  if (error === "timeout") return `The receiver did not respond within ${timeout_ms / 1_000} s.`;
  return error === "status" ? null : DETAILS[error];
}

/** Explains how the body of a successful response was cut off. */
export const bodyDetail = (error: AttemptError, timeout_ms: number): string =>
  error === "timeout"
    ? `The attempt succeeded, but the response body did not end within ${timeout_ms / 1_000} s.`
    : "The attempt succeeded, but the connection closed before the end of the response body.";

/** Explains a status other than 2xx; null if it needs no explanation. */
export function statusDetail(status: number): string | null {
  if (status >= 300 && status < 400)
    return "Redirects are not followed. Use the final address as the webhook's URL.";
  return status === 410 ? "A response of 410 (Gone) switches the webhook off." : null;
}
