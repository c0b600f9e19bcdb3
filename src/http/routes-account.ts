// The rows for what an account manages: users, API keys, OAuth clients, its events, itself.
import { decide } from "../decisions.ts";
import * as account from "../domain/access.ts";
import * as apiKeys from "../domain/credentials.ts";
import * as oauthClients from "../domain/credentials.ts";
import * as events from "../domain/events.ts";
import { listQuery } from "../domain/lists.ts";
import type { ApiKeyRecord, OAuthClientRecord, UserRecord } from "../domain/model.ts";
import * as users from "../domain/users.ts";
import { createdOnce, nothing, one, page } from "./answers.ts";
import { type Base, chosen, type Row, route, type Target } from "./route.ts";
import { SCOPE } from "./scopes.ts";
import { accountView, apiKeyView, eventView, oauthClientView, userView } from "./views.ts";

const findKey = ({ unit, caller, params }: Base<"/api-keys/{key_id}">) =>
  apiKeys.getApiKey(unit.store, caller, params.key_id);
const theKey: Target<"/api-keys/{key_id}", ApiKeyRecord> = { view: apiKeyView, find: findKey };

const findClient = ({ unit, caller, params }: Base<"/oauth-clients/{client_id}">) =>
  oauthClients.getOAuthClient(unit.store, caller, params.client_id);
const theClient: Target<"/oauth-clients/{client_id}", OAuthClientRecord> = { view: oauthClientView, find: findClient };

const USERS = decide("4.user-area");
type UserPath = `${typeof USERS}/{user_id}`;

const findUser = ({ unit, caller, params }: Base<UserPath>) => users.getUser(unit.store, caller, params.user_id);
const theUser: Target<UserPath, UserRecord> = { view: userView, find: findUser };

const userRoutes = chosen("4.user-area", [
  route({
    method: "POST",
    path: USERS,
    scope: SCOPE.manage,
    operation: "createUser",
    summary: "Add a user",
    refusals: ["email_taken"],
    body: users.userDraft,
    example: { email: "ada@example.com", name: "Ada", permissions: ["read:apps", "read:data"] },
    run: ({ unit, caller, body }) => users.createUser(unit, caller, body),
    answer: createdOnce(userView, ["sign_in_url"], ({ record, signInToken }: users.NewUser, links) => ({
      record,
      shown: { sign_in_url: links.signIn(signInToken) },
    })),
  }),
  route({
    method: "GET",
    path: USERS,
    scope: SCOPE.manage,
    operation: "listUsers",
    summary: "List users",
    query: listQuery,
    run: ({ unit, caller, query }) => users.listUsers(unit.store, caller, query),
    answer: page(userView),
  }),
  route({
    method: "GET",
    path: `${USERS}/{user_id}`,
    scope: SCOPE.manage,
    operation: "getUser",
    summary: "Read a user",
    run: findUser,
    answer: one(userView),
  }),
  route({
    method: "PATCH",
    path: `${USERS}/{user_id}`,
    scope: SCOPE.manage,
    operation: "updateUser",
    summary: "Change a user or their permissions",
    refusals: ["email_taken", "last_admin"],
    target: theUser,
    body: users.userChanges,
    example: { permissions: ["read:apps", "write:apps"] },
    run: ({ unit, caller, params, body, expect }) => users.changeUser(unit, caller, params.user_id, body, expect),
    answer: one(userView),
  }),
  route({
    method: "DELETE",
    path: `${USERS}/{user_id}`,
    scope: SCOPE.manage,
    operation: "deleteUser",
    summary: "Remove a user",
    refusals: ["last_admin"],
    target: theUser,
    run: ({ unit, caller, params, expect }) => users.removeUser(unit, caller, params.user_id, expect),
    answer: nothing,
  }),
]);

const keyRoutes = chosen("1.dashboard", [
  route({
    method: "POST",
    path: "/api-keys",
    scope: SCOPE.manage,
    operation: "createApiKey",
    summary: "Generate an API key",
    body: apiKeys.apiKeyDraft,
    example: { name: "Build server" },
    run: ({ unit, caller, body }) => apiKeys.createApiKey(unit, caller, body),
    answer: createdOnce(apiKeyView, ["key"], ({ record, key }: apiKeys.NewApiKey) => ({ record, shown: { key } })),
  }),
  route({
    method: "GET",
    path: "/api-keys",
    scope: SCOPE.manage,
    operation: "listApiKeys",
    summary: "List API keys",
    query: listQuery,
    run: ({ unit, caller, query }) => apiKeys.listApiKeys(unit.store, caller, query),
    answer: page(apiKeyView),
  }),
  route({
    method: "GET",
    path: "/api-keys/{key_id}",
    scope: SCOPE.manage,
    operation: "getApiKey",
    summary: "Read an API key's description",
    run: findKey,
    answer: one(apiKeyView),
  }),
  route({
    method: "DELETE",
    path: "/api-keys/{key_id}",
    scope: SCOPE.manage,
    operation: "deleteApiKey",
    summary: "Revoke an API key",
    target: theKey,
    run: ({ unit, caller, params, expect }) => apiKeys.removeApiKey(unit, caller, params.key_id, expect),
    answer: nothing,
  }),
]);

const clientRoutes = chosen("1.dashboard", [
  route({
    method: "POST",
    path: "/oauth-clients",
    scope: SCOPE.manage,
    operation: "createOAuthClient",
    summary: "Register an OAuth client",
    body: oauthClients.oauthClientDraft,
    example: {
      name: "Report mailer",
      redirect_uris: ["https://mailer.example.com/callback"],
      scopes: ["read:apps"],
      public: false,
    },
    run: ({ unit, caller, body }) => oauthClients.createOAuthClient(unit, caller, body),
    answer: createdOnce(oauthClientView, ["client_secret"], ({ record, secret }: oauthClients.NewOAuthClient) => ({
      record,
      shown: { client_secret: secret },
    })),
  }),
  route({
    method: "GET",
    path: "/oauth-clients",
    scope: SCOPE.manage,
    operation: "listOAuthClients",
    summary: "List OAuth clients",
    query: listQuery,
    run: ({ unit, caller, query }) => oauthClients.listOAuthClients(unit.store, caller, query),
    answer: page(oauthClientView),
  }),
  route({
    method: "GET",
    path: "/oauth-clients/{client_id}",
    scope: SCOPE.manage,
    operation: "getOAuthClient",
    summary: "Read an OAuth client",
    run: findClient,
    answer: one(oauthClientView),
  }),
  route({
    method: "DELETE",
    path: "/oauth-clients/{client_id}",
    scope: SCOPE.manage,
    operation: "deleteOAuthClient",
    summary: "Remove an OAuth client; its tokens stop working",
    target: theClient,
    run: ({ unit, caller, params, expect }) => oauthClients.removeOAuthClient(unit, caller, params.client_id, expect),
    answer: nothing,
  }),
]);

const eventRoutes = chosen("1.dashboard", [
  route({
    method: "GET",
    path: "/events",
    scope: SCOPE.manage,
    operation: "listEvents",
    summary: "List events",
    query: events.eventQuery,
    run: ({ unit, caller, query: { type, ...span } }) => events.listEvents(unit.store, caller, type, span),
    answer: page(eventView),
  }),
  route({
    method: "GET",
    path: "/events/{event_id}",
    scope: SCOPE.manage,
    operation: "getEvent",
    summary: "Read an event",
    run: ({ unit, caller, params }) => events.getEvent(unit.store, caller, params.event_id),
    answer: one(eventView),
  }),
  route({
    method: "GET",
    path: "/account",
    scope: SCOPE.any,
    operation: "getAccount",
    summary: "Read the account that the credential belongs to",
    run: ({ unit, caller }) => account.getAccount(unit.store, caller),
    answer: one(accountView),
  }),
]);

export const accountRoutes: readonly Row[] = [...userRoutes, ...keyRoutes, ...clientRoutes, ...eventRoutes];
