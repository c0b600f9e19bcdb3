// The browser session: its cookie, the signed-in user, and CSRF protection. Every form carries a token derived from the
// cookie, which no other site can read, and its Origin must be this server (contract, part 5; RFC 9700 4.7). Only pages
// read cookies; the REST API never does. It also contains the router of all pages.
import { MIMEType } from "node:util";
import { sha256 } from "../domain/credentials.ts";
import { AppError } from "../domain/errors.ts";
import type { AuthorizationServer } from "../domain/oauth/access-tokens.ts";
import { UnitOfWork } from "../domain/unit-of-work.ts";
import { findSession } from "../domain/users.ts";
import type { ApiDeps } from "../http/api.ts";
import { getPort, type HttpRequest, type HttpResponse, hostname } from "../http/message.ts";
import type { Operation } from "../http/route.ts";
import {
  isRouteMatch,
  type PathParams,
  type Result,
  type RouteKey,
  type Router,
  RouteTable,
} from "../http/router.ts";
import { PATHS } from "../http/urls.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import { collectFields, type FormFields, parseForm } from "../lib/urlencoded.ts";
import { hidden, html, link, type Renderable } from "./html.ts";
import { errorPage, messagePage, withEtag } from "./layout.ts";

/** Dependencies of the pages. */
export interface WebDeps extends ApiDeps {
  readonly oauth: AuthorizationServer;
  /** The REST API's operations with this service's variants. */
  readonly operations: readonly Operation[];
  /** The waits between the attempts of a delivery. */
  readonly retryWaits_ms: readonly number[];
  /** Responses to posted forms, oldest first. */
  readonly answers: Map<string, Promise<Result>>;
  /** True if only this machine can reach the server. */
  readonly isLocal: boolean;
  /** Shows one line to the operator of the server. */
  readonly announce: (line: string) => void;
}

/** The size limit of a form's fields other than an operation's data. */
const FORM_BYTES = 65_536;
/** Browsers send a host's cookies to all of its ports, so the name contains the port to separate instances. */
const COOKIE = "apphost_session";

export type SubmittedFields = ReadonlyMap<string, string>;
export type WebContext = Awaited<ReturnType<typeof createWebContext>>;

async function createWebContext(deps: WebDeps, request: HttpRequest) {
  const { unit, services } = deps;
  const { authUrl } = services.urls;
  const secure = authUrl.startsWith("https:");
  const port = getPort(request) || (secure ? "443" : "80");
  const name = `${secure ? "__Host-" : ""}${COOKIE}_${port}`;
  /** Returns the Set-Cookie header; without a secret it deletes the cookie. */
  const sessionCookie = (secret = ""): Record<string, string> => ({
    "set-cookie": `${name}=${secret}; Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}${secret ? "" : "; Max-Age=0"}`,
  });
  const sent = new RegExp(`(?:^|;) *${name}=([\\w-]{43}) *(?:;|$)`).exec(
    request.header("cookie").join(";"),
  )?.[1];
  // Created now if the browser has none, because the sign-in form needs one too.
  const secret = sent ?? unit.ids.secret();
  const csrf = sha256(`csrf ${secret}`);
  const query = parseForm(request.query).values;

  /**
   * Calls `run` with the query (GET) or the form's fields (POST, after the CSRF check), or returns an error page. A
   * harmless form may be stale.
   */
  async function withForm(
    run: (sent: SubmittedFields) => Promise<Result>,
    more_bytes = 0,
    isHarmless = false,
  ): Promise<Result> {
    if (request.method !== "POST") return run(query);
    // A server can have other names than its public one; the origin in use is accepted too.
    const own: readonly string[] = [authUrl, `http://${request.host}`, `https://${request.host}`];
    // Browsers send an Origin; scripts without one still need the cookie and its token.
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
      sessionCookie,
      withForm,
      query,
      store: unit.store,
    },
    unit: new UnitOfWork(unit, request.id),
    signedIn:
      sent === undefined ? undefined : await findSession(unit.store, sent, unit.clock.now()),
    /** Send this with a page that contains a form. */
    setCookie: sent === undefined ? sessionCookie(secret) : {},
    /** Renders a form with its CSRF token. */
    form: (action: string, fields: Renderable, look = "") =>
      html`<form method="post" action="${action}" enctype="multipart/form-data" class="${look}">${hidden("csrf", csrf)}${fields}</form>`,
  };
}

/** More than any of our forms has; parsing a field takes a thousand times as long as sending it. */
const FIELDS_MAX = 1_000;

/**
 * Parses a form; files are read as text, the only content this service takes. Returns undefined if it is not a form or
 * not text.
 */
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

/** Returns a count of rows, records or positions. */
export const countField = (sent: SubmittedFields, name: string): number | undefined =>
  /^\d{1,9}$/.test(sent.get(name) ?? "") ? Number(sent.get(name)) : undefined;

/** Pages on which a user makes a decision without entering a password. */
const OWN_HOST_ONLY = /^\/(dashboard|oauth\/authorize|oauth\/consent)(\/|$)/;

/**
 * Detects DNS rebinding: a web page can have its own host name resolve to this machine and read the responses. These
 * pages of a local-only server therefore accept only loopback host names.
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

interface PageRequest {
  readonly request: HttpRequest;
  readonly caller: WebContext;
  readonly params: PathParams;
}

interface PageRouterOptions {
  /** Returns the response for a visitor who may not see any of the pages. */
  readonly guard?: (web: WebContext, request: HttpRequest) => HttpResponse | undefined;
  readonly onError?: (error: AppError, request: HttpRequest, web: WebContext) => HttpResponse;
}

/** Creates a router for the pages below a base path, or for pages with fixed URLs. */
export const createPageRouter = <R extends RouteKey>(
  deps: WebDeps,
  basePath: string,
  rows: readonly R[],
  perform: (route: R, request: PageRequest) => Promise<Result>,
  { guard, onError = errorPage }: PageRouterOptions = {},
): Router<R> => ({
  basePath,
  routes: new RouteTable(rows.map((row) => ({ ...row, path: row.path.slice(basePath.length) }))),
  async handle(request, lookup) {
    if (isRebound(deps, request)) return wrongHost(deps);
    const web = await createWebContext(deps, request);
    const denied = guard?.(web, request);
    if (denied) return denied;
    const result = isRouteMatch(lookup)
      ? await perform(lookup.route, { request, caller: web, params: lookup.params })
      : lookup;
    return result instanceof AppError ? onError(result, request, web) : withEtag(request, result);
  },
  onError: errorPage,
});

/** A page with a fixed URL; `sent` is its query or the posted form. */
export interface PageRoute extends RouteKey {
  handler(web: WebContext, sent: SubmittedFields): Promise<Result>;
}
