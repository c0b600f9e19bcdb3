// One attempt of a delivery: one POST and what came of it, as a value (spec part 6: 2xx within 30 seconds; contract, part
// 6). It never rejects, never follows a redirect, never sends twice and reads no more of an answer than it must. The
// deadline is in real time and total, from the start to the headers, since Node's own time-outs only watch for silence.

import type { LookupAddress } from "node:dns";
import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import type { Agent as HttpsAgent } from "node:https";
import type { LookupFunction, Socket } from "node:net";
import type { AttemptError, DeliveryRecord } from "../domain/model.ts";
import { decide } from "../kit/decisions.ts";
import { memo } from "../kit/memo.ts";
import { hostOf, judgeAddress, judgeUrl, type WebhookPolicy } from "./address-policy.ts";
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

const READ_BYTES_MAX = decide("8.answer-bytes-read", 16 * 1024, {
  open: "how much of a receiver's answer is read",
  why: "the status is what counts; after so much the connection is closed, whatever the receiver would still send",
});
const KEPT_BYTES_MAX = decide("8.answer-bytes-kept", 1024, {
  open: "what the delivery log keeps of a receiver's answer",
  why: "enough for an error message",
});
const HEADER_BYTES_MAX = 16 * 1024;
/** Shorter than receivers keep an idle connection, so that one is not closed just as it is used again. */
const IDLE_MS = 2_000;
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

export class HttpSender implements Sender {
  readonly #policy: WebhookPolicy;
  readonly #timeout_ms: number;
  readonly #judge: typeof judgeAddress;
  readonly #resolve: Resolve;
  readonly #http: HttpAgent;
  readonly #ca: string | undefined;
  #https: HttpsAgent | undefined;
  /** How a URL is requested; null where the policy refuses it. */
  readonly #target = memo(1_000, (url) => (judgeUrl(url, this.#policy) === undefined ? this.#optionsOf(url) : null));

  constructor({ policy, timeout_ms, ca, resolve = systemResolver(), judge = judgeAddress }: SenderOptions) {
    this.#policy = policy;
    this.#timeout_ms = timeout_ms;
    this.#judge = judge;
    this.#resolve = resolve;
    this.#ca = ca;
    this.#http = new HttpAgent({ ...AGENT, lookup: this.#lookup(false) });
  }

  send(post: Post): Promise<Outcome> {
    const target = this.#target(post.url);
    if (target === null) return Promise.resolve(unanswered("blocked_address"));
    const { secure } = target;
    // As a list they are written as they stand, without a look-up for each.
    const headers = ["Host", target.host];
    for (const name of Object.keys(post.headers)) headers.push(name, post.headers[name] ?? "");
    const options = { ...target.options, headers };
    return exchange(httpRequest(options), post.body, this.#timeout_ms, secure, (address) =>
      this.#judge(address, this.#policy, secure),
    );
  }

  close(): void {
    // The agents know every socket, and a request ends with its own. A Set of the open requests would keep 6 KB of each
    // alive past the young generation: its discarded tables grow old and still name them.
    this.#http.destroy();
    this.#https?.destroy();
  }

  /** Made for the first delivery over TLS: loading what that needs took 1.5 ms of every start. */
  #tlsAgent(): HttpsAgent {
    if (this.#https !== undefined) return this.#https;
    const { Agent } = process.getBuiltinModule("node:https");
    const { rootCertificates } = process.getBuiltinModule("node:tls");
    const trust = this.#ca === undefined ? {} : { ca: [...rootCertificates, this.#ca] };
    this.#https = new Agent({ ...AGENT, ...trust, lookup: this.#lookup(true) });
    return this.#https;
  }

  #optionsOf(text: string) {
    const url = new URL(text);
    const secure = url.protocol === "https:";
    const agent = secure ? this.#tlsAgent() : this.#http;
    // No more than a request needs: the agent copies them each time.
    const options = {
      protocol: url.protocol,
      host: hostOf(url),
      port: url.port,
      path: url.pathname + url.search,
      method: "POST",
      maxHeaderSize: HEADER_BYTES_MAX,
      agent,
    };
    return { secure, host: url.host, options };
  }

  /** Judges every address of the name; the connection then goes to one of exactly these. */
  #lookup(secure: boolean): LookupFunction {
    return (host, options, callback) => {
      const fail = (kind: AttemptError) => callback(new Fault(kind), []);
      const use = (addresses: readonly LookupAddress[]) => {
        const [first] = addresses;
        if (first === undefined) fail("dns");
        else if (addresses.some(({ address }) => this.#judge(address, this.#policy, secure) !== undefined))
          fail("blocked_address");
        else if (options.all) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      };
      this.#resolve(host).then(use, () => fail("dns"));
    };
  }
}

const unanswered = (error: AttemptError): Outcome => ({ status: null, body: null, error, retryAfter: null });

/** Sends the body and follows the exchange to its end; `judge` is asked again about the address that is connected to. */
function exchange(
  request: ClientRequest,
  body: string,
  timeout_ms: number,
  secure: boolean,
  judge: (address: string) => string | undefined,
): Promise<Outcome> {
  return new Promise((resolve) => {
    let stage: Stage = "connecting";
    let answer: Answer | undefined;
    const finish = (error: AttemptError | null) => {
      clearTimeout(deadline);
      resolve(answer === undefined ? unanswered(error ?? "reset") : answer.outcome(error));
    };
    const deadline = setTimeout(() => {
      finish("timeout");
      request.destroy();
    }, timeout_ms);
    request.on("socket", (socket) =>
      follow(socket, secure, judge, (reached) => {
        stage = reached;
      }),
    );
    request.on("error", (error) => finish(errorName(error, stage)));
    request.on("response", (response) => {
      answer = new Answer(response, finish);
    });
    // Switching protocols was not asked for: an answer of status 101, and the connection is of no further use.
    request.on("upgrade", (response) => {
      answer = new Answer(response, finish);
      finish(null);
      request.destroy();
    });
    request.end(body);
  });
}

type Stage = "connecting" | "handshake" | "connected";

/** Tells how far the connection has come, and ends it where its address is not allowed. */
function follow(
  socket: Socket,
  secure: boolean,
  judge: (address: string) => string | undefined,
  reached: (stage: Stage) => void,
): void {
  if (!socket.connecting) {
    reached("connected");
    check(socket, judge);
    return;
  }
  socket.once("connect", () => {
    reached(secure ? "handshake" : "connected");
    check(socket, judge);
  });
  socket.once("secureConnect", () => reached("connected"));
}

function check(socket: Socket, judge: (address: string) => string | undefined): void {
  if (judge(socket.remoteAddress ?? "") !== undefined) socket.destroy(new Fault("blocked_address"));
}

/** The answer from its headers on: reads a little of the body, then is done with it. */
class Answer {
  readonly #response: IncomingMessage;
  readonly #chunks: Buffer[] = [];
  #read = 0;

  constructor(response: IncomingMessage, finish: (error: AttemptError | null) => void) {
    this.#response = response;
    response.on("data", (chunk: Buffer) => {
      if (this.#read < KEPT_BYTES_MAX) this.#chunks.push(chunk);
      this.#read += chunk.length;
      if (this.#read < READ_BYTES_MAX) return;
      finish(null);
      response.destroy();
    });
    response.on("end", () => finish(null));
    response.on("error", () => finish("aborted"));
  }

  outcome(error: AttemptError | null): Outcome {
    const status = this.#response.statusCode ?? 0;
    return {
      status,
      body: this.#chunks.length === 0 ? "" : textOf(Buffer.concat(this.#chunks).subarray(0, KEPT_BYTES_MAX)),
      error: status >= 200 && status < 300 ? error : "status",
      retryAfter: this.#response.headers["retry-after"] ?? null,
    };
  }
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
