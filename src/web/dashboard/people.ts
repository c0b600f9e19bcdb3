// Who may do what: the users with their permissions (the scopes of the specification's part 5), the keys of the API, and
// the applications that may ask users for access.
import type { ApiKeyRecord, OAuthClientRecord, UserRecord } from "../../domain/model.ts";
import { html } from "../html.ts";
import { time } from "../parts.ts";
import type { Resource } from "./resource.ts";

export const users: Resource<UserRecord> = {
  path: "/users/{user_id}",
  place: "Users",
  lost: "They are signed out, and every application that acts for them is refused. This cannot be undone.",
  once: [
    "Their sign-in link",
    "Send it to them: it works once, for 15 minutes. Later they ask for one at the sign-in page.",
  ],
  empty: "Whoever is added can sign in here.",
  name: ({ name, email }) => name || email,
  below: ({ email, permissions, created_at }) =>
    html`${email} · ${permissions.join(", ") || "no permissions"} · since ${time(created_at)}`,
};

const COPY = "Copy it now: only its hash is kept, so it is never shown again.";

export const apiKeys: Resource<ApiKeyRecord> = {
  path: "/api-keys/{key_id}",
  place: "API Keys",
  lost: "Whatever uses this key is refused at once. This cannot be undone.",
  once: ["The key", COPY],
  hints: { name: "Where it will be used, such as: Build server" },
  lead: "A key opens the whole account. Keep it out of code that others can read, in an environment variable, and replace it now and then.",
  empty: "Without one, only OAuth access tokens open the API.",
  name: ({ name }) => name,
  below: ({ last_four, created_at, last_used_at }) =>
    html`…${last_four} · generated ${time(created_at)} · ${last_used_at === null ? "never used" : html`last used ${time(last_used_at)}`}`,
};

export const oauthApps: Resource<OAuthClientRecord> = {
  path: "/oauth-clients/{client_id}",
  place: "OAuth apps",
  lost: "It can ask nobody any more, and every token that it holds stops working at once.",
  once: ["Its client_secret", COPY],
  hints: {
    name: "Users see it when they are asked.",
    redirect_uris: "One a line: where users come back to. https, or http to this machine.",
    scopes: "What it may ask for.",
    public: "It runs where a secret cannot be kept (a browser, a phone) and has PKCE instead of one.",
  },
  lead: "Applications that act for users of this account, as far as each user allows it.",
  empty: "Register an application here before it sends users to ask for access.",
  name: ({ name }) => name,
  below: (client) =>
    html`${client.public ? "public" : "with a secret"} · ${client.scopes.join(", ")} · since ${time(client.created_at)}`,
};
