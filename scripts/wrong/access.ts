// Faults in who is let in and how often (spec parts 5, 7 and 8), in OAuth, and in the version (part 9): each breaks one
// sentence, as an implementation might.
import { SCOPES } from "../../src/domain/model.ts";
import { trusted } from "../../src/kit/schema.ts";
import type { Message } from "./proxy.ts";
import * as memory from "./remembering.ts";
import * as way from "./ways.ts";
import { as, asksJson, asksQuery, bearer, type Faults, instead, lets, refuses, type Wrong } from "./ways.ts";

const [CREATE, DEPLOY, HOOK] = ["POST /apps", "POST /apps/*/deploy", "POST /webhooks"];
const [READ, DELETE] = ["GET /apps", "DELETE /apps/*"];
const [MISSING, INVALID, EXPIRED] = ["missing_credential", "invalid_credential", "expired_credential"];

/** What a token says of itself; nothing where it is none. */
function read(token: string, part: 0 | 1): Readonly<Record<string, unknown>> {
  try {
    return Object(trusted<unknown>(JSON.parse(Buffer.from(token.split(".")[part] ?? "", "base64url").toString())));
  } catch {
    return {}; // an API key, or nothing that was ever a token
  }
}
const holds = (scope: string) => (asked: Message) =>
  String(read(bearer(asked), 1).scope)
    .split(" ")
    .includes(scope);
const isToken = (asked: Message) => "exp" in read(bearer(asked), 1);
const isKey = (asked: Message) => !isToken(asked);
const isUnsigned = (asked: Message) => read(bearer(asked), 0).alg === "none";
const isForged = (asked: Message) => isToken(asked) && !isUnsigned(asked);

const credential = (change: (value: string) => string): Wrong => ({
  api(asked, send) {
    const { authorization = "" } = asked.headers;
    const other = asked.url.startsWith("/v1/") ? change(authorization) : authorization;
    return send(other === authorization ? asked : as(asked, other));
  },
});
/** Some texts pass for the key. */
const passes = (like: (token: string, key: string) => boolean): Wrong => ({
  api: (asked, send, { key }) => send(like(bearer(asked), key) ? as(asked, `Bearer ${key}`) : asked),
});

const CREDENTIALS: Faults = {
  "missing-reads 5.401.missing: without a credential apps can be read": lets(MISSING, READ),
  "missing-deletes 5.401.missing: without a credential apps can be deleted": lets(MISSING, DELETE),
  "missing-deploys 5.401.missing: without a credential apps can be deployed": lets(MISSING, DEPLOY),
  "missing-hooks 5.401.missing: without a credential webhooks can be registered": lets(MISSING, HOOK),
  "missing-400 5.401.missing: without a credential it is 400": instead(MISSING, 400),
  "missing-302 5.401.missing: without a credential one is sent to sign in": instead(MISSING, 302, { location: "/in" }),
  "key-more 5.401.invalid: what follows a right key is not looked at": passes((token, key) => token.startsWith(key)),
  "key-less 5.401.invalid: the beginning of a key will do": passes(
    (token, key) => token !== "" && key.startsWith(token),
  ),
  "key-capitals 5.401.invalid: capitals and small letters of a key are one": passes(
    (token, key) => token.toLowerCase() === key.toLowerCase(),
  ),
  "jwt-unsigned 5.401.invalid: a token that nobody signed is taken": lets(INVALID, "", isUnsigned),
  "jwt-forged 5.401.invalid: a token's signature is not looked at": lets(INVALID, "", isForged),
  "invalid-403 5.401.invalid: an invalid credential is 403": instead(INVALID, 403),
  "invalid-404 5.401.invalid: an invalid credential is 404": instead(INVALID, 404),
  "expired-lives 5.401.invalid: an expired token is taken": lets(EXPIRED),
  "expired-403 5.401.invalid: an expired token is 403": instead(EXPIRED, 403),
  "format-400 5.401.format: a wrong format is 400": instead("malformed_credential", 400),
  "format-bare 5.401.format: a key without Bearer is taken": credential((value) =>
    value.replace(/^(?=\S+$)/, "Bearer "),
  ),
  "format-basic 5.401.format: Basic is taken for Bearer": credential((value) => value.replace(/^Basic /, "Bearer ")),
  "format-more 5.401.format: a second word is not looked at": credential((value) =>
    value.replace(/^(\w+ \S+) .*/, "$1"),
  ),
  "errors-200 7.401: what fails is 200, and the body says what": way.answers("", (answer) =>
    answer.status === 401 ? { ...answer, status: 200 } : answer,
  ),
  "key-hookless 5.api-key.full-access: a key does not register webhooks": refuses(HOOK, 403, isKey),
  "key-dataless 5.api-key.full-access: a key does not create data sources": refuses("POST /data-sources", 403, isKey),
};

const opens = (scope: string, at: string) => lets("insufficient_scope", at, holds(scope));
const closes = (scope: string, at: string) => refuses(at, 403, holds(scope));
const SCOPED: Faults = {
  "scope-unchecked 5.403.scope: no scope is looked at": lets("insufficient_scope"),
  "scope-401 5.403.scope: too small a scope is 401": instead("insufficient_scope", 401),
  "scope-404 7.403: too small a scope is 404": instead("insufficient_scope", 404),
  "read-creates 5.scope.read-apps: it creates apps": opens("read:apps", CREATE),
  "read-deploys 5.scope.read-apps: it deploys apps": opens("read:apps", DEPLOY),
  "write-deletes 5.scope.write-apps: it deletes apps": opens("write:apps", DELETE),
  "data-reads 5.scope.read-data: it reads apps": opens("read:data", READ),
  "read-nothing 5.scope.read-apps: it does not list apps": closes("read:apps", READ),
  "write-nothing 5.scope.write-apps: it does not create apps": closes("write:apps", CREATE),
  "delete-nothing 5.scope.delete-apps: it does not delete apps": closes("delete:apps", DELETE),
  "admin-hookless 5.scope.admin: it does not register webhooks": closes("admin", HOOK),
};

const STANDING: Faults = {
  "suspended-free 5.403.suspended: a suspended account goes on": lets("account_suspended"),
  "suspended-reads 5.403.suspended: a suspended account may read": lets("account_suspended", READ),
  "suspended-401 5.403.suspended: a suspended account is 401": instead("account_suspended", 401),
  "limited-free 5.403.limited: a limited account goes on": lets("account_limited"),
  "limited-402 7.403: a limited account is 402": instead("account_limited", 402),
  "rate-unlimited 8.rate-limit-403: there is no rate limit": { options: { rateLimit: "off" } },
  "rate-429 8.rate-limit-403: over the rate limit it is 429": instead("rate_limit_exceeded", 429),
  "rate-503 8.rate-limit-403: over the rate limit it is 503": instead("rate_limit_exceeded", 503),
};

const [TOKEN, AUTHORIZE] = ["POST /oauth/token", "GET /oauth/authorize"];
const grants = (type: string) => (asked: Message) => new RegExp(`"grant_type":"${type}"`).test(asked.body);
const [exchanges, refreshes] = [grants("authorization_code"), grants("refresh_token")];
const scoped = (scope: (asked: string) => string) =>
  asksQuery(AUTHORIZE, (query) => query.set("scope", scope(query.get("scope") ?? "")));

/** The way back to the client, changed. */
const returns = (change: (query: URLSearchParams, code: string, state: string) => unknown): Wrong =>
  way.answers("", (answer) => {
    const { location = "" } = answer.headers;
    const url = new URL(location, "http://nowhere");
    const code = url.searchParams.get("code");
    if (code === null) return answer;
    change(url.searchParams, code, url.searchParams.get("state") ?? "");
    return { ...answer, headers: { ...answer.headers, location: url.href } };
  });

const OAUTH: Faults = {
  "authorize-post 5.oauth.authorize: it is POST alone": refuses(AUTHORIZE, 405),
  "state-lost 5.oauth.authorize: the state does not come back": returns((query) => query.delete("state")),
  "state-decoded 5.oauth.authorize: the state comes back decoded twice": returns((query, _, state) =>
    query.set("state", decodeURIComponent(state.replaceAll("+", " ").replace(/&.*/, ""))),
  ),
  "code-lost 5.oauth.authorize: the code comes back in the fragment": returns((query) => query.delete("code")),
  "scopes-first 5.oauth.authorize: of several scopes the first is granted": scoped((asked) => asked.replace(/ .*/, "")),
  "scopes-all 5.oauth.authorize: more scopes are granted than asked for": scoped(() => SCOPES.join(" ")),
  "token-form 5.oauth.exchange: a JSON body is refused": refuses(TOKEN, 400, ({ body }) => body.startsWith("{")),
  "token-none 5.oauth.exchange: a code is not exchanged": refuses(TOKEN, 400, exchanges),
  "token-opaque 5.oauth.jwt: the access token is an opaque text": { api: memory.opaque },
  "token-unknown 5.oauth.bearer: the API does not know the flow's tokens": refuses("", 401, isToken),
  "secret-any 5.oauth.client-credentials: a wrong client secret will do": {
    api: (asked, send, { secret: right }) =>
      send(exchanges(asked) ? way.changed(asked, (body) => ({ ...body, client_secret: right })) : asked),
  },
  "refresh-none 5.oauth.refresh: there is none": refuses(TOKEN, 400, refreshes),
  "refresh-named 5.oauth.refresh: it fails where no client is named": refuses(
    TOKEN,
    401,
    (asked) => refreshes(asked) && !asked.body.includes("client_id"),
  ),
  "refresh-dead 5.oauth.refresh: what it yields opens nothing": { api: memory.deadTokens },
  "refresh-expired 5.refresh-failure.expired: an expired refresh token works": memory.refreshes(/has expired/),
  "refresh-secret 5.refresh-failure.credentials: wrong client credentials will do": asksJson(TOKEN, (body) =>
    "refresh_token" in body ? way.without("client_id", "client_secret")(body) : body,
  ),
  "refresh-revoked 5.refresh-failure.revoked: revoked access works": memory.refreshes(/revoked/),
};

const unversioned = (asked: Message) => ({ ...asked, url: asked.url.replace(/^\/api\b/, "/v1") });
const VERSION: Faults = {
  "version-nowhere 9.path-segment: the base URL has no version": { ...way.asks("", unversioned), base: "/api" },
  "version-header 9.path-segment: the version has to stand in a header": refuses(
    "",
    400,
    ({ url, headers }) => url.startsWith("/v1/") && !headers["api-version"],
  ),
};

export const access: Faults = { ...CREDENTIALS, ...SCOPED, ...STANDING, ...OAUTH, ...VERSION };
