// One resource of every kind, with helpers to call it: for tests that walk over every route of the OpenAPI document.
import { type Client, members, str } from "./client.ts";
import type { ApiDocument, Operation } from "./openapi.ts";

/** The values of the path parameters. */
export type Ids = Readonly<Record<string, string>>;

const CREATE = {
  app_id: ["/apps", { title: "World" }],
  data_source_id: ["/data-sources", { name: "World", type: "json", data: [{ a: 1 }] }],
  user_id: ["/users", { email: "world@example.com" }],
  key_id: ["/api-keys", { name: "World" }],
  client_id: [
    "/oauth-clients",
    { name: "W", redirect_uris: ["https://c.example.com/cb"], scopes: ["read:apps"] },
  ],
} as const;

/** Creates one of each resource; returns their ids by parameter name. */
export async function makeWorld(api: Client) {
  const ids: Record<string, string> = {};
  for (const [name, [path, body]] of Object.entries(CREATE))
    ids[name] = (await api.create(path, body)).id;
  // Inactive: these tests are not about deliveries.
  ids.webhook_id = (await api.newWebhook({ active: false })).id;
  ids.deployment_id = (await api.deploy(str(ids.app_id))).id;
  const events = await api.get("/events?type=app.created");
  ids.event_id = str(events.items[0]?.id);
  const test = await api.post(`/webhooks/${ids.webhook_id}/test`, { type: "app.created" });
  ids.delivery_id = test.id;
  return ids;
}

/** A server with two accounts, A and B, and the key of the second. */
export const B_KEY = "key-of-account-b";
const B = { name: "B", api_keys: [{ name: "b", key: B_KEY }], apps: [{ title: "Of B" }] };
export const TWO = { seed: { accounts: [{ name: "A" }, B] } };

/** Valid ids of resources that never existed. */
export const NOWHERE: Ids = Object.fromEntries(
  Object.entries({
    app_id: "app",
    deployment_id: "dep",
    data_source_id: "ds",
    user_id: "usr",
    webhook_id: "wh",
    delivery_id: "dlv",
    event_id: "evt",
    key_id: "key",
    client_id: "cli",
  }).map(([name, prefix]) => [name, `${prefix}_${"0".repeat(23)}`]),
);

export const fill = (path: string, ids: Ids) =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? `no-value-for-${name}`);

/** The example body of an operation in the document; undefined if it takes none. */
export function exampleBody(document: ApiDocument, operation: Operation) {
  const { requestBody } = operation.value;
  if (requestBody === undefined) return undefined;
  const media = members(members(document.deref(members(requestBody)).content)["application/json"]);
  return media.example ?? {};
}

/** The parameters of the operation in this place, such as its headers. */
export const parametersIn = ({ value }: Pick<Operation, "value">, place: string) =>
  [value.parameters]
    .flat()
    .map(members)
    .filter((each) => each.in === place);
