// Draws requests to every operation of the OpenAPI document, and to what a stranger can reach beside it: path, query,
// headers, credential and body as they must be, or some of them not.
import { isMembers, members } from "../../test/support/client.ts";
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

const TYPE = "application/json";
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];
const HEADERS = [
  ...["text/plain", `${TYPE};charset=utf-16`, "multipart/form-data"].map((type) => ["content-type", type]),
  ...["*", '"x"', 'W/"x", "y"', ",", "é"].flatMap((tag) => ["if-match", "if-none-match"].map((name) => [name, tag])),
  ...["one", "two", "x".repeat(255), "x".repeat(256), ""].map((key) => ["idempotency-key", key]),
  ...["a.example.com", "EVIL", "[::1]", "a@b"].map((host) => ["host", host]),
  ...[
    ["expect", "100-continue"],
    ["expect", "x"],
    ["authorization", "Basic Og=="],
    ["authorization", "bearer"],
  ],
];

const WORD = { enum: ["authorization_code", "refresh_token", "code", "read:apps", "https://c.example.com/cb", "x"] };
const names = ["grant_type", "code", "refresh_token", "client_id", "redirect_uri", "response_type", "scope", "token"];
const schema = { type: "object", properties: Object.fromEntries(names.map((name) => [name, WORD])) };
/** All that is beside the document is asked for in one way. */
const BESIDE = {
  servers: [{ url: "/" }],
  get: { parameters: names.map((name) => ({ name, in: "query", schema: WORD })) },
  post: { requestBody: { content: { [TYPE]: { schema } } } },
};
const STRANGERS = ["oauth/token", "oauth/introspect", "oauth/authorize", "dashboard/sign-in", "sites/{deployment_id}/"];

/** `keys`: the first one opens everything. `own`: what is there; `foreign`: what belongs to somebody else. */
export function requests(draw: Draw, document: ApiDocument, keys: (string | null)[], own: Ids, foreign: Ids) {
  const { document: whole } = document;
  const paths = { ...members(whole.paths), ...Object.fromEntries(STRANGERS.map((path) => [`/${path}`, BESIDE])) };
  const { operations } = new ApiDocument({ ...whole, paths });
  const hostile = (): string => encodeURIComponent(String(draw.one(HOSTILE))).slice(0, 7_000);
  const others: readonly Ids[] = [foreign, NOWHERE, {}];
  const id = ([name, id]: [string, string]): [string, string] => [
    name,
    draw.once(12) ? (draw.one(others)[name] ?? hostile()) : id,
  ];

  const query = ({ value: { parameters } }: Operation): string => {
    const given = (Array.isArray(parameters) ? parameters : []).filter((each) => each.in === "query" && draw.once(3));
    const pairs = given.map(({ name, schema }): [string, string] => [name, String(draw.value(schema))]);
    if (draw.once(30)) pairs.push(["unknown", "x"], ...pairs);
    return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs)}`;
  };

  const bodyOf = (operation: Operation): Pick<Asked, "body" | "against"> => {
    const { requestBody } = operation.value;
    if (!isMembers(requestBody)) return {};
    const schema = members(members(members(requestBody.content)[TYPE]).schema);
    const value = (draw.once(4) && exampleBody(document, operation)) || draw.value(schema);
    const body = JSON.stringify(value);
    if (draw.once(8)) return { body: draw.once(2) ? draw.one(RAW) : draw.spoiled(Buffer.from(body)) };
    // The names of hosts are judged by more than a pattern.
    return { body, against: breaches(value, schema, whole).filter((each) => !each.includes("against format")) };
  };

  return (): Asked => {
    const operation = draw.one(operations);
    const other = draw.once(25) && { method: draw.one(METHODS), against: [] };
    const key = draw.once(4) ? draw.one(keys) : (keys[0] ?? null);
    const headers = Object.fromEntries([["content-type", TYPE], ...(draw.once(4) ? [draw.one(HEADERS)] : [])]);
    const path = fill(operation.fullPath, Object.fromEntries(Object.entries(own).map(id))) + query(operation);
    return { method: operation.method, path, key, headers, ...bodyOf(operation), ...other };
  };
}
