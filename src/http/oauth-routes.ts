// The authorization server's endpoints for programs (spec part 5; contract part 5): token, revoke, introspect, the keys and
// the two metadata documents. What users see of it, authorize and consent, are pages and live in web/. Errors are those of
// RFC 6749 5.2, never problem details, and nothing here may be cached that carries a token.
import type { Context } from "../domain/oauth/access-tokens.ts";
import * as status from "../domain/oauth/access-tokens.ts";
import { authenticated, identified, invalidRequest, OAuthError } from "../domain/oauth/rules.ts";
import * as tokens from "../domain/oauth/tokens.ts";
import { isStoreError } from "../domain/store.ts";
import { type Call, empty, jsonReply, type Reply } from "./call.ts";
import type { Door } from "./front.ts";
import { ADDRESSES, type ServiceLinks } from "./links.ts";
import { authorizationServerMetadata, ENDPOINTS, protectedResourceMetadata } from "./oauth-metadata.ts";
import { type OAuthRequest, readOAuthRequest } from "./oauth-request.ts";

/** Each endpoint has one method; HEAD comes with GET. */
type Endpoint = { readonly method: "GET" | "POST"; readonly answer: (call: Call) => Promise<Reply> };

/** Answers the calls to these endpoints, and undefined to any other path. */
export function oauthRoutes(context: Context, links: ServiceLinks): Door {
  const endpoints: ReadonlyMap<string, Endpoint> = new Map<string, Endpoint>([
    ["/oauth/token", posted((request) => token(context, request))],
    [ENDPOINTS.revoke, posted((request) => revoke(context, request))],
    [ENDPOINTS.introspect, posted((request) => introspect(context, request))],
    [ENDPOINTS.keys, got(async () => ({ keys: await context.keys.published() }))],
    [ENDPOINTS.metadata, got(async () => authorizationServerMetadata(links))],
    [ADDRESSES.resource_metadata, got(async () => protectedResourceMetadata(links))],
  ]);
  return (call) => {
    const endpoint = endpoints.get(call.path);
    return endpoint && answer(endpoint, call);
  };
}

/** A store that fails is answered here and not by the listener, whose problem details no OAuth client would read. */
async function answer({ method, answer: run }: Endpoint, call: Call): Promise<Reply> {
  const allow = method === "GET" ? "GET, HEAD, OPTIONS" : "POST, OPTIONS";
  if (call.method === "OPTIONS") return empty(204, { allow });
  if (call.method !== method && !(method === "GET" && call.method === "HEAD"))
    return failure(invalidRequest(`The method must be ${method}.`), { status: 405, headers: { allow } });
  try {
    return await run(call);
  } catch (error) {
    if (!isStoreError(error, "StorageUnavailable")) throw error;
    return jsonReply(503, { error: "temporarily_unavailable", error_description: STORAGE_FAILED }, NO_STORE);
  }
}

const STORAGE_FAILED = "The change was not kept, because the storage refused it. Nothing was changed; try again later.";
const NO_STORE = { "cache-control": "no-store", pragma: "no-cache" };

/** Documents for programs: they change with a reset or another public URL, so they are asked for again. */
const got = (document: () => Promise<unknown>): Endpoint => ({
  method: "GET",
  answer: async () => jsonReply(200, await document(), { "cache-control": "no-cache" }),
});

const posted = (run: (request: OAuthRequest) => Promise<object | OAuthError>): Endpoint => ({
  method: "POST",
  answer: async (call) => {
    const request = await readOAuthRequest(call);
    const result = request instanceof OAuthError ? request : await run(request);
    return result instanceof OAuthError ? failure(result) : jsonReply(200, result, NO_STORE);
  },
});

/** RFC 9110 15.5.2 wants a challenge with every 401; Basic is the scheme that clients can answer it with. */
function failure(
  { error, description }: OAuthError,
  at: { readonly status?: number; readonly headers?: Reply["headers"] } = {},
): Reply {
  const isClient = error === "invalid_client";
  const headers = { ...NO_STORE, ...(isClient && { "www-authenticate": 'Basic realm="app-hosting"' }), ...at.headers };
  const status = at.status ?? (isClient ? 401 : 400);
  return jsonReply(status, { error, error_description: description }, headers);
}

/** Credentials are judged before the code or token is looked at, so that a stranger learns nothing and uses up nothing. */
async function token(context: Context, request: OAuthRequest): Promise<object | OAuthError> {
  const { fields, credentials } = request;
  switch (fields.get("grant_type")) {
    case "authorization_code": {
      const client = await authenticated(context.store, credentials);
      const code = fields.get("code");
      if (client instanceof OAuthError) return client;
      if (code === undefined) return invalidRequest("The code is missing.");
      return tokens.exchange(context, client, code, fields.get("redirect_uri"), fields.get("code_verifier"));
    }
    case "refresh_token": {
      const client = await identified(context.store, credentials);
      const refreshToken = fields.get("refresh_token");
      if (client instanceof OAuthError) return client;
      if (refreshToken === undefined) return invalidRequest("The refresh_token is missing.");
      return tokens.refresh(context, client, refreshToken, fields.get("scope"));
    }
    case undefined:
      return invalidRequest("The grant_type is missing.");
    default:
      return new OAuthError("unsupported_grant_type", "The grant_type must be authorization_code or refresh_token.");
  }
}

/** A request without any credentials may still name a token that belongs to no client. */
async function revoke(context: Context, request: OAuthRequest): Promise<object | OAuthError> {
  const { fields, credentials } = request;
  const anonymous = credentials.id === undefined && credentials.secret === undefined;
  const client = anonymous ? null : await authenticated(context.store, credentials);
  const held = fields.get("token");
  if (client instanceof OAuthError) return client;
  if (held === undefined) return invalidRequest("The token is missing.");
  return (await status.revoke(context, client, held)) ?? {};
}

/** RFC 7662 2.1 wants the caller authorised, which only a client with a secret can be. */
async function introspect(context: Context, request: OAuthRequest): Promise<object | OAuthError> {
  const client = await authenticated(context.store, request.credentials);
  const asked = request.fields.get("token");
  if (client instanceof OAuthError) return client;
  if (client.public) return new OAuthError("invalid_client", "A public client cannot ask about tokens.");
  if (asked === undefined) return invalidRequest("The token is missing.");
  return status.introspect(context, client, asked);
}
