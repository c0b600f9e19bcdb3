// Detects loopback hosts: loopback addresses, localhost and its subdomains, regardless of DNS, with or without a final
// dot (RFC 6761 6.3).
import { isIP } from "node:net";

/** `host` as in a URL: an IPv6 address may stand in brackets. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "");
  const family = isIP(name);
  if (family === 0) return /^(.+\.)?localhost\.?$/i.test(name);
  return family === 4 ? name.startsWith("127.") : /^[0:]*:0*1$/.test(name);
}

/** Returns a listening address as in a URL: brackets around IPv6, and localhost for all addresses. */
export function toUrlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return isIP(host) === 6 ? `[${host}]` : host;
}
