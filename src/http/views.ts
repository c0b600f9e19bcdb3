// The resources as clients see them (spec part 2; contract part 2): each view lists its fields once, as a schema for the
// OpenAPI document and as the function that picks them from a record.
import { decide } from "../decisions.ts";
import { shownFields } from "../domain/lists.ts";
import {
  ACCOUNT_STATES,
  type AccountRecord,
  type ApiKeyRecord,
  type AppRecord,
  ATTEMPT_ERRORS,
  COLUMN_TYPES,
  type DataSourceRecord,
  DELIVERY_STATUSES,
  type DeliveryRecord,
  type DeploymentRecord,
  EVENT_TYPES,
  type EventRecord,
  type OAuthClientRecord,
  SCOPES,
  type UserRecord,
  type WebhookRecord,
} from "../domain/model.ts";
import { type JsonSchema, trusted } from "../kit/schema.ts";
import type { View } from "./view.ts";

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
const orNull = (schema: JsonSchema): JsonSchema =>
  "enum" in schema || "properties" in schema || "items" in schema
    ? { oneOf: [schema, { type: "null" }] }
    : { ...schema, type: [schema.type, "null"] };

/** An object with exactly these members, all of them always present. */
export const shape = (properties: Record<string, JsonSchema>, required = Object.keys(properties)): JsonSchema => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

const TIMES = ["created_at", "updated_at"] as const;

/** These members of an object, in this order. */
const only = <N extends string, A extends { readonly [name in N]: unknown }>(names: readonly N[], all: A): Pick<A, N> =>
  trusted(Object.fromEntries(names.map((name) => [name, all[name]])));

export const appView: View<AppRecord> = {
  name: "App",
  json: shape({
    id: id("app"),
    title: text(NAME_MAX),
    description: text(TEXT_MAX),
    theme: text(64),
    public: boolean,
    created_at: time,
    updated_at: time,
  }),
  fields: shownFields,
};

export const deploymentView: View<DeploymentRecord> = {
  name: "Deployment",
  json: shape({
    id: id("dep"),
    app_id: id("app"),
    name: text(100),
    environment: string,
    custom_domain: orNull(string),
    url,
    status: enumOf(["live", decide("3.redeploy").live]),
    deployed_at: time,
  }),
  fields: ({ id, app_id, name, environment, custom_domain, status, deployed_at }, links) => ({
    id,
    app_id,
    name,
    environment,
    custom_domain,
    url: links.site(id),
    status,
    deployed_at,
  }),
};

const DATA_SOURCE = [...(["id", "name", "type", "app_id"] as const), ...decide("2.data-source-fields"), ...TIMES];
export const dataSourceView: View<DataSourceRecord> = {
  name: "DataSource",
  json: shape(
    only(DATA_SOURCE, {
      id: id("ds"),
      name: text(NAME_MAX),
      type: enumOf(decide("2.data-source-request")),
      app_id: orNull(id("app")),
      status: enumOf(decide("3.data-processing")),
      columns: orNull(listOf(shape({ name: string, type: enumOf(COLUMN_TYPES) }))),
      row_count: orNull(count),
      error: orNull(string),
      created_at: time,
      updated_at: time,
    }),
  ),
  fields: (record) => only(DATA_SOURCE, record),
};

const USER = ["id" as const, ...decide("2.user-fields"), ...TIMES];
export const userView: View<UserRecord> = {
  name: "User",
  json: shape(
    only(USER, {
      id: id("usr"),
      email: text(254),
      name: text(NAME_MAX),
      permissions: listOf(enumOf(SCOPES)),
      created_at: time,
      updated_at: time,
    }),
  ),
  fields: (record) => only(USER, record),
};

const WEBHOOK = [...(["id", "url", "events", "active"] as const), ...decide("2.webhook-fields")];
export const webhookView: View<WebhookRecord> = {
  name: "Webhook",
  json: shape(
    only(WEBHOOK, {
      id: id("wh"),
      url,
      events: { ...listOf(enumOf(EVENT_TYPES)), minItems: 1, uniqueItems: true },
      active: boolean,
      disabled_reason: orNull(enumOf(["gone", "failing"])),
      created_at: time,
      updated_at: time,
    }),
  ),
  fields: (record) => only(WEBHOOK, record),
};

export const deliveryView: View<DeliveryRecord> = {
  name: "Delivery",
  json: shape({
    id: id("dlv"),
    webhook_id: id("wh"),
    event_id: id("evt"),
    event_type: enumOf(EVENT_TYPES),
    status: enumOf(DELIVERY_STATUSES),
    attempts: listOf(
      shape({
        number: { type: "integer", minimum: 1 },
        trigger: enumOf(["schedule", "manual"]),
        at: time,
        duration_ms: count,
        response_status: orNull({ type: "integer" }),
        response_body: orNull(string),
        error: orNull(enumOf(ATTEMPT_ERRORS)),
      }),
    ),
    next_attempt_at: orNull(time),
    created_at: time,
  }),
  fields: ({ id, webhook_id, event_id, event_type, status, attempts, next_attempt_at, created_at }) => ({
    id,
    webhook_id,
    event_id,
    event_type,
    status,
    attempts,
    next_attempt_at,
    created_at,
  }),
};

export const apiKeyView: View<ApiKeyRecord> = {
  name: "ApiKey",
  json: shape({ id: id("key"), name: text(NAME_MAX), last_four: string, created_at: time, last_used_at: orNull(time) }),
  fields: ({ account_id: _, hash: __, ...fields }) => fields,
};

export const oauthClientView: View<OAuthClientRecord> = {
  name: "OAuthClient",
  json: shape({
    id: id("cli"),
    name: text(NAME_MAX),
    redirect_uris: listOf(url),
    scopes: listOf(enumOf(SCOPES)),
    public: boolean,
    created_at: time,
  }),
  fields: ({ account_id: _, secret_hash: __, ...fields }) => fields,
};

export const accountView: View<AccountRecord> = {
  name: "Account",
  json: shape({ id: id("acc"), name: string, state: enumOf(ACCOUNT_STATES) }),
  fields: ({ id, name, state }) => ({ id, name, state }),
};

export const eventView: View<EventRecord> = {
  name: "Event",
  json: shape(
    {
      id: id("evt"),
      type: enumOf(EVENT_TYPES),
      created: time,
      data: shape({ object: { type: "object" } }),
      account: shape({ id: id("acc"), name: string }),
    },
    ["id", "type", "created", "data"],
  ),
  fields: ({ body }): unknown => JSON.parse(body),
  text: ({ body }) => body,
};

export const rowView: View<{ readonly [column: string]: unknown }> = {
  name: "Row",
  json: { type: "object", additionalProperties: { type: ["string", "number", "boolean", "null"] } },
  fields: (row) => row,
};
