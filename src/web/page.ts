// The frame of every page, and the headers that keep it to itself: nothing inline, nothing from elsewhere, never framed,
// never cached (contract, part 5).
import { sha256 } from "../domain/access.ts";
import { Refusal } from "../domain/refusal.ts";
import { type Call, empty, isRead, type Reply, VERSION_PREFIX } from "../http/call.ts";
import { ADDRESSES } from "../http/links.ts";
import { explain, headersOf } from "../http/problem.ts";
import type { Answer } from "../http/way.ts";
import { html, link, paragraph, prose, type Shown, soft } from "./html.ts";

export interface Page {
  readonly title: string;
  readonly body: Shown;
  readonly status?: number | undefined;
  /** Beside the name of the service: who is signed in, navigation. */
  readonly header?: Shown;
  readonly headers?: Reply["headers"];
  /** A narrow page has one thing to say or to ask, and needs no script for that; the others are quicker with it. */
  readonly narrow?: boolean;
  /** A deployed app is its owner's page, not ours: without our name above it, in the theme that it was given. */
  readonly theme?: string;
  /** Where forms may lead, redirects after them included; the own origin by default. */
  readonly formAction?: string;
}

const NAME = "Application Hosting Service";

export function page({ title, body, status = 200, header, headers, narrow, theme, formAction }: Page): Reply {
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
${!theme && html`<header>${link(ADDRESSES.dashboard, NAME)}${header}</header>`}
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
export const messagePage = (status: number, title: string, text: Shown): Reply =>
  page({ title, status, narrow: true, body: html`<div>${text}</div>` });

/** A refusal for people. */
export function told(refusal: Refusal, { id }: Call): Page {
  const { status, title, detail } = explain(refusal);
  // Cookies let people in here, so there is no credential to challenge them for.
  const { "www-authenticate": _, ...headers } = headersOf(refusal.reason, "");
  const said = html`<p>${detail.replace(`${title}. `, "")}</p>${status === 500 && soft(`Request id: ${id}`)}`;
  return { status, title, headers, body: said };
}

export const refused = (refusal: Refusal, call: Call): Reply => page({ ...told(refusal, call), narrow: true });

/** What somebody looks at is asked for again and again: where it has not changed it is not sent again (RFC 9110 13.1.2). */
export function unlessKnown(call: Call, reply: Answer): Answer {
  if (reply instanceof Refusal || reply.status !== 200 || !isRead(call)) return reply;
  const etag = `"${sha256(reply.body).slice(0, 20)}"`;
  const headers = { ...reply.headers, etag };
  const given = call.values("if-none-match").join();
  return given === "*" || given.includes(etag) ? empty(304, headers) : { ...reply, headers };
}

/** For a person who went where nothing is; undefined for a program. */
export function nowherePage(call: Call): Reply | undefined {
  const person = isRead(call) && call.values("accept").some((types) => types.includes("text/html"));
  if (!person) return undefined;
  const ways = prose(`[Dashboard](${ADDRESSES.dashboard}) [Docs](${ADDRESSES.docs})`);
  if (!/^\/v\d/.test(call.path)) return messagePage(404, "There is no such page", ways);
  const supported = paragraph(
    `This server supports \`${VERSION_PREFIX}\` only: see the [endpoints](${ADDRESSES.docs}/endpoints).`,
  );
  return messagePage(404, "There is no such version of the API", [supported, ways]);
}

/** 303: whatever the method was, the browser goes on with GET (RFC 9700 4.12). */
export const redirect = (location: string, headers: Reply["headers"] = {}): Reply =>
  empty(303, { location, "cache-control": "no-store", "referrer-policy": "same-origin", ...headers });
