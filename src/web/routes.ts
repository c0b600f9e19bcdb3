// The way to the pages that have addresses of their own: what a user of the authorization server sees, signing in and out,
// the docs, and the few files that pages load.
import type { Refusal } from "../domain/refusal.ts";
import type { Reply } from "../http/call.ts";
import type { Row, Way } from "../http/way.ts";
import { assets } from "./assets.ts";
import { AUTHORIZE_PATH, answerConsent, CONSENT_PATH, type ConsentParts, openConsent } from "./consent.ts";
import { messagePage } from "./page.ts";
import { leave, openSignIn, SIGN_IN_PATH, SIGN_OUT_PATH, type SignInParts, signIn } from "./sign-in.ts";
import type { Visit, Visits } from "./visit.ts";

/** A page at an address of its own. */
export interface PageRow extends Row {
  answer(visit: Visit): Promise<Reply>;
}

/** A refusal for people. */
export type Explain = (refusal: Refusal) => {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
};

export const pageWay = (visits: Visits, explain: Explain, rows: readonly PageRow[]): Way<PageRow, Visit> => ({
  under: "",
  rows: [...rows, ...assets],
  enter: (call) => visits.of(call),
  perform: (row, { who }) => row.answer(who),
  refused: refusedAs(explain),
});

export const refusedAs =
  (explain: Explain) =>
  (refusal: Refusal): Reply => {
    const { status, title, detail } = explain(refusal);
    return messagePage(status, title, detail, allowed(refusal));
  };

/** RFC 9110 15.5.6 wants a 405 to name the methods that there are. */
export const allowed = ({ reason }: Refusal): Record<string, string> =>
  reason.code === "method_not_allowed" ? { allow: reason.allow.join(", ") } : {};

export const signInRows = (parts: SignInParts & ConsentParts): readonly PageRow[] => [
  { method: "GET", path: AUTHORIZE_PATH, answer: (visit) => openConsent(parts, visit) },
  { method: "POST", path: CONSENT_PATH, answer: (visit) => answerConsent(parts, visit) },
  { method: "GET", path: SIGN_IN_PATH, answer: (visit) => openSignIn(visit) },
  { method: "POST", path: SIGN_IN_PATH, answer: (visit) => signIn(parts, visit) },
  { method: "POST", path: SIGN_OUT_PATH, answer: (visit) => leave(parts, visit) },
];
