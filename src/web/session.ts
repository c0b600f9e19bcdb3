// One call of a browser: its cookie, who is signed in by it, and whether a form that it posts is ours. Every form carries a
// token derived from the cookie, which no other site can read, and its Origin must be this server (contract, part 5; RFC
// 9700 4.7). Only pages look at cookies; the REST API never does. And the way in which all pages answer visits.
import { MIMEType } from "node:util";
import { sha256 } from "../domain/credentials.ts";
import { AppError } from "../domain/errors.ts";
import type { AuthorizationServer } from "../domain/oauth/access-tokens.ts";
import { UnitOfWork } from "../domain/unit-of-work.ts";
import { findSession } from "../domain/users.ts";
import type { ApiDeps } from "../http/api.ts";
import { type HttpRequest, type HttpResponse, hostname, portOf } from "../http/message.ts";
import type { Operation } from "../http/route.ts";
import { type Result, type RouteKey, type Router, RouteTable } from "../http/router.ts";
import { PATHS } from "../http/urls.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import { collectFields, type FormFields, parseForm } from "../lib/urlencoded.ts";
import { hidden, html, link, type Renderable } from "./html.ts";
import { errorPage, messagePage, withEtag } from "./layout.ts";

/** What pages are made with. */
export interface WebDeps extends ApiDeps {
  readonly oauth: AuthorizationServer;
  /** The REST API's, as this service reads them. */
  readonly operations: readonly Operation[];
  /** The waits between the attempts of a delivery. */
  readonly retryWaits_ms: readonly number[];
  /** What forms that were posted have been answered, the oldest first. */
  readonly answers: Map<string, Promise<Result>>;
  /** Whether only this machine reaches the server. */
  readonly isLocal: boolean;
  /** Shows one line to whoever runs the server. */
  readonly announce: (line: string) => void;
}

/** What a form holds beside the data that an operation takes. */
const FORM_BYTES = 65_536;
/** Browsers send the cookies of a host to all of its ports, so the port stands in the name: several instances keep apart. */
const COOKIE = "apphost_session";

export type SubmittedFields = ReadonlyMap<string, string>;
export type WebContext = Awaited<ReturnType<typeof createWebContext>>;

async function createWebContext(deps: WebDeps, request: HttpRequest) {
  const { unit, services } = deps;
  const { authUrl } = services.urls;
  const secure = authUrl.startsWith("https:");
  const port = portOf(request) || (secure ? "443" : "80");
  const name = `${secure ? "__Host-" : ""}${COOKIE}_${port}`;
  /** Without a secret the cookie is gone after this. */
  const sessionCookie = (secret = ""): Record<string, string> => ({
    "set-cookie": `${name}=${secret}; Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}${secret ? "" : "; Max-Age=0"}`,
  });
  const sent = new RegExp(`(?:^|;) *${name}=([\\w-]{43}) *(?:;|$)`).exec(
    request.header("cookie").join(";"),
  )?.[1];
  // Made now where the browser has none: a form needs one before anybody is signed in.
  const secret = sent ?? unit.ids.secret();
  const csrf = sha256(`csrf ${secret}`);
  const query = parseForm(request.query).values;

  /** Runs on what the query says, or on a form of one of our own pages, stale where it is harmless; or why it is not taken. */
  async function withForm(
    run: (sent: SubmittedFields) => Promise<Result>,
    more_bytes = 0,
    isHarmless = false,
  ): Promise<Result> {
    if (request.method !== "POST") return run(query);
    // A server may be reached under more names than its public one: the name in use is as good.
    const own: readonly string[] = [authUrl, `http://${request.host}`, `https://${request.host}`];
    // Browsers send an Origin; scripts that send none still need the cookie and the token made from it.
    if (!request.header("origin").every((origin) => own.includes(origin))) return CSRF_FAILED;
    const body = await request.readBody(FORM_BYTES + more_bytes);
    if (body instanceof AppError) return body;
    const fields = await parseFormBody(body, request.header("content-type"));
    if (fields === undefined) return UNREADABLE_FORM;
    const { values, duplicates: repeated } = fields;
    const isOurs = repeated.size === 0 && sha256(values.get("csrf") ?? "") === sha256(csrf);
    return isOurs || isHarmless ? run(values) : CSRF_FAILED;
  }

  return {
    ...{
      ...deps,
      ...services,
      call: request,
      secret,
      sessionCookie: sessionCookie,
      withForm: withForm,
      query,
      store: unit.store,
    },
    unit: new UnitOfWork(unit, request.id),
    signedIn:
      sent === undefined ? undefined : await findSession(unit.store, sent, unit.clock.now()),
    /** To be sent with a page that holds a form. */
    setCookie: sent === undefined ? sessionCookie(secret) : {},
    /** With the hidden field that every form needs. */
    form: (action: string, fields: Renderable, look = "") =>
      html`<form method="post" action="${action}" enctype="multipart/form-data" class="${look}">${hidden("csrf", csrf)}${fields}</form>`,
  };
}

/** More than any form of ours has: to read a field takes a thousand times as long as to send it. */
const FIELDS_MAX = 1_000;

/** A file in a form is read as text, because that is all this service takes; undefined where it is none, or no form. */
async function parseFormBody(
  body: Buffer,
  [given = ""]: readonly string[],
): Promise<FormFields | undefined> {
  try {
    const type = new MIMEType(given);
    const separator =
      type.essence === "multipart/form-data" ? (type.params.get("boundary") ?? "") : "&";
    if (body.toString("latin1").split(separator, FIELDS_MAX + 1).length > FIELDS_MAX)
      return undefined;
    const form = await new Response(body, { headers: { "content-type": String(type) } }).formData();
    const pairs = Array.from(form, async ([name, value]) => {
      return [
        name,
        typeof value === "string" ? value : UTF_8.decode(await value.arrayBuffer()),
      ] as const;
    });
    return collectFields(await Promise.all(pairs));
  } catch {
    return undefined; // no form by its type or its content, or bytes that are not UTF-8
  }
}

const UTF_8 = new TextDecoder("utf-8", { fatal: true });

const UTF_8_ONLY = "It takes what its own page sends; a file has to be UTF-8.";
const UNREADABLE_FORM = messagePage(415, "This form cannot be read", UTF_8_ONLY);
const AGAIN = "Nothing was changed. Load the page here again and repeat it.";
const CSRF_FAILED = messagePage(403, "This form is out of date, or from another site", AGAIN);

/** A number of rows, records or places. */
export const countField = (sent: SubmittedFields, name: string): number | undefined =>
  /^\d{1,9}$/.test(sent.get(name) ?? "") ? Number(sent.get(name)) : undefined;

/** The pages on which a person decides something without a password. */
const OWN_HOST_ONLY = /^\/(dashboard|oauth\/authorize|oauth\/consent)(\/|$)/;

/**
 * A web page can have its own host name resolve to this machine (DNS rebinding) and then read what the server answers
 * under that name. So these pages of a server that only this machine reaches have names of this machine only.
 */
const isRebound = ({ isLocal }: WebDeps, request: HttpRequest): boolean =>
  isLocal && OWN_HOST_ONLY.test(request.path) && !isLoopbackHost(hostname(request));

function wrongHost({ services: { urls: links } }: WebDeps): HttpResponse {
  const own = links.authUrl + PATHS.dashboard;
  return messagePage(403, "This page is not available under this host name", [
    "Open ",
    link(own, own),
    " instead. Behind a proxy or a tunnel, start the server with --public-url.",
  ]);
}

/** The way of the pages below an address, or of those that have one of their own. */
export const createPageRouter = <R extends RouteKey>(
  deps: WebDeps,
  basePath: string,
  rows: readonly R[],
  perform: Router<R, WebContext>["handle"],
): Router<R, WebContext> => ({
  basePath,
  routes: new RouteTable(rows.map((row) => ({ ...row, path: row.path.slice(basePath.length) }))),
  authenticate: async (call) =>
    isRebound(deps, call) ? wrongHost(deps) : { who: await createWebContext(deps, call) },
  handle: async (row, request) => withEtag(request.request, await perform(row, request)),
  onError: errorPage,
});

/** A page at an address of its own; `sent` is what its query says, or the form that was posted. */
export interface PageRoute extends RouteKey {
  handler(web: WebContext, sent: SubmittedFields): Promise<Result>;
}
