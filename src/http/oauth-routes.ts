// Endpoints of the authorization server for programs (spec part 5; contract part 5): token, revoke, introspect, the
// keys and two metadata documents. The pages, authorize and consent, live in web/. Errors follow RFC 6749 5.2, not
// problem details, and no response with a token may be cached.

import type { ErrorCode } from "../domain/errors.ts";
import { SCOPES } from "../domain/model.ts";
import type { AuthorizationServer } from "../domain/oauth/access-tokens.ts";
import * as status from "../domain/oauth/access-tokens.ts";
import { RESPONSE_TYPE } from "../domain/oauth/authorize.ts";
import {
  authenticateClient,
  CHALLENGE_METHOD,
  identifyClient,
  invalidRequest,
  OAuthError,
  unknownTarget,
} from "../domain/oauth/rules.ts";
import * as tokens from "../domain/oauth/tokens.ts";
import { decide } from "../former-decisions.ts";
import { type HttpResponse, jsonResponse } from "./message.ts";
import { type OAuthRequest, readOAuthRequest } from "./oauth-request.ts";
import { errorHeaders, explain } from "./problem.ts";
import { getRoute, type PublicRoute, publicRouter, type Router } from "./router.ts";
import { PATHS, type ServiceUrls } from "./urls.ts";

/** Endpoints besides authorize and token, which the specification shows. */
const ENDPOINTS = {
  revoke: "/oauth/revoke",
  introspect: "/oauth/introspect",
  keys: "/oauth/jwks",
} as const;

/** OpenID Connect libraries request only their own path. The document promises no ID tokens there either. */
const METADATA_NAMES = decide("1.rfcs");

const WITH_SECRET = ["client_secret_basic", "client_secret_post"];

export const createOAuthRouter = (
  context: AuthorizationServer,
  links: ServiceUrls,
): Router<PublicRoute> =>
  publicRouter(
    [
      post("/oauth/token", (request) => token(context, request)),
      post(ENDPOINTS.revoke, (request) => revoke(context, request)),
      post(ENDPOINTS.introspect, (request) => introspect(context, request)),
      getJson(ENDPOINTS.keys, async () => ({ keys: await context.keys.jwks() })),
      ...METADATA_NAMES.map((name) =>
        getJson(`/.well-known/${name}`, async () => authorizationServerMetadata(links)),
      ),
      getJson(PATHS.resource_metadata, async () => protectedResourceMetadata(links)),
    ],
    (error) => {
      const { status: accessTokens, detail } = explain(error);
      const { details: reason } = error;
      return oauthErrorResponse(
        accessTokens,
        ERROR_NAMES[reason.code] ?? "invalid_request",
        detail,
        errorHeaders(reason, links.resourceMetadata),
      );
    },
  );

/** RFC 6749 4.1.2.1: names of errors that the request did not cause. */
const ERROR_NAMES: { readonly [C in ErrorCode]?: string } = {
  storage_unavailable: "temporarily_unavailable",
  internal_error: "server_error",
};

const NO_STORE = { "cache-control": "no-store", pragma: "no-cache" };

const oauthErrorResponse = (
  accessTokens: number,
  error: string,
  error_description: string,
  headers: HttpResponse["headers"],
): HttpResponse =>
  jsonResponse(accessTokens, { error, error_description }, { ...NO_STORE, ...headers });

/** RFC 9110 15.5.2 requires a challenge with every 401; Basic is the scheme that clients can use. */
const toErrorResponse = ({ error, description }: OAuthError): HttpResponse =>
  error === "invalid_client"
    ? oauthErrorResponse(401, error, description, {
        "www-authenticate": 'Basic realm="app-hosting"',
      })
    : oauthErrorResponse(400, error, description, {});

/** Documents for programs, revalidated because a reset or another public URL changes them. */
const getJson = (path: string, read: () => Promise<unknown>): PublicRoute =>
  getRoute(path, async () => jsonResponse(200, await read(), { "cache-control": "no-cache" }));

const post = (path: string, run: (request: OAuthRequest) => Promise<object>): PublicRoute => ({
  method: "POST",
  path,
  async handler(call) {
    const request = await readOAuthRequest(call);
    const result = request instanceof OAuthError ? request : await run(request);
    return result instanceof OAuthError
      ? toErrorResponse(result)
      : jsonResponse(200, result, NO_STORE);
  },
});

/**
 * Metadata from which a client library discovers everything, given {auth_url}. RFC 8414 covers the authorization
 * server, RFC 9728 the REST API. Only features that the server has are listed.
 */
const authorizationServerMetadata = ({ authUrl, baseUrl }: ServiceUrls) => ({
  issuer: authUrl,
  authorization_endpoint: `${authUrl}/oauth/authorize`,
  token_endpoint: `${authUrl}/oauth/token`,
  revocation_endpoint: authUrl + ENDPOINTS.revoke,
  introspection_endpoint: authUrl + ENDPOINTS.introspect,
  // Login clients read the signed-in user from it: the member `user` of its response.
  userinfo_endpoint: `${baseUrl}/account`,
  jwks_uri: authUrl + ENDPOINTS.keys,
  scopes_supported: SCOPES,
  response_types_supported: [RESPONSE_TYPE],
  response_modes_supported: ["query"],
  grant_types_supported: ["authorization_code", "refresh_token"],
  token_endpoint_auth_methods_supported: [...WITH_SECRET, "none"],
  revocation_endpoint_auth_methods_supported: [...WITH_SECRET, "none"],
  introspection_endpoint_auth_methods_supported: WITH_SECRET,
  code_challenge_methods_supported: [CHALLENGE_METHOD],
  authorization_response_iss_parameter_supported: true,
  service_documentation: authUrl + PATHS.docs,
  protected_resources: [baseUrl],
});

const protectedResourceMetadata = ({ authUrl, baseUrl }: ServiceUrls) => ({
  resource: baseUrl,
  authorization_servers: [authUrl],
  scopes_supported: SCOPES,
  bearer_methods_supported: ["header"],
  resource_name: "Application Hosting Service",
  resource_documentation: authUrl + PATHS.docs,
});

/** Verifies the credentials before the code or token, so that a stranger learns nothing and uses up nothing. */
async function withClient<C>(
  { fields }: OAuthRequest,
  name: string,
  known: Promise<C | OAuthError>,
  use: (client: C, value: string) => Promise<object | undefined>,
): Promise<object> {
  const client = await known;
  if (client instanceof OAuthError) return client;
  const value = fields.get(name);
  return value === undefined
    ? invalidRequest(`The ${name} is missing.`)
    : ((await use(client, value)) ?? {});
}

async function token(context: AuthorizationServer, request: OAuthRequest): Promise<object> {
  const { fields, credentials, resources } = request;
  const forOtherResource = unknownTarget(resources, context.audience);
  switch (fields.get("grant_type")) {
    case "authorization_code":
      return withClient(
        request,
        "code",
        authenticateClient(context.store, credentials),
        async (client, code) =>
          forOtherResource ?? tokens.authorizationCodeGrant(context, client, code, fields),
      );
    case "refresh_token":
      return withClient(
        request,
        "refresh_token",
        identifyClient(context.store, credentials),
        async (client, held) =>
          forOtherResource ?? tokens.refreshTokenGrant(context, client, held, fields.get("scope")),
      );
    case undefined:
      return invalidRequest("The grant_type is missing.");
    default:
      return new OAuthError(
        "unsupported_grant_type",
        "The grant_type must be authorization_code or refresh_token.",
      );
  }
}

/** A request without credentials may still name a token that belongs to no client. */
function revoke(context: AuthorizationServer, request: OAuthRequest): Promise<object> {
  const { id, secret } = request.credentials;
  const isAnonymous = id === undefined && secret === undefined;
  const client = isAnonymous
    ? Promise.resolve(null)
    : authenticateClient(context.store, request.credentials);
  return withClient(request, "token", client, (client, held) =>
    status.revoke(context, client, held),
  );
}

/** RFC 7662 2.1 requires an authorized caller, which only a client with a secret can be. */
const introspect = (context: AuthorizationServer, request: OAuthRequest): Promise<object> =>
  withClient(
    request,
    "token",
    authenticateClient(context.store, request.credentials),
    async (client, asked) =>
      client.public
        ? new OAuthError("invalid_client", "A public client cannot ask about tokens.")
        : status.introspect(context, client, asked),
  );
