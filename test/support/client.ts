// The client of the black-box tests: plain HTTP, paths sent exactly as written (a URL parser would tidy them up, and untidy
// ones are what some tests are about). Knows nothing of the server under test but its base URL and a credential.
import assert from "node:assert/strict";
import { Agent, request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeader } from "node:http";
import { request as httpsRequest, Agent as TlsAgent } from "node:https";
import { trusted } from "../../src/kit/schema.ts";

export interface Members {
  readonly [name: string]: unknown;
}

export const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `value` as an object; fails the test where it is none. */
export function members(value: unknown): Members {
  // What it is instead is told only where it is: to print a whole document takes longer than the request.
  if (isMembers(value)) return value;
  return assert.fail(`expected an object, got ${JSON.stringify(value)}`);
}

/** `value` as text; fails the test where it is none. */
export function str(value: unknown): string {
  assert.ok(typeof value === "string", `expected a string, got ${JSON.stringify(value)}`);
  return value;
}

export class Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;

  constructor(status: number, headers: IncomingHttpHeaders, bytes: Buffer) {
    this.status = status;
    this.headers = headers;
    this.bytes = bytes;
  }

  get text(): string {
    return this.bytes.toString("utf8");
  }

  /** The body, which has to be a JSON object. */
  get json(): Members {
    return members(this.value);
  }

  get value(): unknown {
    assert.match(this.headers["content-type"] ?? "", /^application\/(problem\+)?json/, this.text);
    return trusted<unknown>(JSON.parse(this.text));
  }

  /** The resources of a list's page. */
  get items(): readonly Members[] {
    const { data } = this.json;
    assert.ok(Array.isArray(data), `expected a list, got ${this.text}`);
    return data.map(members);
  }

  get id(): string {
    return str(this.json.id);
  }

  /** The header's value; fails the test where it is missing. */
  header(name: string): string {
    const value = this.headers[name.toLowerCase()];
    assert.ok(value !== undefined, `expected the header ${name} in ${JSON.stringify(this.headers)}`);
    return String(value);
  }

  /** The address that Link names with this relation, as a path below the base URL; undefined where there is none. */
  link(rel: "next" | "prev", baseUrl: string): string | undefined {
    const links = String(this.headers.link ?? "").split(/,\s*(?=<)/);
    const found = links.find((link) => link.endsWith(`rel="${rel}"`));
    if (found === undefined) return undefined;
    const address = /^<([^>]+)>/.exec(found)?.[1] ?? "";
    assert.ok(address.startsWith(`${baseUrl}/`), `${address} lies outside ${baseUrl}`);
    return address.slice(baseUrl.length);
  }
}

/** A header with several values is sent several times. */
export type SentHeaders = Record<string, OutgoingHttpHeader>;

export interface Sent {
  readonly headers?: SentHeaders;
  readonly body?: string | Buffer;
}

/** Told of every answer that a test receives. */
export type Observer = (method: string, path: string, answer: Answer) => void;

export interface ClientParts {
  readonly baseUrl: string;
  /** The credential; null sends no Authorization header. */
  readonly key: string | null;
  readonly observe?: Observer | undefined;
}

/** Only a hang takes as long, even on a busy machine. */
const PATIENCE_MS = 15_000;

export class Client {
  readonly baseUrl: string;
  readonly key: string | null;
  readonly #parts: ClientParts;
  readonly #agent: Agent;

  constructor(parts: ClientParts, agent?: Agent) {
    this.#parts = parts;
    this.baseUrl = parts.baseUrl;
    this.key = parts.key;
    this.#agent = agent ?? agentFor(parts.baseUrl);
  }

  /** The same server with another credential. */
  as(key: string | null): Client {
    return new Client({ ...this.#parts, key }, this.#agent);
  }

  /** The same server and credential, addressed from its root: for what lies beside /v1. */
  get root(): Client {
    return new Client({ ...this.#parts, baseUrl: new URL(this.baseUrl).origin }, this.#agent);
  }

  get = (path: string, headers: SentHeaders = {}) => this.send("GET", path, { headers });
  head = (path: string, headers: SentHeaders = {}) => this.send("HEAD", path, { headers });
  options = (path: string) => this.send("OPTIONS", path);
  delete = (path: string, headers: SentHeaders = {}) => this.send("DELETE", path, { headers });
  post = (path: string, value?: unknown, headers: SentHeaders = {}) => this.call("POST", path, value, headers);
  put = (path: string, value: unknown) => this.call("PUT", path, value);
  patch = (path: string, value: unknown, headers: SentHeaders = {}) => this.call("PATCH", path, value, headers);

  /** Any method, with the value as JSON where there is one. */
  call = (method: string, path: string, value?: unknown, headers: SentHeaders = {}) =>
    this.send(method, path, withBody(value, headers));

  /** POST that has to succeed with 201; answers the resource. */
  async create(path: string, value: unknown): Promise<Members & { readonly id: string }> {
    const answer = await this.post(path, value);
    assert.equal(answer.status, 201, answer.text);
    return { ...answer.json, id: answer.id };
  }

  async send(method: string, path: string, { headers = {}, body }: Sent = {}): Promise<Answer> {
    const answer = await this.#exchange(method, path, headers, body);
    this.#parts.observe?.(method, new URL(this.baseUrl).pathname.replace(/\/$/, "") + path, answer);
    return answer;
  }

  close(): void {
    this.#agent.destroy();
  }

  #exchange(method: string, path: string, headers: SentHeaders, body?: string | Buffer): Promise<Answer> {
    const { protocol, hostname, port, pathname } = new URL(this.baseUrl);
    const open = protocol === "https:" ? httpsRequest : httpRequest;
    const credential = this.key === null ? {} : { authorization: `Bearer ${this.key}` };
    const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
    const target = pathname.replace(/\/$/, "") + path;
    const options = {
      agent: this.#agent,
      method,
      hostname,
      port,
      path: target,
      headers: { ...credential, ...length, ...headers },
    };
    return new Promise((resolve, reject) => {
      const request = open(options, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () =>
          resolve(new Answer(response.statusCode ?? 0, response.headers, Buffer.concat(chunks))),
        );
      });
      request.setTimeout(PATIENCE_MS, () => request.destroy(new Error(`${method} ${target}: no answer`)));
      request.on("error", reject);
      request.end(body);
    });
  }
}

const agentFor = (baseUrl: string): Agent =>
  baseUrl.startsWith("https:") ? new TlsAgent({ keepAlive: true }) : new Agent({ keepAlive: true });

const withBody = (value: unknown, headers: SentHeaders): Sent =>
  value === undefined
    ? { headers }
    : { headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(value) };
