// The authorization request (spec part 5, step 1; RFC 6749 4.1.1): validated completely before the user sees it, then
// allowed or denied. An unregistered redirect URI never receives a redirect: such a request ends on an error page.
import { allOf, type FormFields } from "../../lib/urlencoded.ts";
import { type OAuthClientRecord, oauthClients } from "../model.ts";
import type { Reader } from "../store.ts";
import { UnitOfWork } from "../unit-of-work.ts";
import type { SignedIn } from "../users.ts";
import type { AuthorizationServer } from "./access-tokens.ts";
import { createGrant } from "./grants.ts";
import {
  accessDenied,
  appendQuery,
  intersectScopes,
  invalidRequest,
  invalidScope,
  isSubset,
  matchesRedirectUri,
  OAuthError,
  parseScope,
  printable,
  unknownTarget,
  validateChallenge,
} from "./rules.ts";

/** Result of a request that ends here: an error page or a redirect to the client. */
export type AuthorizationResponse = ErrorPage | { readonly redirect: string };
export interface ErrorPage {
  readonly page: string;
  readonly client?: OAuthClientRecord;
}
interface Returnable {
  readonly client: OAuthClientRecord;
  readonly redirectUri: string;
  readonly state: string | null;
}
type ValidRequest = Exclude<
  Awaited<ReturnType<typeof validateAuthorizationRequest>>,
  AuthorizationResponse
>;
/** The consent that the user is asked to give. */
export type Consent = Exclude<ReturnType<ValidRequest["consent"]>, AuthorizationResponse>;

/** Validates an authorization request. Runs before sign-in, so that an invalid request fails without it. */
export async function validateAuthorizationRequest(
  context: AuthorizationServer,
  query: FormFields,
) {
  const returnable = await resolveClient(context.store, query);
  if ("page" in returnable) return returnable;
  const { client, redirectUri: redirect_uri, state } = returnable;
  /**
   * Every redirect carries the issuer (RFC 9207), so that a client of several servers cannot mix up their responses.
   */
  const redirectWith = (parameters: {
    readonly [name: string]: string;
  }): AuthorizationResponse => ({
    redirect: appendQuery(redirect_uri, { ...parameters, state, iss: context.issuer }),
  });
  const redirectError = ({ error, description }: OAuthError) =>
    redirectWith({ error, error_description: description });
  const terms = parseTerms(query, client, context.audience);
  if (terms instanceof OAuthError) return redirectError(terms);
  const { asked, challenge } = terms;
  return {
    deny: () => redirectError(accessDenied("The user did not allow it.")),
    /**
     * Returns the scopes that this user would grant: the requested ones within the user's permissions (contract, part
     * 5).
     */
    consent({ user, account }: SignedIn) {
      if (account.state === "suspended")
        return redirectError(accessDenied("The account of the user is suspended."));
      const granted = intersectScopes(asked, user.permissions);
      if (granted.length === 0)
        return redirectError(
          accessDenied("The user holds none of the permissions that were asked for."),
        );
      const grant = { user_id: user.id, client_id: client.id, scopes: granted };
      /** Creates a grant in the user's own account and returns the redirect with its code. */
      const issueCode = async () => {
        const made = await new UnitOfWork(context).run((ctx) =>
          createGrant(ctx, grant, { redirect_uri, challenge }),
        );
        return redirectWith({ code: made.secret });
      };
      return {
        client,
        redirectUri: redirect_uri,
        asked,
        user,
        account,
        granted,
        issueCode: issueCode,
      };
    },
  };
}

/** Returns the client and its redirect URI, or the error page if a redirect would be unsafe. */
async function resolveClient(
  reader: Reader,
  { values, duplicates: repeated }: FormFields,
): Promise<ErrorPage | Returnable> {
  const [clientId, redirectUri] = [values.get("client_id"), values.get("redirect_uri")];
  if (repeated.has("client_id")) return { page: "The request has more than one client_id." };
  if (clientId === undefined) return { page: "The request has no client_id." };
  const client = await reader.get(oauthClients, clientId);
  if (client === undefined)
    return {
      page: "The application that sent you here is not registered: its client_id is unknown.",
    };
  if (repeated.has("redirect_uri"))
    return { page: "The request has more than one redirect_uri.", client };
  if (redirectUri === undefined) return { page: "The request has no redirect_uri.", client };
  if (!matchesRedirectUri(client.redirect_uris, redirectUri))
    return {
      page: `The redirect_uri is not registered for ${client.name}: ${redirectUri.slice(0, SHOWN_URI_MAX)}`,
      client,
    };
  // If `state` is repeated, neither value is known to be the client's, so the redirect carries none.
  const state = repeated.has("state") ? null : (values.get("state") ?? null);
  return { client, redirectUri, state };
}

/** Limits the URI shown on the page, so that no error page exceeds 16 KiB. */
const SHOWN_URI_MAX = 1_000;

/** OAuth 2.1 removes the implicit flow and the password grant, and the specification shows neither. */
export const RESPONSE_TYPE = "code";

/** Validates scope, PKCE and resource, in the order in which a developer would fix the errors. */
function parseTerms(query: FormFields, client: OAuthClientRecord, audience: string) {
  const { values, duplicates: repeated } = query;
  const twice = [...repeated.keys()].find((name) => name !== "resource");
  if (twice !== undefined) return invalidRequest(`${printable(twice)} is given more than once.`);
  const responseType = values.get("response_type");
  if (responseType === undefined) return invalidRequest("The response_type is missing.");
  if (responseType !== RESPONSE_TYPE)
    return new OAuthError("unsupported_response_type", "The response_type must be code.");
  const challenge = values.get("code_challenge") ?? null;
  const invalid = validateChallenge(challenge, values.get("code_challenge_method"));
  if (invalid !== undefined) return invalidRequest(invalid);
  if (client.public && challenge === null)
    return invalidRequest("A public client must send a code_challenge (PKCE, S256).");
  const wrongTarget = unknownTarget(allOf(query, "resource"), audience);
  if (wrongTarget) return wrongTarget;
  const asked = parseScope(values.get("scope") ?? "");
  if (typeof asked === "string") return invalidScope(asked);
  // No default: a client that names no scope would be granted more, or less, than it intended.
  if (asked.length === 0) return invalidScope("The scope is missing; there is no default.");
  if (!isSubset(asked, client.scopes))
    return invalidScope("The scope goes beyond what this client is registered for.");
  return { asked, challenge };
}
