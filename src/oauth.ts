// Puts the authorization server together from its rules and its endpoints (spec part 5).
import { AccessTokens } from "./domain/oauth/access-tokens.ts";
import { Authorization } from "./domain/oauth/authorize.ts";
import { SigningKeys } from "./domain/oauth/signing-keys.ts";
import { TokenStatus } from "./domain/oauth/token-status.ts";
import { Tokens } from "./domain/oauth/tokens.ts";
import type { UnitParts } from "./domain/work.ts";
import type { ServiceLinks } from "./http/links.ts";
import { oauthRoutes } from "./http/oauth-routes.ts";
import type { Algorithm } from "./kit/jwt.ts";

export function authorizationServer({ store, clock, ids }: UnitParts, links: ServiceLinks, alg: Algorithm) {
  const issuer = links.authUrl;
  const audience = links.baseUrl;
  const keys = new SigningKeys({ store, clock, alg });
  const accessTokens = new AccessTokens({ store, clock, ids, keys, issuer, audience });
  const tokens = new Tokens({ store, clock, ids, keys, accessTokens });
  const status = new TokenStatus({ store, clock, accessTokens, issuer, audience });
  const authorization = new Authorization({ store, clock, ids, issuer });
  return {
    checkToken: accessTokens.check,
    tokens,
    authorization,
    door: oauthRoutes({ store, tokens, status, keys, links }),
  };
}
