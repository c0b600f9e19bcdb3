// Faults in authentication and rate limits (spec parts 5, 7 and 8), OAuth, and versioning (part 9). Each fault breaks
// one sentence, as an implementation might.
import { SCOPES } from "../../src/domain/model.ts";
import { objectIn } from "../../test/support/shown.ts";
import { SECRET } from "../conformance/own.ts";
import type { Message } from "./proxy.ts";
import * as way from "./ways.ts";
import {
  answersJson,
  asksJson,
  bearer,
  type Faults,
  instead,
  is,
  lets,
  refuses,
  type Way,
} from "./ways.ts";

const [CREATE, HOOK] = ["POST /apps", "POST /webhooks"];
const [READ, DELETE] = ["GET /apps", "DELETE /apps/*"];
const [MISSING, INVALID, EXPIRED] = [
  "missing_credential",
  "invalid_credential",
  "expired_credential",
];

/** A decoded part of the token; empty for an API key or any other string that is no token. */
const read = (asked: Message, part: 0 | 1) =>
  objectIn(Buffer.from(bearer(asked).split(".")[part] ?? "", "base64url").toString());
const scopesOf = (asked: Message) => String(read(asked, 1).scope).split(" ");
const isToken = (asked: Message) => "exp" in read(asked, 1);
const isKey = (asked: Message) => !isToken(asked);
const isUnsigned = (asked: Message) => read(asked, 0).alg === "none";
const isForged = (asked: Message) => isToken(asked) && !isUnsigned(asked);

const named = (asked: Message) =>
  /^\S+$/.test(asked.headers.authorization ?? "") ? way.as(asked, bearer(asked)) : asked;

const opens = (scope: string, at: string) =>
  lets("insufficient_scope", at, (asked) => scopesOf(asked).includes(scope));
const closes = (scope: string, at: string) =>
  refuses(at, 403, (asked) => scopesOf(asked).includes(scope));
const everyScope = (query: URLSearchParams) => query.set("scope", SCOPES.join(" "));
const [TOKEN, AUTHORIZE] = ["POST /oauth/token", "GET /oauth/authorize"];
const grants = (type: string) => (asked: Message) => asked.body.includes(`"grant_type":"${type}"`);
const [exchanges, refreshes] = [grants("authorization_code"), grants("refresh_token")];
const isUnnamed = (asked: Message) => refreshes(asked) && !asked.body.includes("client_id");
const anonymous = (body: unknown) =>
  "refresh_token" in Object(body)
    ? { ...Object(body), client_id: undefined, client_secret: undefined }
    : body;

/** The redirect after consent lacks this query parameter. */
const loses = (name: string) =>
  way.answers("POST /oauth/consent", (answer) =>
    way.header(
      answer,
      "location",
      answer.headers.location?.replace(new RegExp(`\\b${name}=[^&]*`), ""),
    ),
  );

/** Replaces each access token with an opaque one. */
const opaque: Way = async (asked, send) => {
  const [, hex] = /^opaque(\w+)$/.exec(bearer(asked)) ?? [];
  const answer = await send(
    hex === undefined ? asked : way.as(asked, Buffer.from(hex, "hex").toString()),
  );
  const hidden = (token: unknown) => `opaque${Buffer.from(String(token)).toString("hex")}`;
  return asked.url === "/oauth/token" && answer.status === 200
    ? way.changed(answer, "access_token", hidden)
    : answer;
};

const anySecret: Way = (asked, send) => send(way.changed(asked, "client_secret", is(SECRET)));

const unversioned = (asked: Message) => ({ ...asked, url: asked.url.replace(/^\/api\b/, "/v1") });
const isVersionless = ({ url, headers }: Message) =>
  url.startsWith("/v1/") && !headers["api-version"];

export const access: Faults = {
  "missing-reads 5.401.missing: without a credential apps can be read": lets(MISSING, READ),
  "missing-deletes 5.401.missing: without a credential apps can be deleted": lets(MISSING, DELETE),
  "missing-hooks 5.401.missing: without a credential webhooks can be registered": lets(
    MISSING,
    HOOK,
  ),
  "missing-400 5.401.missing: without a credential it is 400": instead(MISSING, 400),
  "jwt-unsigned 5.401.invalid: a token that nobody signed is taken": lets(INVALID, "", isUnsigned),
  "jwt-forged 5.401.invalid: a token's signature is not looked at": lets(INVALID, "", isForged),
  "invalid-403 5.401.invalid: an invalid credential is 403": instead(INVALID, 403),
  "expired-lives 5.401.invalid: an expired token is taken": lets(EXPIRED),
  "format-400 5.401.format: a wrong format is 400": instead("malformed_credential", 400),
  "format-bare 5.401.format: a key without Bearer is taken": way.asks("", named),
  "errors-200 7.401: what fails is 200, and the body says what": instead("_credential", 200),
  "key-hookless 5.api-key.full-access: a key does not register webhooks": refuses(HOOK, 403, isKey),
  "scope-unchecked 5.403.scope: no scope is looked at": lets("insufficient_scope"),
  "scope-401 5.403.scope: too small a scope is 401": instead("insufficient_scope", 401),
  "read-creates 5.scope.read-apps: it creates apps": opens("read:apps", CREATE),
  "write-deletes 5.scope.write-apps: it deletes apps": opens("write:apps", DELETE),
  "data-reads 5.scope.read-data: it reads apps": opens("read:data", READ),
  "read-nothing 5.scope.read-apps: it does not list apps": closes("read:apps", READ),
  "write-nothing 5.scope.write-apps: it does not create apps": closes("write:apps", CREATE),
  "delete-no-app 5.scope.delete-apps: it does not delete apps": closes("delete:apps", DELETE),
  "admin-hookless 5.scope.admin: it does not register webhooks": closes("admin", HOOK),
  "suspended-free 5.403.suspended: a suspended account goes on": lets("account_suspended"),
  "limited-free 5.403.limited: a limited account goes on": lets("account_limited"),
  "limited-402 7.403: a limited account is 402": instead("account_limited", 402),
  "rate-unlimited 8.rate-limit-403: there is no rate limit": { options: { rateLimit: "off" } },
  "rate-429 8.rate-limit-403: over the rate limit it is 429": instead("rate_limit_exceeded", 429),
  "authorize-post 5.oauth.authorize: it is POST alone": refuses(AUTHORIZE, 405),
  "state-lost 5.oauth.authorize: the state does not come back": loses("state"),
  "code-lost 5.oauth.authorize: the code does not come back": loses("code"),
  "scopes-all 5.oauth.authorize: more scopes are granted than asked for": way.asksQuery(
    AUTHORIZE,
    everyScope,
  ),
  "token-form 5.oauth.exchange: a JSON body is refused": refuses(TOKEN, 400, way.isJson),
  "token-opaque 5.oauth.jwt: the access token is an opaque text": way.where("", opaque),
  "token-unknown 5.oauth.bearer: the API does not know the flow's tokens": refuses(
    "",
    401,
    isToken,
  ),
  "secret-any 5.oauth.client-credentials: a wrong client secret will do": way.where(
    TOKEN,
    anySecret,
    exchanges,
  ),
  "refresh-none 5.oauth.refresh: there is none": refuses(TOKEN, 400, refreshes),
  "refresh-named 5.oauth.refresh: it fails where no client is named": refuses(
    TOKEN,
    401,
    isUnnamed,
  ),
  "refresh-dead 5.oauth.refresh: its tokens open nothing": answersJson(
    TOKEN,
    "access_token",
    is("e.e.e"),
    refreshes,
  ),
  "refresh-expired 5.refresh-failure.expired: an expired refresh token works": instead(
    "has expired",
    200,
  ),
  "refresh-secret 5.refresh-failure.credentials: wrong client credentials will do": asksJson(
    TOKEN,
    "",
    anonymous,
  ),
  "refresh-revoked 5.refresh-failure.revoked: revoked access works": instead("revoked", 200),
  "version-nowhere 9.path-segment: the base URL has no version": {
    way: way.asks("", unversioned),
    base: "/api",
  },
  "version-header 9.path-segment: the version has to stand in a header": refuses(
    "",
    400,
    isVersionless,
  ),
};
