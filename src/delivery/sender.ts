// HTTP sender: sends one POST per attempt and returns its outcome as a value (spec part 6: 2xx within 30 seconds;
// contract, part 6). It never rejects, follows redirects or sends twice, and reads no more of a response than
// necessary. The deadline is total and in real time, from the start to the headers, because Node's own timeouts only
// detect silence.
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

/** The error of a failed attempt. With a 2xx status it describes a later problem, which is no failure. */
type Failure = Pick<Attempt, "error" | "error_detail">;

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
  /** `postWith` signs another body for the same attempt. */
  send(
    post: WebhookRequest,
    delivery: DeliveryRecord,
    postWith: (body: string) => WebhookRequest,
  ): Promise<DispatchResult | Deferred>;
  /** Aborts the requests in flight and closes all sockets; later sends open new ones. */
  close(): void;
}

export interface SenderOptions {
  readonly policy: WebhookPolicy;
  readonly timeout_ms: number;
  readonly resolve?: Resolve;
  readonly judge?: typeof checkAddress;
  /** Replaced only in tests. */
  readonly startTimer?: typeof after;
}

/** Only the status matters: the connection is closed after this many bytes of body. */
const READ_BYTES_MAX = 16 * 1024;
/** Bytes of the response body kept in the delivery log: enough for an error message. */
const KEPT_BYTES_MAX = 1024;
/** A status below 100 is invalid (RFC 9110 15). */
const STATUS_MIN = 100;
/** Shorter than receivers keep idle connections, so that none is closed just as it is reused. */
const IDLE_MS = 2_000;
const AGENT = {
  keepAlive: true,
  timeout: IDLE_MS,
  autoSelectFamily: true,
  autoSelectFamilyAttemptTimeout: 1_000,
};

/** Returns the rule that forbids a connection to the address. */
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
   * Created on the first TLS delivery, because few starts need the modules it loads. It gets no `ca`, so that
   * NODE_EXTRA_CA_CERTS and --use-openssl-ca apply.
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
      // Headers passed as a list are written unchanged, without a lookup for each.
      const listed = ["Host", target.host, ...Object.entries(headers).flat()];
      const request = httpRequest(target, { agent, method: "POST", headers: listed });
      return dispatch(request, body, timeout_ms, startTimer, judgeBy);
    },
    close(): void {
      // The agents track every socket, and a request ends with its socket. A Set of open requests would keep 6 KB per
      // request alive past the young generation: its discarded tables grow old and still reference them.
      http.destroy();
      https?.destroy();
    },
  };
}

/** Checks every address of the name; the connection then uses only these addresses. */
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

/** The message is the rule that forbids the address. */
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

/** Sends the body and reads the response; `checkPeer` checks the address of the connected socket again. */
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
        // A closed socket has no remote address.
        if (remoteAddress === undefined) socket.destroy();
        else {
          const rule = checkPeer(remoteAddress);
          if (rule !== undefined) socket.destroy(new BlockedAddress(rule));
        }
      };
      // A reused socket is already connected.
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
    // We never request an upgrade: treat it as a response with status 101 and drop the connection.
    request.on("upgrade", (response) => {
      answer = response;
      giveUp(null);
    });
    request.end(body);
  });
}

/** Reuses a connection only if the receiver announces a long enough keep-alive; any other may close just then. */
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
    // Decoding as a stream drops a character that was split by the cut.
    response_body: new TextDecoder("utf-8", { ignoreBOM: true }).decode(kept, {
      stream: kept.length < whole.length,
    }),
    error: isSuccess ? error : "status",
    error_detail: isSuccess ? error && bodyDetail(error, timeout_ms) : statusDetail(statusCode),
    retryAfter: headers["retry-after"] ?? null,
  };
}

/** Returns the error's name for the delivery log, with a detail if the default one is too vague. */
function explained(error: NodeJS.ErrnoException, socket: Socket | null): [AttemptError, string?] {
  if (error instanceof UnknownHost) return ["dns"];
  if (error instanceof BlockedAddress) return ["blocked_address", blockedDetail(error.message)];
  // ECONNRESET is excluded because a receiver may reset even before the connection is established.
  if (error.code !== "ECONNRESET" && (error.syscall === "connect" || "errors" in error))
    return [error.code === "ETIMEDOUT" ? "timeout" : "refused", connectDetail(error)];
  const isUnverified = socket !== null && "authorized" in socket && !socket.authorized;
  // In TLS 1.3 a receiver that requires a client certificate reports it after the handshake.
  if (isUnverified || /^EPROTO$|^ERR_SSL_/.test(error.code ?? "")) return ["tls", tlsDetail(error)];
  // HPE_ errors mean that the response is not valid HTTP, or that its headers do not end.
  return [error.code?.startsWith("HPE_") ? "aborted" : "reset"];
}
