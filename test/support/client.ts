// The client of the black-box tests: plain HTTP, with paths sent exactly as written, because a URL parser would change
// the paths that some tests are about. Knows only the base URL and a credential of the server under test.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import http, {
  type Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeader,
} from "node:http";
import https from "node:https";
import { buffer } from "node:stream/consumers";
import { after } from "../../src/lib/clock.ts";

export type Members = Readonly<Record<string, unknown>>;

export const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns `value` as an object; fails the test if it is not one. */
export function members(value: unknown) {
  // The message is built only on failure: printing a whole document takes longer than the request.
  if (isMembers(value)) return value;
  return assert.fail(`expected an object, got ${JSON.stringify(value)}`);
}

/** Returns `value` as text; fails the test if it is not text. */
export function str(value: unknown) {
  assert.ok(typeof value === "string", `expected a string, got ${JSON.stringify(value)}`);
  return value;
}

/** Names that are unique across files and runs. */
export const freshHost = () => `h${randomUUID()}.example.com`;
export const freshAddress = () => `user-${randomUUID()}@example.com`;

export class Answer {
  constructor(
    readonly status: number,
    readonly headers: IncomingHttpHeaders,
    readonly bytes: Buffer,
  ) {}

  get text() {
    return this.bytes.toString("utf8");
  }

  /** Asserts the status and returns the answer; `what` names the request on failure. */
  is(status: number, what = "") {
    assert.equal(
      this.status,
      status,
      `${what} answered ${this.status}, not ${status}: ${this.text.slice(0, 200)}`,
    );
    return this;
  }

  /** The body, which must be a JSON object. */
  get json() {
    return members(this.value);
  }

  get value() {
    assert.match(this.headers["content-type"] ?? "", /^application\/([\w.-]+\+)?json/, this.text);
    return JSON.parse(this.text);
  }

  /** The resources of a list's page. */
  get items() {
    const { data } = this.json;
    assert.ok(Array.isArray(data), `expected a list, got ${this.text}`);
    return data.map(members);
  }

  get id() {
    return str(this.json.id);
  }

  /** The number of resources in a list, on all pages. */
  get total() {
    return Number(this.json.total);
  }

  /** Returns the header's value; fails the test if it is missing. */
  header(name: string) {
    const value = this.headers[name.toLowerCase()];
    assert.ok(value !== undefined, `no header ${name} in ${JSON.stringify(this.headers)}`);
    return String(value);
  }
}

/** A header with several values is sent several times. */
export type SentHeaders = Record<string, OutgoingHttpHeader>;
type Sent = { headers?: SentHeaders; body?: string | Buffer };

export interface ClientParts {
  baseUrl: string;
  /** The credential; null sends no Authorization header. */
  key: string | null;
  /** Called with every response that a test receives. */
  observe?: (method: string, path: string, answer: Answer) => void;
  agent?: Agent;
  /** Response timeout, in milliseconds. */
  patience_ms?: number;
}

/** Only a hang takes as long, even on a busy machine. */
export const PATIENCE_MS = 15_000;

/** Servers close idle connections after some seconds; a request must not use one that is closing. */
const IDLE_MS = 1_000;

export class Client {
  baseUrl: string;
  key: string | null;
  readonly #agent: Agent;

  constructor(private readonly parts: ClientParts) {
    this.baseUrl = parts.baseUrl;
    this.key = parts.key;
    this.#agent =
      parts.agent ?? new (speaks(parts.baseUrl).Agent)({ keepAlive: true, timeout: IDLE_MS });
  }

  /** The same client and connections, with these options changed. */
  with = (other: Partial<ClientParts>) =>
    new Client({ ...this.parts, agent: this.#agent, ...other });

  /** The same server with another credential. */
  as = (key: string | null) => this.with({ key });

  at = (baseUrl: string) => this.with({ baseUrl });

  /** The same server and credential with the root as base URL, for paths outside /v1. */
  get root() {
    return this.at(new URL(this.baseUrl).origin);
  }

  /** The same without a credential. */
  get anyone() {
    return this.root.as(null);
  }

  get = (path: string, headers: SentHeaders = {}) => this.send("GET", path, { headers });
  head = (path: string, headers: SentHeaders = {}) => this.send("HEAD", path, { headers });
  delete = (path: string, headers: SentHeaders = {}) => this.send("DELETE", path, { headers });
  post = (path: string, value?: unknown, headers: SentHeaders = {}) =>
    this.call("POST", path, value, headers);
  put = (path: string, value: unknown) => this.call("PUT", path, value);
  patch = (path: string, value: unknown, headers: SentHeaders = {}) =>
    this.call("PATCH", path, value, headers);

  /** Sends any method, with the value as JSON if there is one. */
  call = (method: string, path: string, value?: unknown, headers: SentHeaders = {}) =>
    value === undefined
      ? this.send(method, path, { headers })
      : this.text(method, path, JSON.stringify(value), headers);

  /** Sends any method, with any body, as application/json. */
  text = (method: string, path: string, body: string | Buffer, headers: SentHeaders = {}) =>
    this.send(method, path, { headers: { "content-type": "application/json", ...headers }, body });

  /** Sends a POST that must succeed with 201; returns the resource. */
  async create(path: string, value: unknown): Promise<Members & { id: string }> {
    const answer = await this.post(path, value);
    answer.is(201);
    return { ...answer.json, id: answer.id };
  }

  /** Any app, and its path. */
  async newApp(fields: object = {}) {
    const { id } = await this.create("/apps", { title: "T", ...fields });
    return { id, path: `/apps/${id}` };
  }

  /** Nothing listens at its URL. */
  newWebhook = (fields: object = {}) =>
    this.create("/webhooks", { url: "http://127.0.0.1:9/", events: ["app.created"], ...fields });

  deploy = (app: string, fields: object = {}) =>
    this.create(`/apps/${app}/deploy`, { name: "R", ...fields });

  async send(method: string, path: string, { headers = {}, body }: Sent = {}) {
    const { hostname, port, pathname } = new URL(this.baseUrl);
    const target = pathname.replace(/\/$/, "") + path;
    const { observe, patience_ms = PATIENCE_MS } = this.parts;
    const request = speaks(this.baseUrl).request({
      agent: this.#agent,
      method,
      hostname: hostname.replace(/[[\]]/g, ""),
      port,
      path: target,
      headers: {
        ...(this.key !== null && { authorization: `Bearer ${this.key}` }),
        ...(body !== undefined && { "content-length": Buffer.byteLength(body) }),
        ...headers,
      },
    });
    const late = after(patience_ms, () =>
      request.destroy(new Error(`${method} ${target}: no answer`)),
    );
    request.on("close", late.cancel);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request.on("response", resolve).on("error", reject).end(body);
    });
    const answer = new Answer(response.statusCode ?? 0, response.headers, await buffer(response));
    observe?.(method, target, answer);
    return answer;
  }

  close() {
    this.#agent.destroy();
  }
}

const speaks = (url: string) => (url.startsWith("https:") ? https : http);
