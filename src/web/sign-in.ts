// Signing in and out, and consent (5.sign-in; spec part 5, step 1). There is no password. On a local server the page
// lists the users. Everywhere else, and behind a proxy, it asks for an API key first and then lists the users of that
// key's account. The key is never stored, logged or shown again.
import { checkAccountState, hasScope } from "../domain/credentials.ts";
import { accounts, SCOPE_LABELS, users } from "../domain/model.ts";
import {
  denyRequest,
  type ErrorPage,
  findGrantableScopes,
  issueCode,
  validateAuthorizationRequest,
} from "../domain/oauth/authorize.ts";
import { ALL_RECORDS } from "../domain/store.ts";
import { closeSession, openSession, startSignIn } from "../domain/users.ts";
import { type HttpResponse, PATHS } from "../http/message.ts";
import {
  alertBox,
  heading,
  hidden,
  html,
  inlineCode,
  link,
  list,
  muted,
  type Renderable,
} from "./html.ts";
import { messagePage, page, redirect } from "./layout.ts";
import type { PageRoute, SubmittedFields, WebContext } from "./session.ts";

const SIGN_OUT_PATH = "/dashboard/sign-out";
const CONSENT_PATH = "/oauth/consent";

export const signInRoutes: readonly PageRoute[] = [
  { method: "GET", path: PATHS.sign_in, handler: showSignIn },
  { method: "POST", path: PATHS.sign_in, handler: submitSignIn },
  { method: "POST", path: SIGN_OUT_PATH, handler: signOut },
  // Opening the consent page grants nothing, so a link or an image that loads it is harmless.
  { method: "GET", path: PATHS.authorize, handler: (web) => authorize(web, web.request.query) },
  {
    method: "POST",
    path: CONSENT_PATH,
    handler: (web, fields) => authorize(web, fields.get("request") ?? "", fields),
  },
];

/** A proxy on the same machine makes distant clients look local; it adds one of these headers. */
const PROXY_HEADER = /^(forwarded|via|x-real-ip|x-forwarded-.*)$/;

const needsApiKey = ({ isLocal, request }: WebContext): boolean =>
  !isLocal || Object.keys(request.headers).some((name) => PROXY_HEADER.test(name));

async function showSignIn(web: WebContext, fields: SubmittedFields) {
  const next = safeNext(fields);
  return web.signedIn ? redirect(next) : signInPage(web, next);
}

/** Handles both steps: the API key, and the choice of a user. */
async function submitSignIn(web: WebContext, fields: SubmittedFields) {
  const next = safeNext(fields);
  const userId = fields.get("user_id");
  if (needsApiKey(web) && userId === undefined) {
    const signIn = await startSignIn(web.unitOfWork, fields.get("api_key")?.trim() ?? "");
    return signInPage(web, next, signIn ?? { error: "This API key is not valid. Try again." });
  }
  // The session gets a new secret, so that a planted cookie is worthless (session fixation).
  const secret = await openSession(web.unitOfWork, {
    userId: userId ?? "",
    state: needsApiKey(web) ? (fields.get("state") ?? "") : null,
    previousSecret: web.secret,
  });
  return secret === undefined
    ? signInPage(web, next, { error: "This sign-in has expired, or the user is gone. Try again." })
    : redirect(next, web.sessionCookie(secret));
}

async function signOut(web: WebContext, fields: SubmittedFields) {
  await closeSession(web.store, web.secret);
  return requireSignIn(safeNext(fields), web.sessionCookie());
}

/** Redirects to sign-in, which continues at `next`. */
export const requireSignIn = (next: string, headers?: HttpResponse["headers"]): HttpResponse =>
  redirect(`${PATHS.sign_in}?${new URLSearchParams({ next })}`, headers);

const BASE = "http://this.invalid";

/** Returns the path on this server as a browser resolves it; any other origin becomes the dashboard. */
function safeNext(fields: SubmittedFields): string {
  const next = fields.get("next") || PATHS.dashboard;
  if (!URL.canParse(next, BASE)) return PATHS.dashboard;
  const { origin, pathname, search } = new URL(next, BASE);
  return origin === BASE && !pathname.startsWith("//") ? pathname + search : PATHS.dashboard;
}

interface SignInStep {
  readonly error?: string;
  /** The state of the second step, and the account whose users it lists. */
  readonly state?: string;
  readonly accountId?: string;
}

/** Shows the first step, or the second one if there is a state. */
async function signInPage(
  web: WebContext,
  next: string,
  { error, state, accountId }: SignInStep = {},
) {
  const isKeyStep = needsApiKey(web) && state === undefined;
  const step = isKeyStep ? KEY_FIELD : [await renderUsers(web, accountId), hidden("state", state)];
  // The redirect after this form may return an immediate error to the client.
  const redirectUri = new URL(next, BASE).searchParams.get("redirect_uri") ?? "";
  return page({
    title: "Sign in",
    status: error ? 400 : 200,
    headers: web.setCookie,
    narrow: true,
    formAction: formActionTo(next.startsWith(PATHS.authorize) ? redirectUri : ""),
    body: [
      error && alertBox("alert", error),
      web.form(PATHS.sign_in, [step, hidden("next", next)], "card"),
    ],
  });
}

const KEY_FIELD = html`<div><label for="api_key">API key</label><input id="api_key" name="api_key" type="password" autocomplete="off" required autofocus></div><button class="primary">Continue</button>`;

/** Renders a button for each user of this account, or else of every account. */
async function renderUsers({ store }: WebContext, accountId?: string): Promise<Renderable> {
  const all = await store.page(accounts, "all", [], ALL_RECORDS);
  const shown = all
    .filter(({ id }) => id === (accountId ?? id))
    .map(async ({ id, name }) => {
      const members = await store.page(users, "account", [id], ALL_RECORDS);
      const buttons = members.map(
        ({ id, name, email }) =>
          html`<p><button name="user_id" value="${id}">Continue as ${name && `${name}, `}${email}</button></p>`,
      );
      return [heading(name), buttons];
    });
  return Promise.all(shown);
}

/** Returns the form-action of a form whose redirects may end at this URI; browsers apply it to redirects too. */
const formActionTo = (uri: string): string =>
  URL.canParse(uri) ? `'self' ${new URL(uri).protocol}` : "'self'";

/** Shows the signed-in user and the sign-out button; the next user to sign in continues at `next`. */
export const userMenu = (
  { signedIn, form }: WebContext,
  next: string = PATHS.dashboard,
): Renderable =>
  signedIn &&
  form(
    SIGN_OUT_PATH,
    [muted(signedIn.user.email), html`<button>Sign out</button>`, hidden("next", next)],
    "row",
  );

/** Shows the consent page, or applies the user's decision. The request is validated again then, because time has passed. */
async function authorize(web: WebContext, query: string, decision?: SubmittedFields) {
  const { oauth, signedIn } = web;
  const request = await validateAuthorizationRequest(oauth, query);
  if ("page" in request) return invalidRequestPage(web, request);
  if ("redirect" in request) return redirect(request.redirect);
  const { client, redirectUri } = request;
  const url = `${PATHS.authorize}?${query}`;
  if (signedIn === undefined) return requireSignIn(url);
  const { user, account } = signedIn;
  const scopes = findGrantableScopes(oauth, request, signedIn);
  if ("redirect" in scopes) return redirect(scopes.redirect);
  if (decision !== undefined) {
    // Only the value "allow" allows; a form without a button counts as a denial.
    const response =
      decision.get("decision") === "allow"
        ? await issueCode(oauth, request, user.id, scopes)
        : denyRequest(oauth, request);
    return redirect(response.redirect);
  }
  const { host, protocol } = new URL(redirectUri);
  const missing = request.scopes.filter((scope) => !scopes.includes(scope)).join(", ");
  const fields = [
    html`<p>In the account ${account.name}, for ${user.email}, it gets:</p>`,
    list(scopes.map((scope) => [SCOPE_LABELS[scope], " ", inlineCode(scope)])),
    missing && muted(`It also asked for ${missing}, which you do not have.`),
    html`<div class="row"><button class="primary" name="decision" value="allow">Allow</button><button>Deny</button></div>`,
    hidden("request", query),
  ];
  return page({
    title: `Allow “${client.name}” to use your account?`,
    narrow: true,
    formAction: formActionTo(redirectUri),
    body: [
      web.form(CONSENT_PATH, fields, "card"),
      muted([
        "Either way you return to ",
        host || protocol,
        ". The app can give its access back. An admin ends that of all users by deleting the app under Settings, OAuth apps.",
      ]),
      heading("Not you?"),
      userMenu(web, url),
    ],
  });
}

/** A visitor who may read the client through the API sees its redirect URIs. */
function invalidRequestPage(
  { signedIn, request }: WebContext,
  { page: message, client }: ErrorPage,
) {
  const isAdmin =
    signedIn !== undefined &&
    signedIn.account.id === client?.account_id &&
    hasScope(signedIn.user.permissions, "admin") &&
    checkAccountState(signedIn.account, request.method) === undefined;
  return messagePage(400, "This authorization request is invalid", [
    html`<p>${message}</p>`,
    isAdmin && ["Registered redirect URIs:", list(client?.redirect_uris.map(inlineCode) ?? [])],
    link("/docs#oauth", "How to ask for authorization"),
  ]);
}
