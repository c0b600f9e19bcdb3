import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeAddress, judgeUrl, type WebhookPolicy } from "../../src/delivery/address-policy.ts";
import { policyOf, readSettings } from "../../src/options.ts";

const refusedBy = (policy: WebhookPolicy, urls: Record<string, RegExp>) => {
  for (const [url, rule] of Object.entries(urls)) assert.match(judgeUrl(url, policy) ?? "(allowed)", rule, url);
};
const allowedBy = (policy: WebhookPolicy, urls: readonly string[]) => {
  for (const url of urls) assert.equal(judgeUrl(url, policy), undefined, url);
};

test("6.webhook-policy: both allow https to public hosts", () => {
  const urls = [
    "https://example.com/hook?a=b",
    "https://8.8.8.8:8443/",
    "https://[2606:4700::1111]/",
    "HTTPS://Example.COM",
  ];
  allowedBy("local", urls);
  allowedBy("strict", urls);
});

test("6.webhook-policy: local allows http and https to loopback, strict neither", () => {
  const urls = [
    "http://localhost:4000/hook",
    "https://localhost",
    "http://localhost./",
    "http://app.localhost/",
    "http://127.0.0.1:9/",
    "http://127.255.255.254/",
    "http://0x7f.1/",
    "http://017700000001/",
    "http://2130706433/",
    "http://127.1/",
    "http://１２７.0.0.1/",
    "http://[::1]:8080/",
    "http://[0:0:0:0:0:0:0:1]/",
  ];
  allowedBy("local", urls);
  for (const url of urls) refusedBy("strict", { [url]: /loopback.*strict/ });
});

test("http goes to loopback only", () => {
  for (const url of [
    "http://example.com/",
    "http://8.8.8.8/",
    "http://localhost.example.com/",
    "http://notlocalhost/",
  ]) {
    refusedBy("local", { [url]: /must use https; http is for loopback/ });
    refusedBy("strict", { [url]: /must use https/ });
  }
});

test("every forbidden range is refused by name, in every spelling, at both of its ends", () => {
  const refused: Record<string, RegExp> = {
    "https://0.0.0.0/": /^unspecified/,
    "https://0/": /^unspecified/,
    "https://10.0.0.0/": /^private/,
    "https://10.255.255.255/": /^private/,
    "https://0xa.1/": /^private/,
    "https://012.0.0.1/": /^private/,
    "https://172.16.0.0/": /^private/,
    "https://172.31.255.255/": /^private/,
    "https://192.168.1.1/": /^private/,
    "https://3232235777/": /^private/,
    "https://100.64.0.0/": /^carrier-grade NAT/,
    "https://100.127.255.255/": /^carrier-grade NAT/,
    "https://169.254.169.254/latest/meta-data/": /^link-local/,
    "https://168.63.129.16/": /^cloud metadata/,
    "https://192.88.99.1/": /^6to4/,
    "https://192.0.2.1/": /^documentation/,
    "https://224.0.0.1/": /^multicast/,
    "https://239.255.255.255/": /^multicast/,
    "https://240.0.0.1/": /^reserved/,
    "https://255.255.255.255/": /^reserved/,
    "https://198.19.255.255/": /^reserved/,
    "https://192.0.0.192/": /^reserved/,
    "https://[::]/": /^unspecified/,
    "https://[::ffff:127.0.0.1]/": /^IPv4-mapped/,
    "http://[::ffff:127.0.0.1]/": /^IPv4-mapped/,
    "https://[::ffff:7f00:1]/": /^IPv4-mapped/,
    "https://[::ffff:8.8.8.8]/": /^IPv4-mapped/,
    "https://[::127.0.0.1]/": /^IPv4-mapped/,
    "https://[64:ff9b::7f00:1]/": /^NAT64/,
    "https://[64:ff9b:1::1]/": /^NAT64/,
    "https://[2002:7f00:1::]/": /^6to4/,
    "https://[2001::1]/": /^Teredo/,
    "https://[2001:db8::1]/": /^documentation/,
    "https://[3fff::1]/": /^documentation/,
    "https://[fc00::1]/": /^private/,
    "https://[fd00:ec2::254]/": /^private/,
    "https://[fe80::1]/": /^link-local/,
    "https://[fec0::1]/": /^private/,
    "https://[ff02::1]/": /^multicast/,
    "https://[2001:20::1]/": /^reserved/,
    "https://[100::1]/": /^reserved/,
    "https://[5f00::1]/": /^reserved/,
    "https://[4000::1]/": /^reserved/,
  };
  refusedBy("local", refused);
  refusedBy("strict", refused);
  const neighbours = ["9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0"];
  allowedBy(
    "strict",
    [...neighbours, "169.253.255.255", "223.255.255.255", "[2001:200::]"].map((ip) => `https://${ip}/`),
  );
});

test("what is no URL, or carries a user, is refused by name", () => {
  refusedBy("local", {
    "ftp://example.com/": /https:\/\/ or http:\/\//,
    "example.com": /https:\/\/ or http:\/\//,
    "https:example.com": /https:\/\/ or http:\/\//,
    "https://": /https:\/\/ or http:\/\//,
    "https:///x": /https:\/\/ or http:\/\/ and a host/,
    "https:////example.com/": /and a host/,
    "https://?x": /and a host/,
    "https://999.1.1.1/": /https:\/\/ or http:\/\//,
    "https://user:pass@example.com/": /user name or password/,
    "https://user@example.com/": /user name or password/,
    "https://@example.com/": /user name or password/,
    "https://exa\nmple.com/": /spaces, control/,
    " https://example.com/": /spaces, control/,
    "https:\\\\example.com": /backslashes/,
    "https://example.com:0/": /port 0/,
  });
  allowedBy("local", ["https://example.com/@user", "https://example.com/?to=a@b"]);
});

test("an address is judged with the scheme, and scoped addresses without their zone", () => {
  assert.equal(judgeAddress("127.0.0.1", "local", false), undefined);
  assert.match(judgeAddress("127.0.0.1", "strict", true) ?? "", /loopback/);
  assert.match(judgeAddress("93.184.216.34", "local", false) ?? "", /https/);
  assert.equal(judgeAddress("93.184.216.34", "strict", true), undefined);
  assert.match(judgeAddress("fe80::1%eth0", "local", true) ?? "", /link-local/);
  assert.match(judgeAddress("not an address", "local", true) ?? "", /unreadable/);
});

test("6.webhook-policy: it is local where only this machine reaches the server, by its host and by its public URL", () => {
  const policy = (given: object) => policyOf(readSettings({ ...given }, (name) => name));
  assert.equal(policy({}), "local");
  assert.equal(policy({ publicUrl: "http://localhost:8080" }), "local");
  assert.equal(policy({ publicUrl: "https://apps.example.com" }), "strict");
  assert.equal(policy({ host: "0.0.0.0" }), "strict");
  assert.equal(policy({ host: "0.0.0.0", webhookPolicy: "local" }), "local");
});
