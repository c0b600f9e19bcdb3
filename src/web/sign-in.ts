// Signing in and out (contract, part 5): no password, but a link that works once. Whoever asks for one gets the same answer
// whether or not the address is known, so that nobody learns who has an account. The link is printed on the console.

import { Refusal } from "../domain/refusal.ts";
import { askForLinks, signInWith, signOut } from "../domain/users.ts";
import { Unit, type UnitParts } from "../domain/work.ts";
import type { Reply } from "../http/call.ts";
import { fieldsOf } from "../kit/form.ts";
import { DASHBOARD } from "./addresses.ts";
import { html, type Shown } from "./html.ts";
import { page, redirect } from "./page.ts";
import { ownPath, type Visit, type Visits } from "./visit.ts";

export const SIGN_IN_PATH = `${DASHBOARD}/sign-in`;
export const SIGN_OUT_PATH = `${DASHBOARD}/sign-out`;
const HOME = DASHBOARD;

export interface SignInParts {
  readonly visits: Visits;
  readonly unit: UnitParts;
  /** Where a sign-in link leads, without further parameters. */
  readonly signInLink: (token: string) => string;
  /** Shows one line to whoever runs the server. */
  readonly announce: (line: string) => void;
}

/** Where to sign in first, and where to go on afterwards. */
export const signInFirst = (next: string): Reply => redirect(`${SIGN_IN_PATH}?${new URLSearchParams({ next })}`);

/** A link was followed, or the page is opened. HEAD uses no link up: programs that preview links send it. */
export async function openSignIn(parts: SignInParts, visit: Visit): Promise<Reply> {
  const { values } = fieldsOf(visit.call.query);
  const token = values.get("token");
  const next = ownPath(values.get("next"));
  if (token !== undefined && visit.call.method === "GET") return followLink(parts, visit, token, next);
  return visit.signedIn ? redirect(next ?? HOME) : askPage(visit, next, null);
}

/** The session gets a secret of its own: one that somebody planted in the browser before is worth nothing. */
async function followLink(parts: SignInParts, visit: Visit, token: string, next: string | undefined): Promise<Reply> {
  const secret = await signInWith(parts.unit, token, visit.secret);
  if (secret !== undefined) return redirect(next ?? HOME, parts.visits.cookieOf(secret));
  if (visit.signedIn) return redirect(next ?? HOME);
  return askPage(visit, next, "This link has been used or is too old. Ask for a new one.", 400);
}

export async function askForLink(parts: SignInParts, visit: Visit): Promise<Reply> {
  const posted = await parts.visits.form(visit);
  if ("refused" in posted) return posted.refused;
  const next = ownPath(posted.fields.get("next"));
  const email = posted.fields.get("email") ?? "";
  const made = await new Unit(parts.unit, visit.call.id).transact((w) => askForLinks(w, email.trim()));
  for (const { user, account, token } of made instanceof Refusal ? [] : made) {
    const on = next === undefined ? "" : `&${new URLSearchParams({ next })}`;
    parts.announce(`Sign-in link for ${user.email} (${account.name}): ${parts.signInLink(token)}${on}`);
  }
  return ASKED;
}

export async function leave({ visits, unit }: SignInParts, visit: Visit): Promise<Reply> {
  const posted = await visits.form(visit);
  if ("refused" in posted) return posted.refused;
  await signOut(unit.store, visit.secret);
  return redirect(SIGN_IN_PATH, visits.noCookie());
}

/** For the header of every page: who is signed in, and the way out. */
export const whoIsIn = ({ signedIn, csrfField }: Visit): Shown =>
  signedIn &&
  html`<form method="post" action="${SIGN_OUT_PATH}" class="row">${csrfField}<span class="soft">${signedIn.user.email}</span><button class="quiet">Sign out</button></form>`;

function askPage(
  { csrfField, setCookie }: Visit,
  next: string | undefined,
  problem: string | null,
  status = 200,
): Reply {
  return page({
    title: "Sign in",
    status,
    headers: setCookie,
    narrow: true,
    body: html`<h1>Sign in</h1>
${problem !== null && html`<p class="card notice bad" role="alert">${problem}</p>`}
<p>No password is needed: a link that works once signs you in.</p>
<form class="card" method="post" action="${SIGN_IN_PATH}">
${csrfField}${next !== undefined && html`<input type="hidden" name="next" value="${next}">`}
<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="email" required autofocus>
<button>Ask for a link</button>
</form>
<p class="soft">This server sends no mail. The link appears on the console where it runs; the one printed at its start works too.</p>`,
  });
}

const ASKED = page({
  title: "Look at the console",
  narrow: true,
  body: html`<h1>Look at the console</h1>
<p class="card notice good" role="status">If a user has this address, a sign-in link is on the console of the server now.</p>
<p>It works once, for 15 minutes. Open it in this browser, and you will be where you wanted to go.</p>
<p><a href="${SIGN_IN_PATH}">Use another address</a></p>`,
});
