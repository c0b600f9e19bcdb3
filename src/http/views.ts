// The resources as clients see them (spec part 2; contract part 2): each view lists its fields once, as a schema for the
// OpenAPI document and as the function that picks them from a record.
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
import { shownFields } from "../domain/owned.ts";
import { decide } from "../kit/decisions.ts";
import type { JsonSchema } from "../kit/schema.ts";
import type { View } from "./view.ts";

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

export const appView: View<AppRecord> = {
  name: "App",
  json: shape({
    id: id("app"),
    title: text(200),
    description: text(5_000),
    theme: text(64),
    public: boolean,
    created_at: time,
    updated_at: time,
  }),
  fields: shownFields,
};

export const deploymentView: View<DeploymentRecord> = {
  name: "Deployment",
  json: shape(
    decide(
      "2.deployment-fields",
      {
        id: id("dep"),
        app_id: id("app"),
        name: text(100),
        environment: string,
        custom_domain: orNull(string),
        url,
        status: enumOf(["live", "retired"]),
        deployed_at: time,
      },
      {
        open: "the body of the answer to a deploy",
        why: "the deployment with what was asked for beside the four fields that the events show",
      },
    ),
  ),
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

export const dataSourceView: View<DataSourceRecord> = {
  name: "DataSource",
  json: shape(
    decide(
      "2.data-source-fields",
      {
        id: id("ds"),
        name: text(200),
        type: enumOf(["json", "csv"]),
        app_id: orNull(id("app")),
        status: enumOf(["processing", "ready", "failed"]),
        columns: orNull(listOf(shape({ name: string, type: enumOf(COLUMN_TYPES) }))),
        row_count: orNull(count),
        error: orNull(string),
        created_at: time,
        updated_at: time,
      },
      {
        open: "the fields of a data source",
        why: "what it is, how far its processing has come, and what was found in it; the rows are read a page at a time",
      },
    ),
  ),
  fields: ({ account_id: _, ...fields }) => fields,
};

export const userView: View<UserRecord> = {
  name: "User",
  json: shape(
    decide(
      "2.user-fields",
      {
        id: id("usr"),
        email: text(254),
        name: text(200),
        permissions: listOf(enumOf(SCOPES)),
        created_at: time,
        updated_at: time,
      },
      { open: "the fields of a user", why: "whom a person recognises, and what the user may do" },
    ),
  ),
  fields: ({ account_id: _, email_key: __, is_admin: ___, ...fields }) => fields,
};

export const webhookView: View<WebhookRecord> = {
  name: "Webhook",
  json: shape(
    decide(
      "2.webhook-fields",
      {
        id: id("wh"),
        url,
        events: { ...listOf(enumOf(EVENT_TYPES)), minItems: 1, uniqueItems: true },
        active: boolean,
        disabled_reason: orNull(enumOf(["gone", "failing"])),
        created_at: time,
        updated_at: time,
      },
      {
        open: "the fields returned for a webhook",
        why: "what was sent on create, but never the secret again; and why it is off, where the server switched it off",
      },
    ),
  ),
  fields: ({ id, url, events, active, disabled_reason, created_at, updated_at }) => ({
    id,
    url,
    events,
    active,
    disabled_reason,
    created_at,
    updated_at,
  }),
};

export const deliveryView: View<DeliveryRecord> = {
  name: "Delivery",
  json: shape(
    decide(
      "6.delivery-log",
      {
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
      },
      {
        open: "what the delivery log shows of a delivery",
        why: "status, response code and every attempt with its time and its fault: enough to mend a receiver without asking anybody",
      },
    ),
  ),
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
  json: shape({ id: id("key"), name: text(200), last_four: string, created_at: time, last_used_at: orNull(time) }),
  fields: ({ account_id: _, hash: __, ...fields }) => fields,
};

export const oauthClientView: View<OAuthClientRecord> = {
  name: "OAuthClient",
  json: shape({
    id: id("cli"),
    name: text(200),
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
