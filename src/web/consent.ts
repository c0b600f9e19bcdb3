// The user's side of the authorization code flow (spec part 5, step 1): sign in, see which application asks for what, in
// which account, and allow or deny it. The request is judged again when the answer comes, since time has passed.

import type { Context } from "../domain/oauth/access-tokens.ts";
import type { Consent, Ended } from "../domain/oauth/authorize.ts";
import * as authorization from "../domain/oauth/authorize.ts";
import type { Reply } from "../http/call.ts";
import { fieldsOf } from "../kit/form.ts";
import { html } from "./html.ts";
import { messagePage, page, redirect } from "./page.ts";
import { hidden, list, mono, SCOPES_IN_WORDS, soft } from "./parts.ts";
import { signInFirst, whoIsIn } from "./sign-in.ts";
import type { PageRow, Visit, WebParts } from "./visit.ts";

const AUTHORIZE_PATH = "/oauth/authorize";
const CONSENT_PATH = "/oauth/consent";

/** Nothing is granted by opening the first, so a link or an image that leads there does no harm. */
export const consentRows = ({ oauth }: WebParts): readonly PageRow[] => [
  {
    ...{ method: "GET", path: AUTHORIZE_PATH },
    answer: (visit) => put(oauth, visit, visit.call.query, (consent) => consentPage(visit, consent, visit.call.query)),
  },
  {
    ...{ method: "POST", path: CONSENT_PATH },
    answer: (visit, sent) =>
      put(oauth, visit, sent.get("request") ?? "", async (consent) => {
        // Only the word allow allows: a form without a button pressed is a no.
        if (sent.get("decision") !== "allow") return ended(authorization.deny(oauth, consent.request));
        return ended(await authorization.allow(oauth, consent));
      }),
  },
];

/** The request as it may be put before the user who is signed in; or what the browser is answered instead. */
async function put(oauth: Context, visit: Visit, query: string, then: (put: Consent) => Reply | Promise<Reply>) {
  const request = await authorization.judge(oauth, fieldsOf(query));
  if (!("client" in request)) return ended(request);
  if (visit.signedIn === undefined) return signInFirst(addressOf(query));
  const consent = authorization.consent(oauth, request, visit.signedIn);
  return "granted" in consent ? then(consent) : ended(consent);
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
${visit.form(CONSENT_PATH, [hidden("request", query), DECISIONS], "row")}
</div>
${soft(`Either way you go back to ${host}. You will be asked again the next time.`)}
<h2>Not you?</h2>
${whoIsIn(visit, addressOf(query))}`,
  });
}
