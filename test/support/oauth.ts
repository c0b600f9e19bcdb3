// The steps of the authorization code flow as a client application and its user take them, over HTTP only.
import assert from "node:assert/strict";
import { Browser } from "./browser.ts";
import {
  type Answer,
  type Client,
  freshAddress,
  members,
  type SentHeaders,
  str,
} from "./client.ts";

export const REDIRECT = "https://client.example.com/callback";
/** The example of RFC 7636, appendix B. */
export const PKCE = {
  code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
  code_challenge_method: "S256",
};
/** The characters of its challenge. */
export const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/** An OAuth client as its owner knows it. */
export interface App {
  client_id: string;
  /** Null for a public client. */
  client_secret: string | null;
}

export const ALL_SCOPES = ["read:apps", "write:apps", "delete:apps", "read:data", "admin"] as const;

export async function register(api: Client, draft: object = {}) {
  const usual = { name: "Reports", redirect_uris: [REDIRECT], scopes: ["admin"] };
  const { id, client_secret } = await api.create("/oauth-clients", { ...usual, ...draft });
  return { client_id: id, client_secret: client_secret === null ? null : str(client_secret) };
}

type Person = Awaited<ReturnType<typeof person>>;

/** A new user who has signed in. */
export async function person(api: Client, permissions: readonly string[] = ["admin"]) {
  const email = freshAddress();
  const { id } = await api.create("/users", { email, permissions });
  const browser = new Browser(api);
  const answer = await browser.signIn(email);
  answer.is(303);
  return { id, email, browser };
}

export type Extra = Readonly<Record<string, string | null>>;

const withoutNull = (fields: Extra): Record<string, string> =>
  JSON.parse(JSON.stringify(fields, (_, value) => value ?? undefined));

const REQUEST = { redirect_uri: REDIRECT, response_type: "code", scope: "read:apps", state: "xyz" };

/** The URL of an authorization request; a null leaves a parameter out. */
export const authorizeUrl = ({ client_id }: App, extra: Extra = {}) =>
  `/oauth/authorize?${new URLSearchParams(withoutNull({ client_id, ...REQUEST, ...extra }))}`;

/** The parameters of a redirect back to the client. */
export function returned(answer: Answer, to = REDIRECT) {
  answer.is(303);
  const location = answer.header("location");
  assert.ok(location.startsWith(`${to}?`) || location.startsWith(`${to}&`), location);
  return Object.fromEntries(new URL(location).searchParams);
}

/** Consents as this user; returns the parameters that the client receives. */
export async function consent(who: Person, app: App, extra: Extra = {}, decision = "allow") {
  const page = await who.browser.open(authorizeUrl(app, extra));
  page.is(200);
  return returned(
    await who.browser.submit(page, "/oauth/consent", { decision }),
    extra.redirect_uri ?? REDIRECT,
  );
}

/** POST of JSON, as the spec shows it. */
export const sendJson = (api: Client, path: string, fields: Extra) =>
  api.anyone.post(path, withoutNull(fields));

/** POST of a form, as RFC 6749 specifies it. */
export const sendForm = (api: Client, path: string, fields: Extra, headers: SentHeaders = {}) =>
  api.anyone.send("POST", path, {
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: new URLSearchParams(withoutNull(fields)).toString(),
  });

export const exchange = (api: Client, app: App, code: string, extra: Extra = {}) =>
  sendJson(api, "/oauth/token", {
    grant_type: "authorization_code",
    ...app,
    code,
    redirect_uri: REDIRECT,
    ...extra,
  });

export const refresh = (api: Client, refresh_token: string, extra: Extra = {}) =>
  sendJson(api, "/oauth/token", { grant_type: "refresh_token", refresh_token, ...extra });

/** The tokens of a response, with the access token's claims. */
export function pair(answer: Answer) {
  answer.is(200);
  const { access_token, refresh_token, scope } = answer.json;
  const access = str(access_token);
  return { access, refresh: str(refresh_token), scope: str(scope), claims: claimsOf(access) };
}

/** Client credentials in HTTP Basic. */
export const basic = (user: string, password: string | null) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
});

/** A client, a user, and helpers to reach the consent page, a code and tokens, and to change the user's permissions. */
export async function scene(api: Client, draft: object = {}, permissions?: readonly string[]) {
  const [app, who] = [await register(api, draft), await person(api, permissions)];
  const open = (extra?: Extra) => who.browser.open(authorizeUrl(app, extra));
  const code = async (extra?: Extra) => str((await consent(who, app, extra)).code);
  const tokens = async (scope = "read:apps") =>
    pair(await exchange(api, app, await code({ scope })));
  const permit = (...permissions: string[]) => api.patch(`/users/${who.id}`, { permissions });
  return { app, who, open, code, tokens, permit };
}

/** A scene whose client has tokens; `holder` sends the access token. */
export async function held(api: Client, scope?: string) {
  const prepared = await scene(api);
  const tokens = await prepared.tokens(scope);
  return { ...prepared, tokens, holder: api.as(tokens.access) };
}

/** Asserts an error of RFC 6749 5.2, never a problem document, whose description contains `text`. */
export function oauthError(answer: Answer, error = "invalid_grant", text = "") {
  const statuses: Record<string, number> = { invalid_client: 401, temporarily_unavailable: 503 };
  answer.is(statuses[error] ?? 400, answer.text);
  assert.equal(answer.headers["content-type"], "application/json");
  assert.equal(answer.headers["cache-control"], "no-store");
  assert.equal(answer.json.error, error, answer.text);
  const description = str(answer.json.error_description);
  assert.match(description, /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
  assert.ok(description.includes(text), description);
}

const decodePart = (token: string, index: number) =>
  members(JSON.parse(Buffer.from(token.split(".")[index] ?? "", "base64url").toString()));

/** Header and claims of a JWT, unverified. */
export const headerOf = (token: string) => decodePart(token, 0);
export const claimsOf = (token: string) => decodePart(token, 1);

/** The keys that the server publishes. */
export async function publishedKeys(api: Client) {
  const { keys } = (await api.anyone.get("/oauth/jwks")).json;
  assert.ok(Array.isArray(keys));
  return keys.map(members);
}
