// Endpoints of the authorization server for programs (spec part 5; 5.token-response): token, revoke, keys and metadata.
// The pages, authorize and consent, live in web/. Requests are JSON, as the spec shows, or a form (RFC 6749). Errors
// follow RFC 6749 5.2, not problem details, and no response with a token may be cached.
import { AppError } from "../domain/errors.ts";
import { SCOPES } from "../domain/model.ts";
import { revokeToken } from "../domain/oauth/access.ts";
import {
  type AuthorizationServer,
  authenticateClient,
  authorizationCodeGrant,
  type ClientCredentials,
  checkRepeated,
  checkResource,
  getPublicKeys,
  identifyClient,
  invalidClient,
  invalidRequest,
  OAuthError,
  refreshTokenGrant,
} from "../domain/oauth/tokens.ts";
import {
  type HttpRequest,
  type HttpResponse,
  JSON_TYPE,
  jsonResponse,
  PATHS,
  type ServiceUrls,
} from "./message.ts";
import { errorHeaders, explain } from "./problem.ts";
import { BODY_BYTES, getMediaType } from "./request.ts";
import { type PublicRoute, publicGet, publicRouter } from "./router.ts";

const REVOKE_PATH = "/oauth/revoke";
const KEYS_PATH = "/oauth/jwks";
const FORM_TYPE = "application/x-www-form-urlencoded";
const CLIENT_AUTHENTICATION = ["client_secret_basic", "client_secret_post", "none"];

type OAuthRequest = Awaited<ReturnType<typeof readOAuthRequest>>;

export function createOAuthRouter(server: AuthorizationServer, urls: ServiceUrls) {
  const routes = [
    postRoute(server, PATHS.token, handleToken),
    postRoute(server, REVOKE_PATH, handleRevoke),
    documentRoute(KEYS_PATH, () => getPublicKeys(server)),
    documentRoute("/.well-known/oauth-authorization-server", () => serverMetadata(urls)),
    // OpenID Connect libraries request only their own path. The document promises no ID tokens there either.
    documentRoute("/.well-known/openid-configuration", () => serverMetadata(urls)),
    documentRoute(PATHS.resource_metadata, () => resourceMetadata(urls)),
  ];
  return publicRouter(routes, (error) => toServerError(error, urls));
}

const documentRoute = (path: string, read: () => unknown): PublicRoute =>
  publicGet(path, async () => jsonResponse(200, await read()));

const postRoute = (
  server: AuthorizationServer,
  path: string,
  run: (server: AuthorizationServer, request: OAuthRequest) => Promise<object>,
): PublicRoute => ({
  method: "POST",
  path,
  async handler(request) {
    try {
      return noStoreResponse(200, await run(server, await readOAuthRequest(request)));
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      const body = { error: error.code, error_description: error.message };
      // RFC 9110 15.5.2 requires a challenge with every 401; Basic is the scheme that clients can use.
      return error.code === "invalid_client"
        ? noStoreResponse(401, body, { "www-authenticate": 'Basic realm="app-hosting"' })
        : noStoreResponse(400, body);
    }
  },
});

const noStoreResponse = (
  status: number,
  body: object,
  headers: HttpResponse["headers"] = {},
): HttpResponse => jsonResponse(status, body, { "cache-control": "no-store", ...headers });

/** Converts an error that is not OAuth's own, such as an unavailable store (RFC 6749 4.1.2.1). */
function toServerError(error: AppError, urls: ServiceUrls): HttpResponse {
  const { status, detail } = explain(error);
  const names: { readonly [status: number]: string } = {
    500: "server_error",
    503: "temporarily_unavailable",
  };
  const body = { error: names[status] ?? "invalid_request", error_description: detail };
  return noStoreResponse(status, body, errorHeaders(error.details, urls.resourceMetadata));
}

/** RFC 8414: everything that a client library needs to know, given {auth_url}. */
const serverMetadata = ({ authUrl, baseUrl }: ServiceUrls) => ({
  issuer: authUrl,
  authorization_endpoint: authUrl + PATHS.authorize,
  token_endpoint: authUrl + PATHS.token,
  revocation_endpoint: authUrl + REVOKE_PATH,
  // Login clients read the signed-in user from it: the member `user` of its response.
  userinfo_endpoint: `${baseUrl}/account`,
  jwks_uri: authUrl + KEYS_PATH,
  scopes_supported: SCOPES,
  response_types_supported: ["code"],
  grant_types_supported: ["authorization_code", "refresh_token"],
  token_endpoint_auth_methods_supported: CLIENT_AUTHENTICATION,
  revocation_endpoint_auth_methods_supported: CLIENT_AUTHENTICATION,
  code_challenge_methods_supported: ["S256"],
  authorization_response_iss_parameter_supported: true,
});

/** RFC 9728, for the REST API. */
const resourceMetadata = ({ authUrl, baseUrl }: ServiceUrls) => ({
  resource: baseUrl,
  authorization_servers: [authUrl],
  scopes_supported: SCOPES,
  bearer_methods_supported: ["header"],
});

/** Verifies the credentials before the code or token, so that a stranger learns nothing and uses up nothing. */
async function handleToken(server: AuthorizationServer, request: OAuthRequest) {
  const { parameters, credentials } = request;
  const grantType = getParameter(request, "grant_type");
  checkResource(parameters, server.audience);
  if (grantType === "authorization_code") {
    const client = await authenticateClient(server.store, credentials);
    return authorizationCodeGrant(server, client, getParameter(request, "code"), parameters);
  }
  if (grantType !== "refresh_token")
    throw new OAuthError(
      "unsupported_grant_type",
      "The grant_type must be authorization_code or refresh_token.",
    );
  const client = await identifyClient(server.store, credentials);
  const token = getParameter(request, "refresh_token");
  return refreshTokenGrant(server, client, token, parameters.get("scope"));
}

/** A request without credentials may still name a token that belongs to no client. */
async function handleRevoke(server: AuthorizationServer, request: OAuthRequest) {
  const { credentials } = request;
  const isAnonymous = credentials.id === null && credentials.secret === null;
  const client = isAnonymous ? null : await authenticateClient(server.store, credentials);
  await revokeToken(server, client, getParameter(request, "token"));
  return {};
}

function getParameter({ parameters }: OAuthRequest, name: string): string {
  const value = parameters.get(name);
  if (value === null) throw invalidRequest(`The ${name} is missing.`);
  return value;
}

/** Reads parameters and credentials, which may come in HTTP Basic or in the body, but not in both. */
async function readOAuthRequest(request: HttpRequest) {
  const parameters = new URLSearchParams(await readParameters(request));
  checkRepeated(parameters);
  const id = parameters.get("client_id");
  const secret = parameters.get("client_secret");
  const { authorization } = request.headers;
  if (!authorization) return { parameters, credentials: { id, secret } };
  const credentials = parseBasicCredentials(authorization);
  if (secret !== null || (id !== null && id !== credentials.id))
    throw invalidRequest("Send the client credentials in the Authorization header or in the body.");
  return { parameters, credentials };
}

/** Returns the parameters that have a value; the others count as not sent (RFC 6749 3.1). */
async function readParameters(request: HttpRequest): Promise<[name: string, value: string][]> {
  const type = getMediaType(request);
  if (![JSON_TYPE, FORM_TYPE].includes(type))
    throw invalidRequest(`The Content-Type must be ${JSON_TYPE} or ${FORM_TYPE}.`);
  const bytes = await request.readBody(BODY_BYTES);
  if (bytes instanceof AppError) {
    const { title, detail } = explain(bytes);
    throw invalidRequest(`${title}. ${detail}`);
  }
  try {
    const text = bytes.toString();
    const pairs = type === FORM_TYPE ? [...new URLSearchParams(text)] : parseJsonParameters(text);
    return pairs.filter(([, value]) => value !== "");
  } catch (error) {
    throw invalidRequest(`The body cannot be read: ${error instanceof Error && error.message}`);
  }
}

/** An array equals a repeated form parameter; null counts as not sent. */
function parseJsonParameters(text: string): [name: string, value: string][] {
  const members = Object.entries<unknown>(JSON.parse(text));
  return members.flatMap(([name, member]) =>
    [member ?? []].flat().map((value): [string, string] => [name, String(value)]),
  );
}

/** RFC 6749 2.3.1: user name and password of RFC 7617, each form-encoded before they are joined. */
function parseBasicCredentials(header: string): ClientCredentials {
  const [, base64 = ""] = /^basic +([a-z0-9+/]+={0,2})$/i.exec(header) ?? [];
  const pair = Buffer.from(base64, "base64").toString();
  // A form parser decodes both parts without throwing. Ids and secrets have no reserved characters.
  const [[id = "", secret = ""] = []] = new URLSearchParams(pair.replace(":", "="));
  if (id === "")
    throw invalidClient("The Authorization header must be Basic with client_id:client_secret.");
  return { id, secret: secret || null };
}
