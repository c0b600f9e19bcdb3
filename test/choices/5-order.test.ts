// How a credential is sent, how each cause of 401 is reported (RFC 6750), and the order of the checks. Each pair of
// neighboring checks fails at once, so that swapping them breaks a test (contract, part 5). Scopes have their own file.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { choice } from "../support/clauses.ts";
import { type Answer, type Client, freshHost } from "../support/client.ts";
import { badHeader, badParameter, invalid, problem } from "../support/problem.ts";

const send = (api: Client, authorization: string) => api.as(null).get("/apps", { authorization });

/** 401 with this code, a challenge with or without this error, and a link to the metadata. */
function challenged(answer: Answer, code: string, error?: string): void {
  problem(answer, code);
  const challenge = answer.header("www-authenticate");
  assert.match(
    challenge,
    /^Bearer .*resource_metadata="[^"]+\/\.well-known\/oauth-protected-resource\/v1"/,
  );
  assert.equal(/error="(\w+)"/.exec(challenge)?.[1], error, challenge);
}

/** After the scheme Bearer: no single token (RFC 6750 2.1). */
const MALFORMED = [
  "Bearer",
  "Bearer ",
  "bearer",
  "Bearer a b",
  "Bearer a,b",
  "Bearer a=b",
  "Bearer ä",
];
const OTHER_SCHEMES = ["Basic dXNlcjpwYXNz", "Token abc", "BearerX abc", "Bearerabc", "key", ":"];
const UNKNOWN = ["ahs_nobody-has-this-key", "unknown", "a.b.c", "A".repeat(9000), "__proto__"];

choice(
  "7.error-codes.401",
  "each cause of 401 has its code, and its challenge has the matching error or none",
  async ({ api }) => {
    for (const path of ["/apps", `/apps?access_token=${api.key}`])
      challenged(await api.as(null).get(path), "missing_credential");
    for (const value of MALFORMED)
      challenged(await send(api, value), "malformed_credential", "invalid_request");
    for (const value of OTHER_SCHEMES) challenged(await send(api, value), "malformed_credential");
    for (const token of UNKNOWN)
      challenged(await api.as(token).get("/apps"), "invalid_credential", "invalid_token");
  },
);

choice(
  "1.rfcs.one-credential",
  "the scheme of a credential ignores case, and no error repeats the credential",
  async ({ api }) => {
    for (const scheme of ["bearer", "BEARER", "bEaReR"])
      (await send(api, `${scheme} ${api.key}`)).is(200);
    for (const value of ["Bearer my-secret-token", "Basic my-secret-token"])
      assert.equal((await send(api, value)).text.includes("my-secret-token"), false, value);
  },
);

const ID = "7.error-codes.order";
const NO_APP = "/apps/app_00000000000000000000000";
const OLD = { "if-match": '"old"' };
const TOO_LARGE = "x".repeat(1_048_577);
/** A body of an unsupported media type, which would be invalid as JSON, too. */
const TEXT = { headers: { "content-type": "text/plain" }, body: "{" };

const SUSPENDED = { seed: { accounts: [{ name: "Held", state: "suspended" }] } };

/** Invalid parts of its path, method, query and body. */
async function wrongs(api: Client): Promise<readonly Answer[]> {
  const query = await api.get("/apps?limit=0");
  return [
    await api.get("/nowhere"),
    await api.send("PUT", "/apps"),
    query,
    await api.send("POST", "/apps", TEXT),
  ];
}

choice(
  ID,
  "the credential is checked before everything else, then the account's state",
  SUSPENDED,
  async ({ api }) => {
    for (const answer of await wrongs(api.as(null))) problem(answer, "missing_credential");
    for (const answer of await wrongs(api)) problem(answer, "account_suspended");
  },
);

choice(
  ID,
  "the rate limit is checked before path, method and query, and the account's state before the rate limit",
  { rateLimit: 2 },
  async ({ api, service }) => {
    for (let used = 0; used < 2; used += 1) await api.get("/account");
    for (const answer of await wrongs(api)) problem(answer, "rate_limit_exceeded");
    await service.setAccountState("limited");
    problem(await api.get("/account"), "rate_limit_exceeded");
    problem(await api.post("/apps", { title: "T" }), "account_limited");
  },
);

choice(ID, "path and method are checked before headers, query and body", async ({ api }) => {
  problem(await api.get("/nowhere?limit=0"), "not_found");
  problem(await api.send("PUT", "/apps?limit=0"), "method_not_allowed");
  problem(await api.send("POST", "/nowhere", TEXT), "not_found");
  problem(await api.send("PUT", "/apps", TEXT), "method_not_allowed");
});

choice(
  ID,
  "one error reports headers and query, before the body; the body's size, type and JSON follow in order",
  async ({ api }) => {
    const key = { "idempotency-key": "k".repeat(256) };
    badParameter(await api.send("POST", "/apps?x=1", TEXT), "x");
    badHeader(
      await api.send("POST", "/apps", { ...TEXT, headers: { ...TEXT.headers, ...key } }),
      "Idempotency-Key",
    );
    const both = await api.post("/apps?x=1", { title: "T" }, key);
    both.is(400);
    for (const fault of [/"parameter":"x"/, /"header":"Idempotency-Key"/])
      assert.match(both.text, fault);
    problem(await api.send("POST", "/apps", { ...TEXT, body: TOO_LARGE }), "payload_too_large");
    problem(await api.send("POST", "/apps", TEXT), "unsupported_media_type");
  },
);

choice(
  ID,
  "query and body are checked before the resource, and the resource before fields and ETag",
  async ({ api }) => {
    badParameter(await api.get(`${NO_APP}?x=1`), "x");
    problem(await api.text("POST", `${NO_APP}/deploy`, TOO_LARGE), "payload_too_large");
    problem(await api.send("POST", `${NO_APP}/deploy`, TEXT), "unsupported_media_type");
    problem(await api.text("POST", `${NO_APP}/deploy`, "{"), "invalid_json");
    for (const [method, path, body] of [
      ["PATCH", NO_APP, { title: 5 }],
      ["POST", `${NO_APP}/deploy`, {}],
      ["POST", "/webhooks/wh_00000000000000000000000/test", {}],
    ] as const)
      problem(await api.call(method, path, body), "not_found");
    problem(await api.patch(NO_APP, { title: "T" }, OLD), "not_found");
    problem(await api.delete(NO_APP, { "if-match": "*" }), "not_found");
  },
);

choice(
  ID,
  "the fields are checked before the resource's state, and the state before the ETag",
  {},
  async ({ api }) => {
    const custom_domain = freshHost();
    const [mine, other] = [
      await api.create("/apps", { title: "A" }),
      await api.create("/apps", { title: "B" }),
    ];
    await api.create(`/apps/${mine.id}/deploy`, { name: "R", custom_domain });
    invalid(await api.post(`/apps/${other.id}/deploy`, { name: "", custom_domain }), "#/name");
    invalid(await api.patch(`/apps/${mine.id}`, { title: "" }, OLD), "#/title");
    const owner = `/users/${(await api.get("/users")).items[0]?.id}`;
    problem(await api.delete(owner, OLD), "last_admin");
  },
);

choice(
  ID,
  "a stored response is replayed before the resource is checked, and a reused key is rejected before it",
  async ({ api }) => {
    const key = { "idempotency-key": randomUUID() };
    const path = `/apps/${(await api.create("/apps", { title: "T" })).id}`;
    const first = await api.post(`${path}/deploy`, { name: "R" }, key);
    await api.delete(path);
    assert.equal((await api.post(`${path}/deploy`, { name: "R" }, key)).text, first.text);
    problem(await api.post(`${path}/deploy`, { name: "S" }, key), "idempotency_key_reused");
  },
);
