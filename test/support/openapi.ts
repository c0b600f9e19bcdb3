// Checks every response that a test receives against the server's OpenAPI document: the operation must declare the
// status and the media type, and the body must match the schema. Responses to undocumented paths are checked for the
// error's schema alone.
import assert from "node:assert/strict";
import { unsafeCast } from "../../src/lib/schema.ts";
import { type Answer, isMembers, type Members, members } from "./client.ts";
import { breaches, resolve } from "./json-schema.ts";

export interface Operation {
  readonly method: string;
  /** The path as in the document: /apps/{app_id}. */
  readonly path: string;
  /** The path with the server's prefix: /v1/apps/{app_id}. */
  readonly fullPath: string;
  readonly pattern: RegExp;
  readonly value: Members;
}

export class ApiDocument {
  readonly operations: readonly Operation[];

  /** `controls`: the document of the test controls, if they are enabled. */
  constructor(
    readonly document: Members,
    readonly controls?: ApiDocument,
  ) {
    this.operations = Object.entries(members(document.paths)).flatMap(([path, item]) =>
      Object.entries(members(item)).map(([method, value]) =>
        operationOf(document, method, path, members(value)),
      ),
    );
  }

  /** The OpenAPI document of the server at this URL. */
  static async of(authUrl: string): Promise<ApiDocument> {
    const [api, controls] = await Promise.all([
      fetch(`${authUrl}/openapi.json`),
      fetch(`${authUrl}/_control/openapi.json`),
    ]);
    const beside = members(await controls.json());
    return new ApiDocument(
      members(await api.json()),
      controls.ok ? new ApiDocument(beside) : undefined,
    );
  }

  /** The operations below /v1. */
  get api(): readonly Operation[] {
    return this.operations.filter((operation) => operation.fullPath.startsWith("/v1/"));
  }

  find(method: string, path: string): Operation | undefined {
    const [plain = ""] = path.split("?");
    const wanted = method === "HEAD" ? "GET" : method;
    const fitting = this.operations.filter(
      (one) => one.method === wanted && one.pattern.test(plain),
    );
    // A literal segment takes precedence over a parameter.
    return fitting.sort((a, b) => a.path.split("{").length - b.path.split("{").length)[0];
  }

  /** Throws if the response violates the document. */
  check(method: string, path: string, answer: Answer): void {
    const asked = `${method} ${path}`;
    if (this.controls?.find(method, path)) {
      this.controls.check(method, path, answer);
      return;
    }
    const { responses } = this.find(method, path)?.value ?? {};
    const type = answer.headers["content-type"]?.split(";")[0] ?? "";
    const declared =
      responses === undefined ? this.#beside(type) : members(responses)[answer.status];
    assert.ok(
      declared !== undefined || responses === undefined,
      `${asked} does not declare ${answer.status}`,
    );
    if (responses !== undefined) this.#checkHeaders(asked, members(declared), answer);
    if (method === "HEAD" || declared === undefined || !/json$/.test(type)) return;
    const media = members(this.deref(members(declared)).content ?? {})[type];
    assert.ok(isMembers(media), `${asked} ${answer.status} does not declare ${type}`);
    const found = breaches(answer.value, members(media.schema), this.document);
    assert.deepEqual(found, [], `${asked} ${answer.status} against the document: ${answer.text}`);
  }

  #checkHeaders(asked: string, declared: Members, { status, headers }: Answer): void {
    const known = Object.keys(members(this.deref(declared).headers ?? {})).map((name) =>
      name.toLowerCase(),
    );
    const undeclared = Object.keys(headers).filter(
      (name) => DESCRIBED.test(name) && !known.includes(name),
    );
    assert.deepEqual(undeclared, [], `${asked} ${status} does not declare these headers`);
  }

  /** Paths outside the document respond with the same problems. */
  #beside(type: string): Members | undefined {
    const { Problem: schema } = members(members(this.document.components).schemas);
    return type === "application/problem+json" ? { content: { [type]: { schema } } } : undefined;
  }

  deref = (value: Members): Members =>
    typeof value.$ref === "string" ? resolve(this.document, value.$ref) : value;
}

/** The response headers that a client may need. */
const DESCRIBED =
  /^(x-request-id|x-total-count|(x-)?ratelimit.*|retry-after|etag|location|link|www-authenticate|idempotency-replayed)$/;

function operationOf(document: Members, method: string, path: string, value: Members): Operation {
  const [{ url } = {}] = unsafeCast<{ url?: string }[]>(value.servers ?? document.servers);
  const fullPath = new URL(String(url), "http://localhost").pathname.replace(/\/$/, "") + path;
  const pattern = new RegExp(`^${fullPath.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`);
  return { method: method.toUpperCase(), path, fullPath, pattern, value };
}
