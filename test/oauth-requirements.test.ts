// What OAuth 2.1 (draft-ietf-oauth-v2-1) and the Best Current Practice (RFC 9700) ask of an authorization server, one line
// each in our own words, with the test that holds it. Each line is itself a test: it fails when that test is gone.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

type Requirement = readonly [source: string, requirement: string, file: string, title: string];

const AUTHORIZE = "choices/5-oauth-authorize";
const EXCHANGE = "choices/5-oauth-exchange";
const REFRESH = "choices/5-oauth-refresh";
const STATUS = "choices/5-oauth-status";
const ACCESS = "choices/5-oauth-access";
const PAGES = "choices/5-oauth-pages";
const METADATA = "choices/5-oauth-metadata";
const JWT = "units/jwt";

const REQUIREMENTS: readonly Requirement[] = [
  ["RFC 9700 2.1", "redirect URIs are compared as exact strings", AUTHORIZE, "ends on a page, never in a redirect"],
  [
    "RFC 9700 2.1",
    "only a loopback redirect may vary, and only in its port",
    AUTHORIZE,
    "the port of a loopback redirect may vary, nothing else of it",
  ],
  ["RFC 9700 2.1", "redirects stay off plain http, save to loopback", "choices/2-keys", "redirect_uris"],
  [
    "RFC 9700 2.1",
    "no open redirector: unknown clients and addresses are not redirected to",
    AUTHORIZE,
    "ends on a page, never in a redirect",
  ],
  ["RFC 9700 2.1", "no open redirector after signing in", PAGES, "next leads to paths of this server only"],
  ["RFC 9700 2.1.1", "PKCE is supported", EXCHANGE, "the verifier of RFC 7636 fits its challenge"],
  ["RFC 9700 2.1.1", "public clients must use PKCE", AUTHORIZE, "a public client cannot ask without a challenge"],
  [
    "RFC 9700 2.1.1",
    "a verifier is enforced wherever there was a challenge",
    EXCHANGE,
    "none, another or an unasked one does not",
  ],
  [
    "RFC 9700 4.8.2",
    "no downgrade: a verifier without a challenge is refused",
    EXCHANGE,
    "what fails without being a second use leaves the code usable",
  ],
  [
    "RFC 9700 2.1.1",
    "plain challenges, which show the verifier, are refused",
    AUTHORIZE,
    "every other fault goes back in the redirect",
  ],
  ["RFC 9700 2.1.1", "support for PKCE can be discovered", METADATA, "metadata promise what it does"],
  ["RFC 9700 2.1.2", "the implicit flow is not offered", AUTHORIZE, "every other fault goes back in the redirect"],
  [
    "RFC 9700 2.2",
    "access tokens are limited to one audience",
    ACCESS,
    "every token that is not exactly right is refused",
  ],
  [
    "RFC 9700 2.2.2",
    "refresh tokens are rotated, and their reuse ends the grant",
    REFRESH,
    "used again revokes the grant and its successor",
  ],
  [
    "RFC 9700 2.3",
    "access tokens carry no more than was asked and consented to",
    AUTHORIZE,
    "grants what was asked for as far as the user holds it",
  ],
  [
    "RFC 9700 2.3",
    "a resource refuses what the token's scope does not cover",
    "choices/5-scope-matrix",
    "the one that it takes, and admin, open it",
  ],
  ["RFC 9700 2.4", "the password grant is not offered", EXCHANGE, "what is no such body is invalid_request"],
  [
    "RFC 9700 2.5",
    "confidential clients are authenticated where they can be",
    EXCHANGE,
    "a client that is not who it says is 401",
  ],
  ["RFC 9700 2.6", "metadata are published (RFC 8414)", METADATA, "metadata promise what it does"],
  [
    "RFC 9700 4.2.4",
    "pages leak nothing by Referer",
    PAGES,
    "pages may not be framed, cached, or load anything from elsewhere",
  ],
  ["RFC 9700 4.2.4", "a code is good for one use", EXCHANGE, "one succeeds, the others end its grant"],
  [
    "RFC 9700 4.2.4",
    "a code used twice ends what came of it",
    EXCHANGE,
    "a code used again revokes the grant and every token of it",
  ],
  ["RFC 9700 4.2.4", "codes live shortly", EXCHANGE, "a minute, to the millisecond"],
  ["RFC 9700 4.3.2", "no token is taken from a query", "choices/5-credentials", "query"],
  ["RFC 9700 4.4", "mix-up is prevented: the response names its issuer (RFC 9207)", AUTHORIZE, "iss comes back too"],
  [
    "RFC 9700 4.5.3",
    "codes are bound to client, redirect_uri and challenge",
    EXCHANGE,
    "what fails without being a second use leaves the code usable",
  ],
  [
    "RFC 9700 4.7",
    "consent cannot be forged by another site",
    PAGES,
    "a form counts only with its token, and never from another origin",
  ],
  [
    "RFC 9700 4.10.2",
    "a resource checks that the token was made for it",
    JWT,
    "typ, iss and aud must be the ones expected",
  ],
  [
    "RFC 9700 2.2",
    "a refresh token opens nothing at the API",
    ACCESS,
    "every token that is not exactly right is refused",
  ],
  ["RFC 9700 2.2", "an access token refreshes nothing", REFRESH, "starts with ahr_ and holds 256 random bits"],
  [
    "RFC 9700 4.15.1",
    "clients and users have ids of their own kind, given by the server",
    EXCHANGE,
    "is at+jwt of RFC 9068",
  ],
  [
    "RFC 9700 4.11.2",
    "a denial or an error leads to registered addresses only",
    AUTHORIZE,
    "ends on a page, never in a redirect",
  ],
  ["RFC 9700 4.12", "redirects are 303, so that no form body travels on", AUTHORIZE, "iss comes back too"],
  [
    "RFC 9700 4.14.2",
    "refresh tokens are bound to their client",
    REFRESH,
    "client credentials need not be sent, but what is sent must be right",
  ],
  [
    "RFC 9700 4.14.2",
    "refresh tokens end when they are long unused",
    REFRESH,
    "30 days, to the millisecond, anew at each use",
  ],
  [
    "RFC 9700 4.14.2",
    "parallel uses of a refresh token have one successor",
    REFRESH,
    "one successor, invalid_grant for the rest",
  ],
  [
    "RFC 9700 4.16",
    "pages cannot be framed",
    PAGES,
    "pages may not be framed, cached, or load anything from elsewhere",
  ],
  [
    "OAuth 2.1 2.4.1",
    "a client's secret comes in the header or in the body, never twice",
    EXCHANGE,
    "credentials sent twice, or contradicting each other",
  ],
  [
    "OAuth 2.1 2.4.1",
    "the header's parts are form-decoded",
    EXCHANGE,
    "client credentials in HTTP Basic are form-decoded",
  ],
  [
    "OAuth 2.1 3.1",
    "unknown parameters are ignored",
    EXCHANGE,
    "a form is taken like JSON, unknown parameters are ignored",
  ],
  ["OAuth 2.1 3.1", "repeated parameters are refused", AUTHORIZE, "a repeated parameter is invalid_request"],
  ["OAuth 2.1 3.2", "the token endpoint takes POST only", METADATA, "another method is 405 with Allow"],
  [
    "OAuth 2.1 3.2.3",
    "answers with tokens are not cached",
    EXCHANGE,
    "has the five members of RFC 6749 5.1 and is never cached",
  ],
  [
    "OAuth 2.1 3.2.4",
    "errors are 400, a failed client 401 with a challenge",
    EXCHANGE,
    "a client that is not who it says is 401",
  ],
  ["OAuth 2.1 4.1.1", "state comes back as it was sent", AUTHORIZE, "iss comes back too"],
  [
    "OAuth 2.1 4.1.2",
    "code_challenge is remembered with the code",
    EXCHANGE,
    "the verifier of RFC 7636 fits its challenge",
  ],
  ["OAuth 2.1 4.1.2.1", "access_denied when the user says no", AUTHORIZE, "a denial comes back as access_denied"],
  ["OAuth 2.1 4.3.1", "a refresh never widens the scope", REFRESH, "a refresh may ask for less, not for more"],
  ["OAuth 2.1 5.3", "the API's refusals are those of RFC 6750", "choices/5-credentials", "challenge"],
  ["OAuth 2.1 7", "bearer tokens expire, and soon", EXCHANGE, "an hour, to the millisecond"],
  ["OAuth 2.1 7", "tokens cannot be made up or changed", JWT, "a tampered part breaks the signature"],
  ["OAuth 2.1 7", "codes and tokens cannot be guessed", REFRESH, "holds 256 random bits"],
  [
    "OAuth 2.1 7",
    "the user is asked before anything is granted",
    AUTHORIZE,
    "names client, account, user and where it leads",
  ],
  [
    "RFC 8725 3.1",
    "the algorithm is the key's, never the token's",
    JWT,
    "the algorithm is the key's, never the token's",
  ],
  ["RFC 8725 3.10", "keys are looked up safely", JWT, "only a known kid leads to a key"],
  ["RFC 8725 3.11", "tokens have an explicit type", JWT, "typ, iss and aud must be the ones expected"],
  [
    "RFC 7009 2.1",
    "a client revokes its own tokens only, and proves who it is",
    STATUS,
    "only the client that holds the token revokes it",
  ],
  ["RFC 7009 2.2", "an unknown token is no error", STATUS, "what is not known or over already is answered 200"],
  ["RFC 7662 2.1", "introspection is for clients that prove who they are", STATUS, "takes a client with a secret"],
  [
    "RFC 7662 2.2",
    "what opens nothing is not active, and nothing else is said",
    STATUS,
    "is not active, and nothing else is said",
  ],
];

const sources = new Map<string, Promise<string>>();

function source(file: string): Promise<string> {
  const read = sources.get(file) ?? readFile(new URL(`./${file}.test.ts`, import.meta.url), "utf8");
  sources.set(file, read);
  return read;
}

for (const [from, requirement, file, title] of REQUIREMENTS)
  test(`${from}: ${requirement}`, async () => {
    const titles = (await source(file)).match(/^\s*(?:choice|test)\([\s\S]*?(?:=>|\{)/gm) ?? [];
    assert.ok(
      titles.some((declared) => declared.includes(title)),
      `no test in ${file}.test.ts is called "… ${title} …"`,
    );
  });
