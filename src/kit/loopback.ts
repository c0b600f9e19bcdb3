// Which hosts are this machine: literal loopback addresses, and names below localhost (RFC 6761 6.3).
import { BlockList, isIP } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/** `host` as in a URL: an IPv6 address may stand in brackets. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  const family = isIP(name);
  if (family === 0) return name === "localhost" || name.endsWith(".localhost");
  return loopback.check(name, family === 4 ? "ipv4" : "ipv6");
}
