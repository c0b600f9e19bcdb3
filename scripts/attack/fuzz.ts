// Fuzzer: sends random requests to every operation of the OpenAPI document and to the public routes beside it. Each
// response must be declared, match its schema and not be a 5xx. A body that violates its schema must be rejected, and a
// rejected request must not change the state. Each batch starts from the same state.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import fc, { type Arbitrary } from "fast-check";
import type { Service } from "../../src/index.ts";
import { type Answer, isMembers, members } from "../../test/support/client.ts";
import { described } from "../../test/support/embedded.ts";
import { HEADERS, HOSTILE, RAW, VALUES } from "../../test/support/hostile.ts";
import { breaches } from "../../test/support/json-schema.ts";
import { ApiDocument, type Operation } from "../../test/support/openapi.ts";
import { exampleBody, fill, type Ids, makeWorld, NOWHERE } from "../../test/support/world.ts";
import type { Finding } from "../findings.ts";
import { pool } from "../pool.ts";
import { corrupted, valueFor } from "./arbitrary.ts";

const BATCH = 100;
const PROBLEM_BYTES_MAX = 16_384;
/** More deliveries than the webhooks of one batch can produce. */
const DROP_ALL = { effect: "drop", times: 1_000_000 } as const;
const KEYS = ["own", "foreign"].map((name) => `${name}-${"0".repeat(20)}`);
const JSON_TYPE = "application/json";
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];

/** Parameters of the routes outside the document, and values for them. */
const PARAMETERS = "grant_type code refresh_token client_id redirect_uri response_type scope token";
const PARAMETER_SCHEMA = {
  enum: ["authorization_code", "refresh_token", "code", "read:apps", "https://c.example.com/cb"],
};
const PUBLIC_PATHS = [
  "oauth/token",
  "oauth/authorize",
  "dashboard/sign-in",
  "sites/{deployment_id}/",
];

/** Describes the public routes like the operations of the document. */
function publicPaths() {
  const names = PARAMETERS.split(" ");
  const servers = [{ url: "/" }];
  const schema = {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, PARAMETER_SCHEMA])),
  };
  const operations = {
    get: {
      servers,
      parameters: names.map((name) => ({ name, in: "query", schema: PARAMETER_SCHEMA })),
    },
    post: { servers, requestBody: { content: { [JSON_TYPE]: { schema } } } },
  };
  return Object.fromEntries(PUBLIC_PATHS.map((path) => [`/${path}`, operations]));
}

interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Violations of the body's schema, so that the request must be rejected. */
  readonly violations: readonly string[];
}

/** `own` are existing ids, `foreign` those of another account; the first of `keys` has every permission. */
function requestArbitrary(
  document: ApiDocument,
  keys: readonly (string | null)[],
  own: Ids,
  foreign: Ids,
): Arbitrary<FuzzRequest> {
  const { document: root } = document;
  const paths = { ...members(root.paths), ...publicPaths() };
  const { operations } = new ApiDocument({ ...root, paths });

  const idOf = (name: string) => {
    const hostile = fc
      .constantFrom(...HOSTILE)
      .map((value) => encodeURIComponent(String(value)).slice(0, 7_000));
    const others = [foreign, NOWHERE].flatMap((ids) => ids[name] ?? []);
    return fc.oneof(
      { weight: 11, arbitrary: fc.constant(own[name] ?? "") },
      { weight: 1, arbitrary: fc.oneof(fc.constantFrom(...others, "x"), hostile) },
    );
  };

  const pathOf = ({ fullPath, value: { parameters } }: Operation) => {
    const query = [parameters ?? []]
      .flat()
      .map(members)
      .filter((each) => each.in === "query");
    const pairs = query.map(({ name, schema }) =>
      fc.option(
        valueFor(members(schema)).map((value): [string, string] => [String(name), String(value)]),
      ),
    );
    const ids = fc.record(Object.fromEntries(Object.keys(own).map((name) => [name, idOf(name)])));
    return fc.tuple(ids, fc.tuple(...pairs)).map(([values, list]) => {
      const search = new URLSearchParams(list.filter((pair) => pair !== null));
      return `${fill(fullPath, values)}?${search}`.replace(/\?$/, "");
    });
  };

  const bodyOf = (operation: Operation): Arbitrary<Pick<FuzzRequest, "body" | "violations">> => {
    const { requestBody } = operation.value;
    if (!isMembers(requestBody)) return fc.constant({ violations: [] });
    const schema = members(members(members(requestBody.content)[JSON_TYPE]).schema);
    const example = fc.constant(exampleBody(document, operation) ?? {});
    const value = fc.oneof({ weight: 3, arbitrary: valueFor(schema) }, example);
    const valid = value.map((body) => ({
      body: JSON.stringify(body),
      // Host names are validated by more than a pattern.
      violations: breaches(body, schema, root).filter((each) => !each.includes("against format")),
    }));
    const spoiled = value.chain((body) =>
      fc.oneof(fc.constantFrom(...RAW), corrupted(Buffer.from(JSON.stringify(body)))),
    );
    return fc.oneof(
      { weight: 7, arbitrary: valid },
      { weight: 1, arbitrary: spoiled.map((body) => ({ body, violations: [] })) },
    );
  };

  const headers = fc.oneof(
    { weight: 3, arbitrary: fc.constant({}) },
    fc
      .tuple(fc.constantFrom(...HEADERS, "host", "authorization"), fc.constantFrom(...VALUES))
      .map(([name, value]) => ({ [name]: value })),
  );
  const key = fc.oneof(
    { weight: 3, arbitrary: fc.constant(keys[0] ?? null) },
    fc.constantFrom(...keys),
  );
  return fc.constantFrom(...operations).chain((operation) =>
    fc
      .record({
        path: pathOf(operation),
        key,
        headers,
        body: bodyOf(operation),
        otherMethod: fc.oneof(
          { weight: 24, arbitrary: fc.constant(null) },
          fc.constantFrom(...METHODS),
        ),
      })
      .map(({ path, key, headers, body, otherMethod }) => ({
        method: otherMethod ?? operation.method,
        path,
        key,
        headers: { "content-type": JSON_TYPE, ...headers },
        ...body,
        ...(otherMethod && { violations: [] }),
      })),
  );
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
  const [own = {}, foreign = {}] = await pool(1, KEYS, (key) => makeWorld(api.as(key)));
  const requests = fc.sample(requestArbitrary(document, keys, own, foreign), {
    numRuns: count,
    seed,
  });
  const world = await service.snapshot();
  const wrong: string[] = [];
  let rejected = 0;
  for (const [n, request] of requests.entries()) {
    if (n % BATCH === 0) {
      await service.restore(world);
      service.chaos.add(DROP_ALL);
    }
    const before = await stateOf(service);
    try {
      const response = await api.root.as(request.key).send(request.method, request.path, request);
      check(request, response);
      if (response.status < 400) continue;
      rejected += 1;
      const isSame = isDeepStrictEqual(before, await stateOf(service));
      assert.ok(isSame, `${response.status}, and the state has changed`);
    } catch (error) {
      wrong.push(`${describe(request)}\n    ${error}`);
    }
  }
  const tried = `${count}; ${rejected} were rejected and changed nothing`;
  return { what: "Random requests to every operation", tried, wrong };
}

/** Returns an expired token, one with few scopes, and corrupted copies of that one. */
async function createTokens(service: Service): Promise<string[]> {
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

function check({ violations }: FuzzRequest, { status, text, bytes }: Answer): void {
  assert.ok(status < 500, `${status} ${text}`);
  assert.ok(
    status < 400 || bytes.length <= PROBLEM_BYTES_MAX,
    `a problem of ${bytes.length} bytes`,
  );
  assert.ok(status >= 400 || violations.length === 0, `${status} despite ${violations.join(", ")}`);
}

const describe = ({ method, path, key, headers, body = "" }: FuzzRequest): string =>
  `${method} ${path.slice(0, 300)} ${JSON.stringify({ ...headers, key })} ${body.toString("latin1").slice(0, 500)}`;
