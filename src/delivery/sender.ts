// One attempt of a delivery: one POST and what came of it, as a value (spec part 6: 2xx within 30 seconds; contract, part
// 6). It never rejects, never follows a redirect, never sends twice and reads no more of an answer than it must. The
// deadline is in real time and total, from the start to the headers, since Node's own time-outs only watch for silence.
import type { LookupAddress } from "node:dns";
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import type { LookupFunction, Socket } from "node:net";
import { urlToHttpOptions } from "node:url";
import type { AttemptError, DeliveryRecord } from "../domain/model.ts";
import { judgeAddress, judgeUrl, type WebhookPolicy } from "./address-policy.ts";
import { type Resolve, systemResolver } from "./resolver.ts";

export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Outcome {
  readonly status: number | null;
  /** The first of the answer's body, as text. */
  readonly body: string | null;
  /** With a 2xx status: what happened afterwards, and no failure. */
  readonly error: AttemptError | null;
  /** The answer's Retry-After. */
  readonly retryAfter: string | null;
}

/** Nothing was sent and nothing is to be noted; ask again once this resolves. */
export interface NotNow {
  readonly again: Promise<void>;
}

/** What the outbox sends through; another one may stand before the real one, to disturb deliveries on purpose. */
export interface Sender {
  send(post: Post, delivery: DeliveryRecord): Promise<Outcome | NotNow>;
  /** Breaks off what is under way and leaves no socket. */
  close(): void;
}

export interface SenderOptions {
  readonly policy: WebhookPolicy;
  readonly timeout_ms: number;
  /** Certificates (PEM) to trust besides the usual ones. */
  readonly ca?: string;
  readonly resolve?: Resolve;
  readonly judge?: typeof judgeAddress;
}

/** The status is what counts: after so much the connection is closed, whatever the receiver would still send. */
const READ_BYTES_MAX = 16 * 1024;
/** What the delivery log keeps of an answer: enough for an error message. */
const KEPT_BYTES_MAX = 1024;
const HEADER_BYTES_MAX = 16 * 1024;
/** A status line of 000 is none (RFC 9110 15). */
const STATUS_MIN = 100;
/** Shorter than receivers keep an idle connection, so that one is not closed just as it is used again. */
const IDLE_MS = 2_000;
const TARGETS_MAX = 1_000;
const CONNECT_ADDRESS_MS = 1_000;
const AGENT = { keepAlive: true, timeout: IDLE_MS, autoSelectFamilyAttemptTimeout: CONNECT_ADDRESS_MS };

/** A failure whose name in the log is known where it arises. */
class Fault extends Error {
  readonly kind: AttemptError;
  constructor(kind: AttemptError) {
    super(kind);
    this.kind = kind;
  }
}

interface Target {
  readonly secure: boolean;
  readonly host: string;
  readonly options: RequestOptions;
}

/** Which rule refuses a connection to the address. */
type Judge = (address: string) => string | undefined;

export class HttpSender implements Sender {
  readonly #options: SenderOptions;
  readonly #resolve: Resolve;
  readonly #http: HttpAgent;
  #https: HttpsAgent | undefined;
  /** Kept, since judging a URL and taking it apart costs a sixth of an attempt. */
  readonly #targets = new Map<string, Target>();

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#resolve = options.resolve ?? systemResolver();
    this.#http = new HttpAgent({ ...AGENT, lookup: this.#lookup(this.#judge(false)) });
  }

  async send({ url, headers, body }: Post): Promise<Outcome> {
    const target = this.#targets.get(url) ?? this.#targetOf(url);
    if (target === undefined) return unanswered("blocked_address");
    const { secure, host, options } = target;
    // As a list they are written as they stand, without a look-up for each.
    const written = ["Host", host];
    for (const name of Object.keys(headers)) written.push(name, headers[name] ?? "");
    const request = httpRequest({ ...options, headers: written });
    return exchange(request, body, this.#options.timeout_ms, secure, this.#judge(secure));
  }

  /** How the URL is requested; undefined where the policy refuses it. */
  #targetOf(text: string): Target | undefined {
    if (judgeUrl(text, this.#options.policy) !== undefined) return undefined;
    const url = new URL(text);
    const secure = url.protocol === "https:";
    const agent = secure ? this.#tlsAgent() : this.#http;
    // No more than a request needs: it copies them each time.
    const { protocol, hostname, port, path } = urlToHttpOptions(url);
    const options = { protocol, hostname, port, path, method: "POST", maxHeaderSize: HEADER_BYTES_MAX, agent };
    const target = { secure, host: url.host, options };
    if (this.#targets.size >= TARGETS_MAX) this.#targets.clear();
    this.#targets.set(text, target);
    return target;
  }

  close(): void {
    // The agents know every socket, and a request ends with its own. A Set of the open requests would keep 6 KB of each
    // alive past the young generation: its discarded tables grow old and still name them.
    this.#http.destroy();
    this.#https?.destroy();
  }

  /** Made for the first delivery over TLS: few starts need what that loads. */
  #tlsAgent(): HttpsAgent {
    if (this.#https !== undefined) return this.#https;
    const { Agent } = process.getBuiltinModule("node:https");
    const { rootCertificates } = process.getBuiltinModule("node:tls");
    const { ca } = this.#options;
    const trust = ca === undefined ? {} : { ca: [...rootCertificates, ca] };
    this.#https = new Agent({ ...AGENT, ...trust, lookup: this.#lookup(this.#judge(true)) });
    return this.#https;
  }

  #judge(secure: boolean): Judge {
    const { policy, judge = judgeAddress } = this.#options;
    return (address) => judge(address, policy, secure);
  }

  /** Judges every address of the name; the connection then goes to one of exactly these. */
  #lookup(judge: Judge): LookupFunction {
    return (host, options, callback) => {
      const fail = (kind: AttemptError) => callback(new Fault(kind), []);
      const use = (addresses: readonly LookupAddress[]) => {
        const [first] = addresses;
        if (first === undefined) fail("dns");
        else if (addresses.some(({ address }) => judge(address) !== undefined)) fail("blocked_address");
        else if (options.all) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      };
      this.#resolve(host).then(use, () => fail("dns"));
    };
  }
}

const unanswered = (error: AttemptError): Outcome => ({ status: null, body: null, error, retryAfter: null });

type Stage = "connecting" | "handshake" | "connected";

/** Sends the body and follows the exchange to its end; `judge` is asked again about the address that is connected to. */
function exchange(
  request: ClientRequest,
  body: string,
  timeout_ms: number,
  secure: boolean,
  judge: Judge,
): Promise<Outcome> {
  return new Promise((resolve) => {
    let stage: Stage = "connecting";
    let answered: ((error: AttemptError | null) => Outcome) | undefined;
    const finish = (error: AttemptError | null) => {
      clearTimeout(deadline);
      resolve(answered?.(error) ?? unanswered(error ?? "reset"));
    };
    const giveUp = (error: AttemptError | null) => {
      finish(error);
      request.destroy();
    };
    const deadline = setTimeout(() => giveUp("timeout"), timeout_ms);
    request.on("socket", (socket) => follow(socket, secure, judge, (reached) => (stage = reached)));
    request.on("error", (error) => finish(errorName(error, stage)));
    request.on("response", (response) => {
      if ((response.statusCode ?? 0) < STATUS_MIN) giveUp("aborted");
      else answered = reading(response, finish);
    });
    // Switching protocols was not asked for: an answer of status 101, and the connection is of no further use.
    request.on("upgrade", (response) => {
      answered = reading(response, finish);
      giveUp(null);
    });
    request.end(body);
  });
}

/** Tells how far the connection has come, and ends it where its address is not allowed. */
function follow(socket: Socket, secure: boolean, judge: Judge, reached: (stage: Stage) => void): void {
  const connected = (stage: Stage) => {
    reached(stage);
    if (judge(socket.remoteAddress ?? "") !== undefined) socket.destroy(new Fault("blocked_address"));
  };
  // One that is kept from an attempt before must not gather listeners.
  if (!socket.connecting) {
    connected("connected");
    return;
  }
  socket.once("connect", () => connected(secure ? "handshake" : "connected"));
  socket.once("secureConnect", () => reached("connected"));
}

/** Reads a little of the answer's body, then is done with it. Answers what makes the outcome of it. */
function reading(response: IncomingMessage, finish: (error: AttemptError | null) => void) {
  const chunks: Buffer[] = [];
  let read = 0;
  response.on("data", (chunk: Buffer) => {
    if (read < KEPT_BYTES_MAX) chunks.push(chunk);
    read += chunk.length;
    if (read < READ_BYTES_MAX) return;
    finish(null);
    response.destroy();
  });
  response.on("end", () => finish(null));
  response.on("error", () => finish("aborted"));
  const { statusCode: status = 0, headers } = response;
  return (error: AttemptError | null): Outcome => ({
    status,
    body: textOf(Buffer.concat(chunks).subarray(0, KEPT_BYTES_MAX)),
    error: status >= 200 && status < 300 ? error : "status",
    retryAfter: headers["retry-after"] ?? null,
  });
}

/** Decoding as a stream drops a character that the cut has split. */
const textOf = (kept: Buffer): string => new TextDecoder().decode(kept, { stream: true });

function errorName(error: Error & { code?: string }, stage: Stage): AttemptError {
  if (error instanceof Fault) return error.kind;
  if (stage === "handshake") return "tls";
  if (stage === "connecting") return error.code === "ETIMEDOUT" ? "timeout" : "refused";
  // An answer that began and is not HTTP, or whose headers do not end, is broken off here.
  return error.code?.startsWith("HPE_") ? "aborted" : "reset";
}
