// Webhooks as a resource (spec part 2 shows the create request; the rest is the contract's, parts 2 and 4). Sending
// deliveries is part 6.
import assert from "node:assert/strict";
import { choice } from "../support/clauses.ts";
import { type Client, str } from "../support/client.ts";
import { fieldRules, NOT_FLAG, NOT_TEXT, wide } from "../support/fields.ts";
import { errorsOf, invalid } from "../support/problem.ts";
import { attemptsOf, settled } from "../support/wait.ts";

const TYPES = [
  "app.created",
  "app.updated",
  "app.deployed",
  "app.deleted",
  "data.processed",
  "user.interaction",
];
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
      [...TYPES, "app.created"],
    ];
    const unknown = [["app.renamed"], ["*"], [""], [null], [5], [[]]];
    for (const request of await requests(api))
      await fieldRules(
        api,
        request,
        WHOLE,
        {
          field: "events",
          good: [["data.processed"], TYPES],
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

const words = (text: string): readonly string[] => text.split(" ");
const https = (hosts: string) => words(hosts).map((host) => `https://${host}/`);

/** Hosts that no webhook may reach, by the rule that rejects them: in every spelling, and at both ends of a range. */
const FORBIDDEN = {
  unspecified: "0.0.0.0 0 [::]",
  "carrier-grade NAT": "100.64.0.0 100.127.255.255",
  "link-local":
    "169.254.0.0 169.254.169.253 169.254.169.255 169.254.255.255 [fe80::1] [febf:ffff::]",
  "site-local": "[fec0::1] [feff:ffff::]",
  "cloud metadata":
    "169.254.169.254/latest/meta-data 0xa9fea9fe 168.63.129.16 [fd00:ec2::254] [fd00:ec2:0::0254] [fd20:ce::254]",
  "6to4": "192.88.99.1 [2002:7f00:1::] [2002:a00:1::]",
  documentation: "192.0.2.1 198.51.100.1 203.0.113.1 [2001:db8::1] [3fff::1]",
  multicast: "224.0.0.1 239.255.255.255 [ff02::1]",
  reserved:
    "240.0.0.1 255.255.255.255 198.18.0.1 198.19.255.255 192.0.0.192 [2001:20::1] [100::1] [5f00::1] [4000::1] " +
    "[fbff:ffff::] [fe00::1] [fe7f:ffff::]",
  "IPv4-mapped":
    "[::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:8.8.8.8] [::ffff:10.0.0.1] [::ffff:0:7f00:1] [::127.0.0.1]",
  NAT64: "[64:ff9b::7f00:1] [64:ff9b::a00:1] [64:ff9b:1::1]",
  Teredo: "[2001::1]",
};
/** Addresses just outside a range. */
const OUTSIDE =
  "9.255.255.255 11.0.0.0 172.15.255.255 172.32.0.0 192.167.255.255 192.169.0.0 100.63.255.255 100.128.0.0 " +
  "169.253.255.255 169.255.0.0 168.63.129.15 168.63.129.17 223.255.255.255 [2001:200::]";
/** Private hosts, in every spelling, and at both ends of a range. */
const PRIVATE =
  "10.0.0.0 10.255.255.255 0xa.1 0x0a000001 167772161 10.1 012.0.0.1 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255 " +
  "3232235777 192.168.1.1:8080 [fc00::] [fc00::1] [fd00:ec2::253] [fd00:ec2::255] [fd20:ce::253] [fdff:ffff::1]";
const LOOPBACK = words(
  "http://localhost:4000/hook https://localhost http://localhost./ http://app.localhost/ http://127.0.0.1:9/ " +
    "https://127.0.0.1:9/ http://127.255.255.254/ http://0x7f.1/ http://017700000001/ http://2130706433/ http://127.1/ " +
    "http://１２７.0.0.1/ http://[::1]:8080/ https://[::1]/ http://[0:0:0:0:0:0:0:1]/",
);
const PUBLIC = [
  ...https(
    "example.com/hook?a=b xn--bcher-kva.example 8.8.8.8:8443 [2606:4700::1111] example.com/@user example.com/?to=a@b",
  ),
  ...https(OUTSIDE),
  "HTTPS://Example.COM",
];
const http = (hosts: string) => words(hosts).map((host) => `http://${host}/`);
/** Names over http, which only DNS can resolve. */
const NAMED = http(
  "example.com receiver:4700 my_receiver:4700 localhost.example.com notlocalhost db.internal",
);
const PLAIN = http(`8.8.8.8 [2606:4700::1111] ${OUTSIDE}`);

type Refused = Readonly<Record<string, readonly string[]>>;

const REFUSED: Refused = {
  ...Object.fromEntries(
    Object.entries(FORBIDDEN).map(([kind, hosts]) => [
      `must lead to another address: both webhook policies refuse ${kind} ones`,
      [...https(hosts), ...http(hosts)],
    ]),
  ),
  "must be a URL that starts with https:// or http:// and a host": words(
    "ftp://example.com/ example.com https:// javascript:alert(1) mailto:a@b.example " +
      "https:example.com https://999.1.1.1/ https:///x https:////example.com/ https://?x",
  ),
  "must not contain a user name or password": https(
    "user:pass@example.com user@example.com :pass@example.com @example.com",
  ),
  "must not contain spaces, control characters": [
    "https:\\\\example.com",
    "https://exa\nmple.com/",
    " https://x.example/",
  ],
  "must not name port 0": https("example.com:0"),
};

/** Accepts these URLs; rejects those that both policies reject, and the given ones, with the rule that they break. */
async function judges(api: Client, good: readonly string[], own: Refused) {
  for (const request of await requests(api)) {
    await fieldRules(api, request, WHOLE, { field: "url", good });
    const [method = "", path = ""] = request.split(" ");
    for (const [rule, urls] of Object.entries({ ...REFUSED, ...own }))
      for (const url of urls) {
        const [fault] = errorsOf(invalid(await api.call(method, path, { ...WHOLE, url }), "#/url"));
        assert.ok(String(fault?.detail).startsWith(rule), `${method} ${url}: ${fault?.detail}`);
      }
  }
}

choice(
  "6.webhook-policy",
  "the local policy accepts loopback, private hosts and names by http or https, and public hosts by https",
  ({ api }) =>
    judges(api, [...LOOPBACK, ...PUBLIC, ...https(PRIVATE), ...http(PRIVATE), ...NAMED], {
      "must use https: the local webhook policy allows http to loopback and private addresses only":
        PLAIN,
    }),
);

choice(
  "6.webhook-policy",
  "the strict policy accepts https to public addresses only",
  { webhookPolicy: "strict" },
  ({ api }) =>
    judges(api, PUBLIC, {
      "must use https: the strict webhook policy refuses http (--webhook-policy local": [
        ...PLAIN,
        ...NAMED,
      ],
      "must lead to a public address: the strict webhook policy refuses loopback ones (--webhook-policy local":
        LOOPBACK,
      "must lead to a public address: the strict webhook policy refuses private ones (--webhook-policy local":
        [...https(PRIVATE), ...http(PRIVATE)],
    }),
);

choice(
  "6.webhook-policy",
  "an address that only DNS reveals is checked when sending, and the delivery log names the reason",
  async ({ api }) => {
    const webhook = await api.create("/webhooks", {
      url: "http://dns-shows-it.invalid/",
      events: ["app.created"],
    });
    await api.post(`/webhooks/${webhook.id}/test`, { type: "app.created" });
    const [{ error, error_detail } = {}] = attemptsOf(await settled(api, webhook));
    assert.deepEqual(
      [error, error_detail],
      ["dns", "The host name in the URL does not resolve. Check its spelling."],
    );
  },
);
