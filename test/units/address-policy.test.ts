// Where deliveries may go (contract, part 6), and which hosts are this machine: webhooks, redirects and flags judge alike.
import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeAddress, judgeUrl } from "../../src/delivery/address-policy.ts";
import { redirectUri } from "../../src/domain/credentials.ts";
import { registered } from "../../src/domain/oauth/rules.ts";
import { isLoopbackHost } from "../../src/kit/loopback.ts";
import { parse } from "../../src/kit/schema.ts";
import { policyOf, readSettings } from "../../src/options.ts";

/** Each of these URLs, in one text, is refused under both policies by the rule, or by one rule of each. */
function refused(urls: string, rule: RegExp, strict = rule): void {
  for (const url of urls.split(" ")) {
    assert.match(judgeUrl(url, "local") ?? "(allowed)", rule, url);
    assert.match(judgeUrl(url, "strict") ?? "(allowed)", strict, url);
  }
}

test("6.webhook-policy: both allow https to public hosts, and http to none of them", () => {
  const urls =
    "https://example.com/hook?a=b https://8.8.8.8:8443/ https://[2606:4700::1111]/ HTTPS://Example.COM " +
    "https://example.com/@user https://example.com/?to=a@b";
  for (const url of urls.split(" "))
    for (const policy of ["local", "strict"] as const) assert.equal(judgeUrl(url, policy), undefined, url);
  const plain = "http://example.com/ http://8.8.8.8/ http://localhost.example.com/ http://notlocalhost/";
  refused(plain, /must use https; http is for loopback/, /must use https/);
});

test("6.webhook-policy: local allows http and https to loopback, strict neither", () => {
  const urls =
    "http://localhost:4000/hook https://localhost http://localhost./ http://app.localhost/ http://127.0.0.1:9/ " +
    "http://127.255.255.254/ http://0x7f.1/ http://017700000001/ http://2130706433/ http://127.1/ " +
    "http://１２７.0.0.1/ http://[::1]:8080/ http://[0:0:0:0:0:0:0:1]/";
  for (const url of urls.split(" ")) {
    assert.equal(judgeUrl(url, "local"), undefined, url);
    assert.match(judgeUrl(url, "strict") ?? "", /loopback.*strict/, url);
  }
});

/** In every spelling, and at both ends of a range. */
const FORBIDDEN = {
  unspecified: "0.0.0.0 0 [::]",
  private:
    "10.0.0.0 10.255.255.255 0xa.1 012.0.0.1 172.16.0.0 172.31.255.255 192.168.1.1 3232235777 [fc00::1] " +
    "[fd00:ec2::254] [fec0::1]",
  "carrier-grade NAT": "100.64.0.0 100.127.255.255",
  "link-local": "169.254.169.254/latest/meta-data [fe80::1]",
  "cloud metadata": "168.63.129.16",
  "6to4": "192.88.99.1 [2002:7f00:1::]",
  documentation: "192.0.2.1 198.51.100.1 203.0.113.1 [2001:db8::1] [3fff::1]",
  multicast: "224.0.0.1 239.255.255.255 [ff02::1]",
  reserved: "240.0.0.1 255.255.255.255 198.19.255.255 192.0.0.192 [2001:20::1] [100::1] [5f00::1] [4000::1]",
  "IPv4-mapped": "[::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:8.8.8.8] [::ffff:0:7f00:1] [::127.0.0.1]",
  NAT64: "[64:ff9b::7f00:1] [64:ff9b:1::1]",
  Teredo: "[2001::1]",
};
const NEIGHBOURS =
  "9.255.255.255 11.0.0.0 172.15.255.255 172.32.0.0 100.63.255.255 100.128.0.0 169.253.255.255 223.255.255.255 [2001:200::]";

test("every forbidden range is refused by name, in every spelling, at both of its ends", () => {
  for (const [name, hosts] of Object.entries(FORBIDDEN))
    refused(hosts.replace(/\S+/g, "https://$&/"), new RegExp(`^${name} addresses`));
  refused("http://[::ffff:127.0.0.1]/", /^IPv4-mapped/);
  for (const host of NEIGHBOURS.split(" ")) assert.equal(judgeUrl(`https://${host}/`, "strict"), undefined, host);
});

test("what is no URL, or carries a user, is refused by name", () => {
  refused("ftp://example.com/ example.com https:example.com https:// https://999.1.1.1/", /https:\/\/ or http:\/\//);
  refused("https:///x https:////example.com/ https://?x", /https:\/\/ or http:\/\/ and a host/);
  refused("https://user:pass@example.com/ https://user@example.com/ https://@example.com/", /user name or password/);
  refused("https:\\\\example.com https://exa\nmple.com/", /spaces, control characters or backslashes/);
  assert.match(judgeUrl(" https://example.com/", "local") ?? "", /spaces, control/);
  refused("https://example.com:0/", /port 0/);
});

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

test("loopback: a webhook's URL, a redirect and --host treat localhost alike, with its final dot and without", () => {
  for (const host of ["localhost", "localhost.", "app.localhost."]) {
    const uri = `http://${host}:4700/cb`;
    assert.equal(judgeUrl(uri, "local"), undefined, uri);
    assert.match(judgeUrl(uri, "strict") ?? "", /loopback/, uri);
    assert.deepEqual(parse(redirectUri, uri), { value: uri });
    assert.ok(registered([uri], `http://${host}:51234/cb`), uri);
    assert.equal(policy({ host, randomSeed: "a" }), "local", host);
  }
});
