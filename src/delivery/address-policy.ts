// Address policy for webhooks (contract, part 6): a server that posts to any given URL must not be led into its own
// network. The URL is checked as text, and the address after DNS and again on the connected socket. Both functions
// return the violated rule, worded for the user who sent the URL.
import { BlockList, isIP } from "node:net";
import { isLoopbackHost } from "../lib/loopback.ts";

/** `local` allows receivers on this machine or in a private network; a server open to other machines allows neither. */
export const WEBHOOK_POLICIES = ["local", "strict"] as const;
export type WebhookPolicy = (typeof WEBHOOK_POLICIES)[number];

/** The first range that contains an address gives its kind, after IANA's special-purpose registries. */
const RESERVED_RANGES = {
  ipv4: [
    ["unspecified", "0.0.0.0/8"],
    ["private", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16"],
    ["loopback", "127.0.0.0/8"],
    ["carrier-grade NAT", "100.64.0.0/10"],
    ["cloud metadata", "169.254.169.254/32 168.63.129.16/32"],
    ["link-local", "169.254.0.0/16"],
    ["6to4", "192.88.99.0/24"],
    ["documentation", "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24"],
    ["multicast", "224.0.0.0/4"],
    ["reserved", "192.0.0.0/24 198.18.0.0/15 240.0.0.0/4"],
    ["public", "0.0.0.0/0"],
  ],
  ipv6: [
    ["unspecified", "::/128"],
    ["loopback", "::1/128"],
    ["IPv4-mapped", "::ffff:0:0/96 ::ffff:0:0:0/96 ::/96"],
    ["NAT64", "64:ff9b::/96 64:ff9b:1::/48"],
    ["6to4", "2002::/16"],
    ["Teredo", "2001::/32"],
    ["documentation", "2001:db8::/32 3fff::/20"],
    ["cloud metadata", "fd00:ec2::254/128 fd20:ce::254/128"],
    ["private", "fc00::/7"],
    ["site-local", "fec0::/10"],
    ["link-local", "fe80::/10"],
    ["multicast", "ff00::/8"],
    ["reserved", "2001::/23"],
    ["public", "2000::/3"],
    ["reserved", "::/0"],
  ],
};

/** The kinds of address to which the local policy allows http, and the strict policy nothing. */
const INSIDE = ["loopback", "private"];

// One list per family, because Node's BlockList matches an IPv4 address against the ranges of its mapped form too.
const LISTS = { ipv4: createBlockList("ipv4"), ipv6: createBlockList("ipv6") };

function createBlockList(family: keyof typeof RESERVED_RANGES) {
  return RESERVED_RANGES[family].map(([name = "", subnets = ""]) => {
    const list = new BlockList();
    for (const subnet of subnets.split(" ")) {
      const [net = "", prefix] = subnet.split("/");
      list.addSubnet(net, Number(prefix), family);
    }
    return { name, list };
  });
}

/** Returns the rule that forbids a connection to this address; undefined if it is allowed. `secure`: over TLS. */
export function checkAddress(
  address: string,
  policy: WebhookPolicy,
  secure: boolean,
): string | undefined {
  const bare = address.replace(/%.*$/, "");
  const version = isIP(bare);
  const family = version === 4 ? "ipv4" : "ipv6";
  const kind =
    version === 0 ? "unreadable" : LISTS[family].find(({ list }) => list.check(bare, family))?.name;
  if (kind !== undefined && INSIDE.includes(kind)) {
    if (policy === "local") return undefined;
    return `must lead to a public address: the strict webhook policy refuses ${kind} ones (--webhook-policy local allows them)`;
  }
  if (kind !== "public")
    return `must lead to another address: both webhook policies refuse ${kind} ones`;
  return secure ? undefined : HTTPS_ONLY[policy];
}

const HTTPS_ONLY = {
  local:
    "must use https: the local webhook policy allows http to loopback and private addresses only",
  strict:
    "must use https: the strict webhook policy refuses http (--webhook-policy local allows it in private networks)",
};

/** Returns the rule that the URL's text violates; undefined if there is none. */
export function checkUrl(text: string, policy: WebhookPolicy): string | undefined {
  if (/[\s\\\p{Cc}]/u.test(text))
    return "must not contain spaces, control characters or backslashes";
  if (!/^https?:\/\/(?!\/)/i.test(text) || !URL.canParse(text))
    return "must be a URL that starts with https:// or http:// and a host";
  const url = new URL(text);
  if (/^[^/]*\/\/[^/?#]*@/.test(text)) return "must not contain a user name or password";
  if (url.port === "0") return "must not name port 0";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const secure = url.protocol === "https:";
  if (isIP(host) !== 0) return checkAddress(host, policy, secure);
  if (isLoopbackHost(host)) return checkAddress("127.0.0.1", policy, secure);
  // A host name is checked when a delivery is sent, because only DNS knows its addresses.
  return secure || policy === "local" ? undefined : HTTPS_ONLY.strict;
}
