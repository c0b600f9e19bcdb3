// Endpoints of the authorization server for programs (spec part 5; contract part 5): token, revoke, keys and metadata.
// The pages, authorize and consent, live in web/. Requests are JSON, as the spec shows, or a form (RFC 6749). Errors
// follow RFC 6749 5.2, not problem details, and no response with a token may be cached.
import {
  authenticateClient,
  type ClientCredentials,
  identifyClient,
} from "../domain/credentials.ts";
import { AppError } from "../domain/errors.ts";
import { SCOPES } from "../domain/model.ts";
import type { AuthorizationServer } from "../domain/oauth/access-tokens.ts";
import { CODE_CHALLENGE_METHOD, RESPONSE_TYPE } from "../domain/oauth/authorize.ts";
import {
  checkRepeated,
  checkResource,
  invalidClient,
  invalidRequest,
  OAuthError,
  parseParameters,
} from "../domain/oauth/errors.ts";
import { authorizationCodeGrant, refreshTokenGrant, revokeToken } from "../domain/oauth/tokens.ts";
import {
  type HttpRequest,
  type HttpResponse,
  JSON_TYPE,
  jsonResponse,
  PATHS,
  type ServiceUrls,
} from "./message.ts";
import { errorHeaders, explain } from "./problem.ts";
import { BODY_BYTES, decodeUtf8, getMediaType, parseJson } from "./request.ts";
import { getRoute, type PublicRoute, publicRouter, type Router } from "./router.ts";

const TOKEN_PATH = "/oauth/token";
const REVOKE_PATH = "/oauth/revoke";
const KEYS_PATH = "/oauth/jwks";
const FORM_TYPE = "application/x-www-form-urlencoded";
const NO_STORE = { "cache-control": "no-store", pragma: "no-cache" };

/** Parameters that must be strings; all others are ignored (RFC 6749 3.2). */
const PARAMETERS = [
  "grant_type",
  "client_id",
  "client_secret",
  "code",
  "redirect_uri",
  "code_verifier",
  "refresh_token",
  "scope",
  "token",
  "token_type_hint",
  "resource",
];

interface OAuthRequest {
  readonly parameters: URLSearchParams;
  readonly credentials: ClientCredentials;
}

export const createOAuthRouter = (
  server: AuthorizationServer,
  urls: ServiceUrls,
): Router<PublicRoute> =>
  publicRouter(
    [
      postRoute(TOKEN_PATH, (request) => handleToken(server, request)),
      postRoute(REVOKE_PATH, (request) => handleRevoke(server, request)),
      documentRoute(KEYS_PATH, async () => ({ keys: await server.keys.jwks() })),
      documentRoute("/.well-known/oauth-authorization-server", () => serverMetadata(urls)),
      // OpenID Connect libraries request only their own path. The document promises no ID tokens there either.
      documentRoute("/.well-known/openid-configuration", () => serverMetadata(urls)),
      documentRoute(PATHS.resource_metadata, () => resourceMetadata(urls)),
    ],
    (error) => toServerError(error, urls),
  );

/** Revalidated, because a reset or another public URL changes the documents. */
const documentRoute = (path: string, read: () => unknown): PublicRoute =>
  getRoute(path, async () => jsonResponse(200, await read(), { "cache-control": "no-cache" }));

const postRoute = (path: string, run: (request: OAuthRequest) => Promise<object>): PublicRoute => ({
  method: "POST",
  path,
  async handler(request) {
    try {
      return jsonResponse(200, await run(await readOAuthRequest(request)), NO_STORE);
    } catch (error) {
      if (error instanceof OAuthError) return toErrorResponse(error);
      throw error;
    }
  },
});

/** RFC 9110 15.5.2 requires a challenge with every 401; Basic is the scheme that clients can use. */
const toErrorResponse = ({ code, message }: OAuthError): HttpResponse =>
  code === "invalid_client"
    ? oauthErrorResponse(401, code, message, { "www-authenticate": 'Basic realm="app-hosting"' })
    : oauthErrorResponse(400, code, message);

/** Converts an error that is not OAuth's own, such as an unavailable store (RFC 6749 4.1.2.1). */
function toServerError(error: AppError, urls: ServiceUrls): HttpResponse {
  const { status, detail } = explain(error);
  const names: { readonly [code: string]: string } = {
    storage_unavailable: "temporarily_unavailable",
    internal_error: "server_error",
  };
  const name = names[error.details.code] ?? "invalid_request";
  const headers = errorHeaders(error.details, urls.resourceMetadata);
  return oauthErrorResponse(status, name, detail, headers);
}

const oauthErrorResponse = (
  status: number,
  error: string,
  error_description: string,
  headers: HttpResponse["headers"] = {},
): HttpResponse => jsonResponse(status, { error, error_description }, { ...NO_STORE, ...headers });

/** RFC 8414: everything that a client library needs to know, given {auth_url}. */
const serverMetadata = ({ authUrl, baseUrl }: ServiceUrls) => ({
  issuer: authUrl,
  authorization_endpoint: `${authUrl}/oauth/authorize`,
  token_endpoint: authUrl + TOKEN_PATH,
  revocation_endpoint: authUrl + REVOKE_PATH,
  // Login clients read the signed-in user from it: the member `user` of its response.
  userinfo_endpoint: `${baseUrl}/account`,
  jwks_uri: authUrl + KEYS_PATH,
  scopes_supported: SCOPES,
  response_types_supported: [RESPONSE_TYPE],
  response_modes_supported: ["query"],
  grant_types_supported: ["authorization_code", "refresh_token"],
  token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
  revocation_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
  code_challenge_methods_supported: [CODE_CHALLENGE_METHOD],
  authorization_response_iss_parameter_supported: true,
  service_documentation: authUrl + PATHS.docs,
  protected_resources: [baseUrl],
});

/** RFC 9728, for the REST API. */
const resourceMetadata = ({ authUrl, baseUrl }: ServiceUrls) => ({
  resource: baseUrl,
  authorization_servers: [authUrl],
  scopes_supported: SCOPES,
  bearer_methods_supported: ["header"],
  resource_name: "Application Hosting Service",
  resource_documentation: authUrl + PATHS.docs,
});

/** Verifies the credentials before the code or token, so that a stranger learns nothing and uses up nothing. */
async function handleToken(server: AuthorizationServer, request: OAuthRequest): Promise<object> {
  const { parameters, credentials } = request;
  switch (parameters.get("grant_type")) {
    case "authorization_code": {
      const client = await authenticateClient(server.store, credentials);
      const code = requireParameter(request, "code");
      checkResource(parameters, server.audience);
      return authorizationCodeGrant(server, client, code, parameters);
    }
    case "refresh_token": {
      const client = await identifyClient(server.store, credentials);
      const token = requireParameter(request, "refresh_token");
      checkResource(parameters, server.audience);
      return refreshTokenGrant(server, client, token, parameters.get("scope"));
    }
    case null:
      throw invalidRequest("The grant_type is missing.");
    default:
      throw new OAuthError(
        "unsupported_grant_type",
        "The grant_type must be authorization_code or refresh_token.",
      );
  }
}

/** A request without credentials may still name a token that belongs to no client. */
async function handleRevoke(server: AuthorizationServer, request: OAuthRequest): Promise<object> {
  const { credentials } = request;
  const isAnonymous = credentials.id === null && credentials.secret === null;
  const client = isAnonymous ? null : await authenticateClient(server.store, credentials);
  await revokeToken(server, client, requireParameter(request, "token"));
  return {};
}

function requireParameter({ parameters }: OAuthRequest, name: string): string {
  const value = parameters.get(name);
  if (value === null) throw invalidRequest(`The ${name} is missing.`);
  return value;
}

/** Reads parameters and credentials; domain/credentials verifies the latter. */
async function readOAuthRequest(request: HttpRequest): Promise<OAuthRequest> {
  const parameters = parseParameters(await readParameters(request));
  checkRepeated(parameters);
  const id = parameters.get("client_id");
  const secret = parameters.get("client_secret");
  const basic = parseBasicCredentials(request.header("authorization"));
  if (basic === undefined) return { parameters, credentials: { id, secret } };
  if (secret !== null)
    throw invalidRequest(
      "The client_secret was sent twice: in the Authorization header and in the body.",
    );
  if (id !== null && id !== basic.id)
    throw invalidRequest("The client_id in the body is not the one in the Authorization header.");
  return { parameters, credentials: basic };
}

async function readParameters(request: HttpRequest): Promise<Iterable<[string, string]>> {
  const type = getMediaType(request);
  if (type !== JSON_TYPE && type !== FORM_TYPE)
    throw invalidRequest(
      "The Content-Type must be application/json or application/x-www-form-urlencoded.",
    );
  const bytes = await request.readBody(BODY_BYTES);
  if (bytes instanceof AppError)
    throw invalidRequest("The body is larger than 1 MiB, or was cut short.");
  if (type === JSON_TYPE) return parseJsonParameters(bytes);
  const text = decodeUtf8(bytes);
  if (text instanceof AppError) throw invalidRequest("The body is not valid UTF-8.");
  return new URLSearchParams(text);
}

/** An array of resources equals a repeated form parameter; null counts as not sent. */
function parseJsonParameters(bytes: Buffer): [name: string, value: string][] {
  const body = parseJson(bytes);
  const isObject = typeof body === "object" && body !== null && !Array.isArray(body);
  if (!isObject || body instanceof AppError)
    throw invalidRequest("The body must be a JSON object.");
  const pairs: [name: string, value: string][] = [];
  for (const [name, member] of Object.entries(body)) {
    const isList = name === "resource" && Array.isArray(member);
    for (const value of isList ? member : [member ?? ""])
      if (typeof value === "string") pairs.push([name, value]);
      else if (PARAMETERS.includes(name))
        throw invalidRequest(`The member ${name} must be a string.`);
  }
  return pairs;
}

/**
 * RFC 6749 2.3.1: user name and password of RFC 7617, each form-encoded before they are joined. Ids and secrets have
 * no space, so that a plus cannot occur.
 */
function parseBasicCredentials(headers: readonly string[]): ClientCredentials | undefined {
  if (headers.length === 0) return undefined;
  const [, base64 = ""] = /^basic +([a-z0-9+/]+={0,2})$/i.exec(headers.join()) ?? [];
  const [user = "", ...rest] = Buffer.from(base64, "base64").toString().split(":");
  const id = decodeComponent(user);
  const secret = decodeComponent(rest.join(":"));
  if (!id || rest.length === 0 || secret === undefined)
    throw invalidClient(
      "The Authorization header is not readable: send Basic with client_id:client_secret, form-encoded.",
    );
  return { id, secret: secret || null };
}

function decodeComponent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // a stray % or bytes that are not UTF-8
  }
}
