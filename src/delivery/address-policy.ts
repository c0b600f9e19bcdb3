// Address policy for webhooks (6.webhook-policy): a server that posts to any given URL must not be led into its own
// network. The URL is checked as text, and the address after DNS and again on the connected socket. Both functions
// return the violated rule, worded for the user who sent the URL.
import { BlockList, isIP, isIPv4, SocketAddress } from "node:net";
import { isLoopbackHost } from "../lib/loopback.ts";

/** `local` allows receivers on this machine or in a private network; a server open to other machines allows neither. */
export const WEBHOOK_POLICIES = ["local", "strict"] as const;
export type WebhookPolicy = (typeof WEBHOOK_POLICIES)[number];

// IANA's special-purpose registries and cloud metadata. One list per family, because Node's BlockList matches an IPv4
// address against the ranges of its mapped form too.
const RANGES = {
  ipv4: {
    refused: createBlockList(
      "ipv4",
      "0.0.0.0/8 100.64.0.0/10 168.63.129.16/32 169.254.0.0/16 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3",
    ),
    private: createBlockList("ipv4", "10.0.0.0/8 127.0.0.0/8 172.16.0.0/12 192.168.0.0/16"),
    public: createBlockList("ipv4", "0.0.0.0/0"),
  },
  ipv6: {
    refused: createBlockList(
      "ipv6",
      "2001::/23 2001:db8::/32 2002::/16 3fff::/20 fd00:ec2::254/128 fd20:ce::254/128",
    ),
    private: createBlockList("ipv6", "::1/128 fc00::/7"),
    public: createBlockList("ipv6", "2000::/3"),
  },
};

function createBlockList(family: "ipv4" | "ipv6", subnets: string): BlockList {
  const list = new BlockList();
  for (const subnet of subnets.split(" ")) {
    const [net = "", prefix] = subnet.split("/");
    list.addSubnet(net, Number(prefix), family);
  }
  return list;
}

const HTTPS_ONLY =
  "must use https: http is allowed only under the local webhook policy, to loopback and private addresses";

/** Returns the rule that forbids a connection to this address; undefined if it is allowed. `secure`: over TLS. */
export function checkAddress(
  address: string,
  policy: WebhookPolicy,
  secure: boolean,
): string | undefined {
  const family = isIPv4(address) ? "ipv4" : "ipv6";
  const ranges = RANGES[family];
  const peer = new SocketAddress({ address, family });
  const isIn = (list: BlockList) => list.check(peer);
  if (isIn(ranges.refused) || !(isIn(ranges.private) || isIn(ranges.public)))
    return "must not lead to a link-local, metadata, translated or reserved address";
  if (!isIn(ranges.private)) return secure ? undefined : HTTPS_ONLY;
  return policy === "local"
    ? undefined
    : "must lead to a public address: loopback and private ones need --webhook-policy local";
}

/** Returns the rule that the URL's text violates; undefined if there is none. */
export function checkUrl(text: string, policy: WebhookPolicy): string | undefined {
  if (!/^https?:\/\/[^\s\\/?#@]+([/?#][^\s\\]*)?$/i.test(text) || !URL.canParse(text))
    return "must be an http or https URL with a host, and without a user name, password or space";
  const { protocol, hostname } = new URL(text);
  const secure = protocol === "https:";
  const host = isLoopbackHost(hostname) ? "127.0.0.1" : hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) return checkAddress(host, policy, secure);
  // A host name is checked when a delivery is sent, because only DNS knows its addresses.
  return secure || policy === "local" ? undefined : HTTPS_ONLY;
}
