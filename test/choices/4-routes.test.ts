// Walks over every route of the OpenAPI document, so that a new route is covered from its first day. Tests what paths
// have in common, that accounts cannot see each other, and hostile values in bodies.
// Such a request gets a declared response (the client checks each against the document), never a 500 and never silence.
import assert from "node:assert/strict";
import { type Context, choice } from "../support/clauses.ts";
import { type Answer, type Client, members } from "../support/client.ts";
import { HOSTILE, RAW } from "../support/hostile.ts";
import { invalid, problem } from "../support/problem.ts";
import { B_KEY, exampleBody, fill, makeWorld, NOWHERE, TWO } from "../support/world.ts";

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"];
const VOLATILE = ["x-request-id", "date", "ratelimit"];

/** The headers of a response, except those that differ in every response. */
const lasting = ({ headers }: Answer) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !VOLATILE.includes(name)));

choice(
  "1.rfcs.methods",
  "HEAD equals GET without a body, and every 405 sends Allow",
  {},
  async ({ api, document }) => {
    const ids = await makeWorld(api);
    for (const path of new Set(document.api.map((operation) => operation.path))) {
      const methods = document.api.filter((each) => each.path === path).map(({ method }) => method);
      const allow = [...methods, ...(methods.includes("GET") ? ["HEAD"] : [])].sort();
      const address = fill(path, ids);
      for (const method of METHODS.filter((each) => !allow.includes(each))) {
        const answer = await api.send(method, address);
        if (method !== "HEAD") problem(answer, "method_not_allowed");
        answer.is(405, `${method} ${path}`);
        assert.deepEqual(answer.header("allow").split(", ").sort(), allow, path);
      }
      if (!methods.includes("GET")) continue;
      const [get, head] = [await api.get(address), await api.head(address)];
      assert.deepEqual([get.status, head.status, head.bytes.length], [200, 200, 0], path);
      assert.deepEqual(lasting(head), lasting(get), path);
      assert.equal(get.header("content-length"), String(get.bytes.length));
    }
  },
);

const NO_PATHS = [
  ..." / //apps /apps/ /Apps /apps%2f /app /apps;v=1 /apps/%2e%2e/account /apps/a/b/c".split(" "),
  ..."/__proto__ /constructor /apps/x/constructor /%00".split(" "),
];

/** Strings that are no valid id, and strings with a special meaning elsewhere. */
const NO_IDS = [
  ..."x app_ %00 %2e%2e .. % %ff * __proto__ constructor toString null 0 %20 %f0%9f%98%80".split(
    " ",
  ),
  "a".repeat(2000),
];
/** The name of each resource in messages. */
const KINDS = Object.entries({
  apps: "app",
  users: "user",
  webhooks: "webhook",
  events: "event",
  "api-keys": "API key",
  "data-sources": "data source",
  "oauth-clients": "OAuth client",
});

choice(
  "7.error-codes.404",
  "an unknown path or id gets 404, however it is written",
  async ({ api }) => {
    for (const path of NO_PATHS)
      for (const method of ["GET", "POST", "DELETE"])
        problem(await api.send(method, path), "not_found");
    for (const id of NO_IDS) {
      for (const [kind, word] of KINDS)
        assert.equal(
          problem(await api.get(`/${kind}/${id}`), "not_found").detail,
          `There is no such ${word}.`,
        );
      problem(await api.post(`/apps/${id}/deploy`, { name: "R" }), "not_found");
    }
  },
);

/** All of an error that does not differ in every response. */
const said = (answer: Answer) => [answer.status, lasting(answer), { ...answer.json, instance: "" }];

/** Everything that the account's lists show. */
async function listsOf({ document }: Context, client: Client): Promise<string> {
  const lists = document.api.filter(({ method, path }) => method === "GET" && !path.includes("{"));
  return (await Promise.all(lists.map(async ({ path }) => (await client.get(path)).text))).join(
    "\n",
  );
}

choice(
  "7.validation-status.tenants",
  "an account gets 404 for every id of another account, and its lists show none of them",
  TWO,
  async (own) => {
    const { api, document } = own;
    const [b, ids] = [api.as(B_KEY), await makeWorld(api)];
    const routes = document.api.filter(({ path }) => path.includes("{"));
    const readAll = () =>
      Promise.all(
        routes.map(
          async ({ path, method }) => method === "GET" && (await api.get(fill(path, ids))).text,
        ),
      );
    const before = await readAll();
    for (const operation of routes) {
      const { method, path } = operation;
      const body = exampleBody(document, operation);
      const foreign = await b.call(method, fill(path, ids), body);
      problem(foreign, "not_found");
      assert.deepEqual(
        said(foreign),
        said(await b.call(method, fill(path, NOWHERE), body)),
        `${method} ${path}`,
      );
    }
    assert.deepEqual(await readAll(), before);
    const ofB = await listsOf(own, b);
    for (const [name, id] of Object.entries(ids))
      assert.equal(ofB.includes(id), false, `${name} of A is in a list of B`);
    const theirs = await makeWorld(b);
    for (const [method, path] of [
      ["GET", `/apps/${theirs.app_id}/deployments/${ids.deployment_id}`],
      ["GET", `/webhooks/${theirs.webhook_id}/deliveries/${ids.delivery_id}`],
      ["POST", `/webhooks/${theirs.webhook_id}/deliveries/${ids.delivery_id}/redeliver`],
    ] as const)
      problem(await b.send(method, path), "not_found");
  },
);

choice(
  "7.validation-status.foreign-app",
  "an id of another account's app in a body gets 422, and a custom domain is unique across accounts",
  TWO,
  async ({ api }) => {
    const b = api.as(B_KEY);
    for (const client of [api, b]) await client.create("/users", { email: "ada@example.com" });
    const [mine, theirs] = [
      await api.create("/apps", { title: "A" }),
      await b.create("/apps", { title: "B" }),
    ];
    const body = { name: "R", custom_domain: "shared.example.com" };
    await api.create(`/apps/${mine.id}/deploy`, body);
    const refused = problem(await b.post(`/apps/${theirs.id}/deploy`, body), "domain_taken");
    assert.equal(JSON.stringify(refused).includes(mine.id), false, "the holder is not named");
    const send = (app_id: string) =>
      b.post("/data-sources", { name: "N", type: "json", data: [], app_id });
    const foreign = await send(mine.id);
    invalid(foreign, "#/app_id");
    assert.deepEqual(said(foreign), said(await send("app_00000000000000000000000")));
  },
);

/** No requests leave the server: no webhook here is active, and the rate limit is off. */
const OFF = { rateLimit: "off" } as const;

/** Returns the status of a valid response. */
function sound(answer: Answer, what: string): number {
  assert.ok(
    answer.status >= 200 && answer.status < 500,
    `${what}: ${answer.status} ${answer.text.slice(0, 300)}`,
  );
  if (answer.status >= 400) problem(answer, String(answer.json.code));
  return answer.status;
}

choice(
  "7.error-codes.hostile",
  "every member of every body and every body survive hostile values",
  OFF,
  async ({ api, document }) => {
    const ids = await makeWorld(api);
    for (const operation of document.api.filter(({ value }) => value.requestBody !== undefined)) {
      const { method, path } = operation;
      const body = members(exampleBody(document, operation));
      const send = async (text: string) =>
        sound(
          await api.text(method, fill(path, ids), text),
          `${method} ${path} ${text.slice(0, 200)}`,
        );
      const changed = Object.keys(body).flatMap((name) =>
        HOSTILE.map((value) => ({ ...body, [name]: value })),
      );
      await Promise.all(changed.map((each) => send(JSON.stringify(each))));
      for (const text of [...RAW, ...HOSTILE.map((value) => JSON.stringify(value))]) {
        const nothing = method === "PATCH" && text === "{}";
        assert.ok(
          [400, 422].includes(await send(text)) || nothing,
          `${method} ${path} ${text.slice(0, 60)}`,
        );
      }
    }
    assert.equal(Object.hasOwn(Object.prototype, "admin"), false);
  },
);
