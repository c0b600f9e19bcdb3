// The user's side of the authorization code flow (spec part 5, step 1): sign in, review the application's request, allow
// or deny it. The request is validated again on submit, because time has passed.
import { checkAccountState, hasScope, isSubset } from "../domain/credentials.ts";
import { type OAuthClientRecord, SCOPE_LABELS } from "../domain/model.ts";
import {
  type Consent,
  denyRequest,
  type ErrorPage,
  issueCode,
  prepareConsent,
  type Redirect,
  validateAuthorizationRequest,
} from "../domain/oauth/authorize.ts";
import { isPrivateUse } from "../domain/validators.ts";
import type { HttpResponse } from "../http/message.ts";
import { PATHS } from "../http/message.ts";
import { hidden, html, inlineCode, list, muted, paragraph } from "./html.ts";
import { messagePage, page, redirect } from "./layout.ts";
import type { PageRoute, SubmittedFields, WebContext } from "./session.ts";
import { AUTHORIZE_PATH, formActionTo, requireSignIn, userMenu } from "./sign-in.ts";

const CONSENT_PATH = "/oauth/consent";

/** Opening the consent page grants nothing, so a link or an image that loads it is harmless. */
export const consentRoutes: readonly PageRoute[] = [
  { method: "GET", path: AUTHORIZE_PATH, handler: (web) => authorize(web, web.request.query) },
  {
    method: "POST",
    path: CONSENT_PATH,
    handler: (web, fields) => authorize(web, fields.get("request") ?? "", fields),
  },
];

/** Shows the consent page, or applies the user's decision. Invalid requests get an error page or a redirect. */
async function authorize(
  web: WebContext,
  query: string,
  decision?: SubmittedFields,
): Promise<HttpResponse> {
  const { oauth, signedIn } = web;
  const request = await validateAuthorizationRequest(oauth, query);
  if ("page" in request || "redirect" in request) return toResponse(web, request);
  if (signedIn === undefined) return requireSignIn(web, authorizeUrl(query));
  const consent = prepareConsent(oauth, request, signedIn);
  if ("redirect" in consent) return toResponse(web, consent);
  if (decision === undefined) return consentPage(web, consent, query);
  // Only the value "allow" allows; a form without a button counts as a denial.
  if (decision.get("decision") !== "allow") return toResponse(web, denyRequest(oauth, request));
  // Grants nothing that the page did not show, whatever the user's permissions are by now.
  const isShown = isSubset(consent.scopes, (decision.get("granted") ?? "").split(" "));
  return isShown
    ? toResponse(web, await issueCode(oauth, consent))
    : consentPage(web, consent, query);
}

const authorizeUrl = (query: string): string => `${AUTHORIZE_PATH}?${query}`;

const toResponse = (web: WebContext, response: ErrorPage | Redirect): HttpResponse =>
  "redirect" in response ? redirect(response.redirect) : errorPage(web, response);

function errorPage(web: WebContext, { page: message, client }: ErrorPage): HttpResponse {
  const addresses = client &&
    isAdminOf(web, client) && [
      html`<p>Registered for ${client.name}:</p>`,
      list(client.redirect_uris.map(inlineCode)),
    ];
  const help = paragraph(`[The docs](${PATHS.docs}#oauth) describe a correct request.`);
  return messagePage(400, "This authorization request is invalid", [
    html`<p>${message}</p>`,
    addresses,
    help,
  ]);
}

/** Returns true if the visitor may read the client through the API; only then its URIs are shown. */
const isAdminOf = ({ signedIn, request }: WebContext, client: OAuthClientRecord): boolean =>
  signedIn !== undefined &&
  signedIn.account.id === client.account_id &&
  hasScope(signedIn.user.permissions, "admin") &&
  checkAccountState(signedIn.account, request.method) === undefined;

function consentPage(web: WebContext, consent: Consent, query: string): HttpResponse {
  const { request, user, account, scopes: granted } = consent;
  const { client, redirectUri, scopes: requested } = request;
  const { host, protocol } = new URL(redirectUri);
  // Strip bidi control characters so that a client name cannot reverse the text after it.
  const name = client.name.replace(/\p{Bidi_Control}/gu, "");
  const isReduced = requested.some((scope) => !granted.includes(scope));
  const fields = html`<p>In the account <strong>${account.name}</strong>, for <strong>${user.email}</strong>, it will be able to:</p>
${list(granted.map((scope) => [SCOPE_LABELS[scope], " ", inlineCode(scope)]))}
${isReduced && muted("It asked for more than you may do yourself; it gets only this.")}
${hidden("request", query)}${hidden("granted", granted.join(" "))}
<div class="row"><button name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button></div>`;
  return page({
    title: `Allow “${name}” to use your account?`,
    narrow: true,
    formAction: formActionTo(redirectUri),
    body: html`${web.form(CONSENT_PATH, fields, "card")}
${muted(`Either way you return to ${isPrivateUse(redirectUri) ? protocol.slice(0, -1) : host}.`)}
<h2>Not you?</h2>${userMenu(web, authorizeUrl(query))}`,
  });
}
