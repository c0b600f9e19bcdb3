// Hostile input on every operation of the OpenAPI document: whatever stands in a body, a query, a path or a header, the
// answer is a declared one (the client holds each against the document), never a 500 and never silence.
import assert from "node:assert/strict";
import { choice, type OwnContext } from "../support/clauses.ts";
import { type Answer, isMembers, members } from "../support/client.ts";
import { HEADERS, HOSTILE, RAW, VALUES } from "../support/hostile.ts";
import type { Operation } from "../support/openapi.ts";
import { problem } from "../support/problem.ts";
import { exampleBody, fill, type Ids, makeWorld } from "../support/world.ts";

/** Nothing is sent anywhere: no webhook here is active, and the limit of requests is off. */
const OFF = { rateLimit: "off" } as const;

function sound(answer: Answer, what: string): void {
  assert.ok(answer.status >= 200 && answer.status < 500, `${what}: ${answer.status} ${answer.text.slice(0, 300)}`);
  if (answer.status >= 400) problem(answer, String(answer.json.code));
}

const send = ({ api }: OwnContext, { method, path }: Operation, ids: Ids, body: string): Promise<Answer> =>
  api.send(method, fill(path, ids), { headers: { "content-type": "application/json" }, body });

const withBodies = ({ document }: OwnContext): readonly Operation[] =>
  document.api.filter(({ value }) => value.requestBody !== undefined);

choice("7.error-codes.hostile", "every member of every body, in turn, and bodies as a whole", OFF, async (context) => {
  const ids = await makeWorld(context.api);
  const texts = [...RAW, ...HOSTILE.map((value) => JSON.stringify(value))];
  for (const operation of withBodies(context)) {
    const body = members(exampleBody(context.document, operation));
    const { method, path } = operation;
    const changed = Object.keys(body).flatMap((name) => HOSTILE.map((value) => ({ ...body, [name]: value })));
    await Promise.all(
      changed.map(async (each) => {
        const text = JSON.stringify(each);
        sound(await send(context, operation, ids, text), `${method} ${path} ${text.slice(0, 200)}`);
      }),
    );
    for (const text of texts) {
      const answer = await send(context, operation, ids, text);
      const what = `${method} ${path} ${text.slice(0, 60)}`;
      sound(answer, what);
      const nothing = method === "PATCH" && text === "{}";
      assert.ok(nothing || [400, 422].includes(answer.status), `${what}: ${answer.status}`);
    }
  }
  assert.equal(Object.hasOwn(Object.prototype, "admin"), false);
});

choice("7.error-codes.hostile", "every parameter of every path and query", OFF, async ({ api, document }) => {
  const ids = await makeWorld(api);
  const strings = HOSTILE.filter((value) => typeof value === "string" && value.length < 2_000);
  const texts = strings.map((value) => encodeURIComponent(String(value)));
  for (const { path, value } of document.api.filter(({ method }) => method === "GET")) {
    const parameters = Array.isArray(value.parameters) ? value.parameters.filter(isMembers) : [];
    const queries = parameters.map((each) => document.deref(each)).filter((each) => each.in === "query");
    for (const text of texts) {
      for (const { name } of queries)
        assert.equal((await api.get(`${fill(path, ids)}?${name}=${text}`)).status, 400, `${path}?${name}=${text}`);
      const spoiled = Object.fromEntries(Object.keys(ids).map((name) => [name, text]));
      if (path.includes("{")) sound(await api.get(fill(path, spoiled)), `${path} with ${text}`);
    }
  }
});

choice("7.error-codes.hostile", "headers", OFF, async ({ api }) => {
  for (const name of HEADERS)
    for (const value of VALUES) {
      const headers = { "content-type": "application/json", [name]: value };
      const answer = await api.send("POST", "/apps", { headers, body: '{"title":"T"}' });
      sound(answer, `${name}: ${value.slice(0, 20)}`);
      sound(await api.get("/apps", { [name]: value }), `GET ${name}: ${value.slice(0, 20)}`);
    }
});
