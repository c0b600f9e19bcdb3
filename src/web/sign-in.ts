// Signing in and out (contract, part 5): no password, but a link that works once. Whoever asks for one gets the same answer
// whether or not the address is known, so that nobody learns who has an account. The link is printed on the console.
import { Refusal } from "../domain/refusal.ts";
import { askForLinks, signInWith, signOut } from "../domain/users.ts";
import { Unit } from "../domain/work.ts";
import type { Reply } from "../http/call.ts";
import { ADDRESSES } from "../http/links.ts";
import { html, type Shown } from "./html.ts";
import { DASHBOARD, messagePage, page, redirect } from "./page.ts";
import { hidden, link, notice, soft } from "./parts.ts";
import { ownPath, type PageRow, type Sent, type Visit, type WebParts } from "./visit.ts";

const SIGN_IN_PATH = ADDRESSES.sign_in;
const SIGN_OUT_PATH = `${DASHBOARD}/sign-out`;

export const signInRows = (parts: WebParts): readonly PageRow[] => [
  { method: "GET", path: SIGN_IN_PATH, answer: openSignIn },
  { method: "POST", path: SIGN_IN_PATH, answer: (visit, sent) => signIn(parts, visit, sent) },
  {
    ...{ method: "POST", path: SIGN_OUT_PATH },
    async answer(visit, sent) {
      await signOut(parts.unit.store, visit.secret);
      return signInFirst(nextOf(sent), visit.cookieOf());
    },
  },
];

/** Where to sign in first, and where to go on afterwards. */
export const signInFirst = (next: string, headers: Reply["headers"] = {}): Reply =>
  redirect(`${SIGN_IN_PATH}?${new URLSearchParams({ next })}`, headers);

const nextOf = (sent: Sent): string => ownPath(sent.get("next")) ?? DASHBOARD;

/** A link was followed, or the page is opened. Opening a link uses nothing up: programs that preview links do it, too. */
async function openSignIn(visit: Visit, sent: Sent): Promise<Reply> {
  const next = nextOf(sent);
  const token = sent.get("token");
  return token === undefined && visit.signedIn ? redirect(next) : signInPage(visit, next, token);
}

/** The form of a link was sent, or that which asks for one. */
async function signIn(parts: WebParts, visit: Visit, sent: Sent): Promise<Reply> {
  const next = nextOf(sent);
  const token = sent.get("token");
  if (token === undefined) return askForLink(parts, visit, sent.get("email") ?? "", next);
  // The session gets a secret of its own: one that somebody planted in the browser before is worth nothing.
  const secret = await signInWith(parts.unit, token, visit.secret);
  if (secret !== undefined) return redirect(next, visit.cookieOf(secret));
  return visit.signedIn ? redirect(next) : signInPage(visit, next, undefined, USED);
}

const USED = "This link has been used or is too old. Ask for a new one.";

async function askForLink(parts: WebParts, visit: Visit, email: string, next: string) {
  const made = await new Unit(parts.unit, visit.call.id).transact((w) => askForLinks(w, email.trim()));
  for (const { user, account, token } of made instanceof Refusal ? [] : made) {
    const on = next === DASHBOARD ? "" : `&${new URLSearchParams({ next })}`;
    parts.announce(`Sign-in link for ${user.email} (${account.name}): ${parts.services.links.signIn(token)}${on}`);
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
    body: html`<h1>Sign in</h1>${fault && notice("bad", fault)}
${visit.form(SIGN_IN_PATH, [hidden("next", next), token ? press : ask], "card")}`,
  });
}

const SENT =
  "If a user has this address, a sign-in link is on the console of the server now. It works once, for 15 minutes. Open it in this browser, and you will be where you wanted to go.";
const ASKED = messagePage(200, "Look at the console", [SENT, " ", link(SIGN_IN_PATH, "Use another address")]);
