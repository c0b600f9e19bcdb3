// The rows for what an account manages: users, API keys, OAuth clients, its events, itself.
import { decide } from "../decisions.ts";
import * as credentials from "../domain/credentials.ts";
import * as events from "../domain/events.ts";
import * as users from "../domain/users.ts";
import { createdOnce, one, page } from "./answers.ts";
import { listing, reading, removing, SCOPE, target } from "./resource.ts";
import { chosen, type Operation, route } from "./route.ts";
import { accountView, apiKeyView, eventView, oauthClientView, userView } from "./views.ts";

const USERS = decide("4.user-area");
const user = target(`${USERS}/{user_id}`, userView, users.getUser);
const key = target("/api-keys/{key_id}", apiKeyView, credentials.getApiKey);
const client = target("/oauth-clients/{client_id}", oauthClientView, credentials.getOAuthClient);

const userRoutes = chosen("4.user-area", [
  route(`POST ${USERS}`, SCOPE.manage, "createUser", "Add a user", {
    refusals: ["email_taken"],
    body: users.userDraft,
    example: { email: "ada@example.com", name: "Ada", permissions: ["read:apps", "read:data"] },
    run: ({ unit, caller, body }) => users.createUser(unit, caller, body),
    answer: createdOnce(userView, ["sign_in_url"], ({ record, signInToken }: users.NewUser, links) => ({
      record,
      shown: { sign_in_url: links.signIn(signInToken) },
    })),
  }),
  listing(USERS, [SCOPE.manage, "listUsers", "List users"], userView, users.listUsers),
  reading(user, SCOPE.manage, "getUser", "Read a user"),
  route(`PATCH ${USERS}/{user_id}`, SCOPE.manage, "updateUser", "Change a user or their permissions", {
    refusals: ["email_taken", "last_admin"],
    target: user,
    body: users.userChanges,
    example: { permissions: ["read:apps", "write:apps"] },
    run: ({ unit, caller, params, body, expect }) => users.changeUser(unit, caller, params.user_id, body, expect),
    answer: one(userView),
  }),
  removing(user, [SCOPE.manage, "deleteUser", "Remove a user"], users.removeUser, { refusals: ["last_admin"] }),
]);

const others = chosen("1.dashboard", [
  route("POST /api-keys", SCOPE.manage, "createApiKey", "Generate an API key", {
    body: credentials.apiKeyDraft,
    example: { name: "Build server" },
    run: ({ unit, caller, body }) => credentials.createApiKey(unit, caller, body),
    answer: createdOnce(apiKeyView, ["key"], ({ record, key }: credentials.NewApiKey) => ({ record, shown: { key } })),
  }),
  listing("/api-keys", [SCOPE.manage, "listApiKeys", "List API keys"], apiKeyView, credentials.listApiKeys),
  reading(key, SCOPE.manage, "getApiKey", "Read an API key's description"),
  removing(key, [SCOPE.manage, "deleteApiKey", "Revoke an API key"], credentials.removeApiKey),
  route("POST /oauth-clients", SCOPE.manage, "createOAuthClient", "Register an OAuth client", {
    body: credentials.oauthClientDraft,
    example: {
      ...{ name: "Report mailer", redirect_uris: ["https://mailer.example.com/callback"] },
      ...{ scopes: ["read:apps"], public: false },
    },
    run: ({ unit, caller, body }) => credentials.createOAuthClient(unit, caller, body),
    answer: createdOnce(oauthClientView, ["client_secret"], ({ record, secret }: credentials.NewOAuthClient) => ({
      record,
      shown: { client_secret: secret },
    })),
  }),
  listing(
    "/oauth-clients",
    [SCOPE.manage, "listOAuthClients", "List OAuth clients"],
    oauthClientView,
    credentials.listOAuthClients,
  ),
  reading(client, SCOPE.manage, "getOAuthClient", "Read an OAuth client"),
  removing(
    client,
    [SCOPE.manage, "deleteOAuthClient", "Remove an OAuth client; its tokens stop working"],
    credentials.removeOAuthClient,
  ),
  route("GET /events", SCOPE.manage, "listEvents", "List events", {
    query: events.eventQuery,
    run: ({ unit, caller, query: { type, ...span } }) => events.listEvents(unit.store, caller, type, span),
    answer: page(eventView),
  }),
  reading(target("/events/{event_id}", eventView, events.getEvent), SCOPE.manage, "getEvent", "Read an event"),
  route("GET /account", SCOPE.any, "getAccount", "Read the account that the credential belongs to", {
    run: async ({ caller }) => caller.account,
    answer: one(accountView),
  }),
]);

export const accountRoutes: readonly Operation[] = [...userRoutes, ...others];
