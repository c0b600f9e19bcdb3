// The authorization request (spec part 5, step 1; RFC 6749 4.1.1): judged whole before anything is shown, then allowed or
// denied by the user. Nothing goes back to an address that the client has not registered: such a request ends on a page.

import type { Clock } from "../../kit/clock.ts";
import { decide } from "../../kit/decisions.ts";
import type { Fields } from "../../kit/form.ts";
import type { Ids } from "../../kit/ids.ts";
import {
  type AccountRecord,
  accounts,
  type OAuthClientRecord,
  oauthClients,
  type Scope,
  type UserRecord,
} from "../model.ts";
import type { Reader, Store } from "../store.ts";
import { type ErrorCode, OAuthError } from "./error.ts";
import { openGrantWithCode } from "./grants.ts";
import { unfitChallenge } from "./pkce.ts";
import { registered, withParameters } from "./redirect.ts";
import { cut, scopesIn, within } from "./scopes.ts";

/** An authorization request that may be put before a user. */
export interface AuthorizationRequest {
  readonly client: OAuthClientRecord;
  readonly redirectUri: string;
  readonly state: string | null;
  readonly asked: readonly Scope[];
  readonly challenge: string | null;
}

const REACH = decide("5.client-reach", "every account", {
  open: "whose users an OAuth client may ask for access",
  why: "the spec has the flow for acting on behalf of other users; the token acts in the account of who consented",
});

/** A request that ends here: on an error page, or back at the client. */
export type Ended = { readonly page: string } | { readonly redirect: string };

export interface Consent {
  readonly account: AccountRecord;
  readonly granted: readonly Scope[];
}

export interface AuthorizationParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  /** `{auth_url}` */
  readonly issuer: string;
}

export class Authorization {
  readonly #parts: AuthorizationParts;

  constructor(parts: AuthorizationParts) {
    this.#parts = parts;
  }

  /** Whether the request may be put before a user; nobody needs to be signed in to be told that it may not. */
  async judge(query: Fields): Promise<AuthorizationRequest | Ended> {
    const returnable = await returnableTo(this.#parts.store, query);
    if (typeof returnable === "string") return { page: returnable };
    const { client, redirectUri, state } = returnable;
    const terms = termsOf(query, client);
    if (terms instanceof OAuthError) return this.#back(returnable, terms.error, terms.description);
    return { client, redirectUri, state, ...terms };
  }

  /** What this user would grant: what was asked for, as far as the user holds it (contract, part 5). */
  async consent(request: AuthorizationRequest, user: UserRecord): Promise<Consent | Ended> {
    const account = await this.#parts.store.get(accounts, user.account_id);
    if (account === undefined || account.state === "suspended")
      return this.#back(request, "access_denied", "The account of the user is suspended.");
    if (REACH !== "every account" && account.id !== request.client.account_id)
      return this.#back(request, "access_denied", "The application belongs to another account.");
    const granted = cut(request.asked, user.permissions);
    if (granted.length === 0)
      return this.#back(request, "access_denied", "The user holds none of the permissions that were asked for.");
    return { account, granted };
  }

  /** The user said yes: a grant, and its code on the way to the client. */
  async allow(request: AuthorizationRequest, user: UserRecord, { granted }: Consent): Promise<Ended> {
    const { store, clock, ids, issuer } = this.#parts;
    const { client, redirectUri, challenge, state } = request;
    const terms = { account_id: user.account_id, user_id: user.id, client_id: client.id, scopes: granted };
    const code = await store.transact((tx) =>
      openGrantWithCode({ tx, now: clock.now(), ids }, terms, { redirect_uri: redirectUri, challenge }),
    );
    return { redirect: withParameters(redirectUri, { code, state, iss: issuer }) };
  }

  deny(request: AuthorizationRequest): Ended {
    return this.#back(request, "access_denied", "The user did not allow it.");
  }

  /** Every way back names the issuer (RFC 9207), so that a client of several servers cannot mix their answers up. */
  #back({ redirectUri, state }: Returnable, error: ErrorCode, error_description: string): Ended {
    const parameters = { error, error_description, state, iss: this.#parts.issuer };
    return { redirect: withParameters(redirectUri, parameters) };
  }
}

interface Returnable {
  readonly client: OAuthClientRecord;
  readonly redirectUri: string;
  readonly state: string | null;
}

/** Who asks and where the answer may go; or why there is nowhere to go, for the page that the user then sees. */
async function returnableTo(reader: Reader, { values, repeated }: Fields): Promise<Returnable | string> {
  for (const name of ["client_id", "redirect_uri"]) {
    if (repeated.has(name)) return `The request names ${name} more than once.`;
    if (!values.has(name)) return `The request does not say its ${name}.`;
  }
  const client = await reader.get(oauthClients, values.get("client_id") ?? "");
  if (client === undefined) return "The application that sent you here is not registered with this service.";
  const redirectUri = values.get("redirect_uri") ?? "";
  if (!registered(client.redirect_uris, redirectUri))
    return `The address to which ${client.name} wants you sent back is not registered for it.`;
  // Of two states neither is known to be the client's own, so neither goes back.
  const state = repeated.has("state") ? null : (values.get("state") ?? null);
  return { client, redirectUri, state };
}

type Terms = Pick<AuthorizationRequest, "asked" | "challenge">;

/** What the client asks for. The order of the checks is that in which a developer would want to hear of the faults. */
function termsOf({ values, repeated }: Fields, client: OAuthClientRecord): Terms | OAuthError {
  const [twice] = repeated;
  if (twice !== undefined) return new OAuthError("invalid_request", `${printable(twice)} is given more than once.`);
  const responseType = values.get("response_type");
  if (responseType === undefined) return new OAuthError("invalid_request", "The response_type is missing.");
  if (responseType !== RESPONSE_TYPE)
    return new OAuthError("unsupported_response_type", "The response_type must be code.");
  const challenge = values.get("code_challenge") ?? null;
  const unfit = unfitChallenge(challenge ?? undefined, values.get("code_challenge_method"));
  if (unfit !== undefined) return new OAuthError("invalid_request", unfit);
  if (client.public && challenge === null)
    return new OAuthError("invalid_request", "A public client must send a code_challenge (PKCE, S256).");
  const asked = askedScopes(values.get("scope"), client);
  return asked instanceof OAuthError ? asked : { asked, challenge };
}

export const RESPONSE_TYPE = decide("5.response-type", "code", {
  open: "whether flows other than the authorization code flow exist",
  why: "the implicit flow and the password grant are gone from OAuth 2.1, and the spec shows neither",
});

/** No default: whoever asks for nothing in particular would be given more, or less, than was thought of. */
function askedScopes(text: string | undefined, client: OAuthClientRecord): readonly Scope[] | OAuthError {
  const listed = scopesIn(text ?? "");
  if ("unknown" in listed) return new OAuthError("invalid_scope", `${printable(listed.unknown)} is not a scope.`);
  if (listed.scopes.length === 0) return new OAuthError("invalid_scope", "The scope is missing; there is no default.");
  return within(listed.scopes, client.scopes)
    ? listed.scopes
    : new OAuthError("invalid_scope", "The scope goes beyond what this client is registered for.");
}

/** RFC 6749 lets a description carry printable ASCII without quotes and backslash. */
const printable = (text: string): string => text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, "?").slice(0, 64);
