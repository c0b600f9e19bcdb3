// The machine-readable description (the specification has none): what it says is held against the answers by every other
// test, here it is held against itself.
import assert from "node:assert/strict";
import { DECISIONS } from "../../src/decisions.ts";
import { choice } from "../support/clauses.ts";
import { isMembers, type Members, members } from "../support/client.ts";
import { breaches, resolve } from "../support/json-schema.ts";
import type { ApiDocument } from "../support/openapi.ts";
import { SPEC_CLAUSES } from "../support/spec-clauses.ts";

/** Every object in the document, with its place. */
function* objectsIn(value: unknown, at = "#"): Generator<readonly [at: string, value: Members]> {
  if (isMembers(value)) yield [at, value];
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) yield* objectsIn(member, `${at}/${name}`);
}

choice("9.deprecation.openapi", "is OpenAPI 3.1 at /openapi.json, for anybody", "ours", async ({ api, document }) => {
  const answer = await api.root.as(null).get("/openapi.json");
  assert.deepEqual([answer.status, answer.headers["content-type"]], [200, "application/json"]);
  assert.match(String(document.document.openapi), /^3\.1\./);
});

choice("9.deprecation.openapi", "every reference leads somewhere", "ours", async ({ document }) => {
  let references = 0;
  for (const [at, { $ref }] of objectsIn(document.document)) {
    if (typeof $ref !== "string") continue;
    references += 1;
    assert.ok(isMembers(resolve(document.document, $ref)), at);
  }
  assert.ok(references > 50);
});

choice(
  "9.deprecation.openapi",
  "each operation says what it does, who may call it and where it comes from",
  "ours",
  async ({ document }) => {
    const names = document.operations.map(({ value }) => value.operationId);
    assert.equal(new Set(names).size, names.length);
    for (const { method, path, value } of document.api) {
      const where = `${method} ${path}`;
      assert.ok(typeof value.summary === "string" && value.summary !== "", where);
      assert.equal(["x-spec", "x-decision"].filter((mark) => typeof value[mark] === "string").length, 1, where);
      const security = value.security ?? document.document.security;
      assert.ok(Array.isArray(security) && security.length > 0, where);
      const declared = parametersOf(document, value).filter((each) => each.in === "path");
      assert.deepEqual(
        declared.map(({ name }) => name).sort(),
        [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort(),
        where,
      );
      assert.ok(
        declared.every(({ required }) => required === true),
        where,
      );
    }
  },
);

choice(
  "9.deprecation.openapi",
  "each origin is a clause of the specification or a decision of ours",
  "ours",
  async ({ document }) => {
    for (const { method, path, value } of document.api) {
      const [clause, decision] = [value["x-spec"], value["x-decision"]];
      const there = typeof clause === "string" ? clause in SPEC_CLAUSES : String(decision) in DECISIONS;
      assert.ok(there, `${method} ${path}: ${clause ?? decision}`);
    }
  },
);

choice(
  "9.deprecation.openapi",
  "each operation declares 401, 403 and 500, each error as a problem",
  "ours",
  async ({ document }) => {
    for (const { method, path, value } of document.api) {
      const responses = members(value.responses);
      for (const status of ["401", "403", "500"]) assert.ok(status in responses, `${method} ${path} ${status}`);
      for (const [status, response] of Object.entries(responses).filter(([each]) => Number(each) >= 400)) {
        const { content } = document.deref(members(response));
        assert.deepEqual(Object.keys(members(content)), ["application/problem+json"], `${method} ${path} ${status}`);
      }
    }
  },
);

choice("9.deprecation.openapi", "examples are what they are examples of", "ours", async ({ document }) => {
  let examples = 0;
  for (const [at, media] of objectsIn(document.document)) {
    if (!isMembers(media.schema) || !/content\/application\/[\w+]*json$/.test(at)) continue;
    const many = isMembers(media.examples) ? Object.values(media.examples).map((one) => members(one).value) : [];
    for (const example of [...("example" in media ? [media.example] : []), ...many]) {
      examples += 1;
      assert.deepEqual(breaches(example, media.schema, document.document), [], at);
    }
  }
  assert.ok(examples >= 10, `${examples} examples`);
});

choice("9.deprecation.openapi", "has all six events as webhooks", "ours", async ({ document }) => {
  const types = ["app.created", "app.deleted", "app.deployed", "app.updated", "data.processed", "user.interaction"];
  assert.deepEqual(Object.keys(members(document.document.webhooks)).sort(), types);
});

choice("6.event-objects", "the document says what each event holds", "ours", async ({ document }) => {
  const holds = Object.entries(members(document.document.webhooks)).map(([type, item]) => {
    const { schema } = jsonOf(members(members(members(item).post).requestBody));
    const text = JSON.stringify(schema);
    return `${type} ${/"object":\{"\$ref":"#\/components\/schemas\/(\w+)"/.exec(text)?.[1] ?? "its own"}`;
  });
  assert.deepEqual(holds.sort(), [
    "app.created App",
    "app.deleted App",
    "app.deployed its own",
    "app.updated App",
    "data.processed DataSource",
    "user.interaction its own",
  ]);
});

const jsonOf = ({ content }: Members): Members => members(members(content)["application/json"]);

const parametersOf = (document: ApiDocument, { parameters = [] }: Members): Members[] =>
  Array.isArray(parameters) ? parameters.map((each) => document.deref(members(each))) : [];
