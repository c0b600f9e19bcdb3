// Which page answers which path: what a user of the authorization server sees, and signing in and out.
import type { Call, Reply } from "../http/call.ts";
import { assets } from "./assets.ts";
import { AUTHORIZE_PATH, answerConsent, CONSENT_PATH, type ConsentParts, openConsent } from "./consent.ts";
import { messagePage } from "./page.ts";
import { leave, openSignIn, SIGN_IN_PATH, SIGN_OUT_PATH, type SignInParts, signIn } from "./sign-in.ts";
import type { Visit, Visits } from "./visit.ts";

type Answer = (visit: Visit) => Promise<Reply>;

/** The methods of one path; GET answers HEAD too. */
export type PageMethods = { readonly GET?: Answer; readonly POST?: Answer };

export function signInPages(parts: SignInParts & ConsentParts): (call: Call) => Promise<Reply> | undefined {
  const pages = new Map<string, PageMethods>([
    [AUTHORIZE_PATH, { GET: (visit) => openConsent(parts, visit) }],
    [CONSENT_PATH, { POST: (visit) => answerConsent(parts, visit) }],
    [SIGN_IN_PATH, { GET: (visit) => openSignIn(visit), POST: (visit) => signIn(parts, visit) }],
    [SIGN_OUT_PATH, { POST: (visit) => leave(parts, visit) }],
  ]);
  return (call) => {
    const methods = pages.get(call.path);
    return methods ? answerPage(methods, parts.visits, call) : assets(call);
  };
}

export async function answerPage(methods: PageMethods, visits: Visits, call: Call): Promise<Reply> {
  const allowed = [...(methods.GET ? ["GET", "HEAD"] : []), ...(methods.POST ? ["POST"] : [])];
  const answer = methods[call.method === "HEAD" ? "GET" : call.method === "POST" ? "POST" : "GET"];
  if (!allowed.includes(call.method) || answer === undefined)
    return messagePage(405, "This does not work that way", `This address answers ${allowed.join(", ")}.`, {
      allow: allowed.join(", "),
    });
  return answer(await visits.of(call));
}
