// Accounts do not see each other: what another account owns does not exist (contract, part 4). Walks over every route of
// the OpenAPI document, so that a new one is covered the day it stands in the table.
import assert from "node:assert/strict";
import { choice, type OwnContext } from "../support/clauses.ts";
import type { Answer, Client } from "../support/client.ts";
import { invalid, problem } from "../support/problem.ts";
import { exampleBody, fill, makeWorld, nowhere } from "../support/world.ts";

const B_KEY = "second-account-key";
const seed = {
  accounts: [
    { name: "A", api_keys: [{ name: "a", key: "first-account-key" }] },
    { name: "B", api_keys: [{ name: "b", key: B_KEY }], apps: [{ title: "Of B" }] },
  ],
};
const TWO = { needs: "embedded", options: { seed } } as const;

const ask = (client: Client, method: string, path: string, body: unknown): Promise<Answer> => {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  return client.send(method, path, body === undefined ? {} : { headers, body: JSON.stringify(body) });
};

/** All that an answer says, but for what is different in every answer. */
function said({ status, headers, json }: Answer): unknown {
  const { "x-request-id": _, date: __, ratelimit: ___, ...rest } = headers;
  return { status, rest, json: { ...json, instance: "" } };
}

/** Everything that the account's lists show. */
async function listsOf({ document }: OwnContext, client: Client): Promise<string> {
  const texts: string[] = [];
  for (const { method, path } of document.api)
    if (method === "GET" && !path.includes("{")) texts.push((await client.get(path)).text);
  return texts.join("\n");
}

choice(
  "7.validation-status.tenants",
  "B gets 404 for every id of A, on every route, as if it never was",
  TWO,
  async ({ api, document }) => {
    const b = api.as(B_KEY);
    const ids = await makeWorld(api);
    const never = nowhere(ids);
    let routes = 0;
    for (const operation of document.api.filter(({ path }) => path.includes("{"))) {
      const { method, path } = operation;
      const body = exampleBody(document, operation);
      const foreign = await ask(b, method, fill(path, ids), body);
      problem(foreign, 404, "not_found");
      assert.deepEqual(said(foreign), said(await ask(b, method, fill(path, never), body)), `${method} ${path}`);
      routes += 1;
    }
    assert.ok(routes >= 20, `${routes} routes have a parameter`);
  },
);

choice("7.validation-status.tenants", "a foreign id below an own resource is 404 too", TWO, async ({ api }) => {
  const b = api.as(B_KEY);
  const [mine, theirs] = [await makeWorld(b), await makeWorld(api)];
  problem(await b.get(`/apps/${mine.app_id}/deployments/${theirs.deployment_id}`), 404, "not_found");
  problem(await b.get(`/webhooks/${mine.webhook_id}/deliveries/${theirs.delivery_id}`), 404, "not_found");
  problem(await b.post(`/webhooks/${mine.webhook_id}/deliveries/${theirs.delivery_id}/redeliver`), 404, "not_found");
});

choice(
  "7.validation-status.tenants",
  "A is untouched by what B tried, and still finds everything",
  TWO,
  async ({ api, document }) => {
    const b = api.as(B_KEY);
    const ids = await makeWorld(api);
    const reads = document.api.filter(({ method, path }) => method === "GET" && path.includes("{"));
    const before = await Promise.all(reads.map(({ path }) => api.get(fill(path, ids))));
    for (const operation of document.api.filter(({ method, path }) => method !== "GET" && path.includes("{")))
      await ask(b, operation.method, fill(operation.path, ids), exampleBody(document, operation));
    const after = await Promise.all(reads.map(({ path }) => api.get(fill(path, ids))));
    for (const [at, answer] of after.entries())
      assert.deepEqual([answer.status, answer.text], [200, before[at]?.text], reads[at]?.path);
  },
);

choice("7.validation-status.tenants", "lists show nothing of another account", TWO, async (context) => {
  const { api } = context;
  const b = api.as(B_KEY);
  const ids = await makeWorld(api);
  const [ofA, ofB] = [await listsOf(context, api), await listsOf(context, b)];
  for (const [name, id] of Object.entries(ids)) {
    assert.equal(ofB.includes(id), false, `${name} of A is in a list of B`);
    const below = ["deployment_id", "delivery_id"].includes(name);
    assert.ok(below || ofA.includes(id), `${name} is in a list of A`);
  }
  assert.equal((await b.get("/apps")).json.total, 1);
  assert.equal((await b.get("/users")).json.total, 1);
});

choice("7.validation-status.foreign-app", "in a body it is 422, as an id that never was", TWO, async ({ api }) => {
  const b = api.as(B_KEY);
  const app = await api.create("/apps", { title: "Of A" });
  const body = (app_id: string) => ({ name: "N", type: "json", data: [], app_id });
  const foreign = await b.post("/data-sources", body(app.id));
  invalid(foreign, "#/app_id");
  assert.deepEqual(said(foreign), said(await b.post("/data-sources", body("app_00000000000000000000000"))));
});

choice(
  "7.validation-status.tenants",
  "an e-mail address is taken within its own account only",
  TWO,
  async ({ api }) => {
    const body = { email: "ada@example.com" };
    assert.equal((await api.post("/users", body)).status, 201);
    assert.equal((await api.as(B_KEY).post("/users", body)).status, 201);
  },
);

choice("7.validation-status.tenants", "a custom domain is taken across all accounts", TWO, async ({ api }) => {
  const b = api.as(B_KEY);
  const [mine, theirs] = [await api.create("/apps", { title: "A" }), await b.create("/apps", { title: "B" })];
  const body = { name: "R", custom_domain: "shared.example.com" };
  await api.create(`/apps/${mine.id}/deploy`, body);
  const refused = problem(await b.post(`/apps/${theirs.id}/deploy`, body), 409, "domain_taken");
  assert.equal(JSON.stringify(refused).includes(mine.id), false, "the holder is not named");
});
