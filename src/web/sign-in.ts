// Signing in and out (contract, part 5): no password, but a link that works once. Whoever asks for one gets the same answer
// whether or not the address is known, so that nobody learns who has an account. The link is printed on the console.

import { Refusal } from "../domain/refusal.ts";
import { askForLinks, signInWith, signOut } from "../domain/users.ts";
import { Unit } from "../domain/work.ts";
import type { Reply } from "../http/call.ts";
import { html, type Shown } from "./html.ts";
import { DASHBOARD, messagePage, page, redirect } from "./page.ts";
import { notice } from "./parts.ts";
import { ownPath, type PageRow, type Sent, type Visit, type WebParts } from "./visit.ts";

const SIGN_IN_PATH = `${DASHBOARD}/sign-in`;
const SIGN_OUT_PATH = `${DASHBOARD}/sign-out`;

export const signInRows = (parts: WebParts): readonly PageRow[] => [
  { method: "GET", path: SIGN_IN_PATH, answer: openSignIn },
  { method: "POST", path: SIGN_IN_PATH, answer: (visit, sent) => signIn(parts, visit, sent) },
  { method: "POST", path: SIGN_OUT_PATH, answer: (visit, sent) => leave(parts, visit, sent) },
];

/** Where to sign in first, and where to go on afterwards. */
export const signInFirst = (next: string, headers: Reply["headers"] = {}): Reply =>
  redirect(`${SIGN_IN_PATH}?${new URLSearchParams({ next })}`, headers);

const nextOf = (sent: Sent): string => ownPath(sent.get("next")) ?? DASHBOARD;

/** A link was followed, or the page is opened. Opening a link uses nothing up: programs that preview links do it, too. */
async function openSignIn(visit: Visit, sent: Sent): Promise<Reply> {
  const [token, next] = [sent.get("token"), nextOf(sent)];
  return token === undefined && visit.signedIn ? redirect(next) : signInPage(visit, next, { token });
}

/** The form of a link was sent, or that which asks for one. */
async function signIn(parts: WebParts, visit: Visit, sent: Sent): Promise<Reply> {
  const [token, next] = [sent.get("token"), nextOf(sent)];
  if (token === undefined) return askForLink(parts, visit, sent.get("email") ?? "", next);
  // The session gets a secret of its own: one that somebody planted in the browser before is worth nothing.
  const secret = await signInWith(parts.unit, token, visit.secret);
  if (secret !== undefined) return redirect(next, visit.cookieOf(secret));
  if (visit.signedIn) return redirect(next);
  return signInPage(visit, next, { fault: "This link has been used or is too old. Ask for a new one." });
}

async function askForLink(parts: WebParts, visit: Visit, email: string, next: string): Promise<Reply> {
  const made = await new Unit(parts.unit, visit.call.id).transact((w) => askForLinks(w, email.trim()));
  for (const { user, account, token } of made instanceof Refusal ? [] : made) {
    const on = next === DASHBOARD ? "" : `&${new URLSearchParams({ next })}`;
    parts.announce(`Sign-in link for ${user.email} (${account.name}): ${parts.services.links.signIn(token)}${on}`);
  }
  return ASKED;
}

async function leave({ unit }: WebParts, visit: Visit, sent: Sent): Promise<Reply> {
  await signOut(unit.store, visit.secret);
  return signInFirst(nextOf(sent), visit.cookieOf());
}

/** Who is signed in, and the way out; somebody else who signs in then goes on to `next`. */
export const whoIsIn = ({ signedIn, csrfField }: Visit, next = DASHBOARD): Shown =>
  signedIn &&
  html`<form method="post" action="${SIGN_OUT_PATH}" class="row">${csrfField}<input type="hidden" name="next" value="${next}"><span class="soft">${signedIn.user.email}</span><button class="quiet">Sign out</button></form>`;

/** Asks for the press that uses up the link with this token, or else for the address that wants one. */
function signInPage(
  visit: Visit,
  next: string,
  { token, fault }: { token?: string | undefined; fault?: string },
): Reply {
  const press = html`<p>This link signs you in once, in this browser.</p><input type="hidden" name="token" value="${token}"><button autofocus>Sign in</button>`;
  const ask = html`<p>No password is needed: a link that works once signs you in. This server sends no mail; the link appears on the console where it runs.</p>
<label for="email">E-mail address</label><input id="email" name="email" type="email" autocomplete="email" required autofocus><button>Ask for a link</button>`;
  return page({
    title: "Sign in",
    status: fault ? 400 : 200,
    headers: visit.setCookie,
    narrow: true,
    body: html`<h1>Sign in</h1>${fault && notice("bad", fault)}
<form class="card" method="post" action="${SIGN_IN_PATH}">${visit.csrfField}<input type="hidden" name="next" value="${next}">${token ? press : ask}</form>`,
  });
}

const ASKED = messagePage(
  200,
  "Look at the console",
  html`If a user has this address, a sign-in link is on the console of the server now. It works once, for 15 minutes. Open it in this browser, and you will be where you wanted to go. <a href="${SIGN_IN_PATH}">Use another address</a>`,
);
