// Draws requests to every operation of the OpenAPI document, and to what a stranger can reach beside it, sends them to a
// service in this process and judges: each answer is a declared one that fits its schema and no 5xx, no body that breaks its
// schema is taken, and what is refused leaves the state as it was. Each batch begins from the same state.
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
const REFUSAL_MAX = 16_384;
/** More than the webhooks of a batch are sent. */
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
/** All that is beside the document is asked for in one way. */
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

/** `keys`: the first one opens everything. `own`: what is there; `foreign`: what belongs to somebody else. */
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

  /** With what the schema has against it. */
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
    // The names of hosts are judged by more than a pattern.
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

/** An expired one, one of little scope, and that one spoiled. */
async function tokens(service: Service): Promise<string[]> {
  const { access_token: expired } = await service.signIn({ scopes: ["admin"] });
  await service.clock.advance("2h");
  const { access_token: narrow } = await service.signIn({ scopes: ["read:apps"] });
  return [expired, narrow, narrow.slice(0, -9), `e30${narrow.slice(narrow.indexOf("."))}`];
}

/** Once what goes on behind the answers is done. */
async function stateOf(service: Service) {
  await service.settled();
  return service.snapshot();
}

function judge({ against = [] }: Asked, answer: Answer): void {
  const { status, text } = answer;
  assert.ok(status < 500, `${status} ${text}`);
  assert.ok(
    status < 400 || answer.bytes.length <= REFUSAL_MAX,
    `a refusal of ${answer.bytes.length} bytes`,
  );
  assert.ok(
    status >= 400 || against.length === 0,
    `${status}, against the document: ${against.join(", ")}`,
  );
}

const shown = ({ method, path, key, headers, body = "" }: Asked): string =>
  `${method} ${path.slice(0, 300)} ${JSON.stringify({ ...headers, key })} ${body.toString("latin1").slice(0, 500)}`;
