// Webhooks as a resource (spec part 2 shows the create request; the rest is the contract's, parts 2 and 4). Sending
// deliveries is part 6.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { type Client, str } from "../support/client.ts";
import { EVENT_TYPES, fieldRules, NOT_FLAG, NOT_TEXT, wide } from "../support/fields.ts";
import { errorsOf, invalid } from "../support/problem.ts";

const URL_ = "https://hooks.example.com/in";
/** Inactive, so that no delivery is sent. */
const WHOLE = { url: URL_, events: ["app.created"], active: false };

/** The create request, and the update request. */
const requests = async (api: Client) => [
  "POST /webhooks",
  `PATCH /webhooks/${(await api.create("/webhooks", WHOLE)).id}`,
];

choice(
  "4.webhook-endpoints.events",
  "the events of a webhook are some of the six types, without duplicates",
  async ({ api }) => {
    const twice = [
      ["app.created", "app.created"],
      [...EVENT_TYPES, "app.created"],
    ];
    const unknown = [["app.renamed"], [null], [[]]];
    for (const request of await requests(api))
      await fieldRules(
        api,
        request,
        WHOLE,
        {
          field: "events",
          good: [["data.processed"], EVENT_TYPES],
          bad: [[], ...twice, null, "app.created", {}, 5],
        },
        { field: "events", at: "#/events/0", bad: unknown },
        { field: "active", good: [false], bad: NOT_FLAG },
      );
  },
);

choice(
  "4.webhook-endpoints.secret",
  "a webhook secret has 1 to 255 characters and is generated when absent",
  async ({ api }) => {
    const good = ["s", "s".repeat(255), wide(255), " "];
    const bad = ["", "s".repeat(256), wide(256), ...NOT_TEXT];
    await fieldRules(api, "POST /webhooks", WHOLE, { field: "secret", good, bad });
    const [one, two] = [await api.create("/webhooks", WHOLE), await api.create("/webhooks", WHOLE)];
    assert.notEqual(one.secret, two.secret);
    for (const { secret } of [one, two]) {
      const [, encoded = ""] = /^whsec_([A-Za-z0-9+/]+=*)$/.exec(str(secret)) ?? [];
      assert.equal(Buffer.from(encoded, "base64").length, 30);
    }
    assert.equal(
      "secret" in (await api.patch(`/webhooks/${one.id}`, { secret: "twice" })).json,
      false,
    );
  },
);

choice(
  "8.field-lengths.url",
  "a webhook URL is absolute and has at most 2,048 characters",
  async ({ api }) => {
    const bad = ["", "/in", URL_.padEnd(2_049, "x"), ...NOT_TEXT];
    for (const request of await requests(api))
      await fieldRules(api, request, WHOLE, { field: "url", good: [URL_.padEnd(2_048, "x")], bad });
  },
);

const urls = (scheme: string, hosts: string) =>
  hosts.split(" ").map((host) => `${scheme}://${host}/`);

/** Hosts that no webhook may reach, in every spelling and at both ends of a range. */
const FORBIDDEN =
  "0.0.0.0 0 [::] 100.64.0.0 100.127.255.255 169.254.0.0 169.254.255.255 [fe80::1] [febf:ffff::] [fec0::1] [feff:ffff::] " +
  "169.254.169.254/latest/meta-data 0xa9fea9fe 168.63.129.16 [fd00:ec2::254] [fd00:ec2:0::0254] [fd20:ce::254] " +
  "192.88.99.1 [2002:7f00:1::] 192.0.2.1 198.51.100.1 203.0.113.1 [2001:db8::1] [3fff::1] 224.0.0.1 239.255.255.255 [ff02::1] " +
  "240.0.0.1 255.255.255.255 198.18.0.1 198.19.255.255 192.0.0.192 [2001::1] [2001:20::1] [100::1] [5f00::1] [4000::1] " +
  "[fbff:ffff::] [fe00::1] [::ffff:127.0.0.1] [::ffff:8.8.8.8] [::ffff:0:7f00:1] [::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::1]";
/** Public hosts, some just outside a range. */
const PUBLIC =
  "8.8.8.8:8443 [2606:4700::1111] 9.255.255.255 11.0.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 " +
  "100.63.255.255 100.128.0.0 169.253.255.255 169.255.0.0 168.63.129.15 168.63.129.17 223.255.255.255 [2001:200::]";
/** Loopback and private hosts, in every spelling and at both ends of a range. */
const PRIVATE =
  "localhost:4000/hook localhost. app.localhost 127.0.0.1:9 127.255.255.254 0x7f.1 2130706433 127.1 １２７.0.0.1 [::1]:8080 " +
  "[0:0:0:0:0:0:0:1] 10.0.0.0 10.255.255.255 0x0a000001 012.0.0.1 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255 " +
  "192.168.1.1:8080 [fc00::] [fd00:ec2::253] [fd20:ce::253] [fdff:ffff::1]";
/** Names, which only DNS can resolve. */
const NAMED = "example.com/hook?a=b example.com/@user receiver:4700 my_receiver notlocalhost";

const REFUSED: Readonly<Record<string, readonly string[]>> = {
  "must not lead to a link-local": [...urls("https", FORBIDDEN), ...urls("http", FORBIDDEN)],
  "must be an http or https URL": [
    ...urls("https", "user:pass@example.com user@example.com @example.com 999.1.1.1 ?x"),
    "ftp://example.com/",
    "example.com",
    "https://",
    "https:example.com",
    "https:////example.com/",
    "javascript:alert(1)",
    "https:\\\\example.com",
    "https://exa\nmple.com/",
    " https://x.example/",
  ],
};

/** Accepts the good URLs; rejects the others, and those that both policies reject, with the rule that they break. */
async function judges(api: Client, good: readonly string[], own: typeof REFUSED) {
  for (const request of await requests(api)) {
    await fieldRules(api, request, WHOLE, { field: "url", good });
    const [method = "", path = ""] = request.split(" ");
    for (const [rule, bad] of Object.entries({ ...REFUSED, ...own }))
      for (const url of bad) {
        const [issue] = errorsOf(invalid(await api.call(method, path, { ...WHOLE, url }), "#/url"));
        assert.ok(String(issue?.detail).startsWith(rule), `${method} ${url}: ${issue?.detail}`);
      }
  }
}

choice(
  "6.webhook-policy",
  "the local policy accepts loopback, private hosts and names by http or https, and public hosts by https",
  ({ api }) => {
    const good = [
      ...urls("https", `${PUBLIC} ${PRIVATE} ${NAMED}`),
      ...urls("http", `${PRIVATE} ${NAMED}`),
    ];
    return judges(api, good, { "must use https": urls("http", PUBLIC) });
  },
);

choice(
  "6.webhook-policy",
  "the strict policy accepts https to public addresses only",
  { webhookPolicy: "strict" },
  ({ api }) =>
    judges(api, urls("https", `${PUBLIC} ${NAMED}`), {
      "must use https": urls("http", `${PUBLIC} ${NAMED}`),
      "must lead to a public address": [...urls("http", PRIVATE), ...urls("https", PRIVATE)],
    }),
);
