// Fuzzer: sends random requests to every operation of the OpenAPI document and to the public routes beside it, in this
// process. Each response must be declared, match its schema and not be a 5xx. Bodies that violate their schema must be
// rejected, and a rejected request must not change the state. Each batch starts from the same state.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import type { Service } from "../../src/index.ts";
import { type Answer, isMembers, members } from "../../test/support/client.ts";
import { described } from "../../test/support/embedded.ts";
import { HEADERS, HOSTILE, RAW, VALUES } from "../../test/support/hostile.ts";
import { breaches } from "../../test/support/json-schema.ts";
import { ApiDocument, type Operation } from "../../test/support/openapi.ts";
import { exampleBody, fill, type Ids, makeWorld, NOWHERE } from "../../test/support/world.ts";
import type { Finding } from "../findings.ts";
import { pool } from "../pool.ts";
import { Draw } from "./draw.ts";

const BATCH = 100;
const ERROR_BYTES_MAX = 16_384;
/** More deliveries than the webhooks of one batch can produce. */
const NOTHING_LEAVES = { effect: "drop", times: 1_000_000 } as const;
const KEYS = ["own", "foreign"].map((name) => `${name}-${"0".repeat(20)}`);
const TYPE = "application/json";
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];
const ALL_HEADERS = [...HEADERS, "host", "expect", "authorization"];

const WORD = {
  enum: [
    "authorization_code",
    "refresh_token",
    "code",
    "read:apps",
    "https://c.example.com/cb",
    "x",
  ],
};
const names = [
  "grant_type",
  "code",
  "refresh_token",
  "client_id",
  "redirect_uri",
  "response_type",
  "scope",
  "token",
];
const schema = {
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, WORD])),
};
/** Routes outside the document use one base URL. */
const servers = [{ url: "/" }];
const BESIDE = {
  get: { servers, parameters: names.map((name) => ({ name, in: "query", schema: WORD })) },
  post: { servers, requestBody: { content: { [TYPE]: { schema } } } },
};
const STRANGERS = [
  "oauth/token",
  "oauth/introspect",
  "oauth/authorize",
  "dashboard/sign-in",
  "sites/{deployment_id}/",
];

type Asked = ReturnType<ReturnType<typeof drawing>>;

/** `own` holds existing ids, `foreign` the ids of another account; the first of `keys` has every permission. */
function drawing(
  draw: Draw,
  document: ApiDocument,
  keys: (string | null)[],
  own: Ids,
  foreign: Ids,
) {
  const { document: whole } = document;
  const paths = {
    ...members(whole.paths),
    ...Object.fromEntries(STRANGERS.map((path) => [`/${path}`, BESIDE])),
  };
  const { operations } = new ApiDocument({ ...whole, paths });
  const others: readonly Ids[] = [foreign, NOWHERE, {}];
  const other = (name: string): string =>
    draw.one(others)[name] ?? encodeURIComponent(String(draw.one(HOSTILE))).slice(0, 7_000);

  const pathOf = ({ fullPath, value: { parameters } }: Operation): string => {
    const ids = Object.entries(own).map(([name, id]) => [name, draw.once(12) ? other(name) : id]);
    const given = (Array.isArray(parameters) ? parameters : []).filter(
      (each) => each.in === "query" && draw.once(3),
    );
    const pairs = given.map(({ name, schema }): [string, string] => [
      name,
      String(draw.value(schema)),
    ]);
    if (draw.once(30)) pairs.push(["unknown", "x"], ...pairs);
    return `${fill(fullPath, Object.fromEntries(ids))}${pairs.length > 0 ? "?" : ""}${new URLSearchParams(pairs)}`;
  };

  /** A drawn body, with the validation issues it must cause. */
  const bodyOf = (
    operation: Operation,
  ): { body?: string | Buffer; against?: readonly string[] } => {
    const { requestBody } = operation.value;
    if (!isMembers(requestBody)) return {};
    const schema = members(members(members(requestBody.content)[TYPE]).schema);
    const value = (draw.once(4) && exampleBody(document, operation)) || draw.value(schema);
    const body = JSON.stringify(value);
    if (draw.once(8))
      return { body: draw.once(2) ? draw.one(RAW) : draw.spoiled(Buffer.from(body)) };
    // Host names are validated by more than a pattern.
    return {
      body,
      against: breaches(value, schema, whole).filter((each) => !each.includes("against format")),
    };
  };

  return () => {
    const operation = draw.one(operations);
    const key = draw.once(4) ? draw.one(keys) : (keys[0] ?? null);
    const headers = {
      "content-type": TYPE,
      ...(draw.once(4) && { [draw.one(ALL_HEADERS)]: draw.one(VALUES) }),
    };
    const asked = { method: operation.method, path: pathOf(operation), key, headers };
    return {
      ...asked,
      ...bodyOf(operation),
      ...(draw.once(25) && { method: draw.one(METHODS), against: [] }),
    };
  };
}

export async function fuzz(count: number, seed: string): Promise<Finding> {
  const accounts = KEYS.map((key) => ({ name: "A", api_keys: [{ name: "K", key }] }));
  await using it = await described({ randomSeed: seed, rateLimit: "off", seed: { accounts } });
  const { service, api, document } = it;
  const keys = [...KEYS, ...(await tokens(service)), null, "", "x", "a b"];
  const [own = {}, foreign = {}] = await pool(1, KEYS, (key) => makeWorld(api.as(key)));
  const next = drawing(new Draw(seed), document, keys, own, foreign);
  const world = await service.snapshot();
  const wrong: string[] = [];
  let refused = 0;
  for (let sent = 0; sent < count; sent += 1) {
    if (sent % BATCH === 0) await service.restore(world);
    if (sent % BATCH === 0) service.chaos.add(NOTHING_LEAVES);
    const before = await stateOf(service);
    const asked = next();
    try {
      const answer = await api.root.as(asked.key).send(asked.method, asked.path, asked);
      judge(asked, answer);
      if (answer.status < 400) continue;
      refused += 1;
      assert.ok(
        isDeepStrictEqual(before, await stateOf(service)),
        `${answer.status}, and the state has changed`,
      );
    } catch (error) {
      wrong.push(`${shown(asked)}\n    ${error}`);
    }
  }
  const tried = `${count}; ${refused} were refused, and changed nothing`;
  return { what: "Every operation, drawn from the document", tried, wrong };
}

/** Returns an expired token, one with few scopes, and a corrupted copy of that one. */
async function tokens(service: Service): Promise<string[]> {
  const { access_token: expired } = await service.signIn({ scopes: ["admin"] });
  await service.clock.advance("2h");
  const { access_token: narrow } = await service.signIn({ scopes: ["read:apps"] });
  return [expired, narrow, narrow.slice(0, -9), `e30${narrow.slice(narrow.indexOf("."))}`];
}

/** The state after all background work has finished. */
async function stateOf(service: Service) {
  await service.settled();
  return service.snapshot();
}

function judge({ against = [] }: Asked, answer: Answer): void {
  const { status, text } = answer;
  assert.ok(status < 500, `${status} ${text}`);
  assert.ok(
    status < 400 || answer.bytes.length <= ERROR_BYTES_MAX,
    `an error of ${answer.bytes.length} bytes`,
  );
  assert.ok(
    status >= 400 || against.length === 0,
    `${status}, against the document: ${against.join(", ")}`,
  );
}

const shown = ({ method, path, key, headers, body = "" }: Asked): string =>
  `${method} ${path.slice(0, 300)} ${JSON.stringify({ ...headers, key })} ${body.toString("latin1").slice(0, 500)}`;
