// Which addresses deliveries may go to after DNS (contract, part 6; what a URL shows is judged at the wire), and which hosts
// are this machine.
import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeAddress } from "../../src/delivery/address-policy.ts";
import { isLoopbackHost } from "../../src/kit/loopback.ts";
import { policyOf, readSettings } from "../../src/options.ts";

test("an address is judged with the scheme, and scoped addresses without their zone", () => {
  assert.equal(judgeAddress("127.0.0.1", "local", false), undefined);
  assert.match(judgeAddress("127.0.0.1", "strict", true) ?? "", /loopback/);
  assert.match(judgeAddress("93.184.216.34", "local", false) ?? "", /https/);
  assert.equal(judgeAddress("93.184.216.34", "strict", true), undefined);
  assert.match(judgeAddress("fe80::1%eth0", "local", true) ?? "", /link-local/);
  assert.match(judgeAddress("not an address", "local", true) ?? "", /unreadable/);
});

const policy = (given: object) => policyOf(readSettings({ ...given }, (name) => name));

test("6.webhook-policy: it is local where only this machine reaches the server, by its host and by its public URL", () => {
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

test("loopback: localhost, the names below it and the addresses of this machine, in every spelling", () => {
  for (const host of LOOPBACK.split(" ")) assert.equal(isLoopbackHost(host), true, host);
  for (const host of OTHERS.split(" ")) assert.equal(isLoopbackHost(host), false, host);
});
