// HTTP sender: sends one POST per attempt and returns its outcome as a value (spec part 6: 2xx within 30 seconds). It
// never rejects, follows redirects or sends twice. The deadline is total and in real time, because Node's own timeouts
// only detect silence.
import type { LookupAddress } from "node:dns";
import * as http from "node:http";
import { isSuccess } from "../domain/events.ts";
import type { Attempt, AttemptError, DeliveryRecord } from "../domain/model.ts";
import { after, type Timer } from "../lib/clock.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import { checkAddress, checkUrl, type WebhookPolicy } from "./address-policy.ts";

export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The part of an attempt that depends on the receiver. */
export interface SendResult
  extends Pick<Attempt, "response_status" | "response_body" | "error" | "error_detail"> {
  /** The response's Retry-After header. */
  readonly retryAfter?: string | undefined;
}

/** Nothing was sent and there is nothing to record; try again once `after` resolves. */
export interface RetryLater {
  readonly after: Promise<void>;
}

/** The outbox's transport. Fault injection wraps the real sender with another one. */
export interface Sender {
  /** `buildSignedRequest` signs another body for the same attempt. */
  send(
    request: WebhookRequest,
    delivery: DeliveryRecord,
    buildSignedRequest: (body: string) => WebhookRequest,
  ): Promise<SendResult | RetryLater>;
  /** Aborts the requests in flight and closes all sockets; later sends open new ones. */
  close(): void;
}

export interface SenderOptions {
  readonly policy: WebhookPolicy;
  readonly timeout_ms: number;
  readonly resolve?: (host: string) => Promise<LookupAddress[]>;
  readonly startTimer?: typeof after;
}

/** Only the status matters: the connection is closed after this many bytes of body. */
const BODY_BYTES_MAX = 16 * 1024;
/** Bytes of the response body kept in the delivery log: enough for an error message. */
const LOGGED_BYTES_MAX = 1024;

const LOOPBACK: LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];
/** Shorter than receivers keep idle connections, so that none is closed just as it is reused. */
const IDLE_MS = 2_000;
const AGENT_OPTIONS = {
  keepAlive: true,
  timeout: IDLE_MS,
  autoSelectFamily: true,
  /** Node's default of 250 ms is too short for a receiver far away. */
  autoSelectFamilyAttemptTimeout: 1_000,
};

/** Explanations for `error_detail`. They contain no address and nothing that the receiver sent. */
const DETAILS = {
  dns: "The host name in the URL does not resolve. Check its spelling.",
  refused:
    "The connection was refused or failed. Start the receiver, or correct the host and port of the URL.",
  reset: "The receiver closed the connection without a response.",
  tls: "The TLS connection failed. Check that the port uses TLS, and the certificate. To trust its CA, set NODE_EXTRA_CA_CERTS and restart.",
  timeout: "The receiver did not respond in full within the time limit.",
  blocked_address: "The webhook policy refuses the address.",
  aborted: "The response is not valid HTTP, too long in its headers, or cut off.",
  dropped: "A chaos rule dropped this attempt.",
  status: null,
};

/** Returns the result of an attempt without a response; after a success without an error. */
export const failure = (
  error: AttemptError | null,
  error_detail: string | null = error && DETAILS[error],
): SendResult => ({ response_status: null, response_body: null, error, error_detail });

const SUCCESS = failure(null);

/** The message is the rule that forbids the address. */
class BlockedAddressError extends Error {}

const blockedFailure = (rule: string) => failure("blocked_address", `The URL ${rule}.`);

/** `resolve` and `startTimer` are replaced in tests only. */
export function createHttpSender({
  policy,
  timeout_ms,
  resolve = resolveHost,
  startTimer = after,
}: SenderOptions) {
  /** By protocol; each knows its sockets. */
  const agents = new Map<string, http.Agent>();

  return {
    async send({ url, headers, body }: WebhookRequest): Promise<SendResult> {
      const urlRule = checkUrl(url, policy);
      if (urlRule !== undefined) return blockedFailure(urlRule);
      const target = new URL(url);
      const secure = target.protocol === "https:";
      const check = (address: string) => {
        const rule = checkAddress(address, policy, secure);
        return rule === undefined ? null : new BlockedAddressError(rule);
      };
      // Node's TLS modules are loaded with the first delivery over TLS, because few starts need them.
      const protocol = secure ? process.getBuiltinModule("node:https") : http;
      const agent = agents.get(target.protocol) ?? new protocol.Agent(AGENT_OPTIONS);
      agents.set(target.protocol, agent);
      const request = protocol.request(target, {
        agent,
        method: "POST",
        headers,
        lookup(host, _, callback) {
          resolve(host).then(
            (found) =>
              callback(found.map(({ address }) => check(address)).find(Boolean) ?? null, found),
            (error) => callback(error, []),
          );
        },
      });
      // The name may have resolved to another address for the connection than for the check.
      request.on("socket", (socket) => {
        const checkPeer = () => {
          const error = socket.remoteAddress && check(socket.remoteAddress);
          if (error) socket.destroy(error);
        };
        if (socket.connecting) socket.once("connect", checkPeer);
        else checkPeer();
      });
      return exchange(request, body, (expire) => startTimer(timeout_ms, expire));
    },
    close(): void {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

async function resolveHost(host: string): Promise<LookupAddress[]> {
  if (isLoopbackHost(host)) return LOOPBACK;
  return process.getBuiltinModule("node:dns/promises").lookup(host, { all: true });
}

/** Sends the body and reads the response. `startDeadline` starts the timer of the whole attempt. */
function exchange(
  request: http.ClientRequest,
  body: string,
  startDeadline: (expire: () => void) => Timer,
): Promise<SendResult> {
  return new Promise((resolve) => {
    let response: http.IncomingMessage | undefined;
    let read = Buffer.alloc(0);

    function finish(outcome: SendResult): void {
      deadline.cancel();
      if (!response?.complete) request.destroy();
      resolve(response === undefined ? outcome : withResponse(outcome, response, read));
    }

    const deadline = startDeadline(() => finish(failure("timeout")));
    request.on("error", (error) => finish(connectionFailure(error, request)));
    request.on("response", (incoming) => {
      response = incoming;
      if (!isReusable(incoming)) request.shouldKeepAlive = false;
      incoming.on("data", (chunk: Buffer) => {
        read = Buffer.concat([read, chunk]);
        if (read.length >= BODY_BYTES_MAX) finish(SUCCESS);
      });
      incoming.on("end", () => finish(SUCCESS));
    });
    // The last event, also if the response is cut off or switches to another protocol.
    request.on("close", () => finish(failure("aborted")));
    request.end(body);
  });
}

/** Reuses a connection only if the receiver announces a long enough keep-alive; it may close any other just as it is reused. */
function isReusable({ headers }: http.IncomingMessage): boolean {
  const [, timeout_s] = /\btimeout=(\d+)/.exec(String(headers["keep-alive"])) ?? [];
  return Number(timeout_s) * 1_000 > IDLE_MS;
}

/** After the headers of a success, an error only says how the body was cut off. */
function withResponse(
  outcome: SendResult,
  { statusCode: response_status = 0, headers }: http.IncomingMessage,
  body: Buffer,
): SendResult {
  return {
    ...(isSuccess({ response_status }) ? outcome : failure("status")),
    response_status,
    response_body: body.subarray(0, LOGGED_BYTES_MAX).toString(),
    retryAfter: headers["retry-after"],
  };
}

/** Returns the failure for an error of Node's request without a response; its code begins the detail. */
function connectionFailure(
  error: NodeJS.ErrnoException,
  { socket }: http.ClientRequest,
): SendResult {
  if (error instanceof BlockedAddressError) return blockedFailure(error.message);
  const { code = "", syscall } = error;
  const isUnverified = socket && "authorized" in socket && !socket.authorized;
  let kind: AttemptError = "reset";
  if (syscall === "getaddrinfo") kind = "dns";
  else if (code === "ETIMEDOUT") kind = "timeout";
  else if (syscall === "connect" || "errors" in error) kind = "refused";
  // In TLS 1.3 a receiver that requires a client certificate reports it after the handshake.
  else if (isUnverified || /^(EPROTO$|ERR_SSL_)/.test(code)) kind = "tls";
  // The response is not HTTP, or its headers are too long.
  else if (code.startsWith("HPE_")) kind = "aborted";
  return failure(kind, `${code}: ${DETAILS[kind]}`);
}
