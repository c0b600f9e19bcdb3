// The default address policy, and which hosts are this machine. The addresses that a policy rejects
// are tested over HTTP and, after DNS, with the sender.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isLoopbackHost } from "../../src/lib/loopback.ts";
import { readSettings, webhookPolicyFor } from "../../src/options.ts";

const policy = (given: object) => webhookPolicyFor(readSettings({ ...given }, (name) => name));

test("6.webhook-policy: the default is local if only this machine can reach the server by its host and its public URL", () => {
  assert.equal(policy({}), "local");
  assert.equal(policy({ publicUrl: "http://localhost:8080" }), "local");
  assert.equal(policy({ publicUrl: "https://apps.example.com" }), "strict");
  assert.equal(policy({ host: "localhost." }), "local");
  assert.equal(policy({ host: "0.0.0.0" }), "strict");
  assert.equal(policy({ host: "0.0.0.0", webhookPolicy: "local" }), "local");
});

const LOOPBACK =
  "localhost localhost. LOCALHOST. a.b.localhost a.b.localhost. 127.0.0.1 127.255.255.254 [::1] ::1 0:0:0:0:0:0:0:1 0::0001";
const OTHERS =
  "localhost.com notlocalhost .localhost localhost.. 128.0.0.1 127.0.0.1.example [::] ::2 ::11 1::1 ::1:1 [2001:db8::1] " +
  "::ffff:127.0.0.1 ";

test("loopback: localhost, the names below it and the addresses of this machine are recognized in every spelling", () => {
  for (const host of LOOPBACK.split(" ")) assert.equal(isLoopbackHost(host), true, host);
  for (const host of OTHERS.split(" ")) assert.equal(isLoopbackHost(host), false, host);
});
