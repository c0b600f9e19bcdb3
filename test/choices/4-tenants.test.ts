// Accounts do not see each other: what another account owns does not exist (contract, part 4). Walks over every route of
// the OpenAPI document, so that a new one is covered the day it stands in the table.
import assert from "node:assert/strict";
import { choice, type OwnContext } from "../support/clauses.ts";
import type { Answer, Client } from "../support/client.ts";
import { invalid, problem } from "../support/problem.ts";
import { B_KEY, exampleBody, fill, makeWorld, NOWHERE, TWO } from "../support/world.ts";

/** All that an answer says, but for what is different in every answer. */
function said({ status, headers, json }: Answer): unknown {
  const { "x-request-id": _, date: __, ratelimit: ___, ...rest } = headers;
  return { status, rest, json: { ...json, instance: "" } };
}

/** Everything that the account's lists show. */
async function listsOf({ document }: OwnContext, client: Client): Promise<string> {
  const lists = document.api.filter(({ method, path }) => method === "GET" && !path.includes("{"));
  return (await Promise.all(lists.map(async ({ path }) => (await client.get(path)).text))).join("\n");
}

choice("7.validation-status.tenants", "B gets 404 for every id of A on every route, A keeps all", TWO, async (own) => {
  const { api, document } = own;
  const [b, ids] = [api.as(B_KEY), await makeWorld(api)];
  const routes = document.api.filter(({ path }) => path.includes("{"));
  const reads = routes.filter(({ method }) => method === "GET");
  const readAll = async () =>
    Promise.all(reads.map(async ({ path }) => [path, (await api.get(fill(path, ids))).text] as const));
  const before = await readAll();
  for (const operation of routes) {
    const { method, path } = operation;
    const body = exampleBody(document, operation);
    const foreign = await b.call(method, fill(path, ids), body);
    problem(foreign, "not_found");
    assert.deepEqual(said(foreign), said(await b.call(method, fill(path, NOWHERE), body)), `${method} ${path}`);
  }
  assert.ok(routes.length >= 20, `${routes.length} routes have a parameter`);
  assert.deepEqual(await readAll(), before);
  for (const [path] of before) assert.equal((await api.get(fill(path, ids))).status, 200, path);
  const theirs = await makeWorld(b);
  for (const [method, path] of [
    ["GET", `/apps/${theirs.app_id}/deployments/${ids.deployment_id}`],
    ["GET", `/webhooks/${theirs.webhook_id}/deliveries/${ids.delivery_id}`],
    ["POST", `/webhooks/${theirs.webhook_id}/deliveries/${ids.delivery_id}/redeliver`],
  ] as const)
    problem(await b.send(method, path), "not_found");
});

choice("7.validation-status.tenants", "lists show nothing of another account", TWO, async (context) => {
  const { api } = context;
  const b = api.as(B_KEY);
  const ids = await makeWorld(api);
  const [ofA, ofB] = [await listsOf(context, api), await listsOf(context, b)];
  for (const [name, id] of Object.entries(ids)) {
    assert.equal(ofB.includes(id), false, `${name} of A is in a list of B`);
    assert.ok(["deployment_id", "delivery_id"].includes(name) || ofA.includes(id), `${name} is in a list of A`);
  }
  for (const path of ["/apps", "/users"]) assert.equal((await b.get(path)).json.total, 1);
});

choice("7.validation-status.foreign-app", "in a body it is 422, as an id that never was", TWO, async ({ api }) => {
  const app = await api.create("/apps", { title: "Of A" });
  const send = (app_id: string) => api.as(B_KEY).post("/data-sources", { name: "N", type: "json", data: [], app_id });
  const foreign = await send(app.id);
  invalid(foreign, "#/app_id");
  assert.deepEqual(said(foreign), said(await send("app_00000000000000000000000")));
});

choice("7.validation-status.tenants", "an address is taken in its account, a domain in all", TWO, async ({ api }) => {
  const b = api.as(B_KEY);
  for (const client of [api, b]) await client.create("/users", { email: "ada@example.com" });
  const [mine, theirs] = [await api.create("/apps", { title: "A" }), await b.create("/apps", { title: "B" })];
  const body = { name: "R", custom_domain: "shared.example.com" };
  await api.create(`/apps/${mine.id}/deploy`, body);
  const refused = problem(await b.post(`/apps/${theirs.id}/deploy`, body), "domain_taken");
  assert.equal(JSON.stringify(refused).includes(mine.id), false, "the holder is not named");
});
