// Puts the authorization server together (spec part 5): domain rules, endpoints for programs, pages for users. Part of the
// composition root, beside service.ts, which starts and stops it.
import type { TokenCheck } from "./domain/access.ts";
import { type AccountRecord, type Scope, type UserRecord, users } from "./domain/model.ts";
import { type Context, check } from "./domain/oauth/access-tokens.ts";
import { OAuthError } from "./domain/oauth/rules.ts";
import { signingKeysIn } from "./domain/oauth/signing-keys.ts";
import { handOver, type TokenAnswer } from "./domain/oauth/tokens.ts";
import type { UnitParts } from "./domain/work.ts";
import type { Door } from "./http/front.ts";
import type { ServiceLinks } from "./http/links.ts";
import { oauthRoutes } from "./http/oauth-routes.ts";
import type { Algorithm } from "./kit/jwt.ts";
import { signInPages } from "./web/routes.ts";
import { Visits } from "./web/visit.ts";

export interface AuthorizationServerParts {
  readonly unit: UnitParts;
  readonly links: ServiceLinks;
  readonly alg: Algorithm;
  readonly announce: (line: string) => void;
}

export interface SignInOptions {
  readonly scopes: readonly Scope[];
  /** The account's first admin where none is named. */
  readonly userId?: string | undefined;
}

/** What the service needs of it: paths to answer, tokens to check, and tokens for tests. */
export interface AuthorizationServer {
  readonly door: Door;
  readonly check: TokenCheck;
  /** Who is signed in by a browser's cookie; the dashboard asks the same. */
  readonly visits: Visits;
  signIn(account: AccountRecord, options: SignInOptions): Promise<TokenAnswer>;
}

/** Everything is built once the public address is known, because every token and every metadata document names it. */
export function authorizationServer({ unit, links, alg, announce }: AuthorizationServerParts): AuthorizationServer {
  const { store, clock, ids } = unit;
  const keys = signingKeysIn(store, clock, alg);
  const oauth = { store, clock, ids, keys, issuer: links.authUrl, audience: links.baseUrl, verified: new Map() };
  const visits = new Visits({ store, clock, ids, authUrl: links.authUrl });
  const signInLink = (token: string) => links.signIn(token);
  const endpoints = oauthRoutes(oauth, links);
  const pages = signInPages({ oauth, visits, unit, signInLink, announce });
  return {
    door: (call) => endpoints(call) ?? pages(call),
    check: (token) => check(oauth, token),
    visits,
    signIn: (account, options) => signIn(oauth, account, options),
  };
}

/** For tests: what a user would get by the code flow, without a browser. */
async function signIn(oauth: Context, account: AccountRecord, { scopes, userId }: SignInOptions): Promise<TokenAnswer> {
  const [admin] = await oauth.store.page(users, "account_admin", [account.id, true], { offset: 0, limit: 1 });
  const user: UserRecord | undefined = userId === undefined ? admin : await oauth.store.get(users, userId);
  if (user?.account_id !== account.id)
    throw new Error(`signIn: there is no user ${userId ?? "with the permission admin"}`);
  const answer = await handOver(oauth, user, scopes);
  if (answer instanceof OAuthError) throw new Error(`signIn: ${answer.description}`);
  return answer;
}
