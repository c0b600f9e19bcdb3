// The documents by which a client library finds everything from {auth_url} alone: RFC 8414 for the authorization server,
// RFC 9728 for the REST API. They promise only what the server does.
import { decide } from "../decisions.ts";
import { SCOPES } from "../domain/model.ts";
import { RESPONSE_TYPE } from "../domain/oauth/authorize.ts";
import { CHALLENGE_METHOD } from "../domain/oauth/rules.ts";
import { ADDRESSES, type ServiceLinks } from "./links.ts";

/** Beside authorize and token, which the specification shows. */
export const ENDPOINTS = {
  revoke: "/oauth/revoke",
  introspect: "/oauth/introspect",
  keys: "/oauth/jwks",
  metadata: `/.well-known/${decide("1.rfcs")}`,
} as const;

const WITH_SECRET = ["client_secret_basic", "client_secret_post"];

export const authorizationServerMetadata = ({ authUrl, baseUrl }: ServiceLinks) => ({
  issuer: authUrl,
  authorization_endpoint: `${authUrl}/oauth/authorize`,
  token_endpoint: `${authUrl}/oauth/token`,
  revocation_endpoint: `${authUrl}${ENDPOINTS.revoke}`,
  introspection_endpoint: `${authUrl}${ENDPOINTS.introspect}`,
  jwks_uri: `${authUrl}${ENDPOINTS.keys}`,
  scopes_supported: SCOPES,
  response_types_supported: [RESPONSE_TYPE],
  response_modes_supported: ["query"],
  grant_types_supported: ["authorization_code", "refresh_token"],
  token_endpoint_auth_methods_supported: [...WITH_SECRET, "none"],
  revocation_endpoint_auth_methods_supported: [...WITH_SECRET, "none"],
  introspection_endpoint_auth_methods_supported: WITH_SECRET,
  code_challenge_methods_supported: [CHALLENGE_METHOD],
  authorization_response_iss_parameter_supported: true,
  service_documentation: `${authUrl}${ADDRESSES.docs}`,
  protected_resources: [baseUrl],
});

export const protectedResourceMetadata = ({ authUrl, baseUrl }: ServiceLinks) => ({
  resource: baseUrl,
  authorization_servers: [authUrl],
  scopes_supported: SCOPES,
  bearer_methods_supported: ["header"],
  resource_name: "Application Hosting Service",
  resource_documentation: `${authUrl}${ADDRESSES.docs}`,
});
