// Who may do what: the users with their permissions (the scopes of the specification's part 5), the keys of the API, and
// the applications that may ask users for access.
import { type ApiKeyRecord, type OAuthClientRecord, SCOPES, type UserRecord } from "../../domain/model.ts";
import { html } from "../html.ts";
import { DASHBOARD } from "../page.ts";
import { badge, SCOPES_IN_WORDS, time } from "../parts.ts";
import type { Resource } from "./resource.ts";

const scopes = SCOPES.map((scope) => [scope, SCOPES_IN_WORDS[scope]] as const);

export const users: Resource<UserRecord> = {
  path: `${DASHBOARD}/users`,
  param: "user_id",
  place: "Users",
  title: "Users",
  list: "listUsers",
  get: "getUser",
  create: {
    operation: "createUser",
    link: "Add user",
    button: "Add user",
    once: {
      title: "Their sign-in link",
      advice:
        "Send it to them. It works once, for 15 minutes, and is not shown again. Later they can ask for one at the sign-in page.",
      on: "To the user",
    },
  },
  update: "updateUser",
  remove: {
    operation: "deleteUser",
    title: "Delete this user",
    button: "Delete for good",
    follows: ({ email }) =>
      html`<strong>${email}</strong> is signed out, and every application that acts for them is refused. This cannot be undone.`,
  },
  fields: {
    email: { label: "E-mail address" },
    name: { label: "Name" },
    permissions: { label: "Permissions", options: scopes },
  },
  empty: ["Nobody here", "There is nobody on this page of the list."],
  name: ({ name, email }) => (name === "" ? email : name),
  below: ({ id, name, email, created_at }, { user }) =>
    html`${name !== "" && html`${email} · `}since ${time(created_at)}${id === user.id && " · you"}`,
  right: ({ permissions }) =>
    permissions.length === 0
      ? badge("no permissions", "warn")
      : permissions.map((scope) => badge(scope, scope === "admin" ? "good" : "plain")),
  facts: ({ email, id, created_at }) => [
    ["E-mail address", email],
    ["Id", html`<code>${id}</code>`],
    ["Since", time(created_at)],
  ],
};

const COPY = "Copy it now: only its hash is kept, so it is never shown again.";

export const apiKeys: Resource<ApiKeyRecord> = {
  path: `${DASHBOARD}/settings/api-keys`,
  param: "key_id",
  place: "API Keys",
  title: "API Keys",
  list: "listApiKeys",
  get: "getApiKey",
  create: {
    operation: "createApiKey",
    link: "Generate new key",
    button: "Generate new key",
    inline: true,
    once: { title: "The key", advice: COPY, on: "To the keys" },
  },
  remove: {
    operation: "deleteApiKey",
    title: "Revoke this key",
    button: "Revoke for good",
    done: "revoked",
    follows: ({ name }) =>
      html`Whatever uses the key <strong>${name}</strong> is refused at once. This cannot be undone.`,
  },
  fields: { name: { label: "Name of the new key", hint: "Where it will be used, such as: Build server" } },
  lead: "A key opens the whole account. Keep it out of code that others can read, in an environment variable, and replace it now and then.",
  empty: ["No keys", "Without one, only OAuth access tokens open the API. Generate a key above."],
  name: ({ name }) => name,
  below: ({ created_at, last_used_at }) =>
    html`Generated ${time(created_at)} · ${last_used_at === null ? "never used" : html`last used ${time(last_used_at)}`}`,
  right: ({ last_four, last_used_at }) =>
    html`${last_used_at === null && badge("unused")} <code class="soft">…${last_four}</code>`,
  facts: ({ id, created_at, last_used_at }) => [
    ["Id", html`<code>${id}</code>`],
    ["Generated", time(created_at)],
    ["Last used", last_used_at === null ? "never" : time(last_used_at)],
  ],
};

export const oauthApps: Resource<OAuthClientRecord> = {
  path: `${DASHBOARD}/settings/oauth-apps`,
  param: "client_id",
  place: "OAuth apps",
  title: "OAuth apps",
  list: "listOAuthClients",
  get: "getOAuthClient",
  create: {
    operation: "createOAuthClient",
    link: "New OAuth app",
    button: "Register",
    once: {
      title: "Its client_secret",
      advice: COPY,
      none: "A public client has no secret: it must send a PKCE challenge.",
      on: "To the OAuth app",
    },
  },
  remove: {
    operation: "deleteOAuthClient",
    title: "Remove this OAuth app",
    button: "Remove for good",
    follows: ({ name }) =>
      html`<strong>${name}</strong> can ask nobody any more, and every token that it holds stops working at once.`,
  },
  fields: {
    name: { label: "Name", hint: "Users see it when they are asked." },
    redirect_uris: {
      label: "Redirect URIs",
      hint: "One a line: where users come back to. https, or http to this machine.",
    },
    scopes: { label: "What it may ask for", options: scopes },
    public: {
      label: "Public: it runs where a secret cannot be kept (a browser, a phone) and proves itself with PKCE instead.",
    },
  },
  lead: "Applications that act for users of this account, as far as each user allows it.",
  empty: ["No OAuth apps yet", "Register an application here before it sends users to ask for access."],
  name: ({ name }) => name,
  below: (client) => html`${client.scopes.join(", ")} · since ${time(client.created_at)}`,
  right: (client) => badge(client.public ? "public client" : "with a secret"),
  facts: (client, { links }) => [
    ["client_id", html`<code>${client.id}</code>`],
    ["May ask for", client.scopes.join(", ")],
    ["Users come back to", client.redirect_uris.join(", ")],
    ["Authorize at", html`<code>${links.authUrl}/oauth/authorize</code>`],
    ["Token at", html`<code>${links.authUrl}/oauth/token</code>`],
    ["Since", time(client.created_at)],
  ],
};
