// HTTP sender: sends one POST per attempt and returns its outcome as a value (spec part 6: 2xx within 30 seconds;
// contract, part 6). It never rejects, follows redirects or sends twice. The deadline is total and in real time, because
// Node's own timeouts only detect silence.
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import type { Socket } from "node:net";
import type { Attempt, AttemptError, DeliveryRecord } from "../domain/model.ts";
import { after } from "../lib/clock.ts";
import { checkAddress, checkUrl, type WebhookPolicy } from "./address-policy.ts";
import {
  BlockedAddressError,
  blockedFailure,
  connectionFailure,
  type Failure,
  failure,
  NO_FAILURE,
  responseFailure,
  timeoutFailure,
} from "./failures.ts";
import { type AddressCheck, createLookup, createResolver, type Resolve } from "./resolver.ts";

export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The part of an attempt that depends on the receiver. */
export interface DispatchResult
  extends Failure,
    Pick<Attempt, "response_status" | "response_body"> {
  /** The response's Retry-After header. */
  readonly retryAfter: string | null;
}

/** Nothing was sent and there is nothing to record; try again once `again` resolves. */
export interface Deferred {
  readonly again: Promise<void>;
}

/** The outbox's transport. Fault injection wraps the real sender with another one. */
export interface Sender {
  /** `signedRequest` signs another body for the same attempt. */
  send(
    request: WebhookRequest,
    delivery: DeliveryRecord,
    signedRequest: (body: string) => WebhookRequest,
  ): Promise<DispatchResult | Deferred>;
  /** Aborts the requests in flight and closes all sockets; later sends open new ones. */
  close(): void;
}

export interface SenderOptions {
  readonly policy: WebhookPolicy;
  readonly timeout_ms: number;
  /** These are replaced in tests only. */
  readonly resolve?: Resolve;
  readonly judge?: typeof checkAddress;
  readonly startTimer?: typeof after;
}

/** Only the status matters: the connection is closed after this many bytes of body. */
const BODY_BYTES_MAX = 16 * 1024;
/** Bytes of the response body kept in the delivery log: enough for an error message. */
const LOGGED_BYTES_MAX = 1024;
/** A status below 100 is invalid (RFC 9110 15). */
const STATUS_MIN = 100;
/** Shorter than receivers keep idle connections, so that none is closed just as it is reused. */
const IDLE_MS = 2_000;
/** No `ca`, so that NODE_EXTRA_CA_CERTS and --use-openssl-ca apply. */
const AGENT_OPTIONS = {
  keepAlive: true,
  timeout: IDLE_MS,
  autoSelectFamily: true,
  autoSelectFamilyAttemptTimeout: 1_000,
};

export function createHttpSender(options: SenderOptions) {
  const { policy, timeout_ms, judge = checkAddress, startTimer = after } = options;
  const resolve = options.resolve ?? createResolver();
  const checkPlain: AddressCheck = (address) => judge(address, policy, false);
  const checkSecure: AddressCheck = (address) => judge(address, policy, true);
  const http = new HttpAgent({ ...AGENT_OPTIONS, lookup: createLookup(resolve, checkPlain) });
  let https: HttpsAgent | undefined;

  /** Created on the first delivery over TLS, because few starts need Node's TLS modules. */
  function httpsAgent(): HttpsAgent {
    const { Agent } = process.getBuiltinModule("node:https");
    https ??= new Agent({ ...AGENT_OPTIONS, lookup: createLookup(resolve, checkSecure) });
    return https;
  }

  return {
    async send({ url, headers, body }: WebhookRequest): Promise<DispatchResult> {
      const rule = checkUrl(url, policy);
      if (rule !== undefined) return withoutResponse(blockedFailure(rule));
      const target = new URL(url);
      const isSecure = target.protocol === "https:";
      const agent = isSecure ? httpsAgent() : http;
      const request = httpRequest(target, { agent, method: "POST", headers });
      request.on("socket", (socket) => checkPeer(socket, isSecure ? checkSecure : checkPlain));
      return dispatch(request, body, timeout_ms, startTimer);
    },
    close(): void {
      // A request ends with its socket, and the agents know every socket.
      http.destroy();
      https?.destroy();
    },
  };
}

export const withoutResponse = (outcome: Failure): DispatchResult => ({
  response_status: null,
  response_body: null,
  retryAfter: null,
  ...outcome,
});

/** Checks the address of the connected socket before anything is sent, also when a connection is reused. */
function checkPeer(socket: Socket, check: AddressCheck): void {
  const checkConnected = () => {
    const { remoteAddress } = socket;
    // A closed socket has no remote address.
    if (remoteAddress === undefined) return socket.destroy();
    const rule = check(remoteAddress);
    return rule === undefined ? socket : socket.destroy(new BlockedAddressError(rule));
  };
  if (socket.connecting) socket.once("connect", checkConnected);
  else checkConnected();
}

/** Sends the body and reads the response. */
function dispatch(
  request: ClientRequest,
  body: string,
  timeout_ms: number,
  startTimer: typeof after,
): Promise<DispatchResult> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let response: IncomingMessage | undefined;

    /** After the headers, a failure only says how the body was cut off. */
    function finish(outcome: Failure): void {
      deadline.cancel();
      if (response === undefined) resolve(withoutResponse(outcome));
      else resolve(withResponse(response, Buffer.concat(chunks), outcome.error, timeout_ms));
    }
    function abort(outcome: Failure): void {
      finish(outcome);
      request.destroy();
    }

    const deadline = startTimer(timeout_ms, () => abort(timeoutFailure(timeout_ms)));
    request.on("error", (error) => finish(connectionFailure(error, request.socket)));
    // We never request an upgrade: treat it as a response with status 101 and drop the connection.
    request.on("upgrade", (incoming) => {
      response = incoming;
      abort(NO_FAILURE);
    });
    request.on("response", (incoming) => {
      if ((incoming.statusCode ?? 0) < STATUS_MIN) return abort(failure("aborted"));
      response = incoming;
      if (!isReusable(incoming)) request.shouldKeepAlive = false;
      let read = 0;
      incoming.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        read += chunk.length;
        if (read >= BODY_BYTES_MAX) abort(NO_FAILURE);
      });
      incoming.on("end", () => finish(NO_FAILURE));
      incoming.on("error", () => finish(failure("aborted")));
    });
    request.end(body);
  });
}

/** Reuses a connection only if the receiver announces a long enough keep-alive; any other may close just then. */
function isReusable({ headers }: IncomingMessage): boolean {
  const [, timeout_s] = /\btimeout=(\d+)/.exec(String(headers["keep-alive"])) ?? [];
  return Number(timeout_s) * 1_000 > IDLE_MS;
}

function withResponse(
  { statusCode = 0, headers }: IncomingMessage,
  body: Buffer,
  bodyError: AttemptError | null,
  timeout_ms: number,
): DispatchResult {
  return {
    response_status: statusCode,
    response_body: decodeBody(body),
    retryAfter: headers["retry-after"] ?? null,
    ...responseFailure(statusCode, bodyError, timeout_ms),
  };
}

/** Decoding as a stream drops a character that was split by the cut. */
function decodeBody(body: Buffer): string {
  const isCut = body.length > LOGGED_BYTES_MAX;
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return decoder.decode(body.subarray(0, LOGGED_BYTES_MAX), { stream: isCut });
}
