// The frame of every page, and the headers that keep it to itself: nothing inline, nothing from elsewhere, never framed,
// never cached (contract, part 5).
import { sha256 } from "../domain/credentials.ts";
import { AppError } from "../domain/errors.ts";
import {
  emptyResponse,
  type HttpRequest,
  type HttpResponse,
  isSafeMethod,
  VERSION_PREFIX,
} from "../http/message.ts";
import { errorHeaders, explain } from "../http/problem.ts";
import type { Result } from "../http/router.ts";
import { PATHS } from "../http/urls.ts";
import { html, inlineMarkdown, link, muted, paragraph, type Renderable } from "./html.ts";

export interface Page {
  readonly title: string;
  readonly body: Renderable;
  readonly status?: number | undefined;
  /** Beside the name of the service: who is signed in, navigation. */
  readonly header?: Renderable;
  readonly headers?: HttpResponse["headers"];
  /** A narrow page has one thing to say or to ask, and needs no script for that; the others are quicker with it. */
  readonly narrow?: boolean;
  /** A deployed app is its owner's page, not ours: without our name above it, in the theme that it was given. */
  readonly theme?: string;
  /** Where forms may lead, redirects after them included; the own origin by default. */
  readonly formAction?: string;
}

const NAME = "Application Hosting Service";

export function page({
  title,
  body,
  status = 200,
  header,
  headers,
  narrow,
  theme,
  formAction,
}: Page): HttpResponse {
  const whole = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${theme ?? "light dark"}">
<title>${title}${!theme && ` – ${NAME}`}</title>
<link rel="icon" href="/favicon.ico">
<link rel="stylesheet" href="/assets/style.css">
${!narrow && html`<script type="module" src="/assets/script.js"></script>`}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
${!theme && html`<header>${link(PATHS.dashboard, NAME)}${header}</header>`}
<main id="main" class="${narrow && "narrow"}">
${narrow && html`<h1>${title}</h1>`}
${body}
</main>
</body>
</html>
`;
  // Not no-referrer: that makes a form send `Origin: null`, which the check of the origin then refuses.
  const own = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": `default-src 'none'; style-src 'self'; img-src 'self'; form-action ${formAction ?? "'self'"}; base-uri 'none'; frame-ancestors 'none'${narrow ? "" : "; script-src 'self'; connect-src 'self'"}`,
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
  };
  return { status, headers: { ...own, ...headers }, body: whole.text };
}

/** One message, for what cannot go on. In an element of its own, or the title was the last and had no room below. */
export const messagePage = (status: number, title: string, text: Renderable): HttpResponse =>
  page({ title, status, narrow: true, body: html`<div>${text}</div>` });

/** A refusal for people. */
export function describeError(error: AppError, { id }: HttpRequest): Page {
  const { status, title, detail } = explain(error);
  // Cookies let people in here, so there is no credential to challenge them for.
  const { "www-authenticate": _, ...headers } = errorHeaders(error.details, "");
  const said = html`<p>${detail.replace(`${title}. `, "")}</p>${status === 500 && muted(`Request id: ${id}`)}`;
  return { status, title, headers, body: said };
}

export const errorPage = (error: AppError, request: HttpRequest): HttpResponse =>
  page({ ...describeError(error, request), narrow: true });

/** What somebody looks at is asked for again and again: where it has not changed it is not sent again (RFC 9110 13.1.2). */
export function withEtag(request: HttpRequest, response: Result): Result {
  if (response instanceof AppError || response.status !== 200 || !isSafeMethod(request))
    return response;
  const etag = `"${sha256(response.body).slice(0, 20)}"`;
  const headers = { ...response.headers, etag };
  const given = request.header("if-none-match").join();
  return given === "*" || given.includes(etag)
    ? emptyResponse(304, headers)
    : { ...response, headers };
}

/** For a person who went where nothing is; undefined for a program. */
export function notFoundPage(request: HttpRequest): HttpResponse | undefined {
  const person =
    isSafeMethod(request) && request.header("accept").some((types) => types.includes("text/html"));
  if (!person) return undefined;
  const ways = inlineMarkdown(`[Dashboard](${PATHS.dashboard}) [Docs](${PATHS.docs})`);
  if (!/^\/v\d/.test(request.path)) return messagePage(404, "There is no such page", ways);
  const supported = paragraph(
    `This server supports \`${VERSION_PREFIX}\` only: see the [endpoints](${PATHS.docs}/endpoints).`,
  );
  return messagePage(404, "There is no such version of the API", [supported, ways]);
}

/** 303: whatever the method was, the browser goes on with GET (RFC 9700 4.12). */
export const redirect = (location: string, headers: HttpResponse["headers"] = {}): HttpResponse =>
  emptyResponse(303, {
    location,
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    ...headers,
  });
