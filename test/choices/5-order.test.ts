// How a credential is sent, how each cause of 401 is reported (RFC 6750), and the order of the checks. Each pair of
// neighboring checks fails at once, so that swapping them breaks a test (contract, part 5). Scopes have their own file.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { type Answer, type Client, freshHost } from "../support/client.ts";
import { badHeader, badParameter, invalid, problem } from "../support/problem.ts";

const send = (api: Client, authorization: string | string[]) =>
  api.as(null).get("/apps", { authorization });

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
  "bearer ",
  "Bearer a b",
  "Bearer a, Bearer b",
  'Bearer "quoted"',
  "Bearer a=b",
  "Bearer ä",
  "Bearer a\tb",
  "Bearer <key>",
];
const OTHER_SCHEMES = ["Basic dXNlcjpwYXNz", "Token abc", "Bearerabc", "key", ":", "Bearer,abc"];
const UNKNOWN = ["ahs_nobody-has-this-key", "a.b.c", "A".repeat(9000), "__proto__", "-._~+/=="];

choice(
  "7.error-codes.401",
  "each cause of 401 has its code, and its challenge has the matching error or none",
  async ({ api }) => {
    for (const path of ["/apps", `/apps?access_token=${api.key}`])
      challenged(await api.as(null).get(path), "missing_credential");
    for (const value of [...MALFORMED, Array(2).fill(`Bearer ${api.key}`)])
      challenged(await send(api, value), "malformed_credential", "invalid_request");
    for (const value of OTHER_SCHEMES) challenged(await send(api, value), "malformed_credential");
    for (const token of UNKNOWN)
      challenged(await api.as(token).get("/apps"), "invalid_credential", "invalid_token");
    assert.equal((await send(api, `bEaReR ${api.key}`)).status, 200);
    const { text } = await send(api, "Bearer my-secret-token");
    assert.equal(text.includes("my-secret-token"), false, "no error repeats the credential");
  },
);

const ID = "7.error-codes.order";
const NO_APP = "/apps/app_00000000000000000000000";
const OLD = { "if-match": '"old"' };
const TOO_LARGE = "x".repeat(1_048_577);
/** A body of an unsupported media type, which would be invalid as JSON, too. */
const TEXT = { headers: { "content-type": "text/plain" }, body: "{" };

/** Requests that are wrong in path, method, query and body. */
const sendWrong = async (api: Client): Promise<readonly Answer[]> => [
  await api.get("/nowhere"),
  await api.send("PUT", "/apps"),
  await api.get("/apps?limit=0"),
  await api.send("POST", "/apps", TEXT),
];

choice(
  ID,
  "the credential is checked first, then the account's state, then the rate limit",
  { rateLimit: 2 },
  async ({ api, service }) => {
    for (let used = 0; used < 2; used += 1) await api.get("/account");
    for (const answer of await sendWrong(api)) problem(answer, "rate_limit_exceeded");
    await service.setAccountState("suspended");
    for (const answer of await sendWrong(api)) problem(answer, "account_suspended");
    for (const answer of await sendWrong(api.as(null))) problem(answer, "missing_credential");
  },
);

choice(ID, "path and method are checked before headers, query and body", async ({ api }) => {
  problem(await api.get("/nowhere?limit=0"), "not_found");
  problem(await api.post("/account?x=1", {}, { "idempotency-key": "" }), "method_not_allowed");
  problem(await api.send("POST", "/nowhere", TEXT), "not_found");
  problem(await api.send("PUT", "/apps", TEXT), "method_not_allowed");
});

choice(
  ID,
  "headers and query are checked before the body, and its size before its type and JSON",
  async ({ api }) => {
    const key = { "idempotency-key": "k".repeat(256) };
    badParameter(await api.text("POST", "/apps?x=1", TOO_LARGE), "x");
    const headers = { ...TEXT.headers, ...key };
    badHeader(await api.send("POST", "/apps", { ...TEXT, headers }), "Idempotency-Key");
    const both = await api.post("/apps?x=1", { title: "T" }, key);
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
    badParameter(await api.get(`${NO_APP}/deployments?limit=0`), "limit");
    problem(await api.text("POST", `${NO_APP}/deploy`, TOO_LARGE), "payload_too_large");
    problem(await api.send("POST", `${NO_APP}/deploy`, TEXT), "unsupported_media_type");
    problem(await api.text("PATCH", NO_APP, "{"), "invalid_json");
    problem(await api.patch(NO_APP, { title: 5 }, OLD), "not_found");
    problem(await api.post(`${NO_APP}/deploy`, {}), "not_found");
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
    problem(await api.patch(owner, { permissions: [] }, OLD), "last_admin");
  },
);
