// The user's side of the authorization code flow (spec part 5, step 1): sign in, review the application's request, allow
// or deny it. The request is validated again on submit, because time has passed.
import { checkAccountState, hasScope } from "../domain/credentials.ts";
import { SCOPE_LABELS } from "../domain/model.ts";
import {
  type AuthorizationRequest,
  denyRequest,
  type ErrorPage,
  findGrantableScopes,
  issueCode,
  validateAuthorizationRequest,
} from "../domain/oauth/authorize.ts";
import type { SignedIn } from "../domain/sessions.ts";
import type { HttpResponse } from "../http/message.ts";
import { PATHS } from "../http/message.ts";
import { hidden, html, inlineCode, link, list, muted } from "./html.ts";
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
  if ("page" in request) return errorPage(web, request);
  if ("redirect" in request) return redirect(request.redirect);
  const url = `${AUTHORIZE_PATH}?${query}`;
  if (signedIn === undefined) return requireSignIn(url);
  const scopes = findGrantableScopes(oauth, request, signedIn);
  if ("redirect" in scopes) return redirect(scopes.redirect);
  if (decision === undefined) return consentPage(web, signedIn, { ...request, scopes }, url);
  // Only the value "allow" allows; a form without a button counts as a denial.
  const response =
    decision.get("decision") === "allow"
      ? await issueCode(oauth, request, signedIn.user.id, scopes)
      : denyRequest(oauth, request);
  return redirect(response.redirect);
}

/** A visitor who may read the client through the API sees its redirect URIs. */
function errorPage({ signedIn, request }: WebContext, { page: message, client }: ErrorPage) {
  const isAdmin =
    signedIn !== undefined &&
    signedIn.account.id === client?.account_id &&
    hasScope(signedIn.user.permissions, "admin") &&
    checkAccountState(signedIn.account, request.method) === undefined;
  return messagePage(400, "This authorization request is invalid", [
    html`<p>${message}</p>`,
    isAdmin && ["Registered redirect URIs:", list(client?.redirect_uris.map(inlineCode) ?? [])],
    link(`${PATHS.docs}#oauth`, "How to ask for authorization"),
  ]);
}

/** The scopes of the request are those that the user holds. */
function consentPage(
  web: WebContext,
  { user, account }: SignedIn,
  { client, redirectUri, scopes }: AuthorizationRequest,
  url: string,
): HttpResponse {
  const { host, protocol } = new URL(redirectUri);
  const fields = html`<p>In the account <strong>${account.name}</strong>, for <strong>${user.email}</strong>, it will be able to:</p>
${list(scopes.map((scope) => [SCOPE_LABELS[scope], " ", inlineCode(scope)]))}
${hidden("request", url.slice(AUTHORIZE_PATH.length + 1))}
<div class="row"><button name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button></div>`;
  return page({
    title: `Allow “${client.name}” to use your account?`,
    narrow: true,
    formAction: formActionTo(redirectUri),
    body: html`${web.form(CONSENT_PATH, fields, "card")}
${muted(`Either way you return to ${host || protocol}`)}
<h2>Not you?</h2>${userMenu(web, url)}`,
  });
}
