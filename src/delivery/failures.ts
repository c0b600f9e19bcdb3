// The errors of an attempt and the sentences in its `error_detail`: which check failed and how to fix it. They contain
// nothing that the receiver sent, and no address, so that two runs with one random seed write the same journals.
import type { Socket } from "node:net";
import type { Attempt, AttemptError } from "../domain/model.ts";

/** The error of a failed attempt. With a 2xx status it describes a later problem, which is no failure. */
export type Failure = Pick<Attempt, "error" | "error_detail">;

export const NO_FAILURE: Failure = { error: null, error_detail: null };

export class UnknownHostError extends Error {}

/** The message is the rule that forbids the address. */
export class BlockedAddressError extends Error {}

const DETAILS = {
  dns: "The host name in the URL does not resolve. Check its spelling.",
  refused:
    "Nothing listens at the host and port of the URL. Start the receiver, or correct the URL.",
  reset: "The receiver closed the connection without a response.",
  tls: "The TLS handshake failed.",
  blocked_address: "The webhook policy refuses the address.",
  aborted: "The response is not valid HTTP, or its headers are larger than 16 KiB.",
  dropped: "A chaos rule dropped this attempt.",
  timeout: null,
  status: null,
};

/** Returns the failure with the default detail of its error. */
export const failure = (
  error: AttemptError,
  error_detail: string | null = DETAILS[error],
): Failure => ({ error, error_detail });

export const timeoutFailure = (timeout_ms: number): Failure =>
  failure("timeout", `The receiver did not respond within ${timeout_ms / 1_000} s.`);

/** `rule` comes from `checkUrl` or `checkAddress`. */
export const blockedFailure = (rule: string): Failure =>
  failure("blocked_address", `The URL ${rule}.`);

/** Returns the failure for an error of Node's request without a response. */
export function connectionFailure(error: NodeJS.ErrnoException, socket: Socket | null): Failure {
  if (error instanceof UnknownHostError) return failure("dns");
  if (error instanceof BlockedAddressError) return blockedFailure(error.message);
  const { code = "", syscall } = error;
  // ECONNRESET is excluded because a receiver may reset even before the connection is established.
  if (code !== "ECONNRESET" && (syscall === "connect" || "errors" in error))
    return failure(code === "ETIMEDOUT" ? "timeout" : "refused", connectDetail(error));
  const isUnverified = socket !== null && "authorized" in socket && !socket.authorized;
  // In TLS 1.3 a receiver that requires a client certificate reports it after the handshake.
  if (isUnverified || /^EPROTO$|^ERR_SSL_/.test(code)) return failure("tls", tlsDetail(error));
  // HPE_ errors mean that the response is not valid HTTP, or that its headers do not end.
  return failure(code.startsWith("HPE_") ? "aborted" : "reset");
}

/** Returns the failure of an attempt with a response; `error` describes how its body was cut off. */
export function responseFailure(
  status: number,
  error: AttemptError | null,
  timeout_ms: number,
): Failure {
  if (status >= 300 && status < 400)
    return failure(
      "status",
      "Redirects are not followed. Use the final address as the webhook's URL.",
    );
  if (status === 410)
    return failure("status", "A response of 410 (Gone) switches the webhook off.");
  if (status < 200 || status >= 300) return failure("status");
  if (error === null) return NO_FAILURE;
  return failure(
    error,
    error === "timeout"
      ? `The attempt succeeded, but the response body did not end within ${timeout_ms / 1_000} s.`
      : "The attempt succeeded, but the connection closed before the end of the response body.",
  );
}

export const connectDetail = ({ code }: NodeJS.ErrnoException): string =>
  code === "ECONNREFUSED"
    ? DETAILS.refused
    : `The connection failed (${code}). Check the host and port of the URL.`;

const TRUST =
  "To trust it, set NODE_EXTRA_CA_CERTS to the file of its CA (PEM) and restart the server.";
const UNKNOWN_ISSUER = `The receiver's certificate comes from an unknown issuer. ${TRUST}`;

/** By the code of Node's error. */
const TLS_DETAILS = new Map<string | undefined, string>([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", `The receiver's certificate is self-signed. ${TRUST}`],
  [
    "SELF_SIGNED_CERT_IN_CHAIN",
    `The receiver's certificate comes from a CA that is not trusted. ${TRUST}`,
  ],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", UNKNOWN_ISSUER],
  ["UNABLE_TO_GET_ISSUER_CERT", UNKNOWN_ISSUER],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", UNKNOWN_ISSUER],
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

/** Explains why no TLS connection was established. */
export function tlsDetail({ code, message }: NodeJS.ErrnoException): string {
  if (/wrong version number|packet length too long|http request/.test(message))
    return "The receiver does not use TLS at this port. Use http in the URL, or correct the port.";
  if (/certificate required|bad certificate|handshake failure/.test(message))
    return "The receiver refused the TLS handshake. It may require a client certificate, which this server does not have.";
  return TLS_DETAILS.get(code) ?? `The TLS handshake failed (${code}).`;
}
