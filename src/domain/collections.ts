// Every kind of record that there is, as a store is opened with.
import * as model from "./model.ts";
import * as oauth from "./oauth/model.ts";
import type { AnyCollection } from "./store.ts";

export const collections: readonly AnyCollection[] = [
  model.accounts,
  model.apps,
  model.deployments,
  model.goneDeployments,
  model.domains,
  model.dataSources,
  model.dataContents,
  model.users,
  model.apiKeys,
  model.oauthClients,
  model.signIns,
  model.webhooks,
  model.events,
  model.deliveries,
  model.idempotency,
  model.clockRecords,
  oauth.signingKeys,
  oauth.grants,
  oauth.refreshTokens,
  oauth.sessions,
];
