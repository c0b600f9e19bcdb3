// Fuzzer: sends random requests to every operation of the OpenAPI document and to the public routes beside it. Each
// response must be declared, match its schema and not be a 5xx. A body that violates its schema must be rejected, and a
// rejected request must not change the state. Each batch starts from the same state.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import fc, { type Arbitrary } from "fast-check";
import type { Service } from "../../src/index.ts";
import { type Answer, type Members, members } from "../../test/support/client.ts";
import { described } from "../../test/support/embedded.ts";
import { HEADERS, HOSTILE, RAW, VALUES } from "../../test/support/hostile.ts";
import { breaches } from "../../test/support/json-schema.ts";
import type { ApiDocument } from "../../test/support/openapi.ts";
import { exampleBody, fill, type Ids, makeWorld, NOWHERE } from "../../test/support/world.ts";
import type { Finding } from "../findings.ts";
import { pool } from "../pool.ts";
import { spoiledBytes, spoiledValue } from "./arbitrary.ts";

const BATCH = 100;
const PROBLEM_BYTES_MAX = 16_384;
/** More deliveries than the webhooks of one batch can produce. */
const DROP_ALL = { effect: "drop", times: 1_000_000 } as const;
const KEYS = ["own", "foreign"].map((name) => `${name}-${"0".repeat(20)}`);
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];

/** What a request is drawn from. */
interface Template {
  readonly method: string;
  readonly path: string;
  /** Names of query parameters. */
  readonly query: readonly string[];
  /** A valid body; undefined for none. */
  readonly body?: unknown;
  readonly schema?: Members;
}

const OAUTH = "client_id redirect_uri response_type scope state".split(" ");
const GRANT = { grant_type: "refresh_token", refresh_token: "x", client_id: "x", code: "x" };
const PUBLIC: readonly Template[] = [
  { method: "POST", path: "/oauth/token", query: [], body: GRANT },
  { method: "GET", path: "/oauth/authorize", query: OAUTH },
  { method: "POST", path: "/dashboard/sign-in", query: [], body: { api_key: "x" } },
  { method: "GET", path: "/sites/{deployment_id}/", query: ["sort"] },
];

const templatesOf = (document: ApiDocument): Template[] =>
  document.operations.map((operation) => {
    const { parameters = [], requestBody } = operation.value;
    const query = [parameters]
      .flat()
      .map(members)
      .filter((each) => each.in === "query");
    const content = requestBody && members(members(requestBody).content)["application/json"];
    return {
      method: operation.method,
      path: operation.fullPath,
      query: query.map(({ name }) => String(name)),
      body: exampleBody(document, operation),
      ...(content !== undefined && { schema: members(members(content).schema) }),
    };
  });

interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Violations of the body's schema, so that the request must be rejected. */
  readonly violations: readonly string[];
}

const often = <T>(value: T, ...others: readonly Arbitrary<T>[]): Arbitrary<T> =>
  fc.oneof({ weight: 8, arbitrary: fc.constant(value) }, ...others);

/** `own` are existing ids, `foreign` those of another account; the first of `keys` has every permission. */
function requestFor(
  { method, path, query, body: example, schema }: Template,
  { document }: ApiDocument,
  keys: readonly (string | null)[],
  [own = {}, foreign = {}]: readonly Ids[],
): Arbitrary<FuzzRequest> {
  const hostile = HOSTILE.map((value) => encodeURIComponent(String(value)).slice(0, 7_000));
  const ids = Object.entries(own).map(([name, id]) => {
    const others = [foreign, NOWHERE].map((ids) => ids[name] ?? "");
    return [name, often(id, fc.constantFrom(...others, ...hostile))] as const;
  });
  const parameter = fc.oneof(fc.nat(101).map(String), fc.constantFrom(...VALUES, "true", "code"));
  const search = fc.record(Object.fromEntries(query.map((name) => [name, parameter])), {
    requiredKeys: [],
  });
  const value = often(example, spoiledValue(example), spoiledValue(example));
  const json = value.map((body) => ({
    body: JSON.stringify(body) ?? "",
    // Host names are validated by more than a pattern.
    violations: schema
      ? breaches(JSON.parse(JSON.stringify(body) ?? "null"), schema, document).filter(
          (each) => !each.includes("against format"),
        )
      : [],
  }));
  const bytes = fc
    .oneof(fc.constantFrom(...RAW), spoiledBytes(Buffer.from(JSON.stringify(example) ?? "{}")))
    .map((body) => ({ body, violations: [] }));
  const header = fc
    .tuple(fc.constantFrom(...HEADERS, "host", "authorization"), fc.constantFrom(...VALUES))
    .map(([name, value]) => ({ [name]: value }));
  return fc
    .record({
      method: often(method, fc.constantFrom(...METHODS)),
      ids: fc.record(Object.fromEntries(ids)),
      search,
      key: often(keys[0] ?? null, fc.constantFrom(...keys)),
      headers: often({}, header),
      content:
        example === undefined ? fc.constant({ violations: [] }) : fc.oneof(json, json, bytes),
    })
    .map(({ ids, search, headers, content, ...request }) => ({
      ...request,
      ...content,
      ...(request.method !== method && { violations: [] }),
      path: `${fill(path, ids)}?${new URLSearchParams(search as Record<string, string>)}`,
      headers: { "content-type": "application/json", ...headers },
    }));
}

export async function fuzz(count: number, seed: number): Promise<Finding> {
  const accounts = KEYS.map((key) => ({ name: "A", api_keys: [{ name: "K", key }] }));
  await using server = await described({
    randomSeed: String(seed),
    rateLimit: "off",
    seed: { accounts },
  });
  const { service, api, document } = server;
  const keys = [...KEYS, ...(await createTokens(service)), null, "", "x", "a b"];
  const worlds = await pool(1, KEYS, (key) => makeWorld(api.as(key)));
  const templates = [...templatesOf(document), ...PUBLIC];
  const request = fc.oneof(...templates.map((each) => requestFor(each, document, keys, worlds)));
  const snapshot = await service.snapshot();
  const wrong: string[] = [];
  let rejected = 0;
  for (const [n, sent] of fc.sample(request, { numRuns: count, seed }).entries()) {
    if (n % BATCH === 0) {
      await service.restore(snapshot);
      service.chaos.add(DROP_ALL);
    }
    const before = await stateOf(service);
    try {
      const response = await api.root.as(sent.key).send(sent.method, sent.path, sent);
      check(sent, response);
      if (response.status < 400) continue;
      rejected += 1;
      const isSame = isDeepStrictEqual(before, await stateOf(service));
      assert.ok(isSame, `${response.status}, and the state has changed`);
    } catch (error) {
      const { method, path, key, headers, body = "" } = sent;
      const head = `${method} ${path.slice(0, 300)} ${JSON.stringify({ ...headers, key })}`;
      wrong.push(`${head} ${body.toString("latin1").slice(0, 500)}\n    ${error}`);
    }
  }
  const tried = `${count}; ${rejected} were rejected and changed nothing`;
  return { what: "Random requests to every operation", tried, wrong };
}

/** Returns an expired token, one with few scopes, and corrupted copies of that one. */
async function createTokens(service: Service) {
  const { access_token: expired } = await service.signIn({ scopes: ["admin"] });
  await service.clock.advance("2h");
  const { access_token: narrow } = await service.signIn({ scopes: ["read:apps"] });
  return [expired, narrow, narrow.slice(0, -9), `e30${narrow.slice(narrow.indexOf("."))}`];
}

/** Returns the state after all background work has finished. */
async function stateOf(service: Service) {
  await service.settled();
  return service.snapshot();
}

function check({ violations }: FuzzRequest, { status, text, bytes }: Answer) {
  assert.ok(status < 500, `${status} ${text}`);
  if (status < 400) assert.deepEqual(violations, [], `${status} despite violations`);
  else assert.ok(bytes.length <= PROBLEM_BYTES_MAX, `a problem of ${bytes.length} bytes`);
}
