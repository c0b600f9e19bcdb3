// Spec part 5, the header and API keys, and the causes of 401. OAuth and its tokens have files of their own.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { type Answer, type Client, str } from "../support/client.ts";
import { problem } from "../support/problem.ts";

const send = (api: Client, authorization: string): Promise<Answer> =>
  api.as(null).send("GET", "/apps", { headers: { authorization } });

const challengeOf = (answer: Answer): string => answer.header("www-authenticate");

choice(
  "7.error-codes.401",
  "a missing credential is told so, without an error code in the challenge",
  async ({ api, authUrl }) => {
    const answer = await api.as(null).get("/apps");
    problem(answer, 401, "missing_credential");
    assert.match(challengeOf(answer), /^Bearer /);
    assert.doesNotMatch(challengeOf(answer), /error=/);
    const metadata = `resource_metadata="${authUrl}/.well-known/oauth-protected-resource/v1"`;
    assert.ok(challengeOf(answer).includes(metadata), challengeOf(answer));
  },
);

/** After the scheme Bearer: no single token (RFC 6750 2.1). */
const MALFORMED = [
  ...["Bearer", "Bearer ", "bearer", "BEARER   ", "Bearer a b", "Bearer a,b", "Bearer a, Bearer b", 'Bearer "quoted"'],
  ...["Bearer key=value; x", "Bearer =abc", "Bearer a=b", "Bearer a==b", "Bearer ä", "Bearer a\tb", "Bearer {json}"],
  ...[
    "Bearer <key>",
    "Bearer a:b",
    "Bearer a@b",
    "Bearer a%20b%",
    "Bearer a\\b",
    "Bearer a?b",
    "Bearer a#b",
    "Bearer (a)",
  ],
];

choice(
  "7.error-codes.401",
  "more than twenty malformed credentials after Bearer are invalid_request",
  async ({ api }) => {
    assert.ok(MALFORMED.length > 20);
    for (const value of MALFORMED) {
      const answer = await send(api, value);
      problem(answer, 401, "malformed_credential");
      assert.match(challengeOf(answer), /error="invalid_request"/, value);
      assert.match(challengeOf(answer), /resource_metadata="/);
    }
  },
);

const OTHER_SCHEMES = [
  "Basic dXNlcjpwYXNz",
  "Token abc",
  "Digest x=1",
  "BearerX abc",
  "Bearerabc",
  "Negotiate",
  "key",
  ":",
  "=",
  "Bearer,abc",
];

choice("7.error-codes.401", "another scheme is malformed, without an error code in the challenge", async ({ api }) => {
  for (const value of OTHER_SCHEMES) {
    const answer = await send(api, value);
    problem(answer, 401, "malformed_credential");
    assert.match(challengeOf(answer), /^Bearer /);
    assert.doesNotMatch(challengeOf(answer), /error=/, value);
  }
});

choice("7.error-codes.401", "an unknown credential is invalid_token", async ({ api }) => {
  for (const token of ["ahs_nobody-has-this-key", "unknown", "a.b.c", "A".repeat(9000), "__proto__", "-._~+/=="]) {
    const answer = await send(api, `Bearer ${token}`);
    problem(answer, 401, "invalid_credential");
    assert.match(challengeOf(answer), /error="invalid_token"/, token);
  }
});

choice("1.rfcs.scheme-case", "the scheme may be written in any case, the key may not", async ({ api }) => {
  for (const scheme of ["bearer", "BEARER", "bEaReR"])
    assert.equal((await send(api, `${scheme} ${api.key}`)).status, 200);
  const { key } = await api.create("/api-keys", { name: "Case" });
  problem(await send(api, `Bearer ${str(key).toUpperCase()}`), 401, "invalid_credential");
});

choice("1.rfcs.one-credential", "two Authorization headers are none", async ({ api }) => {
  const raw = { authorization: [`Bearer ${api.key}`, `Bearer ${api.key}`] };
  problem(await api.as(null).get("/apps", raw), 401, "malformed_credential");
});

choice("1.rfcs.one-credential", "a token in the query is no credential", async ({ api }) => {
  problem(await api.as(null).get(`/apps?access_token=${api.key}`), 401, "missing_credential");
});

choice("1.rfcs.one-credential", "an answer never repeats what was sent as one", async ({ api }) => {
  for (const value of ["Bearer my-secret-token", "Basic my-secret-token", "Bearer my-secret-token two"])
    assert.equal((await send(api, value)).text.includes("my-secret-token"), false, value);
});
