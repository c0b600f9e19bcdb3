// Compares every response that a test receives with the server's OpenAPI document: the operation must declare its status,
// headers and media type, and the body must match the schema. Errors outside the document must match its error schema.
import assert from "node:assert/strict";
import { type Answer, isMembers, type Members, members } from "./client.ts";
import { breaches, resolve } from "./json-schema.ts";

export interface Operation {
  method: string;
  /** The path as in the document: /apps/{app_id}. */
  path: string;
  /** The path with the server's prefix: /v1/apps/{app_id}. */
  fullPath: string;
  value: Members;
}

/** The response headers that a client may need. */
const DESCRIBED =
  /^(x-request-id|x-total-count|(x-)?ratelimit.*|retry-after|etag|location|link|www-authenticate|idempotency-replayed)$/;

export class ApiDocument {
  operations: readonly Operation[];

  constructor(readonly document: Members) {
    const [server] = [document.servers].flat();
    const prefix = new URL(String(members(server).url)).pathname.replace(/\/$/, "");
    this.operations = Object.entries(members(document.paths)).flatMap(([path, item]) =>
      Object.entries(members(item)).map(([method, value]) => ({
        method: method.toUpperCase(),
        path,
        fullPath: prefix + path,
        value: members(value),
      })),
    );
  }

  /** The OpenAPI document of the server at this URL. */
  static async of(authUrl: string) {
    const text = await (await fetch(`${authUrl}/openapi.json`)).text();
    // No name or text is empty.
    assert.doesNotMatch(text, /(?<!"default"):""|"":/);
    return new ApiDocument(members(JSON.parse(text)));
  }

  /** The operations below /v1. */
  get api() {
    return this.operations.filter(({ fullPath }) => fullPath.startsWith("/v1/"));
  }

  /** A literal segment takes precedence over a parameter. */
  find(method: string, url: string) {
    const [path = ""] = url.split("?");
    const isMatch = ({ fullPath }: Operation) =>
      new RegExp(`^${fullPath.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`).test(path);
    return this.operations
      .filter((operation) => operation.method === method.replace("HEAD", "GET"))
      .filter(isMatch)
      .sort((a, b) => a.path.split("{").length - b.path.split("{").length)[0];
  }

  /** Throws if the response violates the document. */
  check(method: string, url: string, answer: Answer) {
    const what = `${method} ${url} ${answer.status}`;
    const type = answer.headers["content-type"]?.split(";")[0] ?? "";
    const operation = this.find(method, url);
    if (operation === undefined) {
      const { Problem } = members(members(this.document.components).schemas);
      if (method !== "HEAD" && type === "application/problem+json")
        this.#checkBody(what, members(Problem), answer);
      return;
    }
    const declared = members(operation.value.responses)[answer.status];
    assert.ok(isMembers(declared), `${what} is not declared`);
    const { headers = {}, content = {} } = this.deref(declared);
    const names = Object.keys(members(headers)).map((name) => name.toLowerCase());
    for (const name of Object.keys(answer.headers))
      assert.ok(!DESCRIBED.test(name) || names.includes(name), `${what} does not declare ${name}`);
    if (method === "HEAD" || !/json$/.test(type)) return;
    const media = members(content)[type];
    assert.ok(isMembers(media), `${what} does not declare ${type}`);
    this.#checkBody(what, members(media.schema), answer);
  }

  #checkBody(what: string, schema: Members, answer: Answer) {
    const found = breaches(answer.value, schema, this.document);
    assert.deepEqual(found, [], `${what} against the document: ${answer.text}`);
  }

  deref = (value: Members) =>
    typeof value.$ref === "string" ? resolve(this.document, value.$ref) : value;
}
