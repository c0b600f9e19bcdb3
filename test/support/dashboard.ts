// Helpers for tests of the pages: a signed-in user, and the assertions that every page must pass.
import assert from "node:assert/strict";
import { decoded } from "./browser.ts";
import type { Answer, Client } from "./client.ts";
import { person } from "./oauth.ts";
import { groups } from "./patterns.ts";

export const owner = async (api: Client) => (await person(api)).browser;

/** Asserts a complete HTML page: nothing inline, nothing from elsewhere, not framed, not cached; returns its text. */
export function assertPage(page: Answer, status = 200, formAction = "'self'") {
  assert.equal(page.status, status, page.text.slice(0, 2_000));
  assert.equal(page.header("content-type"), "text/html; charset=utf-8");
  const csp = page.header("content-security-policy");
  const start = `default-src 'none'; style-src 'self'; img-src 'self'; form-action ${formAction};`;
  assert.ok(csp.startsWith(start), csp);
  assert.match(csp, /; base-uri 'none'; frame-ancestors 'none'/);
  assert.doesNotMatch(csp.slice(start.length), /unsafe|\*|https?:/);
  assert.equal(page.header("referrer-policy"), "same-origin");
  assert.equal(page.header("cache-control"), "no-store");
  assert.equal(page.header("x-content-type-options"), "nosniff");
  assert.equal("www-authenticate" in page.headers, false, "a cookie lets people in");
  assert.match(page.text, /<html lang="en">[\s\S]*<title>[^<]+<\/title>[\s\S]*<h1>/);
  const markup = page.text.replace(/<pre>[\s\S]*?<\/pre>/g, "");
  assert.doesNotMatch(markup, /<[a-z][^>]*\s(on\w+|style)=/i, "nothing inline");
  assert.doesNotMatch(
    markup,
    /<style|<script(?! type="module" src="\/assets\/)/i,
    "no script or style of its own",
  );
  const foreign = /<(?:script|link|img)\b[^>]*(?:src|href)="(?!\/assets\/|\/favicon\.ico)/i;
  assert.doesNotMatch(markup, foreign, "nothing from elsewhere");
  // Nothing is empty.
  assert.doesNotMatch(
    markup,
    /<(p( class="soft")?|(li|dd|dt|h\d|th|label)\b[^>]*)>\s*<(\/|small)|<th scope="col">\s*<|\. <\/p>|label=""/,
  );
  // A page with a single message or question needs no script, a consent page least of all.
  const scripted = !markup.includes('<main id="main" class="narrow">');
  assert.deepEqual([csp.includes("script-src"), markup.includes("<script")], [scripted, scripted]);
  const ids = groups(markup, /\sid="([^"]*)"/g);
  assert.equal(new Set(ids).size, ids.length, `each id once: ${ids}`);
  return textOf(page);
}

/** The text of a page as a reader sees it, without markup. */
export const textOf = (page: { text: string }) =>
  decoded(page.text.replace(/<[^>]*>/g, " ")).replace(/\s+/g, " ");

/** A form with a file, encoded as a browser does. */
export async function multipart(fields: Readonly<Record<string, string>>) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields))
    form.set(name, name === "data" ? new File([value], "data.csv", { type: "text/csv" }) : value);
  const encoded = new Response(form);
  return { body: await encoded.text(), type: String(encoded.headers.get("content-type")) };
}

/** The hidden CSRF field of every form. */
export const csrfOf = (page: Answer) =>
  /name="csrf" value="([0-9a-f]{64})"/.exec(page.text)?.[1] ?? "";

/** The one-time value on a page: a key, a secret or a link. */
export const secretIn = (page: Answer) => /id="secret">([^<]*)</.exec(page.text)?.[1] ?? "";

/** The first id of this kind on the page. */
export const idIn = (page: Answer, prefix: string) =>
  new RegExp(`${prefix}_[0-9A-Za-z]{23}`).exec(page.text)?.[0] ?? "";
