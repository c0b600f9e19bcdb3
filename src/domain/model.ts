// Resource schemas, stored records and their indexes (spec part 2). The create body, the update body and the response
// of a resource share one declaration of each field. A record is the response plus internal fields.
import {
  addIssue,
  array,
  boolean,
  custom,
  enumOf,
  type Infer,
  integer,
  type JsonSchema,
  nullable,
  object,
  optional,
  partial,
  required,
  type Schema,
  text,
  textProblem,
  withDefault,
} from "../lib/schema.ts";
import { collection, type Entity } from "./store.ts";
import {
  email,
  environment,
  hostName,
  isPrivateUse,
  NAME_MAX,
  name,
  redirectUri,
  URL_MAX,
} from "./validators.ts";

export const SCOPES = ["read:apps", "write:apps", "delete:apps", "read:data", "admin"] as const;
export type Scope = (typeof SCOPES)[number];
export const scope = enumOf(SCOPES);
/** Descriptions of the scopes, for users and for the OpenAPI document. */
export const SCOPE_LABELS: { readonly [S in Scope]: string } = {
  "read:apps": "Read access to apps and their deployments",
  "write:apps": "Create, update and deploy apps",
  "delete:apps": "Delete apps",
  "read:data": "Read access to data sources and the data in them",
  admin: "Full access to the account: apps, data, users, webhooks and keys",
};

export const EVENT_TYPES = [
  "app.created",
  "app.updated",
  "app.deployed",
  "app.deleted",
  "data.processed",
  "user.interaction",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];
export const eventType = enumOf(EVENT_TYPES);

export const deliveryStatus = enumOf(["pending", "succeeded", "failed", "cancelled"]);

export const accountState = enumOf(["active", "limited", "suspended"]);
export type AccountState = Infer<typeof accountState>;

/** A schema that does not validate. Used for response fields, which the type checker already guarantees. */
const unchecked = <T>(json: JsonSchema): Schema<T> => ({
  json,
  check: (value) => value as T,
});
const string = (rules: JsonSchema = {}) => unchecked<string>({ type: "string", ...rules });
export const idPattern = (prefix: string): string => `^${prefix}_[0-9A-Za-z]+$`;
const id = (prefix: string) => string({ pattern: idPattern(prefix) });
const url = string({ format: "uri" });
const time = string({
  format: "date-time",
  pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$",
});
const count = integer({ min: 0 });
const uncheckedArray = <T>({ json }: Schema<T>) =>
  unchecked<readonly T[]>({ type: "array", items: json });
const TIMES = { created_at: time, updated_at: time };

/** A record that belongs to an account. */
export interface AccountScoped extends Entity {
  readonly account_id: string;
}
const accountIndex = { account: { by: ["account_id"] } } as const;

export const account = object({ id: id("acc"), name: string(), state: accountState });
/** The account as its caller sees it; `user` is null for an API key, which belongs to no user. */
export const shownAccount = object({
  ...account.members,
  user: nullable(object({ id: id("usr"), email: string({ format: "idn-email" }), name: string() })),
});
export type AccountRecord = Infer<typeof account>;
export const accounts = collection<AccountRecord>()("accounts", { all: { by: [] } });

const appFields = {
  title: name,
  description: withDefault(text({ max: 5_000 }), ""),
  theme: withDefault(text({ min: 1, max: 64 }), "light"),
  // Private by default, so that no app is public by omission.
  public: withDefault(boolean, false),
};
export const app = {
  createBody: object(appFields),
  updateBody: partial(appFields),
  response: object({ id: id("app"), ...required(appFields), ...TIMES }),
};
export type AppRecord = Infer<typeof app.response> & AccountScoped;
export const apps = collection<AppRecord>()("apps", {
  ...accountIndex,
  account_public: { by: ["account_id", "public"] },
});

const deploymentFields = {
  name: text({ min: 1, max: 100 }),
  environment: withDefault(environment, "production"),
  custom_domain: withDefault(nullable(hostName), null),
};
export const deployment = {
  createBody: object(deploymentFields),
  response: object({
    id: id("dep"),
    app_id: id("app"),
    ...required(deploymentFields),
    url,
    status: enumOf(["live", "retired"]),
    deployed_at: time,
  }),
};
/** The URL is not stored, because it depends on the server's public URL. */
export type DeploymentRecord = Omit<Infer<typeof deployment.response>, "url"> & AccountScoped;
const appIndex = { app: { by: ["app_id"] } } as const;
export const deployments = collection<DeploymentRecord>()("deployments", {
  ...appIndex,
  environment: { by: ["app_id", "environment", "status"] },
  domain: { by: ["custom_domain", "status"] },
});

const column = object({
  name: string(),
  type: enumOf(["string", "number", "boolean", "datetime"]),
});
export type Column = Infer<typeof column>;
export type Cell = string | number | boolean | null;
/** Wider tables nearly always have rows and columns swapped. */
export const COLUMNS_MAX = 100;
export const CELLS_MAX = 1_000_000;
const cell = custom<Cell>({ type: ["string", "number", "boolean", "null"] }, (value) => {
  if (typeof value === "string") return textProblem(value);
  const isCell = value === null || typeof value === "boolean" || Number.isFinite(value);
  return isCell ? undefined : "must be a string, a number, true, false or null";
});
export type Row = { readonly [column: string]: Cell };
export const dataRow: Schema<Row> = {
  json: { type: "object", maxProperties: COLUMNS_MAX, additionalProperties: cell.json },
  check(row, path, issues) {
    if (typeof row !== "object" || row === null || Array.isArray(row))
      return addIssue(issues, path, "must be a flat object");
    const entries = Object.entries(row);
    if (entries.length > COLUMNS_MAX)
      return addIssue(issues, path, `must have ${COLUMNS_MAX} members at most`);
    for (const [name, value] of entries)
      for (const text of [name, value]) cell.check(text, [...path, name], issues);
    return row as Row; // not copied: a copy could lose a member called __proto__
  },
};
const rows = array(dataRow, { max: CELLS_MAX });
const csv = custom<string>({ type: "string" }, (value) =>
  typeof value === "string" ? textProblem(value) : "must be text",
);
/** Processing reports all other faults later. */
const sourceData: Schema<string | readonly Row[]> = {
  json: { anyOf: [csv.json, rows.json] },
  check: (data, path, issues) => (typeof data === "string" ? csv : rows).check(data, path, issues),
};

const dataSourceFields = {
  name: text({ min: 1, max: NAME_MAX }),
  type: enumOf(["json", "csv"]),
  // Optional, because several apps may show the same data.
  app_id: withDefault(nullable(text({ min: 1, max: 64 })), null),
};
export const dataSource = {
  createBody: object({ ...dataSourceFields, data: sourceData }, function* ({ type, data }) {
    if (type && data !== undefined && (type === "csv") !== (typeof data === "string"))
      yield { path: ["data"], detail: "must be a string for csv and an array for json" };
  }),
  response: object({
    id: id("ds"),
    ...required(dataSourceFields),
    status: enumOf(["processing", "ready", "failed"]),
    columns: nullable(uncheckedArray(column)),
    row_count: nullable(count),
    error: nullable(string()),
    ...TIMES,
  }),
};
export type DataSourceRecord = Infer<typeof dataSource.response> & AccountScoped;
export const dataSources = collection<DataSourceRecord>()("data_sources", {
  ...accountIndex,
  ...appIndex,
  status: { by: ["status"] },
});

/** Data as sent (`raw`, until processed) and as processed (`rows`); the id is the data source's. */
interface DataRecord extends Entity {
  readonly raw: string | readonly Row[] | null;
  readonly rows: readonly (readonly Cell[])[];
  /** Id of the request that sent the data, for the trace of the later event. */
  readonly request_id: string | null;
}
export const dataSourceContents = collection<DataRecord>()("data_contents");

const userFields = {
  email,
  name: withDefault(text({ max: NAME_MAX }), ""),
  permissions: withDefault(array(scope, { max: SCOPES.length, distinct: true }), []),
};
export const user = {
  createBody: object(userFields),
  updateBody: partial(userFields),
  response: object({ id: id("usr"), ...required(userFields), ...TIMES }),
};
export interface UserRecord extends Infer<typeof user.response>, AccountScoped {
  /** The e-mail address as compared. */
  readonly email_key: string;
  readonly is_admin: boolean;
}
export const users = collection<UserRecord>()(
  "users",
  { ...accountIndex, account_admin: { by: ["account_id", "is_admin"] } },
  { email: ["account_id", "email_key"] },
);

export const apiKey = {
  createBody: object({ name }),
  response: object({
    id: id("key"),
    name,
    last_four: string(),
    created_at: time,
    last_used_at: nullable(time),
  }),
};
export interface ApiKeyRecord extends Infer<typeof apiKey.response>, AccountScoped {
  /** SHA-256 of the key, hexadecimal. */
  readonly hash: string;
}
export const apiKeys = collection<ApiKeyRecord>()("api_keys", accountIndex, { hash: ["hash"] });

const oauthClientFields = {
  name,
  redirect_uris: array(redirectUri, { min: 1, max: 20, distinct: true }),
  scopes: array(scope, { min: 1, max: SCOPES.length, distinct: true }),
  public: withDefault(boolean, false),
};
export const oauthClient = {
  /** Any application can claim a private-use scheme, so a client secret must not depend on one (RFC 8252 8.5, 8.6). */
  createBody: object(oauthClientFields, function* (draft) {
    const detail =
      "must be https, or http to a loopback address: a private-use scheme is for public clients only";
    for (const [index, uri] of (draft.redirect_uris ?? []).entries())
      if (draft.public === false && isPrivateUse(uri))
        yield { path: ["redirect_uris", index], detail };
  }),
  response: object({ id: id("cli"), ...required(oauthClientFields), created_at: time }),
};
export interface OAuthClientRecord extends Infer<typeof oauthClient.response>, AccountScoped {
  /** SHA-256 of the client secret in base64url; null for a public client. */
  readonly secret_hash: string | null;
}
export const oauthClients = collection<OAuthClientRecord>()("oauth_clients", accountIndex);

const webhookFields = {
  url: text({ min: 1, max: URL_MAX, format: "uri" }),
  events: array(eventType, { min: 1, max: EVENT_TYPES.length, distinct: true }),
  secret: optional(text({ min: 1, max: 255 })),
  active: withDefault(boolean, true),
};
const { secret: _, ...shownWebhookFields } = webhookFields;
export const webhook = {
  createBody: object(webhookFields),
  updateBody: partial(webhookFields),
  response: object({
    id: id("wh"),
    ...required(shownWebhookFields),
    disabled_reason: nullable(enumOf(["gone"])),
    ...TIMES,
  }),
};
export interface WebhookRecord extends Infer<typeof webhook.response>, AccountScoped {
  readonly secret: string;
}
export const webhooks = collection<WebhookRecord>()("webhooks", accountIndex);

const owner = object({ id: id("acc"), name: string() });
export const envelopeSchema = object({
  id: id("evt"),
  type: eventType,
  created: time,
  data: object({ object: unchecked<{ readonly [member: string]: unknown }>({ type: "object" }) }),
  account: optional(owner),
});
/** The body of a webhook request. */
export type EventEnvelope = Omit<Infer<typeof envelopeSchema>, "account"> & {
  readonly account?: Infer<typeof owner>;
};

export interface EventRecord extends Pick<EventEnvelope, "id" | "type" | "created">, AccountScoped {
  /** The envelope, serialized once: the same bytes at every attempt and in GET /events/{event_id}. */
  readonly body: string;
  /** The sample event of a test delivery, which is in no list of the API. */
  readonly is_sample: boolean;
  /** Id of the request that caused the event; no request causes more than one. */
  readonly request_id: string | null;
}
export const events = collection<EventRecord>()("events", {
  account: { by: ["account_id", "is_sample"] },
  account_type: { by: ["account_id", "is_sample", "type"] },
});

const attempt = object({
  number: integer({ min: 1 }),
  trigger: enumOf(["schedule", "manual"]),
  at: time,
  duration_ms: count,
  response_status: nullable(unchecked<number>({ type: "integer" })),
  response_body: nullable(string()),
  error: nullable(
    enumOf([
      "dns",
      "refused",
      "reset",
      "tls",
      "timeout",
      "blocked_address",
      "aborted",
      "dropped",
      "status",
    ]),
  ),
  /** Human-readable detail, such as which check of the certificate failed. */
  error_detail: nullable(string()),
});
export type Attempt = Infer<typeof attempt>;
export type AttemptError = NonNullable<Attempt["error"]>;

export const delivery = object({
  id: id("dlv"),
  webhook_id: id("wh"),
  event_id: id("evt"),
  event_type: eventType,
  status: deliveryStatus,
  attempts: uncheckedArray(attempt),
  /** Time of the next scheduled attempt, or null if there is none. */
  next_attempt_at: nullable(time),
  created_at: time,
});
export interface DeliveryRecord extends Infer<typeof delivery>, AccountScoped {
  /** `webhook-timestamp` of each attempt in real time; `at` is the service's time. */
  readonly timestamps_s: readonly number[];
  /** A manual attempt is requested and still pending. */
  readonly manual: boolean;
  /** A test delivery: one attempt, whatever the webhook subscribes to. */
  readonly test: boolean;
  /** 0 for a manual attempt, 1 for one by time or postponed; the lowest is sent first. */
  readonly priority: number;
  /** Time from which the next attempt may be made; null if nothing is to be sent. */
  readonly due_at: string | null;
}
export const deliveries = collection<DeliveryRecord>()("deliveries", {
  webhook: { by: ["webhook_id"] },
  webhook_status: { by: ["webhook_id", "status"] },
  event: { by: ["event_id"] },
  queue: { by: ["webhook_id"], order: ["priority", "due_at"] },
  pending: { by: ["status"], order: ["due_at"] },
});
