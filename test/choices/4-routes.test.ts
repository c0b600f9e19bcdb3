// Behavior of all routes, which the specification does not show: lists (their shape, Link and errors), ETag, If-Match and
// If-None-Match (RFC 9110 13), and Idempotency-Key on POST, including after a failed storage write.
// Then walks over every route of the OpenAPI document, so that a new route is covered from its first day: methods,
// unknown paths, accounts that cannot see each other, and hostile values, which get a declared response, never a 500.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { memoryStore, StorageUnavailable } from "../../src/index.ts";
import {
  type Answer,
  B_KEY,
  badHeader,
  badParameter,
  type Client,
  type Context,
  choice,
  contains,
  errorsOf,
  exampleBody,
  fill,
  freshFile,
  gated,
  HOSTILE,
  invalid,
  MANUAL,
  makeWorld,
  members,
  NOWHERE,
  overridden,
  problem,
  RAW,
  TWO,
  withService,
} from "../support/index.ts";

choice(
  "4.list-shape: a list has data, total, limit and offset, with each app as in its own response",
  async ({ api }) => {
    const apps = [];
    for (const title of ["plain", "Zürich", "東京", "🗼 and more"])
      apps.push(await api.create("/apps", { title }));
    const { total } = (await api.get("/apps?limit=1")).json;
    const offset = Number(total) - apps.length;
    const { json } = await api.get(`/apps?limit=50&offset=${offset}`);
    assert.deepEqual(json, { data: apps, total, limit: 50, offset });
    assert.deepEqual(Object.keys(json), ["data", "total", "limit", "offset"]);
  },
);

choice("8.max-limit: the limit of a list is 1 to 100", async ({ api }) => {
  for (const limit of ["1", "100"])
    assert.equal((await api.get(`/apps?limit=${limit}`)).json.limit, Number(limit));
  for (const limit of ["0", "101", "1000000", "99999999999999999999"])
    badParameter(await api.get(`/apps?limit=${limit}`), "limit");
});

const NO_NUMBERS = " -1 +5 1e1 1.0 0x10 %205 ten null 05 true 9007199254740992".split(" ");
const NO_FLAGS = " 1 0 True yes null".split(" ");

choice(
  "7.error-codes.parameters: query parameters must be known, unique and in canonical form, and the error names every invalid one",
  async ({ api }) => {
    for (const name of ["limit", "offset"])
      for (const text of NO_NUMBERS) badParameter(await api.get(`/apps?${name}=${text}`), name);
    for (const text of NO_FLAGS) badParameter(await api.get(`/apps?public=${text}`), "public");
    (await api.get("/apps?offset=0")).is(200);
    for (const [request, ...names] of [
      ["GET /apps?limit=5&limit=5", "limit"],
      ["GET /apps?Limit=2", "Limit"],
      ["GET /apps?__proto__=2", "__proto__"],
      ["GET /apps?constructor=2&toString=1", "constructor", "toString"],
      ["GET /account?verbose=true", "verbose"],
      ["POST /apps?draft=true", "draft"],
      ["GET /apps?limit=0&offset=-1&public=maybe&x=1", "limit", "offset", "public", "x"],
    ] as const) {
      const [method = "", path = ""] = request.split(" ");
      badParameter(
        await api.call(method, path, method === "POST" ? { title: "T" } : undefined),
        ...names,
      );
    }
  },
);

/** Follows Link from `path` on and returns all pages. */
async function walk(api: Client, path: string, rel: "next" | "prev") {
  const pages: { path: string; ids: unknown[] }[] = [];
  for (let at: string | undefined = path; at !== undefined; ) {
    const page = await api.get(at);
    assert.ok(page.items.length > 0 && pages.every(({ path }) => path !== at), at);
    pages.push({ path: at, ids: page.items.map(({ id }) => id) });
    at = new RegExp(`(^|, )<${api.baseUrl}(/[^>]+)>; rel="${rel}"`).exec(
      String(page.headers.link),
    )?.[2];
  }
  return pages;
}

async function fillUp(api: Client, count: number) {
  for (let made = 0; made < count; made += 1)
    await api.create("/apps", { title: "Sales", public: made % 3 === 0 });
}

choice(
  "4.list-shape.link: the next and prev links lead to both ends and keep filter and limit",
  async ({ api }) => {
    await fillUp(api, 25);
    const pages = await walk(api, "/apps?public=false&limit=7", "next");
    assert.ok(pages.length > 2 && pages.every(({ ids }) => ids.length <= 7));
    const seen = pages.flatMap(({ ids }) => ids);
    assert.equal(seen.length, (await api.get("/apps?public=false")).total);
    assert.equal(new Set(seen).size, seen.length);
    const back = (await walk(api, pages.at(-1)?.path ?? "", "prev"))
      .reverse()
      .flatMap(({ ids }) => ids);
    assert.deepEqual(back, seen);
    const beyond = await api.get("/apps?public=false&limit=5&offset=99999");
    contains(beyond.header("link"), `offset=${seen.length - 5}>; rel="prev"`);
  },
);

const OTHER = '"another-tag"';

choice(
  "4.etag: a single resource has a strong ETag that changes only with the resource",
  async ({ api }) => {
    const created = await api.post("/apps", { title: "Tagged" });
    const path = `/apps/${created.id}`;
    const tag = created.header("etag");
    assert.match(tag, /^"[\x21\x23-\x7e]+"$/);
    for (const same of [
      await api.get(path),
      await api.head(path),
      await api.patch(path, { title: "Tagged" }),
    ])
      assert.equal(same.header("etag"), tag);
    const changed = await api.patch(path, { title: "Retagged" });
    assert.notEqual(changed.header("etag"), tag);
    assert.equal((await api.get(path)).header("etag"), changed.header("etag"));
    assert.equal((await api.get("/apps")).headers.etag, undefined, "lists have none");
  },
);

choice(
  "4.etag.if-none-match: a matching If-None-Match returns 304 without a body and blocks an update",
  async ({ api }) => {
    const { path } = await api.newApp();
    const tag = (await api.get(path)).header("etag");
    for (const value of [tag, `W/${tag}`, "*", `${OTHER}, ${tag}`, [OTHER, tag]]) {
      const answer = await api.get(path, { "if-none-match": value });
      assert.deepEqual(
        [answer.status, answer.bytes.length, answer.header("etag")],
        [304, 0, tag],
        String(value),
      );
      assert.ok(answer.header("x-request-id"));
    }
    (await api.get(path, { "if-none-match": OTHER })).is(200);
    problem(await api.patch(path, { title: "T" }, { "if-none-match": tag }), "precondition_failed");
  },
);

choice("4.etag.if-match: If-Match passes only with the current ETag", async ({ api }) => {
  const { path } = await api.newApp();
  const tag = (await api.get(path)).header("etag");
  for (const value of [OTHER, `W/${tag}`, `${OTHER}, "x"`, `,${OTHER} ,, "*",`, '""', '"é"'])
    problem(await api.patch(path, { title: "Lost" }, { "if-match": value }), "precondition_failed");
  problem(await api.get(path, { "if-match": OTHER }), "precondition_failed");
  (await api.get(path, { "if-match": tag })).is(200);
  const changed = await api.patch(path, { title: "Won" }, { "if-match": `${OTHER}, ${tag}` });
  changed.is(200);
  const all = ["A", "B", "C", "D"].map((title) =>
    api.patch(path, { title }, { "if-match": changed.header("etag") }),
  );
  const statuses = (await Promise.all(all)).map(({ status }) => status).sort();
  assert.deepEqual(statuses, [200, 412, 412, 412], "of many with the same tag one wins");
  (await api.delete(path, { "if-match": (await api.get(path)).header("etag") })).is(204);
});

choice(
  "4.etag.malformed: an If-Match or If-None-Match that is neither * nor entity tags is rejected, and nothing changes",
  async ({ api }) => {
    const { path } = await api.newApp();
    const values = ["unquoted", "", ",", '"a" "b"', '"a', '"a b"', 'w/"a"', '*, "a"', "**"];
    for (const name of ["If-Match", "If-None-Match"])
      for (const value of values) {
        badHeader(await api.delete(path, { [name]: value }), name);
        badHeader(await api.get(path, { [name]: value }), name);
      }
    const both = await api.get(`${path}?no=1`, { "If-Match": "a", "If-None-Match": "b" });
    assert.equal(errorsOf(problem(both, "invalid_header")).length, 3);
    problem(await api.as(null).get(path, { "If-Match": "a" }), "missing_credential");
    (await api.get(path)).is(200);
  },
);

const newKey = () => ({ "idempotency-key": randomUUID() });
type Key = ReturnType<typeof newKey>;

const createApp = (api: Client, key: Key, title = "Once") => api.post("/apps", { title }, key);
const total = async (api: Client, path = "/apps") => (await api.get(`${path}?limit=1`)).total;
const isReplay = ({ headers }: Answer) => headers["idempotency-replayed"] === "true";
const reused = (answer: Answer) => problem(answer, "idempotency_key_reused");

/** Asserts that `again` replays `first`. */
function replays(again: Answer, first: Answer) {
  const repeated = ({ status, headers, text }: Answer) => [
    status,
    text,
    ...["content-type", "location", "etag"].map((name) => headers[name]),
  ];
  assert.deepEqual([isReplay(first), isReplay(again)], [false, true]);
  assert.deepEqual(repeated(again), repeated(first));
  assert.notEqual(again.header("x-request-id"), first.header("x-request-id"));
}

choice(
  "4.idempotency: repeating a request with its key replays the first response and has no further effect",
  async ({ api }) => {
    const key = newKey();
    const first = await createApp(api, key);
    const before = [await total(api), await total(api, "/events")];
    for (let count = 0; count < 3; count += 1) replays(await createApp(api, key), first);
    assert.deepEqual([await total(api), await total(api, "/events")], before);
  },
);

choice(
  "4.idempotency: a key that is reused with another body or path is rejected",
  async ({ api }) => {
    const [key, deployKey] = [newKey(), newKey()];
    const first = await createApp(api, key);
    const error = reused(await createApp(api, key, "Twice"));
    assert.equal(errorsOf(error)[0]?.header, "Idempotency-Key");
    replays(await createApp(api, key), first);
    const other = await api.newApp();
    const deploy = (id: unknown) => api.post(`/apps/${id}/deploy`, { name: "R" }, deployKey);
    (await deploy(first.id)).is(201);
    reused(await deploy(other.id));
  },
);

choice(
  "4.idempotency: an idempotency key has 1 to 255 characters, works on POST only and is scoped to its credential",
  async ({ api }) => {
    const withKey = (key: string) => api.post("/apps", { title: "T" }, { "idempotency-key": key });
    for (const key of ["k", "k".repeat(255)]) (await withKey(key)).is(201);
    for (const key of ["", "k".repeat(256)]) badHeader(await withKey(key), "Idempotency-Key");
    const other = api.as(String((await api.create("/api-keys", { name: "Other" })).key));
    const key = newKey();
    const { id } = await createApp(api, key);
    assert.notEqual((await createApp(other, key)).id, id);
    for (const title of ["A", "B"])
      assert.equal((await api.patch(`/apps/${id}`, { title }, key)).json.title, title);
    (await api.delete(`/apps/${id}`, key)).is(204);
  },
);

choice(
  "4.idempotency: an error is not stored: the next request with the key is validated again and may have another body",
  async ({ api }) => {
    const key = newKey();
    (await createApp(api.as(null), key)).is(401);
    (await api.post("/apps?x=1", { title: "T" }, key)).is(400);
    invalid(await createApp(api, key, ""), "#/title");
    (await createApp(api, key)).is(201);
  },
);

choice(
  "4.idempotency.secrets: a replay shows null in place of one-time values",
  async ({ api }) => {
    const url = "https://h.example.com/";
    for (const [path, body, secret] of [
      ["/api-keys", { name: "K" }, "key"],
      ["/webhooks", { url, events: ["app.created"], active: false, secret: "given" }, "secret"],
      ["/oauth-clients", { name: "C", redirect_uris: [url], scopes: ["admin"] }, "client_secret"],
    ] as const) {
      const key = newKey();
      const first = await api.post(path, body, key);
      assert.equal(typeof first.json[secret], "string", first.text);
      const again = await api.post(path, body, key);
      assert.ok(isReplay(again));
      assert.deepEqual(again.json, { ...first.json, [secret]: null });
    }
  },
);

choice(
  "4.idempotency.window: a response is stored for 24 hours and no longer",
  MANUAL,
  async ({ api, service }) => {
    const key = newKey();
    const first = await createApp(api, key);
    await service.clock.advance(`${24 * 3_600_000 - 1}ms`);
    replays(await createApp(api, key), first);
    await service.clock.advance("1ms");
    assert.notEqual((await createApp(api, key)).id, first.id);
    reused(await createApp(api, key, "Other"));
  },
);

choice("4.idempotency.window: a stored response survives a restart", async () => {
  const options = { data: freshFile("data.json"), apiKey: "idempotent-key" };
  const key = newKey();
  let text = "";
  await withService(options, async ({ api }) => {
    text = (await createApp(api, key)).text;
  });
  await withService(options, async ({ api }) => {
    const answer = await createApp(api, key);
    assert.deepEqual([isReplay(answer), answer.text], [true, text]);
    reused(await createApp(api, key, "Other"));
  });
});

gated(
  "7.error-codes.storage: a failed storage write responds with 503 and leaves nothing visible",
  async ({ api }, gate) => {
    const app = (await api.newApp()).path;
    const lists = async () => [(await api.get("/apps")).text, (await api.get("/events")).text];
    const before = await lists();
    gate.fault = new StorageUnavailable("disk full");
    for (const answer of [
      await api.post("/apps", { title: "Lost" }),
      await api.patch(app, { title: "Lost" }),
      await api.delete(app),
      await api.post(`${app}/deploy`, { name: "Lost" }),
    ]) {
      problem(answer, "storage_unavailable");
      contains(answer.json.detail, "Nothing was changed");
      assert.match(answer.header("RateLimit"), /^"default";r=\d+;t=\d+$/);
    }
    assert.deepEqual(await lists(), before, "reads go on, and show what was");
  },
);

const UNREADABLE = overridden(memoryStore(), {
  find: () => Promise.reject(new StorageUnavailable("connection lost")),
});

choice(
  "7.error-codes.storage: a failed read responds with 503, and does not say that a change failed or that reading works",
  { store: UNREADABLE, apiKey: "pinned-key-1" },
  async ({ api }) => {
    const answer = await api.get("/apps");
    problem(answer, "storage_unavailable");
    assert.doesNotMatch(answer.text, /The change|reading still works/);
  },
);

gated(
  "7.error-codes.internal: an unexpected error responds with a bare 500, and no 5xx response is stored",
  async ({ api }, gate) => {
    for (const [fault, code] of [
      [new TypeError("secret cause in /some/path.ts"), "internal_error"],
      [new StorageUnavailable("disk full"), "storage_unavailable"],
    ] as const) {
      const key = newKey();
      gate.fault = fault;
      const answer = await createApp(api, key);
      problem(answer, code);
      assert.doesNotMatch(answer.text, /secret|path\.ts|TypeError/);
      gate.fault = undefined;
      const again = await createApp(api, key);
      assert.deepEqual([again.status, isReplay(again)], [201, false]);
    }
  },
);

gated(
  "4.idempotency.in-progress: a second request gets 409 while the first is in progress, then a replay",
  async ({ api }, gate) => {
    const key = newKey();
    const held = gate.hold();
    const first = createApp(api, key);
    await held.begun;
    for (const title of ["Once", "Other"])
      problem(await createApp(api, key, title), "idempotency_in_progress");
    held.release();
    const response = await first;
    replays(await createApp(api, key), response);
    assert.equal(await total(api), 1);
  },
);

const METHODS = "GET HEAD POST PUT PATCH DELETE OPTIONS PURGE".split(" ");
const VOLATILE = ["x-request-id", "date", "ratelimit"];

/** The headers of a response, except those that differ in every response. */
const lasting = ({ headers }: Answer) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !VOLATILE.includes(name)));

choice(
  "1.rfcs.methods: HEAD equals GET without a body, and every 405 sends Allow",
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
  "7.error-codes.404: an unknown path or id gets 404, however it is written",
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
async function listsOf({ document }: Context, client: Client) {
  const lists = document.api.filter(({ method, path }) => method === "GET" && !path.includes("{"));
  return (await Promise.all(lists.map(async ({ path }) => (await client.get(path)).text))).join(
    "\n",
  );
}

choice(
  "7.validation-status.tenants: an account gets 404 for every id of another account, and its lists show none of them",
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
  "7.validation-status.foreign-app: an id of another account's app in a body gets 422, and a custom domain is unique across accounts",
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
    const send = (app_id: string, name = "N") =>
      b.post("/data-sources", { name, type: "json", data: [], app_id });
    const foreign = await send(mine.id);
    invalid(foreign, "#/app_id");
    invalid(await send(mine.id, ""), "#/name", "#/app_id");
    invalid(await send(""), "#/app_id");
    assert.deepEqual(said(foreign), said(await send("app_00000000000000000000000")));
  },
);

/** No requests leave the server: no webhook here is active, and the rate limit is off. */
const OFF = { rateLimit: "off" } as const;

/** Returns the status of a valid response. */
function sound(answer: Answer, what: string) {
  assert.ok(
    answer.status >= 200 && answer.status < 500,
    `${what}: ${answer.status} ${answer.text.slice(0, 300)}`,
  );
  if (answer.status >= 400) problem(answer, String(answer.json.code));
  return answer.status;
}

choice(
  "7.error-codes.hostile: every member of every body and every body survive hostile values",
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
