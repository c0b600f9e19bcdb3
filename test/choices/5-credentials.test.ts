// How a credential is sent, and how each cause of 401 is told (spec part 5 names the causes; contract, part 5: RFC 6750).
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { type Answer, type Client, str } from "../support/client.ts";
import { problem } from "../support/problem.ts";

const send = (api: Client, authorization: string): Promise<Answer> => api.as(null).get("/apps", { authorization });

/** 401 with this code, a challenge with this error or none, and where the metadata are. */
function challenged(answer: Answer, code: string, error?: string): void {
  problem(answer, code);
  const challenge = answer.header("www-authenticate");
  assert.match(challenge, /^Bearer .*resource_metadata="[^"]+\/\.well-known\/oauth-protected-resource\/v1"/);
  assert.equal(/error="(\w+)"/.exec(challenge)?.[1], error, challenge);
}

/** After the scheme Bearer: no single token (RFC 6750 2.1). */
const MALFORMED = [
  ...["Bearer", "Bearer ", "bearer", "BEARER   ", "Bearer a b", "Bearer a,b", "Bearer a, Bearer b", 'Bearer "quoted"'],
  ...["Bearer key=value; x", "Bearer =abc", "Bearer a=b", "Bearer a==b", "Bearer ä", "Bearer a\tb", "Bearer {json}"],
  ...["Bearer <key>", "Bearer a:b", "Bearer a@b", "Bearer a%20b%", "Bearer a\\b", "Bearer a?b", "Bearer a#b"],
  "Bearer (a)",
];
const OTHER_SCHEMES = [
  ...["Basic dXNlcjpwYXNz", "Token abc", "Digest x=1", "BearerX abc", "Bearerabc", "Negotiate", "key", ":", "="],
  "Bearer,abc",
];
const UNKNOWN = ["ahs_nobody-has-this-key", "unknown", "a.b.c", "A".repeat(9000), "__proto__", "-._~+/=="];

choice("7.error-codes.401", "each cause has its code, and its error in the challenge or none", async ({ api }) => {
  challenged(await api.as(null).get("/apps"), "missing_credential");
  for (const value of MALFORMED) challenged(await send(api, value), "malformed_credential", "invalid_request");
  for (const value of OTHER_SCHEMES) challenged(await send(api, value), "malformed_credential");
  for (const token of UNKNOWN) challenged(await api.as(token).get("/apps"), "invalid_credential", "invalid_token");
});

choice("1.rfcs.scheme-case", "the scheme may be written in any case, the key may not", async ({ api }) => {
  for (const scheme of ["bearer", "BEARER", "bEaReR"])
    assert.equal((await send(api, `${scheme} ${api.key}`)).status, 200);
  const { key } = await api.create("/api-keys", { name: "Case" });
  problem(await send(api, `Bearer ${str(key).toUpperCase()}`), "invalid_credential");
});

choice("1.rfcs.one-credential", "two headers are none, nor is a query; none is ever repeated", async ({ api }) => {
  const anyone = api.as(null);
  problem(await anyone.get("/apps", { authorization: Array(2).fill(`Bearer ${api.key}`) }), "malformed_credential");
  problem(await anyone.get(`/apps?access_token=${api.key}`), "missing_credential");
  for (const value of ["Bearer my-secret-token", "Basic my-secret-token", "Bearer my-secret-token two"])
    assert.equal((await send(api, value)).text.includes("my-secret-token"), false, value);
});
