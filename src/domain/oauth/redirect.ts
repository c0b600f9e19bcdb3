// Redirect URIs (RFC 6749 3.1.2): compared as text, character by character, except that the port of a loopback address
// may vary (RFC 8252 7.3), because a native application learns its port only when it starts to listen.
import { decide } from "../../kit/decisions.ts";

const LOOPBACK = /^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d{1,5})?(?=[/?]|$)/;

const VARIES = decide("5.loopback-redirect", "any port", {
  open: "how redirect_uri is compared",
  why: "exact text everywhere; on loopback, localhost included, a native application cannot know its port beforehand",
});

export function registered(uris: readonly string[], given: string): boolean {
  return uris.includes(given) || (VARIES === "any port" && URL.canParse(given) && loopbackMatch(uris, given));
}

function loopbackMatch(uris: readonly string[], given: string): boolean {
  return LOOPBACK.test(given) && uris.some((uri) => LOOPBACK.test(uri) && portless(uri) === portless(given));
}

const portless = (uri: string): string => uri.replace(LOOPBACK, "$1");

/** The redirect URI, as it was given, with further parameters in its query. */
export function withParameters(uri: string, parameters: { readonly [name: string]: string | null }): string {
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== null) added.append(name, value);
  return `${uri}${uri.includes("?") ? "&" : "?"}${added}`;
}
