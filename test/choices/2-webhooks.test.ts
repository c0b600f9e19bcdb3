// Webhooks as a resource (spec part 2 shows what is sent on create; the rest is the contract's, parts 2 and 4). How
// deliveries are sent is part 6.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import type { Client, Members } from "../support/client.ts";
import { changeRule, fieldRule, ISO_TIME, idOf, NOT_FLAG, NOT_TEXT, requiredFields, wide } from "../support/fields.ts";
import { invalid, problem } from "../support/problem.ts";

const TYPES = ["app.created", "app.updated", "app.deployed", "app.deleted", "data.processed", "user.interaction"];
const URL_ = "https://hooks.example.com/in";
/** Inactive, so that nothing is sent anywhere. */
const WHOLE = { url: URL_, events: ["app.created"], active: false };

const create = (api: Client, body: Members = {}) => api.create("/webhooks", { ...WHOLE, ...body });

choice("2.webhook-fields", "are seven and, in the 201 answer only, the secret", async ({ api }) => {
  const { id, created_at, updated_at, secret, ...rest } = await create(api, { secret: "once" });
  assert.match(id, idOf("wh"));
  assert.match(String(created_at), ISO_TIME);
  assert.equal(updated_at, created_at);
  assert.equal(secret, "once");
  assert.deepEqual(rest, { ...WHOLE, disabled_reason: null });
  assert.deepEqual((await api.get(`/webhooks/${id}`)).json, { id, ...rest, created_at, updated_at });
  assert.equal("secret" in (await api.patch(`/webhooks/${id}`, { secret: "twice" })).json, false);
});

choice("4.webhook-endpoints.fields", "url and events are required, active is true by default", async ({ api }) => {
  await requiredFields(api, "/webhooks", { url: URL_, events: ["app.created"] });
  const webhook = await api.create("/webhooks", { url: URL_, events: ["data.processed"] });
  assert.equal(webhook.active, true);
  await api.delete(`/webhooks/${webhook.id}`);
  await fieldRule(api, "/webhooks", WHOLE, { field: "active", good: [false], bad: NOT_FLAG });
});

choice("4.webhook-endpoints.events", "are one or more of the six types, none twice", async ({ api }) => {
  const { id } = await create(api);
  const good = [["data.processed"], TYPES];
  const bad = [[], ["app.created", "app.created"], [...TYPES, "app.created"], null, "app.created", {}, 5];
  const unknown = [["app.renamed"], ["*"], [""], [null], [5], [[]]];
  for (const rule of [
    { field: "events", good, bad },
    { field: "events", good: [], at: "#/events/0", bad: unknown },
  ]) {
    await fieldRule(api, "/webhooks", WHOLE, rule);
    await changeRule(api, `/webhooks/${id}`, rule);
  }
});

choice("4.webhook-endpoints.secret", "has 1 to 255 characters and is made where absent", async ({ api }) => {
  const good = ["s", "s".repeat(255), wide(255), " "];
  const bad = ["", "s".repeat(256), wide(256), ...NOT_TEXT];
  await fieldRule(api, "/webhooks", WHOLE, { field: "secret", good, bad });
  const [one, two] = [await create(api), await create(api)];
  assert.ok(typeof one.secret === "string" && one.secret.length >= 32, "long enough");
  assert.notEqual(one.secret, two.secret);
});

choice("8.field-lengths.url", "takes absolute URLs of 2,048 characters without a user", async ({ api }) => {
  const { id } = await create(api);
  const good = [
    URL_,
    "https://hooks.example.com:8443/a?b=c",
    "https://xn--bcher-kva.example/",
    URL_.padEnd(2_048, "x"),
  ];
  const bad = [
    ..." hooks.example.com /in https:// ftp://h.example.com/ javascript:alert(1) mailto:a@b.example".split(" "),
    ...["https://u@h.example.com/", "https://u:p@h.example.com/", "https://:p@h.example.com/", URL_.padEnd(2_049, "x")],
    ...NOT_TEXT,
  ];
  await fieldRule(api, "/webhooks", WHOLE, { field: "url", good, bad });
  await changeRule(api, `/webhooks/${id}`, { field: "url", good, bad });
});

/** Addresses of networks that no webhook may reach into, in the spellings in which they hide. */
const INSIDE = [
  ...["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"],
  ...["224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1"],
  ...["0x0a000001", "167772161", "012.0.0.1", "10.1", "[fd00::1]", "[fe80::1]", "[ff02::1]", "[::]", "[2001:db8::1]"],
  ...["[::ffff:10.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::a00:1]", "[2002:a00:1::]", "[2002:7f00:1::]"],
];
const NOWHERE = ["http://hooks.example.com/", "http://8.8.8.8/", ...INSIDE.map((host) => `https://${host}/`)];
const LOOPBACK = ["http://localhost:9/", "http://127.0.0.1:9/", "https://127.0.0.1:9/", "http://[::1]:9/"];

choice("6.webhook-policy", "local takes loopback by http or https, else https to public addresses", async ({ api }) => {
  await fieldRule(api, "/webhooks", WHOLE, { field: "url", good: [...LOOPBACK, "https://8.8.8.8/"], bad: NOWHERE });
});

choice("6.webhook-policy", "strict takes https to public addresses", { webhookPolicy: "strict" }, async ({ api }) => {
  const bad = [...LOOPBACK, "https://localhost/", "https://[::1]/", ...NOWHERE];
  await fieldRule(api, "/webhooks", WHOLE, { field: "url", good: [URL_, "https://8.8.8.8/"], bad });
  for (const url of LOOPBACK) assert.match((await api.post("/webhooks", { ...WHOLE, url })).text, /loopback.*strict/);
});

choice("6.webhook-policy", "a refused URL is told by the rule that it breaks", async ({ api }) => {
  for (const [url, rule] of [
    ["http://example.com/", /https/],
    ["https://10.0.0.1/", /private/],
    ["https://0xa9fea9fe/", /link-local/],
    ["https://[::ffff:127.0.0.1]/", /IPv4-mapped/],
    ["https://[64:ff9b::1]/", /NAT64/],
    ["https://user:pass@example.com/", /user name/],
    ["ftp://example.com/", /https:\/\//],
  ] as const) {
    const answer = await api.post("/webhooks", { ...WHOLE, url });
    invalid(answer, "#/url");
    assert.match(answer.text, rule);
  }
});

choice("4.webhook-endpoints.change", "changes only what is sent; deleted, it is gone with its log", async ({ api }) => {
  const path = `/webhooks/${(await create(api)).id}`;
  const { json } = await api.patch(path, { events: ["app.deleted"] });
  assert.deepEqual([json.url, json.events, json.active], [URL_, ["app.deleted"], false]);
  invalid(await api.patch(path, { disabled_reason: null, id: "x" }), "#/disabled_reason", "#/id");
  problem(await api.patch("/webhooks/wh_00000000000000000000000", { active: true }), "not_found");
  assert.equal((await api.delete(path)).status, 204);
  problem(await api.delete(path), "not_found");
  problem(await api.get(`${path}/deliveries`), "not_found");
});
