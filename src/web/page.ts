// The frame of every page, and the headers that keep it to itself: nothing inline, nothing from elsewhere, never framed,
// never cached (contract, part 5; issue of the pages).
import { decide } from "../decisions.ts";
import type { Call, Reply } from "../http/call.ts";
import { ICON_PATH, SCRIPT_PATH, STYLE_PATH } from "./assets.ts";
import { type Html, html, type Shown } from "./html.ts";

/** Where the dashboard is; every page below it starts its own address with this one. */
export const DASHBOARD = decide("1.dashboard");

export interface PageRules {
  /** Where forms may lead, redirects after them included; the own origin by default. */
  readonly formAction?: string;
  /** The page works without its script; with it, it is quicker. */
  readonly scripted?: boolean;
}

export interface Page extends PageRules {
  readonly title: string;
  readonly body: Html;
  readonly status?: number;
  /** Beside the name of the service: who is signed in, navigation. */
  readonly header?: Shown;
  readonly headers?: Reply["headers"];
  /** A narrow page has one thing to say or to ask. */
  readonly narrow?: boolean;
  /** A deployed app is its owner's page, not ours: without our name above it, in the theme that it was given. */
  readonly site?: { readonly theme: "light" | "dark" | null };
}

const NAME = "Application Hosting Service";

export function page({ title, body, status = 200, header, headers, narrow, site, ...rules }: Page): Reply {
  const whole = html`<!doctype html>
<html lang="en"${site?.theme && html` data-theme="${site.theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${site?.theme ?? "light dark"}">
<title>${title}${!site && ` – ${NAME}`}</title>
<link rel="icon" href="${ICON_PATH}">
<link rel="stylesheet" href="${STYLE_PATH}">
${rules.scripted && html`<script type="module" src="${SCRIPT_PATH}"></script>`}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
${!site && html`<header class="top"><a class="brand" href="${DASHBOARD}">${NAME}</a>${header}</header>`}
<main id="main"${narrow ? html` class="narrow"` : ""}>
${body}
</main>
</body>
</html>
`;
  return {
    status,
    headers: { "content-type": "text/html; charset=utf-8", ...pageHeaders(rules), ...headers },
    body: whole.text,
  };
}

const SCRIPTED = "; script-src 'self'; connect-src 'self'";

/**
 * Referrer-Policy is same-origin and not no-referrer, because the latter makes a form send `Origin: null`, which the
 * check of the origin then refuses.
 */
export const pageHeaders = ({ formAction = "'self'", scripted = false }: PageRules = {}): Record<string, string> => ({
  "content-security-policy": `default-src 'none'; style-src 'self'; img-src 'self'; form-action ${formAction}; base-uri 'none'; frame-ancestors 'none'${scripted ? SCRIPTED : ""}`,
  "cache-control": "no-store",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
});

/** A page with one message, for what cannot go on. */
export const messagePage = (status: number, title: string, message: Shown, headers: Reply["headers"] = {}): Reply =>
  page({ title, status, headers, narrow: true, body: html`<h1>${title}</h1><p>${message}</p>` });

/** For a person who went where nothing is; undefined for a program. */
export function nowherePage(call: Call): Reply | undefined {
  const person = call.method === "GET" && call.values("accept").some((types) => types.includes("text/html"));
  if (!person || /^\/v\d/.test(call.path)) return undefined;
  const ways = html`Go on to the <a href="${DASHBOARD}">dashboard</a> or the <a href="/docs">documentation</a>.`;
  return messagePage(404, "There is no such page", ways);
}

/** 303: whatever the method was, the browser goes on with GET (RFC 9700 4.12). */
export const redirect = (location: string, headers: Reply["headers"] = {}): Reply => ({
  status: 303,
  headers: { location, "cache-control": "no-store", "referrer-policy": "same-origin", ...headers },
  body: "",
});
