// Signing in and out (contract, part 5) with a one-time link instead of a password. Every request for a link gets the
// same response, so that nobody learns which addresses have an account. The link is printed on the console. Also the
// user's side of the authorization code flow (spec part 5, step 1): sign in, review the application's request, allow or
// deny it. The request is validated again on submit, because time has passed.

import { checkAccountState, hasScope, isSubset } from "../domain/credentials.ts";
import { AppError } from "../domain/errors.ts";
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
import { redeemSignInToken, requestSignInLinks, signOut } from "../domain/users.ts";
import { isPrivateUse } from "../domain/validators.ts";
import { decide } from "../former-decisions.ts";
import { type HttpResponse, isSafeMethod } from "../http/message.ts";
import { PATHS } from "../http/urls.ts";
import {
  alertBox,
  hidden,
  html,
  inlineCode,
  list,
  muted,
  paragraph,
  type Renderable,
} from "./html.ts";
import { messagePage, page, redirect } from "./layout.ts";
import type { PageRoute, SubmittedFields, WebContext } from "./session.ts";

const SIGN_OUT_PATH = `${PATHS.dashboard}/sign-out`;
const AUTHORIZE_PATH = "/oauth/authorize";
const CONSENT_PATH = "/oauth/consent";

/** Opening the consent page grants nothing, so a link or an image that loads it is harmless. */
export const signInRoutes: readonly PageRoute[] = [
  { method: "GET", path: PATHS.sign_in, handler: signIn },
  { method: "POST", path: PATHS.sign_in, handler: signIn },
  { method: "POST", path: SIGN_OUT_PATH, handler: signOutPage },
  { method: "GET", path: AUTHORIZE_PATH, handler: (web) => consent(web, web.call.query) },
  {
    method: "POST",
    path: CONSENT_PATH,
    handler: (visit, sent) => consent(visit, sent.get("request") ?? "", sent),
  },
];

async function signOutPage(web: WebContext, sent: SubmittedFields): Promise<HttpResponse> {
  await signOut(web.store, web.secret);
  return requireSignIn(web, safeNext(sent), web.sessionCookie());
}

/** Redirects to sign-in, which continues at `next`. Shows the form here if that URL would be too long. */
export function requireSignIn(
  web: WebContext,
  next: string,
  headers: HttpResponse["headers"] = {},
): HttpResponse {
  const location = `${PATHS.sign_in}?${new URLSearchParams({ next })}`;
  return location.length > decide("8.bounds").url
    ? signInPage(web, next)
    : redirect(location, headers);
}

/** Returns the path on this server as a browser resolves it; any other origin becomes the dashboard. */
function safeNext(sent: SubmittedFields): string {
  const [next = "", base] = [sent.get("next"), "http://own.invalid"];
  if (!next.startsWith("/") || !URL.canParse(next, base)) return PATHS.dashboard;
  const { origin, pathname, search } = new URL(next, base);
  return origin === base && !pathname.startsWith("//") ? pathname + search : PATHS.dashboard;
}

/**
 * Opening the link does not use it up, because link previews open it too; only its form does. Another form requests a
 * link.
 */
async function signIn(web: WebContext, sent: SubmittedFields): Promise<HttpResponse> {
  const { call: request, signedIn, unit } = web;
  const [next, token] = [safeNext(sent), sent.get("token")];
  if (isSafeMethod(request))
    return signedIn && !token ? redirect(next) : signInPage(web, next, token);
  if (token === undefined) return askForLink(web, sent.get("email") ?? "", next);
  // The new session gets its own secret, so that a planted cookie is worthless (session fixation).
  const secret = await redeemSignInToken(unit, token, web.secret);
  if (secret !== undefined) return redirect(next, web.sessionCookie(secret));
  return signedIn ? redirect(next) : signInPage(web, next, "", USED);
}

const USED = "This link has been used or is too old. Ask for a new one.";

async function askForLink(
  { unit, urls: links, announce }: WebContext,
  email: string,
  next: string,
): Promise<HttpResponse> {
  const made = await unit.run((ctx) => requestSignInLinks(ctx, email.trim()));
  for (const { user, account, token } of made instanceof AppError ? [] : made) {
    const link = links.signIn(token);
    const further = `${link}&${new URLSearchParams({ next })}`;
    // Links to the dashboard if the whole URL would be too long to open.
    const goesOn = next !== PATHS.dashboard && further.length <= decide("8.bounds").url;
    announce(`Sign-in link for ${user.email} (${account.name}): ${goesOn ? further : link}`);
  }
  return messagePage(200, "Look at the console", SENT);
}

const SENT =
  "If a user has this address, a sign-in link is on the console of the server now. It works once, for 15 minutes. Open it in this browser, and you will be where you wanted to go.";

/** Shows the signed-in user and the sign-out button; the next user to sign in continues at `next`. */
export const userMenu = (
  { signedIn, form }: WebContext,
  next: string = PATHS.dashboard,
): Renderable =>
  signedIn &&
  form(
    SIGN_OUT_PATH,
    [hidden("next", next), muted(signedIn.user.email), html`<button>Sign out</button>`],
    "row",
  );

const PRESS = html`<p>This link signs you in once, in this browser.</p><button autofocus>Sign in</button>`;
const ASK = html`<p>No password is needed: a link that works once signs you in. This server sends no mail; the link appears on the console where it runs.</p>
<div><label for="email">E-mail address</label><input id="email" name="email" inputmode="email" autocomplete="email" required autofocus></div><button>Ask for a link</button>`;

/**
 * The form-action of a form whose redirects may end at this URI, because browsers apply form-action to redirects too.
 */
const formActionTo = (uri: string): string =>
  URL.canParse(uri) ? `'self' ${new URL(uri).protocol}` : "'self'";

const redirectUriIn = (path: string): string =>
  new URL(path, "http://own.invalid").searchParams.get("redirect_uri") ?? "";

/** Shows the button that redeems the token, or the form that requests a link. */
function signInPage(web: WebContext, next: string, token = "", fault?: string): HttpResponse {
  const asked = [hidden("next", next), hidden("token", token), token ? PRESS : ASK];
  return page({
    title: "Sign in",
    status: fault ? 400 : 200,
    headers: web.setCookie,
    narrow: true,
    // The redirect after this form may return an immediate error to the client.
    formAction: next.startsWith(AUTHORIZE_PATH) ? formActionTo(redirectUriIn(next)) : "'self'",
    body: html`${fault && alertBox("alert", fault)}${web.form(PATHS.sign_in, asked, "card")}`,
  });
}

/** Shows the consent page, or applies the user's decision; may return an error page or a redirect instead. */
async function consent(
  web: WebContext,
  query: string,
  decided?: SubmittedFields,
): Promise<HttpResponse> {
  const { oauth, signedIn } = web;
  const request = await validateAuthorizationRequest(oauth, query);
  if ("page" in request || "redirect" in request) return toPage(web, request);
  if (signedIn === undefined) return requireSignIn(web, addressOf(query));
  const asked = prepareConsent(oauth, request, signedIn);
  if ("redirect" in asked) return toPage(web, asked);
  // Only the value "allow" allows; a form without a button counts as a denial.
  const isAllowed = decided?.get("decision") === "allow";
  if (decided && !isAllowed) return toPage(web, denyRequest(oauth, request));
  // Grants nothing that the page did not show, whatever the user's permissions are by now.
  const isShown = isSubset(asked.scopes, (decided?.get("granted") ?? "").split(" "));
  return isAllowed && isShown
    ? toPage(web, await issueCode(oauth, asked))
    : consentPage(web, asked, query);
}

const addressOf = (query: string): string => `${AUTHORIZE_PATH}?${query}`;

const toPage = (web: WebContext, end: ErrorPage | Redirect): HttpResponse =>
  "redirect" in end ? redirect(end.redirect) : errorPage(web, end);

const HELP = paragraph(
  `[What an application has to send](${PATHS.docs}#oauth) is described in the docs.`,
);

function errorPage(web: WebContext, { page, client }: ErrorPage): HttpResponse {
  const addresses = client &&
    isAdminOf(web, client) && [
      html`<p>Registered for ${client.name}:</p>`,
      list(client.redirect_uris.map(inlineCode)),
    ];
  return messagePage(400, "This request cannot go on", [html`<p>${page}</p>`, addresses, HELP]);
}

/** Returns true if the visitor may read the client through the API; only then its URIs are shown. */
const isAdminOf = ({ signedIn, call: request }: WebContext, client: OAuthClientRecord): boolean =>
  signedIn !== undefined &&
  signedIn.account.id === client.account_id &&
  hasScope(signedIn.user.permissions, "admin") &&
  checkAccountState(signedIn.account, request.method) === undefined;

function consentPage(web: WebContext, terms: Consent, query: string): HttpResponse {
  const { request, user, account, scopes: granted } = terms;
  const { client, redirectUri, scopes: asked } = request;
  const { host, protocol } = new URL(redirectUri);
  // Strip bidi control characters so that a client name cannot reverse the text after it.
  const name = client.name.replace(/\p{Bidi_Control}/gu, "");
  const withheld = asked.some((scope) => !granted.includes(scope));
  const decided = html`<p>In the account <strong>${account.name}</strong>, for <strong>${user.email}</strong>, it will be able to:</p>
${list(granted.map((scope) => [SCOPE_LABELS[scope], " ", inlineCode(scope)]))}
${withheld && muted("It asked for more than you may do yourself; it gets only this.")}
${hidden("request", query)}${hidden("granted", granted.join(" "))}
<div class="row"><button name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button></div>`;
  return page({
    title: `Allow “${name}” to use your account?`,
    narrow: true,
    formAction: formActionTo(redirectUri),
    body: html`${web.form(CONSENT_PATH, decided, "card")}
${muted(`Either way you go back to ${isPrivateUse(redirectUri) ? protocol.slice(0, -1) : host}. You will be asked again the next time.`)}
<h2>Not you?</h2>${userMenu(web, addressOf(query))}`,
  });
}
