// Signing in and out (contract, part 5): no password, but a link that works once. Whoever asks for one gets the same answer
// whether or not the address is known, so that nobody learns who has an account. The link is printed on the console. And the
// user's side of the authorization code flow (spec part 5, step 1): sign in, see which application asks for what, in which
// account, and allow or deny it. The request is judged again when the answer comes, since time has passed.
import { decide } from "../decisions.ts";
import type { Consent, Ended } from "../domain/oauth/authorize.ts";
import * as authorization from "../domain/oauth/authorize.ts";
import { scopesIn, within } from "../domain/oauth/rules.ts";
import { Refusal } from "../domain/refusal.ts";
import { askForLinks, signInWith, signOut } from "../domain/users.ts";
import type { Reply } from "../http/call.ts";
import { ADDRESSES } from "../http/links.ts";
import { fieldsOf } from "../kit/form.ts";
import { html, type Shown } from "./html.ts";
import { DASHBOARD, messagePage, page, redirect } from "./page.ts";
import { hidden, list, mono, notice, SCOPES_IN_WORDS, soft } from "./parts.ts";
import type { PageRow, Sent, Visit } from "./visit.ts";

const SIGN_IN_PATH = ADDRESSES.sign_in;
const SIGN_OUT_PATH = `${DASHBOARD}/sign-out`;
const AUTHORIZE_PATH = "/oauth/authorize";
const CONSENT_PATH = "/oauth/consent";

/** Nothing is granted by opening what asks for consent, so a link or an image that leads there does no harm. */
export const signInRows: readonly PageRow[] = [
  { method: "GET", path: SIGN_IN_PATH, answer: openSignIn },
  { method: "POST", path: SIGN_IN_PATH, answer: signIn },
  { method: "POST", path: SIGN_OUT_PATH, answer: leave },
  { method: "GET", path: AUTHORIZE_PATH, answer: (visit) => consent(visit, visit.call.query) },
  { method: "POST", path: CONSENT_PATH, answer: (visit, sent) => consent(visit, sent.get("request") ?? "", sent) },
];

async function leave(visit: Visit, sent: Sent): Promise<Reply> {
  await signOut(visit.store, visit.secret);
  return signInFirst(visit, nextOf(sent), visit.cookieOf());
}

/** Where to sign in first, and where to go on afterwards: here, if the address of that would be too long for a URL. */
export function signInFirst(visit: Visit, next: string, headers: Reply["headers"] = {}): Reply {
  const location = `${SIGN_IN_PATH}?${new URLSearchParams({ next })}`;
  return location.length > decide("8.bounds").url ? signInPage(visit, next) : redirect(location, headers);
}

/** The path on this server, as a browser would read it; for anything that leads elsewhere, the dashboard. */
function nextOf(sent: Sent): string {
  const [next = "", base] = [sent.get("next"), "http://own.invalid"];
  if (!next.startsWith("/") || !URL.canParse(next, base)) return DASHBOARD;
  const { origin, pathname, search } = new URL(next, base);
  return origin === base && !pathname.startsWith("//") ? pathname + search : DASHBOARD;
}

/** A link was followed, or the page is opened. Opening a link uses nothing up: programs that preview links do it, too. */
async function openSignIn(visit: Visit, sent: Sent): Promise<Reply> {
  const next = nextOf(sent);
  const token = sent.get("token");
  return token === undefined && visit.signedIn ? redirect(next) : signInPage(visit, next, token);
}

/** The form of a link was sent, or that which asks for one. */
async function signIn(visit: Visit, sent: Sent): Promise<Reply> {
  const next = nextOf(sent);
  const token = sent.get("token");
  if (token === undefined) return askForLink(visit, sent.get("email") ?? "", next);
  // The session gets a secret of its own: one that somebody planted in the browser before is worth nothing.
  const secret = await signInWith(visit.unit, token, visit.secret);
  if (secret !== undefined) return redirect(next, visit.cookieOf(secret));
  return visit.signedIn ? redirect(next) : signInPage(visit, next, undefined, USED);
}

const USED = "This link has been used or is too old. Ask for a new one.";

async function askForLink({ unit, links, announce }: Visit, email: string, next: string) {
  const made = await unit.transact((w) => askForLinks(w, email.trim()));
  for (const { user, account, token } of made instanceof Refusal ? [] : made) {
    const on = next === DASHBOARD ? "" : `&${new URLSearchParams({ next })}`;
    announce(`Sign-in link for ${user.email} (${account.name}): ${links.signIn(token)}${on}`);
  }
  return ASKED;
}

/** Who is signed in, and the way out; somebody else who signs in then goes on to `next`. */
export const whoIsIn = ({ signedIn, form }: Visit, next = DASHBOARD): Shown =>
  signedIn && form(SIGN_OUT_PATH, [hidden("next", next), soft(signedIn.user.email), OUT], "row");

const OUT = html`<button class="quiet">Sign out</button>`;

const PRESS = "This link signs you in once, in this browser.";
const ASK =
  "No password is needed: a link that works once signs you in. This server sends no mail; the link appears on the console where it runs.";

/** Asks for the press that uses up the link with this token, or else for the address that wants one. */
function signInPage(visit: Visit, next: string, token?: string, fault?: string): Reply {
  const press = html`<p>${PRESS}</p>${hidden("token", token)}<button autofocus>Sign in</button>`;
  const ask = html`<p>${ASK}</p><label for="email">E-mail address</label><input id="email" name="email" type="email" autocomplete="email" required autofocus><button>Ask for a link</button>`;
  return page({
    title: "Sign in",
    status: fault ? 400 : 200,
    headers: visit.setCookie,
    narrow: true,
    // A client that is refused at once is told by the redirect that follows this form.
    formAction: next.startsWith(AUTHORIZE_PATH) ? "'self' http: https:" : "'self'",
    body: html`<h1>Sign in</h1>${fault && notice("bad", fault)}
${visit.form(SIGN_IN_PATH, [hidden("next", next), token ? press : ask], "card")}`,
  });
}

const SENT =
  "If a user has this address, a sign-in link is on the console of the server now. It works once, for 15 minutes. Open it in this browser, and you will be where you wanted to go.";
const ASKED = messagePage(200, "Look at the console", SENT);

/** Puts the request before the user who is signed in, or does what was `decided`; or what the browser is answered instead. */
async function consent(visit: Visit, query: string, decided?: Sent): Promise<Reply> {
  const { oauth } = visit;
  const request = await authorization.judge(oauth, fieldsOf(query));
  if (!("client" in request)) return ended(request);
  if (visit.signedIn === undefined) return signInFirst(visit, addressOf(query));
  const asked = authorization.consent(oauth, request, visit.signedIn);
  if (!("granted" in asked)) return ended(asked);
  // Only the word allow allows: a form without a button pressed is a no.
  const isAllowed = decided?.get("decision") === "allow";
  if (decided && !isAllowed) return ended(authorization.deny(oauth, request));
  // Whatever the user holds by now, nothing is granted that the page did not show.
  const shown = scopesIn(decided?.get("granted") ?? "");
  const isShown = typeof shown !== "string" && within(asked.granted, shown);
  return isAllowed && isShown ? ended(await authorization.allow(oauth, asked)) : consentPage(visit, asked, query);
}

const addressOf = (query: string): string => `${AUTHORIZE_PATH}?${query}`;

const ended = (end: Ended): Reply =>
  "redirect" in end ? redirect(end.redirect) : messagePage(400, "This request cannot go on", end.page);

const DECISIONS = html`<button name="decision" value="allow">Allow</button>
<button name="decision" value="deny" class="quiet">Deny</button>`;

function consentPage(visit: Visit, { request, user, account, granted }: Consent, query: string): Reply {
  const { client, redirectUri, asked } = request;
  const { host, protocol } = new URL(redirectUri);
  const withheld = asked.some((scope) => !granted.includes(scope));
  return page({
    title: `Allow ${client.name}?`,
    narrow: true,
    // The form ends at the client, and browsers hold form-action against every redirect that follows.
    formAction: `'self' ${protocol}`,
    body: html`<h1>Allow <q>${client.name}</q> to use your account?</h1>
<div class="card">
<p>In the account <strong>${account.name}</strong>, for <strong>${user.email}</strong>, it will be able to:</p>
${list(granted.map((scope) => [SCOPES_IN_WORDS[scope], " ", mono(scope)]))}
${withheld && soft("It asked for more than you may do yourself; it gets only this.")}
${visit.form(CONSENT_PATH, [hidden("request", query), hidden("granted", granted.join(" ")), DECISIONS], "row")}
</div>
${soft(`Either way you go back to ${host}. You will be asked again the next time.`)}
<h2>Not you?</h2>
${whoIsIn(visit, addressOf(query))}`,
  });
}
