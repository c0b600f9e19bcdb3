// Which hosts are this machine: literal loopback addresses, localhost and the names below it, whatever DNS says, with or
// without the final dot of a whole name (RFC 6761 6.3).
import { isIP } from "node:net";

/** `host` as in a URL: an IPv6 address may stand in brackets. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "");
  const family = isIP(name);
  if (family === 0) return /^(.+\.)?localhost\.?$/i.test(name);
  return family === 4 ? name.startsWith("127.") : /^[0:]*:0*1$/.test(name);
}
