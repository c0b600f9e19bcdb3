// Which hosts are this machine: literal loopback addresses, and names below localhost (RFC 6761 6.3).
import { BlockList, isIP } from "node:net";
import { once } from "./later.ts";

const loopback = once(() => {
  const list = new BlockList();
  list.addAddress("::1", "ipv6");
  return list;
});

/** `host` as in a URL: an IPv6 address may stand in brackets. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  const family = isIP(name);
  if (family === 0) return name === "localhost" || name.endsWith(".localhost");
  return family === 4 ? name.startsWith("127.") : loopback().check(name, "ipv6");
}
