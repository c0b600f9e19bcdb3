// The machine-readable description (the specification has none): what it says is held against the answers by every other
// test, here it is held against itself. And other versions, and the end of something (contract, part 9).
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { DECISIONS } from "../../src/decisions.ts";
import { route } from "../../src/http/route.ts";
import { CLAUSES } from "../../src/web/docs/specification.ts";
import { choice } from "../support/clauses.ts";
import { isMembers, type Members, members, str } from "../support/client.ts";
import { breaches, resolve } from "../support/json-schema.ts";
import { problem } from "../support/problem.ts";

/** Every object in the document, with its place. */
function* objectsIn(value: unknown, at = "#"): Generator<readonly [at: string, value: Members]> {
  if (isMembers(value)) yield [at, value];
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) yield* objectsIn(member, `${at}/${name}`);
}

choice("9.deprecation.openapi", "is OpenAPI 3.1 of this version, references and examples fit", async (own) => {
  const { document } = own.document;
  const answer = await own.api.root.as(null).get("/openapi.json");
  assert.deepEqual([answer.status, answer.headers["content-type"]], [200, "application/json"]);
  assert.match(String(document.openapi), /^3\.1\./);
  const { version } = members(JSON.parse(readFileSync("package.json", "utf8")));
  assert.equal(members(document.info).version, version);
  const references = [...objectsIn(document)].filter(([, { $ref }]) => typeof $ref === "string");
  for (const [at, { $ref }] of references) assert.ok(isMembers(resolve(document, String($ref))), at);
  assert.ok(references.length > 50);
  let examples = 0;
  for (const [at, media] of objectsIn(document)) {
    if (!isMembers(media.schema) || !("example" in media)) continue;
    examples += 1;
    assert.deepEqual(breaches(media.example, media.schema, document), [], at);
  }
  assert.ok(examples >= 10, `${examples} examples`);
});

choice("9.deprecation.linters", "each operation says what it does, for whom, its origin", async ({ document }) => {
  const { info, tags } = document.document;
  assert.match(str(members(members(info).contact).url), /\/docs$/);
  const told = new Map([tags].flat().map((tag) => [members(tag).name, members(tag).description]));
  const names = document.operations.map(({ value }) => value.operationId);
  assert.equal(new Set(names).size, names.length);
  assert.ok(names.length > 30);
  for (const { method, path, value } of document.api) {
    const where = `${method} ${path}`;
    assert.ok(typeof value.summary === "string" && value.summary !== "", where);
    assert.match(str(value.description), /^(Takes the scope [a-z]+(:[a-z]+)?|Any credential will do)\.$/);
    for (const name of [value.tags].flat()) str(told.get(name));
    const [clause, decision] = [value["x-spec"], value["x-decision"]];
    assert.ok((clause === undefined) !== (decision === undefined), where);
    assert.ok(clause === undefined ? String(decision) in DECISIONS : CLAUSES.has(String(clause)), where);
    const security = value.security ?? document.document.security;
    assert.ok(Array.isArray(security) && security.length > 0, where);
    const { parameters = [] } = value;
    const declared = (Array.isArray(parameters) ? parameters : []).map((each) => document.deref(members(each)));
    const inPath = declared.filter((each) => each.in === "path");
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    assert.deepEqual(inPath.map(({ name }) => name).sort(), named.sort(), where);
    for (const { required } of inPath) assert.equal(required, true, where);
    const responses = members(value.responses);
    for (const status of ["401", "403", "500"]) assert.ok(status in responses, `${where} ${status}`);
    for (const [status, response] of Object.entries(responses).filter(([each]) => Number(each) >= 400)) {
      const { content } = document.deref(members(response));
      assert.deepEqual(Object.keys(members(content)), ["application/problem+json"], `${where} ${status}`);
    }
  }
});

choice("6.event-objects", "all six events are webhooks, and the document says what each holds", async (own) => {
  const holds = Object.entries(members(own.document.document.webhooks)).map(([type, item]) => {
    const text = JSON.stringify(members(members(item).post).requestBody);
    const isChosen = text.includes('"x-decision":"6.event-objects"');
    return `${type} ${/"object":\{"\$ref":"#\/components\/schemas\/(\w+)"/.exec(text)?.[1]} ${isChosen}`;
  });
  assert.deepEqual(holds.sort(), [
    ...["app.created App true", "app.deleted App true", "app.deployed undefined false", "app.updated App true"],
    ...["data.processed DataSource true", "user.interaction undefined false"],
  ]);
});

choice("9.other-versions", "another version is 404 and names the one there is", async ({ api }) => {
  for (const path of ["/v2/apps", "/v2", "/v0/apps", "/v10/", "/v2/v1/apps"])
    assert.match(String(problem(await api.root.get(path), "not_found").detail), /\/v1/, path);
  for (const path of ["/v1x", "/V1/apps", "/apps", "/v1.0/apps", "/v", "/api/v1/apps"])
    problem(await api.root.get(path), "not_found");
  assert.equal((await api.root.send("PUT", "/v2/apps")).status, 404);
});

choice("9.deprecation", "nothing is deprecated yet, and nothing says so", async ({ api }) => {
  const { headers } = await api.get("/apps");
  assert.deepEqual([headers.deprecation, headers.sunset], [undefined, undefined]);
});

choice("9.deprecation", "what is says so, and until when, in two headers", async () => {
  const end = { deprecated_at: "2026-03-01T00:00:00.000Z", gone_at: "2027-03-01T12:00:00.000Z" };
  const { headers } = route("GET /old", null, "readOld", "Read what ends", { ends: end, run: async () => null });
  assert.deepEqual(headers, { deprecation: "@1772323200", sunset: "Mon, 01 Mar 2027 12:00:00 GMT" });
});
