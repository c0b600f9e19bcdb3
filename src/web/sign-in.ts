// Signing in and out (contract, part 5). There is no password. On a local server the page lists the users. Everywhere
// else, and behind a proxy, it asks for an API key first and then lists the users of that key's account. The key is never
// stored, logged or shown again.
import type { AccountRecord } from "../domain/model.ts";
import { accounts, users } from "../domain/model.ts";
import { closeSession, openSession, startSignIn } from "../domain/sessions.ts";
import { ALL_RECORDS } from "../domain/store.ts";
import type { HttpRequest, HttpResponse } from "../http/message.ts";
import { PATHS } from "../http/urls.ts";
import { alertBox, firstOfMany, type Html, hidden, html, muted, type Renderable } from "./html.ts";
import { page, redirect } from "./layout.ts";
import type { PageRoute, SubmittedFields, WebContext } from "./session.ts";

const SIGN_OUT_PATH = `${PATHS.dashboard}/sign-out`;
export const AUTHORIZE_PATH = "/oauth/authorize";

/** Longer URLs are refused (contract, part 8). */
const URL_CHARS = 8_192;
const USERS_SHOWN = { offset: 0, limit: 1_000 };

export const signInRoutes: readonly PageRoute[] = [
  { method: "GET", path: PATHS.sign_in, handler: showSignIn },
  { method: "POST", path: PATHS.sign_in, handler: submitSignIn },
  { method: "POST", path: SIGN_OUT_PATH, handler: signOut },
];

/** A proxy on the same machine makes distant clients look local; it adds one of these headers. */
const isFromProxy = (request: HttpRequest): boolean =>
  request.headerNames().some((name) => /^(forwarded|via|x-real-ip|x-forwarded-.*)$/.test(name));

const needsApiKey = ({ isLocal, request }: WebContext): boolean => !isLocal || isFromProxy(request);

async function showSignIn(web: WebContext, fields: SubmittedFields): Promise<HttpResponse> {
  const next = safeNext(fields);
  return web.signedIn ? redirect(next) : signInPage(web, next);
}

/** Handles both steps: the API key, and the choice of a user. */
async function submitSignIn(web: WebContext, fields: SubmittedFields): Promise<HttpResponse> {
  const next = safeNext(fields);
  const userId = fields.get("user_id");
  const isKeyNeeded = needsApiKey(web);
  if (isKeyNeeded && userId === undefined) {
    const signIn = await startSignIn(web.unit, fields.get("api_key")?.trim() ?? "");
    if (signIn === undefined) return signInPage(web, next, INVALID_KEY);
    const account = await web.store.get(accounts, signIn.accountId);
    return userListPage(web, next, account ? [account] : [], { state: signIn.state });
  }
  // The session gets a new secret, so that a planted cookie is worthless (session fixation).
  const secret = await openSession(web.unit, {
    userId: userId ?? "",
    state: isKeyNeeded ? (fields.get("state") ?? "") : null,
    previousSecret: web.secret,
  });
  return secret === undefined
    ? signInPage(web, next, SIGN_IN_FAILED)
    : redirect(next, web.sessionCookie(secret));
}

const INVALID_KEY = "This API key is not valid. Check it and try again.";
const SIGN_IN_FAILED = "This sign-in has expired, or the user was deleted. Try again.";

async function signOut(web: WebContext, fields: SubmittedFields): Promise<HttpResponse> {
  await closeSession(web.store, web.secret);
  return requireSignIn(web, safeNext(fields), web.sessionCookie());
}

/** Redirects to sign-in, which continues at `next`. Shows it here if that URL would be too long. */
export async function requireSignIn(
  web: WebContext,
  next: string,
  headers: HttpResponse["headers"] = {},
): Promise<HttpResponse> {
  const location = `${PATHS.sign_in}?${new URLSearchParams({ next })}`;
  return location.length > URL_CHARS ? signInPage(web, next) : redirect(location, headers);
}

/** Returns the path on this server as a browser resolves it; any other origin becomes the dashboard. */
function safeNext(fields: SubmittedFields): string {
  const next = fields.get("next") ?? "";
  const base = "http://this.invalid";
  if (!next.startsWith("/") || !URL.canParse(next, base)) return PATHS.dashboard;
  const { origin, pathname, search } = new URL(next, base);
  return origin === base && !pathname.startsWith("//") ? pathname + search : PATHS.dashboard;
}

/** Shows the first step: the API key where one is needed, or else the users of every account. */
async function signInPage(web: WebContext, next: string, error?: string): Promise<HttpResponse> {
  if (!needsApiKey(web)) {
    const all = await web.store.page(accounts, "all", ["accounts"], ALL_RECORDS);
    return userListPage(web, next, all, { error });
  }
  const fields = html`<div><label for="api_key">API key</label><input id="api_key" name="api_key" type="password" autocomplete="off" required autofocus></div><button>Continue</button>`;
  return signInForm(web, next, fields, error);
}

async function userListPage(
  web: WebContext,
  next: string,
  all: readonly AccountRecord[],
  { state, error }: { readonly state?: string; readonly error?: string | undefined },
): Promise<HttpResponse> {
  const lists: Html[] = [];
  for (const { id, name } of all) {
    const records = await web.store.page(users, "account", [id], USERS_SHOWN);
    const buttons = records.map(
      (user) =>
        html`<button name="user_id" value="${user.id}">Continue as ${user.name && `${user.name}, `}${user.email}</button>\n`,
    );
    const total = await web.store.count(users, "account", [id]);
    lists.push(
      html`<h2>${name}</h2><div class="row">${buttons}</div>${firstOfMany(records.length, total, "users")}`,
    );
  }
  return signInForm(web, next, [state && hidden("state", state), lists], error);
}

function signInForm(
  web: WebContext,
  next: string,
  fields: Renderable,
  error?: string,
): HttpResponse {
  const form = web.form(PATHS.sign_in, [hidden("next", next), fields], "card");
  return page({
    title: "Sign in",
    status: error ? 400 : 200,
    headers: web.setCookie,
    narrow: true,
    // The redirect after this form may return an immediate error to the client.
    formAction: next.startsWith(AUTHORIZE_PATH) ? formActionTo(redirectUriIn(next)) : "'self'",
    body: [error && alertBox("alert", error), form],
  });
}

/** Returns the form-action of a form whose redirects may end at this URI; browsers apply it to redirects too. */
export const formActionTo = (uri: string): string =>
  URL.canParse(uri) ? `'self' ${new URL(uri).protocol}` : "'self'";

const redirectUriIn = (path: string): string =>
  new URL(path, "http://this.invalid").searchParams.get("redirect_uri") ?? "";

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
