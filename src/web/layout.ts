// The frame of every page and its security headers: no inline code, no external resources, no framing, no caching.
import type { AppError } from "../domain/errors.ts";
import { emptyResponse, type HttpRequest, type HttpResponse } from "../http/message.ts";
import { errorHeaders, explain } from "../http/problem.ts";
import { html, link, muted, type Renderable, tabs } from "./html.ts";

export interface Page {
  readonly title: string;
  readonly body: Renderable;
  readonly status?: number | undefined;
  /** The current place in the main navigation. */
  readonly section?: string | undefined;
  /** Content after the main navigation: the signed-in user, and the navigation inside the section. */
  readonly header?: Renderable;
  readonly headers?: HttpResponse["headers"];
  /** A narrow page has one message or question and no script. */
  readonly narrow?: boolean;
  /** The theme of a deployed app, which is its owner's page and does not show our name. */
  readonly theme?: string;
  /** Allowed targets of forms, including their redirects; the page's own origin by default. */
  readonly formAction?: string;
}

const NAME = "Application Hosting Service";
export const SECTIONS = [
  ["Apps", "/dashboard/apps"],
  ["Data sources", "/dashboard/data-sources"],
  ["Events", "/dashboard/events"],
  ["Users", "/dashboard/users"],
  ["Settings", "/dashboard/settings"],
  ["Docs", "/docs"],
] as const;

export function page({
  title,
  body,
  status = 200,
  section,
  header,
  headers,
  narrow,
  theme,
  formAction = "'self'",
}: Page): HttpResponse {
  const document = html`<!doctype html>
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
${!theme && html`<header class="top">${link("/dashboard", NAME, "brand")}${!narrow && tabs("Main", SECTIONS, section)}${header}</header>`}
<main id="main" class="${narrow && "narrow"}">
${narrow && html`<h1>${title}</h1>`}
${body}
</main>
</body>
</html>
`;
  const policy = [
    "default-src 'none'; style-src 'self'; img-src 'self'",
    `form-action ${formAction}`,
    "base-uri 'none'; frame-ancestors 'none'",
  ];
  if (!narrow) policy.push("script-src 'self'; connect-src 'self'");
  return {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policy.join("; "),
      "cache-control": "no-store",
      // Not no-referrer: it makes a form send `Origin: null`, which the origin check then rejects.
      "referrer-policy": "same-origin",
      "x-content-type-options": "nosniff",
      ...headers,
    },
    body: document.text,
  };
}

/** A page with one message. The wrapper keeps the margin below the title. */
export const messagePage = (status: number, title: string, text: Renderable): HttpResponse =>
  page({ title, status, narrow: true, body: html`<div>${text}</div>` });

/** Returns the page of an error. */
export function describeError(error: AppError, { id }: HttpRequest): Page {
  const { status, title, detail } = explain(error);
  // Pages authenticate by cookie, so there is no credential to challenge for.
  const { "www-authenticate": _, ...headers } = errorHeaders(error.details, "");
  const body = html`<p>${detail.replace(`${title}. `, "")}</p>${status === 500 && muted(`Request id: ${id}`)}`;
  return { status, title, headers, body };
}

export const errorPage = (error: AppError, request: HttpRequest): HttpResponse =>
  page({ ...describeError(error, request), narrow: true });

/** 303: the browser continues with GET, whatever the method was (RFC 9700 4.12). */
export const redirect = (location: string, headers: HttpResponse["headers"] = {}): HttpResponse =>
  emptyResponse(303, {
    location,
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    ...headers,
  });
