// Which hosts are this machine, and that webhooks, redirects and flags judge them alike.
import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeUrl } from "../../src/delivery/address-policy.ts";
import { redirectUri } from "../../src/domain/credentials.ts";
import { registered } from "../../src/domain/oauth/rules.ts";
import { isLoopbackHost } from "../../src/kit/loopback.ts";
import { parse } from "../../src/kit/schema.ts";
import { policyOf, readSettings } from "../../src/options.ts";

const NAMES = ["localhost", "localhost.", "LOCALHOST.", "a.b.localhost", "a.b.localhost."];
const ADDRESSES = ["127.0.0.1", "127.255.255.254", "[::1]", "::1", "0:0:0:0:0:0:0:1", "0::0001"];
const OTHERS = ["localhost.com", "notlocalhost", ".localhost", "localhost..", "128.0.0.1", "127.0.0.1.example", ""];
const OTHER_ADDRESSES = ["[::]", "::2", "::11", "1::1", "::1:1", "[2001:db8::1]", "::ffff:127.0.0.1"];

test("loopback: localhost, the names below it and the addresses of this machine, in every spelling", () => {
  for (const host of [...NAMES, ...ADDRESSES]) assert.equal(isLoopbackHost(host), true, host);
  for (const host of [...OTHERS, ...OTHER_ADDRESSES]) assert.equal(isLoopbackHost(host), false, host);
});

test("loopback: a webhook's URL, a redirect and --host treat localhost alike, with its final dot and without", () => {
  for (const host of ["localhost", "localhost.", "app.localhost."]) {
    const uri = `http://${host}:4700/cb`;
    assert.equal(judgeUrl(uri, "local"), undefined, uri);
    assert.match(judgeUrl(uri, "strict") ?? "", /loopback/, uri);
    assert.deepEqual(parse(redirectUri, uri), { value: uri });
    assert.ok(registered([uri], `http://${host}:51234/cb`), uri);
    const settings = readSettings({ host, randomSeed: "a" }, (name) => name);
    assert.equal(policyOf(settings), "local", host);
  }
});
