// Faults in authentication and rate limits (spec parts 5, 7 and 8), OAuth, and versioning (part 9). Each fault breaks
// one sentence, as an implementation might.
import { SCOPES } from "../../src/domain/model.ts";
import { objectIn } from "../../test/support/shown.ts";
import { SECRET } from "../conformance/own.ts";
import {
  allow,
  type FaultTable,
  isJson,
  type ProxyRequest,
  patchQuery,
  patchRequest,
  patchRequestBody,
  patchResponse,
  patchResponseBody,
  replaceStatus,
  respondWith,
  tokenIn,
  withHeader,
  withToken,
} from "./patches.ts";

const [CREATE, HOOK] = ["POST /apps", "POST /webhooks"];
const [READ, DELETE] = ["GET /apps", "DELETE /apps/*"];
const [MISSING, INVALID, EXPIRED] = [
  "missing_credential",
  "invalid_credential",
  "expired_credential",
];

/** A decoded part of the token; empty for an API key or any other string that is no token. */
const read = (request: ProxyRequest, part: 0 | 1) =>
  objectIn(Buffer.from(tokenIn(request).split(".")[part] ?? "", "base64url").toString());
const scopesOf = (request: ProxyRequest) => String(read(request, 1).scope).split(" ");
const isToken = (request: ProxyRequest) => "exp" in read(request, 1);
const isKey = (request: ProxyRequest) => !isToken(request);
const isUnsigned = (request: ProxyRequest) => read(request, 0).alg === "none";
const isForged = (request: ProxyRequest) => isToken(request) && !isUnsigned(request);

const named = (request: ProxyRequest) =>
  /^\S+$/.test(request.headers.authorization ?? "")
    ? withToken(request, tokenIn(request))
    : request;

const opens = (scope: string, at: string) =>
  allow("insufficient_scope", at, (request) => scopesOf(request).includes(scope));
const closes = (scope: string, at: string) =>
  respondWith(at, 403, (request) => scopesOf(request).includes(scope));
const everyScope = (query: URLSearchParams) => query.set("scope", SCOPES.join(" "));
const [TOKEN, AUTHORIZE] = ["POST /oauth/token", "GET /oauth/authorize"];
const grants = (type: string) => (request: ProxyRequest) =>
  request.body.includes(`"grant_type":"${type}"`);
const refreshes = grants("refresh_token");
const isUnnamed = (request: ProxyRequest) =>
  refreshes(request) && !request.body.includes("client_id");
const anonymous = (body: unknown) =>
  "refresh_token" in Object(body)
    ? { ...Object(body), client_id: undefined, client_secret: undefined }
    : body;

/** The redirect after consent lacks this query parameter. */
const loses = (name: string) =>
  patchResponse("POST /oauth/consent", (response) =>
    withHeader(
      response,
      "location",
      response.headers.location?.replace(new RegExp(`\\b${name}=[^&]*`), ""),
    ),
  );

const unversioned = (request: ProxyRequest) => ({
  ...request,
  url: request.url.replace(/^\/api\b/, "/v1"),
});
const isVersionless = ({ url, headers }: ProxyRequest) =>
  url.startsWith("/v1/") && !headers["api-version"];

export const access: FaultTable = {
  "missing-reads 5.401.missing: without a credential apps can be read": allow(MISSING, READ),
  "missing-deletes 5.401.missing: without a credential apps can be deleted": allow(MISSING, DELETE),
  "missing-hooks 5.401.missing: without a credential webhooks can be registered": allow(
    MISSING,
    HOOK,
  ),
  "missing-400 5.401.missing: without a credential it is 400": replaceStatus(MISSING, 400),
  "jwt-unsigned 5.401.invalid: a token that nobody signed is taken": allow(INVALID, "", isUnsigned),
  "jwt-forged 5.401.invalid: a token's signature is not looked at": allow(INVALID, "", isForged),
  "invalid-403 5.401.invalid: an invalid credential is 403": replaceStatus(INVALID, 403),
  "expired-lives 5.401.invalid: an expired token is taken": allow(EXPIRED),
  "format-400 5.401.format: a wrong format is 400": replaceStatus("malformed_credential", 400),
  "format-bare 5.401.format: a key without Bearer is taken": patchRequest("", named),
  "errors-200 7.401: what fails is 200, and the body says what": replaceStatus("_credential", 200),
  "key-hookless 5.api-key.full-access: a key does not register webhooks": respondWith(
    HOOK,
    403,
    isKey,
  ),
  "scope-unchecked 5.403.scope: no scope is looked at": allow("insufficient_scope"),
  "scope-401 5.403.scope: too small a scope is 401": replaceStatus("insufficient_scope", 401),
  "read-creates 5.scope.read-apps: it creates apps": opens("read:apps", CREATE),
  "write-deletes 5.scope.write-apps: it deletes apps": opens("write:apps", DELETE),
  "data-reads 5.scope.read-data: it reads apps": opens("read:data", READ),
  "read-nothing 5.scope.read-apps: it does not list apps": closes("read:apps", READ),
  "write-nothing 5.scope.write-apps: it does not create apps": closes("write:apps", CREATE),
  "delete-no-app 5.scope.delete-apps: it does not delete apps": closes("delete:apps", DELETE),
  "admin-hookless 5.scope.admin: it does not register webhooks": closes("admin", HOOK),
  "suspended-free 5.403.suspended: a suspended account goes on": allow("account_suspended"),
  "limited-free 5.403.limited: a limited account goes on": allow("account_limited"),
  "limited-402 7.403: a limited account is 402": replaceStatus("account_limited", 402),
  "rate-unlimited 8.rate-limit-403: there is no rate limit": { options: { rateLimit: "off" } },
  "rate-429 8.rate-limit-403: over the rate limit it is 429": replaceStatus(
    "rate_limit_exceeded",
    429,
  ),
  "authorize-post 5.oauth.authorize: it is POST alone": respondWith(AUTHORIZE, 405),
  "state-lost 5.oauth.authorize: the state does not come back": loses("state"),
  "code-lost 5.oauth.authorize: the code does not come back": loses("code"),
  "scopes-all 5.oauth.authorize: more scopes are granted than request for": patchQuery(
    AUTHORIZE,
    everyScope,
  ),
  "token-form 5.oauth.exchange: a JSON body is refused": respondWith(TOKEN, 400, isJson),
  "token-opaque 5.oauth.jwt: the access token is an opaque text": patchResponseBody(
    TOKEN,
    "access_token",
    "opaque",
  ),
  "token-unknown 5.oauth.bearer: the API does not know the flow's tokens": respondWith(
    "",
    401,
    isToken,
  ),
  "secret-any 5.oauth.client-credentials: a wrong client secret will do": patchRequestBody(
    TOKEN,
    "client_secret",
    (secret) => (secret === undefined ? secret : SECRET),
  ),
  "refresh-none 5.oauth.refresh: there is none": respondWith(TOKEN, 400, refreshes),
  "refresh-named 5.oauth.refresh: it fails where no client is named": respondWith(
    TOKEN,
    401,
    isUnnamed,
  ),
  "refresh-dead 5.oauth.refresh: its tokens open nothing": patchResponseBody(
    TOKEN,
    "access_token",
    "e.e.e",
    refreshes,
  ),
  "refresh-expired 5.refresh-failure.expired: an expired refresh token works": replaceStatus(
    "has expired",
    200,
  ),
  "refresh-secret 5.refresh-failure.credentials: wrong client credentials will do":
    patchRequestBody(TOKEN, "", anonymous),
  "refresh-revoked 5.refresh-failure.revoked: revoked access works": replaceStatus("revoked", 200),
  "version-nowhere 9.path-segment: the base URL has no version": {
    patch: patchRequest("", unversioned),
    base: "/api",
  },
  "version-header 9.path-segment: the version has to stand in a header": respondWith(
    "",
    400,
    isVersionless,
  ),
};
