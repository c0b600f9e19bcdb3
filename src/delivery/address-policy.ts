// Where deliveries may go (contract, part 6): a server that posts to any URL it is given must not be led into its own
// network. A URL is judged by what it shows; an address is judged after DNS and again on the connected socket. What the
// judge answers is the rule that refuses, in words for the one who sent the URL.
import type { LookupAddress } from "node:dns";
import { BlockList, isIP } from "node:net";
import { isLoopbackHost } from "../kit/loopback.ts";

/** A developer's receiver runs on loopback; a server that others reach allows no inside address. */
export const WEBHOOK_POLICIES = ["local", "strict"] as const;
export type WebhookPolicy = (typeof WEBHOOK_POLICIES)[number];

/** What is not reachable for anyone else or is not one machine: IANA's special-purpose registries. */
const SPECIAL = {
  ipv4: [
    ["unspecified", "0.0.0.0/8"],
    ["private", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"],
    ["carrier-grade NAT", "100.64.0.0/10"],
    ["link-local", "169.254.0.0/16"],
    ["cloud metadata", "168.63.129.16/32"],
    ["6to4", "192.88.99.0/24"],
    ["documentation", "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"],
    ["multicast", "224.0.0.0/4"],
    ["reserved", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4"],
  ],
  ipv6: [
    ["unspecified", "::/128"],
    ["IPv4-mapped", "::ffff:0:0/96", "::ffff:0:0:0/96", "::/96"],
    ["NAT64", "64:ff9b::/96", "64:ff9b:1::/48"],
    ["6to4", "2002::/16"],
    ["Teredo", "2001::/32"],
    ["documentation", "2001:db8::/32", "3fff::/20"],
    ["private", "fc00::/7", "fec0::/10"],
    ["link-local", "fe80::/10"],
    ["multicast", "ff00::/8"],
    ["reserved", "2001::/23"],
    ["public", "2000::/3"],
    ["reserved", "::/0"],
  ],
};

// A list holds one family only: Node's BlockList matches an IPv4 address against the ranges of its mapped form too.
const LISTS = { ipv4: lists("ipv4"), ipv6: lists("ipv6") };

function lists(family: keyof typeof SPECIAL) {
  return SPECIAL[family].map(([name = "", ...subnets]) => {
    const list = new BlockList();
    for (const subnet of subnets) {
      const [net = "", prefix] = subnet.split("/");
      list.addSubnet(net, Number(prefix), family);
    }
    return { name, list };
  });
}

/** Why a connection to this address is refused; undefined where it is allowed. `secure`: over TLS. */
export function judgeAddress(address: string, policy: WebhookPolicy, secure: boolean): string | undefined {
  const bare = address.replace(/%.*$/, "");
  if (isLoopbackHost(bare))
    return policy === "local" ? undefined : "must lead elsewhere: loopback addresses are refused by the strict policy";
  if (isIP(bare) === 0) return "must lead elsewhere: unreadable addresses are refused";
  const family = isIP(bare) === 4 ? "ipv4" : "ipv6";
  const kind = LISTS[family].find(({ list }) => list.check(bare, family))?.name ?? "public";
  if (kind !== "public") return `must lead elsewhere: ${kind} addresses are refused, by both webhook policies`;
  return secure ? undefined : HTTPS_ONLY[policy];
}

const HTTPS_ONLY = {
  local: "must use https; http is for loopback addresses only, by the local policy",
  strict: "must use https; the strict policy refuses http",
};

/** Which rule refuses the URL, as far as it shows; undefined where none does. */
export function judgeUrl(text: string, policy: WebhookPolicy): string | undefined {
  if (/[\s\\\p{Cc}]/u.test(text)) return "must not contain spaces, control characters or backslashes";
  if (!/^https?:\/\/(?!\/)/i.test(text) || !URL.canParse(text))
    return "must be a URL that starts with https:// or http:// and a host";
  const url = new URL(text);
  if (/^[^/]*\/\/[^/?#]*@/.test(text)) return "must not contain a user name or password";
  if (url.port === "0") return "must not name port 0";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const secure = url.protocol === "https:";
  if (isLoopbackHost(host) || isIP(host) !== 0) return judgeAddress(host, policy, secure);
  return secure ? undefined : HTTPS_ONLY[policy];
}

/** From a host name to its addresses. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

const LOOKUPS_AT_ONCE = 2;
const LOOPBACK: readonly LookupAddress[] = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/**
 * The system's resolver, asked once at a time for a name and for two names at once: a lookup holds one of the process's
 * four worker threads until it ends, and dead name servers must not keep them all from the files.
 */
export function systemResolver(): Resolve {
  const running = new Map<string, Promise<readonly LookupAddress[]>>();
  const waiting: (() => void)[] = [];
  let free = LOOKUPS_AT_ONCE;
  const ask = async (host: string): Promise<readonly LookupAddress[]> => {
    while (free === 0) await new Promise<void>((resume) => waiting.push(resume));
    free -= 1;
    try {
      return await process.getBuiltinModule("node:dns/promises").lookup(host, { all: true });
    } finally {
      free += 1;
      waiting.shift()?.();
      running.delete(host);
    }
  };
  return (host) => {
    if (isLoopbackHost(host)) return Promise.resolve(LOOPBACK);
    const asked = running.get(host) ?? ask(host);
    running.set(host, asked);
    return asked;
  };
}
