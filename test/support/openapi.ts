// Holds every answer that a test receives against the OpenAPI document that the server publishes: the operation has to
// declare the status, the media type and a schema that the body fits. Paths outside the document are checked for the
// error's schema alone.
import assert from "node:assert/strict";
import { type Answer, isMembers, type Members, members } from "./client.ts";
import { breaches, resolve } from "./json-schema.ts";

export interface Operation {
  readonly method: string;
  /** As it stands in the document: /apps/{app_id}. */
  readonly path: string;
  /** The path with the server's own in front: /v1/apps/{app_id}. */
  readonly fullPath: string;
  readonly pattern: RegExp;
  readonly value: Members;
}

const METHODS = ["get", "post", "put", "patch", "delete", "head", "options"];

export class ApiDocument {
  readonly document: Members;
  readonly operations: readonly Operation[];

  constructor(document: Members) {
    this.document = document;
    this.operations = Object.entries(members(document.paths)).flatMap(([path, item]) =>
      operationsOf(document, path, members(item)),
    );
  }

  /** The operations below /v1. */
  get api(): readonly Operation[] {
    return this.operations.filter((operation) => operation.fullPath.startsWith("/v1/"));
  }

  find(method: string, path: string): Operation | undefined {
    const [plain = ""] = path.split("?");
    const wanted = method === "HEAD" ? "GET" : method;
    const fitting = this.operations.filter((one) => one.method === wanted && one.pattern.test(plain));
    // A literal segment goes before a parameter.
    return fitting.sort((a, b) => a.path.split("{").length - b.path.split("{").length)[0];
  }

  /** Throws where the answer is not what the document says. */
  check(method: string, path: string, answer: Answer): void {
    const operation = this.find(method, path);
    const declared = operation && this.#response(operation, answer.status);
    assert.ok(operation === undefined || declared, `${method} ${path} does not declare ${answer.status}`);
    const type = answer.headers["content-type"]?.split(";")[0] ?? "";
    if (method === "HEAD" || !/json$/.test(type)) return;
    const schema = declared ? schemaOf(declared, type, `${method} ${path} ${answer.status}`) : this.#fallback(type);
    if (schema === undefined) return;
    const found = breaches(answer.value, schema, this.document);
    assert.deepEqual(found, [], `${method} ${path} ${answer.status} against the document: ${answer.text}`);
  }

  #response(operation: Operation, status: number): Members | undefined {
    const responses = members(operation.value.responses);
    const found = responses[String(status)] ?? responses[`${Math.floor(status / 100)}XX`] ?? responses.default;
    return isMembers(found) ? this.deref(found) : undefined;
  }

  #fallback(type: string): Members | undefined {
    if (type !== "application/problem+json") return undefined;
    const problem = members(members(this.document.components).schemas).Problem;
    return isMembers(problem) ? problem : undefined;
  }

  deref(value: Members): Members {
    return typeof value.$ref === "string" ? resolve(this.document, value.$ref) : value;
  }
}

function schemaOf(response: Members, type: string, what: string): Members | undefined {
  const content = isMembers(response.content) ? response.content : {};
  const media = content[type];
  assert.ok(isMembers(media), `${what} does not declare ${type}`);
  return isMembers(media.schema) ? media.schema : undefined;
}

function operationsOf(document: Members, path: string, item: Members): Operation[] {
  const servers = item.servers ?? document.servers;
  const [first] = Array.isArray(servers) ? servers : [];
  const prefix = isMembers(first) ? new URL(String(first.url), "http://localhost").pathname.replace(/\/$/, "") : "";
  const fullPath = prefix + path;
  const pattern = new RegExp(`^${fullPath.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`);
  return METHODS.filter((method) => isMembers(item[method])).map((method) => ({
    method: method.toUpperCase(),
    path,
    fullPath,
    pattern,
    value: members(item[method]),
  }));
}
