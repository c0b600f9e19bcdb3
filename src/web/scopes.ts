// The scopes of the specification's part 5 in words that a user of the dashboard or of the consent page understands.
import type { Scope } from "../domain/model.ts";

export const IN_WORDS: { readonly [S in Scope]: string } = {
  "read:apps": "See the apps and their deployments",
  "write:apps": "Create, change and deploy apps",
  "delete:apps": "Delete apps",
  "read:data": "See data sources and the data in them",
  admin: "Do everything in the account: apps, data, users, webhooks and keys",
};
