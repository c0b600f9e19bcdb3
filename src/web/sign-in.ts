// Signing in and out (contract, part 5): no password, but a link that works once. Whoever asks for one gets the same answer
// whether or not the address is known, so that nobody learns who has an account. The link is printed on the console. And the
// user's side of the authorization code flow (spec part 5, step 1): sign in, see which application asks for what, in which
// account, and allow or deny it. The request is judged again when the answer comes, since time has passed.
import { decide } from "../decisions.ts";
import { allows, standing } from "../domain/access.ts";
import { isPrivateUse } from "../domain/fields.ts";
import { type OAuthClientRecord, SCOPES_IN_WORDS } from "../domain/model.ts";
import { type Consent, type Ended, type ErrorPage, judge } from "../domain/oauth/authorize.ts";
import { scopesIn, within } from "../domain/oauth/rules.ts";
import { Refusal } from "../domain/refusal.ts";
import { askForLinks, signInWith, signOut } from "../domain/users.ts";
import { isRead, type Reply } from "../http/call.ts";
import { ADDRESSES } from "../http/links.ts";
import { fieldsOf } from "../kit/form.ts";
import { hidden, html, list, mono, notice, paragraph, type Shown, soft } from "./html.ts";
import { messagePage, page, redirect } from "./page.ts";
import type { PageRow, Sent, Visit } from "./visit.ts";

const SIGN_OUT_PATH = `${ADDRESSES.dashboard}/sign-out`;
const AUTHORIZE_PATH = "/oauth/authorize";
const CONSENT_PATH = "/oauth/consent";

/** Nothing is granted by opening what asks for consent, so a link or an image that leads there does no harm. */
export const signInRows: readonly PageRow[] = [
  { method: "GET", path: ADDRESSES.sign_in, answer: signIn },
  { method: "POST", path: ADDRESSES.sign_in, answer: signIn },
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
  const location = `${ADDRESSES.sign_in}?${new URLSearchParams({ next })}`;
  return location.length > decide("8.bounds").url ? signInPage(visit, next) : redirect(location, headers);
}

/** The path on this server, as a browser would read it; for anything that leads elsewhere, the dashboard. */
function nextOf(sent: Sent): string {
  const [next = "", base] = [sent.get("next"), "http://own.invalid"];
  if (!next.startsWith("/") || !URL.canParse(next, base)) return ADDRESSES.dashboard;
  const { origin, pathname, search } = new URL(next, base);
  return origin === base && !pathname.startsWith("//") ? pathname + search : ADDRESSES.dashboard;
}

/** Opening a link uses nothing up: programs that preview links do it, too. Its form does, and another asks for one. */
async function signIn(visit: Visit, sent: Sent): Promise<Reply> {
  const { call, signedIn, unit } = visit;
  const [next, token] = [nextOf(sent), sent.get("token")];
  if (isRead(call)) return signedIn && !token ? redirect(next) : signInPage(visit, next, token);
  if (token === undefined) return askForLink(visit, sent.get("email") ?? "", next);
  // The session gets a secret of its own: one that somebody planted in the browser before is worth nothing.
  const secret = await signInWith(unit, token, visit.secret);
  if (secret !== undefined) return redirect(next, visit.cookieOf(secret));
  return signedIn ? redirect(next) : signInPage(visit, next, "", USED);
}

const USED = "This link has been used or is too old. Ask for a new one.";

async function askForLink({ unit, links, announce }: Visit, email: string, next: string): Promise<Reply> {
  const made = await unit.transact((w) => askForLinks(w, email.trim()));
  for (const { user, account, token } of made instanceof Refusal ? [] : made) {
    const link = links.signIn(token);
    const further = `${link}&${new URLSearchParams({ next })}`;
    // Rather to the dashboard than by a link that is too long to be opened.
    const goesOn = next !== ADDRESSES.dashboard && further.length <= decide("8.bounds").url;
    announce(`Sign-in link for ${user.email} (${account.name}): ${goesOn ? further : link}`);
  }
  return messagePage(200, "Look at the console", SENT);
}

const SENT =
  "If a user has this address, a sign-in link is on the console of the server now. It works once, for 15 minutes. Open it in this browser, and you will be where you wanted to go.";

/** Who is signed in, and the way out; somebody else who signs in then goes on to `next`. */
export const whoIsIn = ({ signedIn, form }: Visit, next: string = ADDRESSES.dashboard): Shown =>
  signedIn &&
  form(SIGN_OUT_PATH, [hidden("next", next), soft(signedIn.user.email), html`<button>Sign out</button>`], "row");

const PRESS = html`<p>This link signs you in once, in this browser.</p><button autofocus>Sign in</button>`;
const ASK = html`<p>No password is needed: a link that works once signs you in. This server sends no mail; the link appears on the console where it runs.</p>
<div><label for="email">E-mail address</label><input id="email" name="email" inputmode="email" autocomplete="email" required autofocus></div><button>Ask for a link</button>`;

/** The form action of a form whose redirects may end at this URI: browsers apply form-action to each redirect as well. */
const formActionTo = (uri: string): string => (URL.canParse(uri) ? `'self' ${new URL(uri).protocol}` : "'self'");

const redirectUriIn = (path: string): string =>
  new URL(path, "http://own.invalid").searchParams.get("redirect_uri") ?? "";

/** Asks for the press that uses up the link with this token, or else for the address that wants one. */
function signInPage(visit: Visit, next: string, token = "", fault?: string): Reply {
  const asked = [hidden("next", next), hidden("token", token), token ? PRESS : ASK];
  return page({
    title: "Sign in",
    status: fault ? 400 : 200,
    headers: visit.setCookie,
    narrow: true,
    // A client that is refused at once is told by the redirect that follows this form.
    formAction: next.startsWith(AUTHORIZE_PATH) ? formActionTo(redirectUriIn(next)) : "'self'",
    body: html`${fault && notice("alert", fault)}${visit.form(ADDRESSES.sign_in, asked, "card")}`,
  });
}

/** Puts the request before the user who is signed in, or does what was `decided`; or what the browser is answered instead. */
async function consent(visit: Visit, query: string, decided?: Sent): Promise<Reply> {
  const { oauth, signedIn } = visit;
  const request = await judge(oauth, fieldsOf(query));
  if (!("consent" in request)) return ended(visit, request);
  if (signedIn === undefined) return signInFirst(visit, addressOf(query));
  const asked = request.consent(signedIn);
  if (!("granted" in asked)) return ended(visit, asked);
  // Only the word allow allows: a form without a button pressed is a no.
  const isAllowed = decided?.get("decision") === "allow";
  if (decided && !isAllowed) return ended(visit, request.deny());
  // Whatever the user holds by now, nothing is granted that the page did not show.
  const shown = scopesIn(decided?.get("granted") ?? "");
  const isShown = typeof shown !== "string" && within(asked.granted, shown);
  return isAllowed && isShown ? ended(visit, await asked.allow()) : consentPage(visit, asked, query);
}

const addressOf = (query: string): string => `${AUTHORIZE_PATH}?${query}`;

const ended = (visit: Visit, end: Ended): Reply => ("redirect" in end ? redirect(end.redirect) : errorPage(visit, end));

const HELP = paragraph(`[What an application has to send](${ADDRESSES.docs}#oauth) is described in the docs.`);

function errorPage(visit: Visit, { page, client }: ErrorPage): Reply {
  const addresses = client &&
    isAdminOf(visit, client) && [html`<p>Registered for ${client.name}:</p>`, list(client.redirect_uris.map(mono))];
  return messagePage(400, "This request cannot go on", [html`<p>${page}</p>`, addresses, HELP]);
}

/** Whether the visitor may read the client through the API: nobody else learns its addresses. */
const isAdminOf = ({ signedIn, call }: Visit, client: OAuthClientRecord): boolean =>
  signedIn !== undefined &&
  signedIn.account.id === client.account_id &&
  allows(signedIn.user.permissions, "admin") &&
  standing(signedIn.account, call.method) === undefined;

function consentPage(visit: Visit, terms: Consent, query: string): Reply {
  const { client, redirectUri, asked, user, account, granted } = terms;
  const { host, protocol } = new URL(redirectUri);
  // Nobody's name turns round the words that follow it.
  const name = client.name.replace(/\p{Bidi_Control}/gu, "");
  const withheld = asked.some((scope) => !granted.includes(scope));
  const decided = html`<p>In the account <strong>${account.name}</strong>, for <strong>${user.email}</strong>, it will be able to:</p>
${list(granted.map((scope) => [SCOPES_IN_WORDS[scope], " ", mono(scope)]))}
${withheld && soft("It asked for more than you may do yourself; it gets only this.")}
${hidden("request", query)}${hidden("granted", granted.join(" "))}
<div class="row"><button name="decision" value="allow">Allow</button><button name="decision" value="deny">Deny</button></div>`;
  return page({
    title: `Allow “${name}” to use your account?`,
    narrow: true,
    formAction: formActionTo(redirectUri),
    body: html`${visit.form(CONSENT_PATH, decided, "card")}
${soft(`Either way you go back to ${isPrivateUse(redirectUri) ? protocol.slice(0, -1) : host}. You will be asked again the next time.`)}
<h2>Not you?</h2>${whoIsIn(visit, addressOf(query))}`,
  });
}
