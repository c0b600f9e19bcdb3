// Redirect URIs (RFC 6749 3.1.2): compared as text, character by character, except that the port of a loopback address
// may vary (RFC 8252 7.3), because a native application learns its port only when it starts to listen.
import { decide } from "../../kit/decisions.ts";
import { isLoopbackHost } from "../../kit/loopback.ts";

const PORT_VARIES = decide("5.loopback-redirect-port", true, {
  open: "how redirect_uri is compared",
  why: "exact text everywhere; on loopback, localhost included, a native application cannot know its port beforehand",
});

export const registered = (uris: readonly string[], given: string): boolean =>
  uris.includes(given) || (PORT_VARIES && uris.some((uri) => sameButPort(uri, given)));

function sameButPort(registeredUri: string, given: string): boolean {
  const portless = withoutPort(registeredUri);
  return portless !== undefined && URL.canParse(given) && portless === withoutPort(given);
}

/** The text of an http URL of this machine without its port; undefined for any other. */
function withoutPort(uri: string): string | undefined {
  const [, host, rest] = /^http:\/\/(\[[0-9a-f:]+\]|[0-9a-z.-]+)(?::\d{1,5})?((?:[/?].*)?)$/.exec(uri) ?? [];
  return host !== undefined && isLoopbackHost(host) ? `${host}${rest}` : undefined;
}

/** The redirect URI, as it was given, with further parameters in its query. */
export function withParameters(uri: string, parameters: { readonly [name: string]: string | null }): string {
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== null) added.append(name, value);
  return `${uri}${uri.includes("?") ? "&" : "?"}${added}`;
}
