// The escaping template that pages are made with.
import assert from "node:assert/strict";
import { test } from "node:test";
import { html } from "../../src/web/html.ts";

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
