// The small tools that pages are made with: the escaping template, the check of where a browser may be sent on to.
import assert from "node:assert/strict";
import { test } from "node:test";
import { html } from "../../src/web/html.ts";
import { ownPath } from "../../src/web/visit.ts";

test("html: what is put in is text, in content and in attributes", () => {
  const nasty = `<img src=x onerror="alert('1')">&amp;`;
  const made = html`<p title="${nasty}">${nasty}</p>`.text;
  const safe = "&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;amp;";
  assert.equal(made, `<p title="${safe}">${safe}</p>`);
});

test("html: html within html is taken as it is, lists are joined, nothing is shown for nothing", () => {
  const rows = ["a", "<b>"].map((text) => html`<li>${text}</li>`);
  assert.equal(html`<ul>${rows}</ul>${null}${undefined}${false}${0}`.text, "<ul><li>a</li><li>&lt;b&gt;</li></ul>0");
});

test("ownPath: paths of this server, in the spelling that a browser makes of them", () => {
  assert.equal(ownPath("/dashboard"), "/dashboard");
  assert.equal(ownPath("/oauth/authorize?client_id=cli_1&scope=a%20b"), "/oauth/authorize?client_id=cli_1&scope=a%20b");
  assert.equal(ownPath("/a/../dashboard#part"), "/dashboard");
});

test("ownPath: nothing that leads elsewhere", () => {
  for (const path of [
    undefined,
    "",
    "dashboard",
    "https://evil.example/",
    "//evil.example",
    "///evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "/.//evil.example",
    "/x/..//evil.example",
    "/%2e//evil.example",
    "javascript:alert(1)",
    " //evil.example",
    "\u0000//evil.example",
  ])
    assert.equal(ownPath(path), undefined, JSON.stringify(path));
});
