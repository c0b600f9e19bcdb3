// The resources as clients see them (spec part 2; contract, part 2): each lists its fields once, for the answers and for
// the OpenAPI document.
import { decide } from "../decisions.ts";
import * as model from "../domain/model.ts";
import type { JsonSchema } from "../kit/schema.ts";
import { shape, type View, view } from "./view.ts";

const { name: NAME_MAX, text: TEXT_MAX } = decide("8.field-lengths");

const string: JsonSchema = { type: "string" };
const text = (maxLength: number): JsonSchema => ({ type: "string", maxLength });
const boolean: JsonSchema = { type: "boolean" };
const count: JsonSchema = { type: "integer", minimum: 0 };
const url: JsonSchema = { type: "string", format: "uri" };
const time: JsonSchema = {
  type: "string",
  format: "date-time",
  pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$",
};
const id = (prefix: string): JsonSchema => ({ type: "string", pattern: `^${prefix}_[0-9A-Za-z]+$` });
const enumOf = (values: readonly string[]): JsonSchema => ({ type: "string", enum: values });
const listOf = (items: JsonSchema): JsonSchema => ({ type: "array", items });
const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: "null" }] });

const TIMES = { created_at: time, updated_at: time };

/** Those of the members that the register names. */
const only = (names: readonly string[], members: Record<string, JsonSchema>): Record<string, JsonSchema> =>
  Object.fromEntries(names.map((name) => [name, members[name] ?? {}]));

export const appView = view<model.AppRecord>("App", {
  id: id("app"),
  title: text(NAME_MAX),
  description: text(TEXT_MAX),
  theme: text(64),
  public: boolean,
  ...TIMES,
});

export const deploymentView = view<model.DeploymentRecord>(
  "Deployment",
  {
    id: id("dep"),
    app_id: id("app"),
    name: text(100),
    environment: string,
    custom_domain: orNull(string),
    url,
    status: enumOf(["live", decide("3.redeploy").live]),
    deployed_at: time,
  },
  (record, links) => ({ ...record, url: links.site(record.id) }),
);

export const dataSourceView = view<model.DataSourceRecord>("DataSource", {
  id: id("ds"),
  name: text(NAME_MAX),
  type: enumOf(decide("2.data-source-request")),
  app_id: orNull(id("app")),
  ...only(decide("2.data-source-fields"), {
    status: enumOf(decide("3.data-processing")),
    columns: orNull(listOf(shape({ name: string, type: enumOf(model.COLUMN_TYPES) }))),
    row_count: orNull(count),
    error: orNull(string),
  }),
  ...TIMES,
});

export const userView = view<model.UserRecord>("User", {
  id: id("usr"),
  ...only(decide("2.user-fields"), {
    email: text(254),
    name: text(NAME_MAX),
    permissions: listOf(enumOf(model.SCOPES)),
  }),
  ...TIMES,
});

export const webhookView = view<model.WebhookRecord>("Webhook", {
  id: id("wh"),
  url,
  events: { ...listOf(enumOf(model.EVENT_TYPES)), minItems: 1, uniqueItems: true },
  active: boolean,
  ...only(decide("2.webhook-fields"), { disabled_reason: orNull(enumOf(["gone", "failing"])), ...TIMES }),
});

const attempt = shape({
  number: { type: "integer", minimum: 1 },
  trigger: enumOf(["schedule", "manual"]),
  at: time,
  duration_ms: count,
  response_status: orNull({ type: "integer" }),
  response_body: orNull(string),
  error: orNull(enumOf(model.ATTEMPT_ERRORS)),
});
export const deliveryView = view<model.DeliveryRecord>("Delivery", {
  id: id("dlv"),
  webhook_id: id("wh"),
  event_id: id("evt"),
  event_type: enumOf(model.EVENT_TYPES),
  status: enumOf(model.DELIVERY_STATUSES),
  attempts: listOf(attempt),
  next_attempt_at: orNull(time),
  created_at: time,
});

export const apiKeyView = view<model.ApiKeyRecord>("ApiKey", {
  id: id("key"),
  name: text(NAME_MAX),
  last_four: string,
  created_at: time,
  last_used_at: orNull(time),
});

export const oauthClientView = view<model.OAuthClientRecord>("OAuthClient", {
  id: id("cli"),
  name: text(NAME_MAX),
  redirect_uris: listOf(url),
  scopes: listOf(enumOf(model.SCOPES)),
  public: boolean,
  created_at: time,
});

export const accountView = view<model.AccountRecord>("Account", {
  id: id("acc"),
  name: string,
  state: enumOf(model.ACCOUNT_STATES),
});

const envelope = {
  id: id("evt"),
  type: enumOf(model.EVENT_TYPES),
  created: time,
  data: shape({ object: { type: "object" } }),
};
export const eventView: View<model.EventRecord> = {
  kind: "one",
  name: "Event",
  json: shape({ ...envelope, account: shape({ id: id("acc"), name: string }) }, Object.keys(envelope)),
  text: ({ body }) => body,
};

export const rowView: View<{ readonly [column: string]: unknown }> = {
  kind: "one",
  name: "Row",
  json: { type: "object", additionalProperties: { type: ["string", "number", "boolean", "null"] } },
  text: (row) => JSON.stringify(row),
};
