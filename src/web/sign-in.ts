// Signing in and out (contract, part 5): no password, but a link that works once. Whoever asks for one gets the same answer
// whether or not the address is known, so that nobody learns who has an account. The link is printed on the console. And the
// user's side of the authorization code flow (spec part 5, step 1): sign in, see which application asks for what, in which
// account, and allow or deny it. The request is judged again when the answer comes, since time has passed.
import { decide } from "../decisions.ts";
import { checkAccountState, hasScope } from "../domain/credentials.ts";
import { AppError } from "../domain/errors.ts";
import { type OAuthClientRecord, SCOPE_LABELS } from "../domain/model.ts";
import {
  type AuthorizationResponse,
  type Consent,
  type ErrorPage,
  validateAuthorizationRequest,
} from "../domain/oauth/authorize.ts";
import { isSubset, parseScope } from "../domain/oauth/rules.ts";
import { redeemSignInToken, requestSignInLinks, signOut } from "../domain/users.ts";
import { isPrivateUse } from "../domain/validators.ts";
import { type HttpResponse, isSafeMethod } from "../http/message.ts";
import { PATHS } from "../http/urls.ts";
import { parseForm } from "../lib/urlencoded.ts";
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

/** Nothing is granted by opening what asks for consent, so a link or an image that leads there does no harm. */
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

/** Where to sign in first, and where to go on afterwards: here, if the address of that would be too long for a URL. */
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

/** The path on this server, as a browser would read it; for anything that leads elsewhere, the dashboard. */
function safeNext(sent: SubmittedFields): string {
  const [next = "", base] = [sent.get("next"), "http://own.invalid"];
  if (!next.startsWith("/") || !URL.canParse(next, base)) return PATHS.dashboard;
  const { origin, pathname, search } = new URL(next, base);
  return origin === base && !pathname.startsWith("//") ? pathname + search : PATHS.dashboard;
}

/** Opening a link uses nothing up: programs that preview links do it, too. Its form does, and another asks for one. */
async function signIn(web: WebContext, sent: SubmittedFields): Promise<HttpResponse> {
  const { call: request, signedIn, unit } = web;
  const [next, token] = [safeNext(sent), sent.get("token")];
  if (isSafeMethod(request))
    return signedIn && !token ? redirect(next) : signInPage(web, next, token);
  if (token === undefined) return askForLink(web, sent.get("email") ?? "", next);
  // The session gets a secret of its own: one that somebody planted in the browser before is worth nothing.
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
    // Rather to the dashboard than by a link that is too long to be opened.
    const goesOn = next !== PATHS.dashboard && further.length <= decide("8.bounds").url;
    announce(`Sign-in link for ${user.email} (${account.name}): ${goesOn ? further : link}`);
  }
  return messagePage(200, "Look at the console", SENT);
}

const SENT =
  "If a user has this address, a sign-in link is on the console of the server now. It works once, for 15 minutes. Open it in this browser, and you will be where you wanted to go.";

/** Who is signed in, and the way out; somebody else who signs in then goes on to `next`. */
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

/** The form action of a form whose redirects may end at this URI: browsers apply form-action to each redirect as well. */
const formActionTo = (uri: string): string =>
  URL.canParse(uri) ? `'self' ${new URL(uri).protocol}` : "'self'";

const redirectUriIn = (path: string): string =>
  new URL(path, "http://own.invalid").searchParams.get("redirect_uri") ?? "";

/** Asks for the press that uses up the link with this token, or else for the address that wants one. */
function signInPage(web: WebContext, next: string, token = "", fault?: string): HttpResponse {
  const asked = [hidden("next", next), hidden("token", token), token ? PRESS : ASK];
  return page({
    title: "Sign in",
    status: fault ? 400 : 200,
    headers: web.setCookie,
    narrow: true,
    // A client that is refused at once is told by the redirect that follows this form.
    formAction: next.startsWith(AUTHORIZE_PATH) ? formActionTo(redirectUriIn(next)) : "'self'",
    body: html`${fault && alertBox("alert", fault)}${web.form(PATHS.sign_in, asked, "card")}`,
  });
}

/** Puts the request before the user who is signed in, or does what was `decided`; or what the browser is answered instead. */
async function consent(
  web: WebContext,
  query: string,
  decided?: SubmittedFields,
): Promise<HttpResponse> {
  const { oauth, signedIn } = web;
  const request = await validateAuthorizationRequest(oauth, parseForm(query));
  if (!("consent" in request)) return toPage(web, request);
  if (signedIn === undefined) return requireSignIn(web, addressOf(query));
  const asked = request.consent(signedIn);
  if (!("granted" in asked)) return toPage(web, asked);
  // Only the word allow allows: a form without a button pressed is a no.
  const isAllowed = decided?.get("decision") === "allow";
  if (decided && !isAllowed) return toPage(web, request.deny());
  // Whatever the user holds by now, nothing is granted that the page did not show.
  const shown = parseScope(decided?.get("granted") ?? "");
  const isShown = typeof shown !== "string" && isSubset(asked.granted, shown);
  return isAllowed && isShown
    ? toPage(web, await asked.issueCode())
    : consentPage(web, asked, query);
}

const addressOf = (query: string): string => `${AUTHORIZE_PATH}?${query}`;

const toPage = (web: WebContext, end: AuthorizationResponse): HttpResponse =>
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

/** Whether the visitor may read the client through the API: nobody else learns its addresses. */
const isAdminOf = ({ signedIn, call: request }: WebContext, client: OAuthClientRecord): boolean =>
  signedIn !== undefined &&
  signedIn.account.id === client.account_id &&
  hasScope(signedIn.user.permissions, "admin") &&
  checkAccountState(signedIn.account, request.method) === undefined;

function consentPage(web: WebContext, terms: Consent, query: string): HttpResponse {
  const { client, redirectUri, asked, user, account, granted } = terms;
  const { host, protocol } = new URL(redirectUri);
  // Nobody's name turns round the words that follow it.
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
