// The rows for what an account manages: users, API keys, OAuth clients, its events, itself.
import { decide } from "../decisions.ts";
import * as credentials from "../domain/credentials.ts";
import * as events from "../domain/events.ts";
import * as users from "../domain/users.ts";
import { MANAGE, MANAGED, resource } from "./resource.ts";
import { chosen, type Operation, route } from "./route.ts";
import { accountView, eventView, page } from "./view.ts";

const user = resource({
  path: `${decide("4.user-area")}/{user_id}`,
  noun: "User",
  words: ["a user", "users", "a user; they are signed out"],
  scopes: MANAGED,
  owned: users.own,
  create: {
    example: { email: "ada@example.com", name: "Ada", permissions: ["read:apps", "read:data"] },
    once: { sign_in_url: ({ signInToken }, links) => links.signIn(signInToken) },
  },
  update: {
    refusals: ["email_taken", "last_admin"],
    example: { permissions: ["read:apps", "write:apps"] },
  },
  remove: { refusals: ["last_admin"] },
});

const key = resource({
  path: "/api-keys/{key_id}",
  noun: "ApiKey",
  words: ["an API key", "API keys", "an API key; whatever uses it is refused"],
  scopes: MANAGED,
  owned: credentials.keys,
  create: { example: { name: "Build server" }, once: { key: ({ key }) => key } },
});

const client = resource({
  path: "/oauth-clients/{client_id}",
  noun: "OAuthClient",
  words: ["an OAuth client", "OAuth clients", "an OAuth client; its tokens stop working"],
  scopes: MANAGED,
  owned: credentials.clients,
  create: {
    example: {
      ...{ name: "Report mailer", redirect_uris: ["https://mailer.example.com/callback"] },
      ...{ scopes: ["read:apps"], public: false },
    },
    once: { client_secret: ({ client_secret }) => client_secret },
  },
});

const others = [
  route("GET /events", MANAGE, "listEvents", "List events", {
    query: events.eventQuery,
    view: page(eventView),
    run: ({ unit, account, query }) => events.listEvents(unit.store, account, query),
  }),
  route("GET /events/{event_id}", MANAGE, "getEvent", "Read an event", {
    view: eventView,
    run: ({ unit, account, params }) => events.getEvent(unit.store, account, params.event_id),
  }),
  route("GET /account", null, "getAccount", "Read the account that the credential belongs to", {
    view: accountView,
    run: async ({ account }) => account,
  }),
];

export const accountRoutes: readonly Operation[] = [
  ...chosen("4.user-area", user.rows),
  ...chosen("1.dashboard", [...key.rows, ...client.rows, ...others]),
];
