// Schemas of text fields with a format of their own (8.field-lengths): names, e-mail addresses, pinned keys, redirect
// URIs, host names and environments. Valid text is stored as sent, except for host names, which have a canonical form.
import { domainToASCII } from "node:url";
import { isLoopbackHost } from "../lib/loopback.ts";
import { text } from "../lib/schema.ts";

export const NAME_MAX = 200;
export const URL_MAX = 2_048;

export const name = text({ min: 1, max: NAME_MAX, pattern: /\S/, patternText: "more than spaces" });

export const email = text({
  min: 3,
  max: 254, // RFC 5321 4.5.3.1.3
  format: "idn-email",
  // Without control characters, because addresses are printed on consoles.
  rule: (address) =>
    /^[^\s\p{C}@]{1,64}@[^\s\p{C}@]+$/u.test(address)
      ? undefined
      : "must be an e-mail address like name@example.com",
});

/** Returns the form in which addresses are compared. */
export const toEmailKey = (address: string): string => address.normalize("NFC").toLowerCase();

/** A key chosen by a person (flag or seed): only characters that need no quoting in a header, a URL or a shell. */
export const pinnedKey = text({
  min: 8,
  max: 200,
  pattern: /^[A-Za-z0-9._~-]+$/,
  patternText: "made of letters, digits and - . _ ~",
});

/** A scheme with a dot (RFC 8252 7.1). A number after it is the port of a host without a scheme. */
const PRIVATE_USE_URI = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:(?!\d+([/?]|$))./i;

export const isPrivateUse = (uri: string): boolean => PRIVATE_USE_URI.test(uri);

/** An exact URL without a fragment (RFC 9700 2.1, 4.1), in visible ASCII. */
function isRedirectUri(uri: string): boolean {
  if (!/^[!-~]+$/.test(uri) || uri.includes("#") || !URL.canParse(uri)) return false;
  const isHttp = /^http:\/\/[\w[]/i.test(uri) && isLoopbackHost(new URL(uri).hostname);
  return isHttp || /^https:\/\/[\w[]/i.test(uri) || isPrivateUse(uri);
}

export const redirectUri = text({
  min: 1,
  max: URL_MAX,
  format: "uri",
  rule: (uri) =>
    isRedirectUri(uri)
      ? undefined
      : "must be a URL in ASCII without fragment: https, http to a loopback address, or for a public client a private-use scheme with a dot (com.example.app:/callback)",
});

const HOST_LENGTH_MAX = 253;
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Returns the host name in lower-case ASCII, or undefined if it is invalid (RFC 1123). A single label is a machine of a
 * local network, never a public domain.
 */
export function toCanonicalHost(host: string): string | undefined {
  if (/[^\w.\u0080-\u{10ffff}-]/u.test(host)) return undefined;
  const ascii = domainToASCII(host).toLowerCase();
  const labels = ascii.split(".");
  // An IP address ends in a number, whatever its original notation.
  const isName = labels.length >= 2 && Number.isNaN(Number(labels.at(-1)));
  const isValid = isName && labels.every((label) => LABEL.test(label));
  return isValid && ascii.length <= HOST_LENGTH_MAX ? ascii : undefined;
}

/** Accepts any spelling; `deploy` stores the canonical form. */
export const hostName = text({
  min: 1,
  max: HOST_LENGTH_MAX,
  format: "idn-hostname",
  rule: (host) =>
    toCanonicalHost(host) === undefined
      ? "must be a host name of 2 or more labels, without scheme, port or path, and no IP address"
      : undefined,
});

export const environment = text({
  min: 1,
  max: 63,
  pattern: /^[a-z0-9][a-z0-9-]{0,62}$/, // a slug, so that it can stand in a URL
  patternText: "lower-case letters, digits and hyphens, not starting with a hyphen",
});
