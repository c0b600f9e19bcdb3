// The context of a page request: the cookie of the browser session, the signed-in user, and CSRF protection. Every form
// carries a token derived from the cookie, which no other site can read, and its Origin must be this server (RFC 9700
// 4.7). Only pages read cookies; the REST API never does.
import { AppError } from "../domain/errors.ts";
import type { AuthorizationServer } from "../domain/oauth/tokens.ts";
import { UnitOfWork } from "../domain/unit-of-work.ts";
import { findSession } from "../domain/users.ts";
import type { ApiDeps } from "../http/api.ts";
import { getPort, type HttpRequest, hostname, PATHS } from "../http/message.ts";
import type { Operation } from "../http/operation.ts";
import {
  type PathParams,
  type Result,
  type RouteKey,
  type Router,
  RouteTable,
} from "../http/router.ts";
import type { Variants } from "../http/variants.ts";
import { sha256 } from "../lib/ids.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import { type Html, hidden, html, link, type Renderable } from "./html.ts";
import { errorPage, messagePage } from "./layout.ts";

/** Dependencies of the pages. */
export interface WebDeps extends ApiDeps {
  readonly oauth: AuthorizationServer;
  /** The REST API's operations with this service's variants. */
  readonly operations: readonly Operation[];
  readonly variants: Variants;
  /** True if host and public URL are loopback. */
  readonly isLocal: boolean;
}

/** The size limit of a form's fields other than an operation's data. */
const FORM_BYTES = 65_536;

export type SubmittedFields = ReadonlyMap<string, string>;

export type WebContext = Awaited<ReturnType<typeof createWebContext>>;

async function createWebContext(deps: WebDeps, request: HttpRequest) {
  const { unitOfWorkDeps, routeDeps } = deps;
  const { authUrl } = routeDeps.urls;
  const isSecure = authUrl.startsWith("https:");
  // Browsers send a host's cookies to all of its ports, so the name contains the port.
  const port = getPort(request) || (isSecure ? "443" : "80");
  const name = `${isSecure ? "__Host-" : ""}apphost_session_${port}`;
  const cookies = request.headers.cookie?.split("; ").map((pair) => pair.split("="));
  const [, cookie] = cookies?.find(([each]) => each === name) ?? [];
  // A browser without a cookie gets one now, because the sign-in form needs its CSRF token.
  const secret = cookie || unitOfWorkDeps.ids.secret();
  const csrfToken = sha256(`csrf ${secret}`);
  const query: SubmittedFields = new Map(new URLSearchParams(request.query));

  /** Returns the Set-Cookie header; without a value it deletes the cookie. */
  function sessionCookie(value = ""): Record<string, string> {
    const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
    return { "set-cookie": `${name}=${value}; ${attributes}${value ? "" : "; Max-Age=0"}` };
  }

  /** Calls `run` with the query (GET) or, after the CSRF check, with the form's fields (POST). */
  async function withForm(run: (fields: SubmittedFields) => Promise<Result>, data_bytes = 0) {
    if (request.method !== "POST") return run(query);
    // A server can have other names than its public one, so the origin in use is accepted too.
    const origins = [authUrl, `http://${request.host}`, `https://${request.host}`];
    // Scripts may send no Origin; they still need the cookie and its token.
    const { origin, "content-type": type = "" } = request.headers;
    if (origin !== undefined && !origins.includes(origin)) return CSRF_FAILED;
    const body = await request.readBody(FORM_BYTES + data_bytes);
    if (body instanceof AppError) return body;
    const form = await parseFormBody(body, type);
    if (form === undefined) return UNREADABLE_FORM;
    return form.get("csrf") === csrfToken ? run(form) : CSRF_FAILED;
  }

  /** Renders a form with its CSRF token. */
  function form(action: string, fields: Renderable, className = ""): Html {
    return html`<form method="post" action="${action}" enctype="multipart/form-data" class="${className}">${fields}${hidden("csrf", csrfToken)}</form>`;
  }

  return {
    ...deps,
    ...routeDeps,
    request,
    query,
    secret,
    sessionCookie,
    withForm,
    form,
    store: unitOfWorkDeps.store,
    unitOfWork: new UnitOfWork(unitOfWorkDeps, request.id),
    signedIn: await findSession(unitOfWorkDeps.store, secret, unitOfWorkDeps.clock.now()),
    /** Send these headers with a page that has a form. */
    setCookie: cookie ? {} : sessionCookie(secret),
  };
}

/** Parses a form; files are read as text, unchanged. Fields without a value count as not sent. */
async function parseFormBody(body: Buffer, type: string): Promise<SubmittedFields | undefined> {
  try {
    const form = await new Response(body, { headers: { "content-type": type } }).formData();
    const fields = new Map<string, string>();
    for (const [name, value] of form) {
      const text =
        typeof value === "string"
          ? value.replaceAll("\r\n", "\n")
          : new TextDecoder("utf-8", { fatal: true }).decode(await value.arrayBuffer());
      if (text !== "") fields.set(name, text);
    }
    return fields;
  } catch {
    return undefined; // not a form or not UTF-8: the caller reports it
  }
}

const UNREADABLE_FORM = messagePage(
  415,
  "This form cannot be read",
  "Send it from its own page. A file must be UTF-8.",
);
const CSRF_FAILED = messagePage(
  403,
  "This form has expired or came from another site",
  "Nothing was changed. Reload the page and try again.",
);

/** Pages on which a user makes a decision without entering a password. */
const LOOPBACK_ONLY = /^\/(dashboard|oauth)\b/;

/** Creates a router for the pages below a base path, or for pages with fixed URLs. */
export const createPageRouter = <R extends RouteKey>(
  deps: WebDeps,
  basePath: string,
  routes: readonly R[],
  handle: (route: R, web: WebContext, params: PathParams) => Promise<Result>,
  onError = (error: AppError, { request }: WebContext) => errorPage(error, request),
): Router<R> => ({
  basePath,
  routes: new RouteTable(
    routes.map((route) => ({ ...route, path: route.path.slice(basePath.length) })),
  ),
  async handle(request, lookup) {
    const { isLocal, routeDeps } = deps;
    const dashboard = routeDeps.urls.authUrl + PATHS.dashboard;
    // DNS rebinding: a web page can have its own host name resolve to this machine and read the responses.
    if (isLocal && LOOPBACK_ONLY.test(request.path) && !isLoopbackHost(hostname(request)))
      return messagePage(403, "This page is not available under this host name", [
        "Open ",
        link(dashboard, dashboard),
        " instead. Behind a proxy or a tunnel, start the server with --public-url.",
      ]);
    const web = await createWebContext(deps, request);
    const result =
      lookup instanceof AppError ? lookup : await handle(lookup.route, web, lookup.params);
    return result instanceof AppError ? onError(result, web) : result;
  },
  onError: errorPage,
});

/** A page with a fixed URL; `fields` are its query or the posted form. */
export interface PageRoute extends RouteKey {
  handler(web: WebContext, fields: SubmittedFields): Promise<Result>;
}
