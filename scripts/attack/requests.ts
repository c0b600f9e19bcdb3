// Draws requests to every operation of the OpenAPI document, and to some pages and OAuth endpoints beside it: path, query,
// headers, credential and body as they must be, or some of them not.
import { isMembers, type Members, members } from "../../test/support/client.ts";
import { HOSTILE, RAW } from "../../test/support/hostile.ts";
import { breaches } from "../../test/support/json-schema.ts";
import { ApiDocument, type Operation } from "../../test/support/openapi.ts";
import { exampleBody, fill, type Ids, NOWHERE } from "../../test/support/world.ts";
import type { Draw } from "./draw.ts";

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** What the schema has against the body. */
  readonly against?: readonly string[];
}

const [TYPE, FORM] = ["application/json", "application/x-www-form-urlencoded"];
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];
const HEADERS = Object.entries({
  "content-type": ["text/plain", `${TYPE};charset=utf-16`, "", FORM],
  "if-match": ["*", '"x"', 'W/"x", "y"', ",", "é"],
  "if-none-match": ["*", '"x"', 'W/"x", "y"', "x"],
  "idempotency-key": ["one", "two", "x".repeat(255), "x".repeat(256), ""],
  host: ["a.example.com", "EVIL", "[::1]", "a@b"],
  expect: ["100-continue", "x"],
  authorization: ["Basic Og==", "bearer", "Bearer  x"],
}).flatMap(([name, values]) => values.map((value) => [name, value]));

const VALUES = ["authorization_code", "refresh_token", "code", "read:apps", "S256", "https://c.example.com/cb", "x"];
const BESIDE = Object.entries({
  "/oauth/token": ["grant_type", "code", "refresh_token", "client_id", "redirect_uri", "code_verifier"],
  "/oauth/introspect": ["token", "client_id", "client_secret"],
  "/oauth/authorize": ["client_id", "redirect_uri", "response_type", "scope", "code_challenge"],
  "/dashboard/sign-in": ["email", "token", "to"],
  "/sites/{deployment_id}/": ["app_id"],
}).map(([path, names]): [string, Members] => {
  const schema = { enum: VALUES };
  const body = { type: "object", properties: Object.fromEntries(names.map((name) => [name, schema])) };
  const get = { parameters: names.map((name) => ({ name, in: "query", schema })) };
  return [path, { servers: [{ url: "/" }], get, post: { requestBody: { content: { [FORM]: { schema: body } } } } }];
});

/** `keys`: the first one opens everything. `own`: what is there; `foreign`: what belongs to somebody else. */
export function requests(draw: Draw, document: ApiDocument, keys: (string | null)[], own: Ids, foreign: Ids) {
  const paths = { ...members(document.document.paths), ...Object.fromEntries(BESIDE) };
  const { operations } = new ApiDocument({ ...document.document, paths });

  const id = (name: string): string =>
    draw.one([foreign[name], NOWHERE[name], encodeURIComponent(String(draw.one(HOSTILE))).slice(0, 7_000)]) ?? "";
  const ids = (): Ids =>
    Object.fromEntries(Object.entries(own).map(([name, own]) => [name, draw.once(12) ? id(name) : own]));

  const query = ({ value: { parameters } }: Operation): string => {
    const given = (Array.isArray(parameters) ? parameters : []).filter((each) => each.in === "query" && draw.once(3));
    const pairs = given.map(({ name, schema }): [string, string] => [name, String(draw.value(schema))]);
    if (draw.once(30)) pairs.push(["unknown", "x"], ...pairs);
    return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs)}`;
  };

  const bodyOf = (operation: Operation): Pick<Asked, "headers" | "body" | "against"> => {
    const { requestBody } = operation.value;
    if (!isMembers(requestBody)) return { headers: {} };
    const media = members(requestBody.content);
    const type = FORM in media ? FORM : TYPE;
    const headers = { "content-type": type };
    const schema = members(members(media[type]).schema);
    const value = type === TYPE && draw.once(4) ? exampleBody(document, operation) : draw.value(schema);
    const pairs = Object.entries(Object(value)).map(([name, one]): [string, string] => [name, String(one)]);
    const body = type === TYPE ? JSON.stringify(value) : String(new URLSearchParams(pairs));
    if (draw.once(8)) return { headers, body: draw.once(2) ? draw.one(RAW) : draw.spoiled(Buffer.from(body)) };
    // Names of hosts are judged by more than a pattern, and forms by none.
    const against = breaches(value, schema, document.document).filter((each) => !each.includes("against format"));
    return { headers, body, against: type === TYPE ? against : [] };
  };

  return (): Asked => {
    const drawn = draw.one(operations);
    const operation = drawn.method === "DELETE" && draw.once(2) ? draw.one(operations) : drawn;
    const method = draw.once(25) ? draw.one(METHODS) : operation.method;
    const key = draw.once(4) ? draw.one(keys) : (keys[0] ?? null);
    const { headers, ...body } = bodyOf(operation);
    const more = Object.fromEntries(draw.once(4) ? [draw.one(HEADERS), draw.one(HEADERS)] : []);
    const path = fill(operation.fullPath, ids()) + query(operation);
    return { method, path, key, headers: { ...headers, ...more }, ...body };
  };
}
