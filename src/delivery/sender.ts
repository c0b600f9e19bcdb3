// One attempt of a delivery: one POST and what came of it, as a value (spec part 6: 2xx within 30 seconds; contract, part
// 6). It never rejects, never follows a redirect, never sends twice and reads no more of an answer than it must. The
// deadline is in real time and total, from the start to the headers, since Node's own time-outs only watch for silence.
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import type { LookupFunction, Socket } from "node:net";
import type { Attempt, AttemptError, DeliveryRecord } from "../domain/model.ts";
import { after } from "../lib/clock.ts";
import {
  checkAddress,
  checkUrl,
  createResolver,
  type Resolve,
  type WebhookPolicy,
} from "./address-policy.ts";
import {
  blockedDetail,
  bodyDetail,
  connectDetail,
  errorDetail,
  statusDetail,
  tlsDetail,
} from "./error-details.ts";

export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Why an attempt failed; with a 2xx status what happened afterwards, which is no failure. */
type Failure = Pick<Attempt, "error" | "error_detail">;

/** What of an attempt only the receiver says. */
export interface DispatchResult
  extends Failure,
    Pick<Attempt, "response_status" | "response_body"> {
  /** The answer's Retry-After. */
  readonly retryAfter: string | null;
}

/** Nothing was sent and nothing is to be noted; ask again once this resolves. */
export interface Deferred {
  readonly again: Promise<void>;
}

/** What the outbox sends through; another one may stand before the real one, to disturb deliveries on purpose. */
export interface Sender {
  /** `postWith` signs another body for the same attempt. */
  send(
    post: WebhookRequest,
    delivery: DeliveryRecord,
    postWith: (body: string) => WebhookRequest,
  ): Promise<DispatchResult | Deferred>;
  /** Breaks off what is under way and leaves no socket; what is sent later opens others. */
  close(): void;
}

export interface SenderOptions {
  readonly policy: WebhookPolicy;
  readonly timeout_ms: number;
  readonly resolve?: Resolve;
  readonly judge?: typeof checkAddress;
  /** Other timers are for tests. */
  readonly startTimer?: typeof after;
}

/** The status is what counts: after so much the connection is closed, whatever the receiver would still send. */
const READ_BYTES_MAX = 16 * 1024;
/** What the delivery log keeps of an answer: enough for an error message. */
const KEPT_BYTES_MAX = 1024;
/** A status line of 000 is none (RFC 9110 15). */
const STATUS_MIN = 100;
/** Shorter than receivers keep an idle connection, so that one is not closed just as it is used again. */
const IDLE_MS = 2_000;
const AGENT = {
  keepAlive: true,
  timeout: IDLE_MS,
  autoSelectFamily: true,
  autoSelectFamilyAttemptTimeout: 1_000,
};

/** Which rule refuses a connection to the address. */
type AddressCheck = (address: string) => string | undefined;

export function createHttpSender(options: SenderOptions) {
  const {
    policy,
    timeout_ms,
    resolve = createResolver(),
    judge = checkAddress,
    startTimer = after,
  } = options;
  const plain: AddressCheck = (address) => judge(address, policy, false);
  const secure: AddressCheck = (address) => judge(address, policy, true);
  const http = new HttpAgent({ ...AGENT, lookup: createLookup(resolve, plain) });
  let https: HttpsAgent | undefined;

  /**
   * Made for the first delivery over TLS: few starts need what that loads. It is given no `ca`: then NODE_EXTRA_CA_CERTS
   * and --use-openssl-ca apply.
   */
  function tlsAgent(): HttpsAgent {
    const { Agent } = process.getBuiltinModule("node:https");
    https ??= new Agent({ ...AGENT, lookup: createLookup(resolve, secure) });
    return https;
  }

  return {
    async send({ url, headers, body }: WebhookRequest): Promise<DispatchResult> {
      const rule = checkUrl(url, policy);
      if (rule !== undefined) return withoutResponse("blocked_address", blockedDetail(rule));
      const target = new URL(url);
      const [agent, judgeBy] = target.protocol === "https:" ? [tlsAgent(), secure] : [http, plain];
      // As a list they are written as they stand, without a look-up for each.
      const listed = ["Host", target.host, ...Object.entries(headers).flat()];
      const request = httpRequest(target, { agent, method: "POST", headers: listed });
      return dispatch(request, body, timeout_ms, startTimer, judgeBy);
    },
    close(): void {
      // The agents know every socket, and a request ends with its own. A Set of the open requests would keep 6 KB of each
      // alive past the young generation: its discarded tables grow old and still name them.
      http.destroy();
      https?.destroy();
    },
  };
}

/** Judges every address of the name; the connection then goes to one of exactly these. */
function createLookup(resolve: Resolve, judge: AddressCheck): LookupFunction {
  return async (host, _, callback) => {
    const addresses = await resolve(host).catch(() => []);
    const rule = addresses.map(({ address }) => judge(address)).find((each) => each !== undefined);
    if (rule !== undefined) callback(new BlockedAddress(rule), []);
    else if (addresses.length === 0) callback(new UnknownHost(), []);
    else callback(null, [...addresses]);
  };
}

class UnknownHost extends Error {}

/** Its message is the rule that refuses the address. */
class BlockedAddress extends Error {}

const NO_RESPONSE = { response_status: null, response_body: null, retryAfter: null };
export const withoutResponse = (
  error: AttemptError,
  error_detail = errorDetail(error),
): DispatchResult => ({
  ...NO_RESPONSE,
  error,
  error_detail,
});

/** Sends the body and follows the exchange to its end; `judge` is asked again about the address that is connected to. */
function dispatch(
  request: ClientRequest,
  body: string,
  timeout_ms: number,
  startTimer: typeof after,
  checkPeer: AddressCheck,
): Promise<DispatchResult> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let answer: IncomingMessage | undefined;
    const finish = (error: AttemptError | null, detail?: string | null) => {
      deadline.cancel();
      if (answer !== undefined) return resolve(withResponse(answer, chunks, error, timeout_ms));
      const why = error ?? "reset";
      resolve(withoutResponse(why, detail ?? errorDetail(why, timeout_ms)));
    };
    const giveUp = (error: AttemptError | null) => {
      finish(error);
      request.destroy();
    };
    const deadline = startTimer(timeout_ms, () => giveUp("timeout"));
    request.on("socket", (socket) => {
      const look = () => {
        const { remoteAddress } = socket;
        // One that was closed already has none.
        if (remoteAddress === undefined) socket.destroy();
        else {
          const rule = checkPeer(remoteAddress);
          if (rule !== undefined) socket.destroy(new BlockedAddress(rule));
        }
      };
      // One that is kept from an attempt before stands already.
      if (socket.connecting) socket.once("connect", look);
      else look();
    });
    request.on("error", (error) => finish(...explained(error, request.socket)));
    request.on("response", (response) => {
      if ((response.statusCode ?? 0) < STATUS_MIN) return giveUp("aborted");
      answer = response;
      if (!isReusable(response)) request.shouldKeepAlive = false;
      let read = 0;
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        read += chunk.length;
        if (read >= READ_BYTES_MAX) giveUp(null);
      });
      response.on("end", () => finish(null));
      response.on("error", () => finish("aborted"));
    });
    // Switching protocols was not asked for: an answer of status 101, and the connection is of no further use.
    request.on("upgrade", (response) => {
      answer = response;
      giveUp(null);
    });
    request.end(body);
  });
}

/** A connection is used again only where the receiver says that it keeps it long enough: any other may close just then. */
const isReusable = ({ headers }: IncomingMessage): boolean =>
  Number(/\btimeout=(\d+)/.exec(String(headers["keep-alive"]))?.[1]) * 1_000 > IDLE_MS;

function withResponse(
  { statusCode = 0, headers }: IncomingMessage,
  chunks: readonly Buffer[],
  error: AttemptError | null,
  timeout_ms: number,
): DispatchResult {
  const whole = Buffer.concat(chunks);
  const kept = whole.subarray(0, KEPT_BYTES_MAX);
  const isSuccess = statusCode >= 200 && statusCode < 300;
  return {
    response_status: statusCode,
    // Decoding as a stream drops a character that the cut has split.
    response_body: new TextDecoder("utf-8", { ignoreBOM: true }).decode(kept, {
      stream: kept.length < whole.length,
    }),
    error: isSuccess ? error : "status",
    error_detail: isSuccess ? error && bodyDetail(error, timeout_ms) : statusDetail(statusCode),
    retryAfter: headers["retry-after"] ?? null,
  };
}

/** The name of the error in the delivery log, and its detail where the usual one would say too little. */
function explained(error: NodeJS.ErrnoException, socket: Socket | null): [AttemptError, string?] {
  if (error instanceof UnknownHost) return ["dns"];
  if (error instanceof BlockedAddress) return ["blocked_address", blockedDetail(error.message)];
  // A receiver may reset it even before it stands.
  if (error.code !== "ECONNRESET" && (error.syscall === "connect" || "errors" in error))
    return [error.code === "ETIMEDOUT" ? "timeout" : "refused", connectDetail(error)];
  const isUnverified = socket !== null && "authorized" in socket && !socket.authorized;
  // By TLS 1.3 a receiver that wants a certificate of ours says so behind the handshake.
  if (isUnverified || /^EPROTO$|^ERR_SSL_/.test(error.code ?? "")) return ["tls", tlsDetail(error)];
  // An answer that began and is not HTTP, or whose headers do not end, is broken off here.
  return [error.code?.startsWith("HPE_") ? "aborted" : "reset"];
}
