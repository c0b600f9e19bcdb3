// Resource schemas, stored records and their indexes (spec part 2; contract part 2). Each field is declared once.
// Create body, update body and response derive from it; a record is the response plus internal fields.
import { decide } from "../former-decisions.ts";
import type { Infer, JsonSchema, Members, Schema } from "../lib/schema.ts";
import {
  array,
  boolean,
  integer,
  nullable,
  object,
  oneOf,
  optional,
  partial,
  required,
  text,
  unsafeCast,
  withDefault,
} from "../lib/schema.ts";
import { collection, type Entity } from "./store.ts";
import { email, environment, hostName, isPrivateUse, name, redirectUri } from "./validators.ts";

export const SCOPES = ["read:apps", "write:apps", "delete:apps", "read:data", "admin"] as const;
export type Scope = (typeof SCOPES)[number];
export const scope = oneOf(SCOPES);
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
export const eventType = oneOf(EVENT_TYPES);

export const deliveryStatus = oneOf(["pending", "succeeded", "failed", "cancelled"]);

export const accountState = oneOf(["active", "limited", "suspended"]);
export type AccountState = Infer<typeof accountState>;

/** A schema that does not validate. Used for response fields, which the type checker already guarantees. */
export const unchecked = <T>(json: JsonSchema): Schema<T> => ({ json, check: unsafeCast });
const string = (rules: JsonSchema = {}) => unchecked<string>({ type: "string", ...rules });
const id = (prefix: string) => string({ pattern: `^${prefix}_[0-9A-Za-z]+$` });
const url = string({ format: "uri" });
const time = string({
  format: "date-time",
  pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$",
});
const count = integer({ min: 0 });
const arrayOf = <T>({ json }: Schema<T>) => unchecked<readonly T[]>({ type: "array", items: json });
const TIMES = { created_at: time, updated_at: time };
const LENGTHS = decide("8.field-lengths");

/** Picks the members that the decision register names. */
const pickMembers = <M extends Members>(names: readonly string[], members: M): M =>
  unsafeCast(Object.fromEntries(names.map((name) => [name, members[name] ?? unchecked({})])));

/** Defines a resource from the fields that clients send. Returns schemas for create body, update body and response. */
function defineResource<D extends Members, S extends Members>(
  prefix: string,
  sent: D,
  shows: (sent: D) => S,
  rules?: Parameters<typeof object<D>>[1],
) {
  const response = object({ id: id(prefix), ...shows(required(sent)) });
  return { prefix, createBody: object(sent, rules), updateBody: partial(sent), response: response };
}

/** A record that belongs to an account. */
export interface AccountScoped extends Entity {
  readonly account_id: string;
}
const accountIndex = { account: { by: ["account_id"] } } as const;

/** A record with an expiry. `partition` is the collection's name in every record, so that one index lists them all. */
export interface Expiring<N extends string> extends Entity {
  readonly expires_at: string;
  readonly partition: N;
}
export const expiryIndex = { expiry: { by: ["partition"], order: "expires_at" } } as const;

export const account = object({ id: id("acc"), name: string(), state: accountState });
/** The account as its caller sees it; `user` is null for an API key, which belongs to no user. */
export const shownAccount = object({
  ...account.members,
  user: nullable(object({ id: id("usr"), email: string({ format: "idn-email" }), name: string() })),
});
export type AccountRecord = Infer<typeof account>;
/** `partition` is the same for every account, so that `page` can list them. */
export const accounts = collection<AccountRecord & { readonly partition: "accounts" }>()(
  "accounts",
  {
    all: { by: ["partition"] },
  },
);

export const app = defineResource(
  "app",
  {
    title: name,
    description: withDefault(text({ max: LENGTHS.text }), ""),
    theme: withDefault(text({ min: 1, max: 64, pattern: new RegExp(decide("2.themes")) }), "light"),
    // Private by default, so that no app is public by omission.
    public: withDefault(boolean, false),
  },
  (sent) => ({ ...sent, ...TIMES }),
);
/** Create body under the variant that requires every field. */
export const strictAppDraft = object(required(app.createBody.members));
export type AppRecord = Infer<typeof app.response> & AccountScoped;
export const apps = collection<AppRecord>()("apps", {
  ...accountIndex,
  account_public: { by: ["account_id", "public"] },
});

export const deployment = defineResource(
  "dep",
  {
    name: text({ min: 1, max: 100 }),
    custom_domain: withDefault(nullable(hostName), null),
    environment: withDefault(environment, "production"),
  },
  ({ custom_domain, ...sent }) => ({
    ...{ app_id: id("app"), ...sent, custom_domain, url },
    ...{ status: oneOf(["live", decide("3.redeploy").live]), deployed_at: time },
  }),
);
/** The URL is not stored, because it depends on the server's public URL. */
export interface DeploymentRecord
  extends Omit<Infer<typeof deployment.response>, "url">,
    AccountScoped {
  /** Environment and custom domain while live, then null: an app has one live deployment per environment. */
  readonly live_in: string | null;
  readonly live_domain: string | null;
}
const appIndex = { app: { by: ["app_id"] } } as const;
export const deployments = collection<DeploymentRecord>()(
  "deployments",
  { ...appIndex, live_domain: { by: ["app_id", "live_domain"] } },
  { live: ["app_id", "live_in"] },
);

/**
 * Tombstone of a deployment deleted with its app, so that its address responds as gone. Records created before
 * tombstones were counted have no account: they are in no list and stay.
 */
export const deploymentTombstones = collection<Entity & Partial<AccountScoped>>()(
  "gone_deployments",
  accountIndex,
);

/** A deleted app with more leftovers than one batch can delete. */
export type AppTombstone = AccountScoped & {
  readonly deleted_at: string;
  readonly partition: "gone_apps";
};
export const appTombstones = collection<AppTombstone>()("gone_apps", {
  all: { by: ["partition"] },
});

/** The app that holds a custom domain, while that app exists; the id is the host name. */
export const domains = collection<Entity & { readonly app_id: string }>()("domains");

const column = object({ name: string(), type: oneOf(["string", "number", "boolean", "datetime"]) });
export type Column = Infer<typeof column>;
export type Cell = string | number | boolean | null;
export const dataRow = unchecked<{ readonly [column: string]: Cell }>({
  type: "object",
  maxProperties: decide("8.bounds").columns,
  additionalProperties: { type: ["string", "number", "boolean", "null"] },
});
export type Row = Infer<typeof dataRow>;

export const dataSource = defineResource(
  "ds",
  {
    name: text({ min: 1, max: LENGTHS.name }),
    type: oneOf(decide("2.data-source-request")),
    // Optional, because several apps may show the same data.
    app_id: withDefault(nullable(text({ min: 1, max: 64 })), null),
    /** Stored as sent, not copied: a copy could lose a member called __proto__. */
    data: unchecked<string | readonly Row[]>({}),
  },
  ({ data: _, ...sent }) => ({
    ...sent,
    ...pickMembers(decide("2.data-source-fields"), {
      status: oneOf(decide("3.data-processing")),
      columns: nullable(arrayOf(column)),
      row_count: nullable(count),
      error: nullable(string()),
    }),
    ...TIMES,
  }),
);
export type DataSourceDraft = Infer<typeof dataSource.createBody>;
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

export const user = defineResource(
  "usr",
  {
    email,
    name: withDefault(text({ max: LENGTHS.name }), ""),
    permissions: withDefault(array(scope, { max: SCOPES.length, distinct: true }), []),
  },
  (sent) => ({ ...pickMembers(decide("2.user-fields"), sent), ...TIMES }),
);
export interface UserRecord extends Infer<typeof user.response>, AccountScoped {
  readonly email_key: string;
  readonly is_admin: boolean;
}
export const users = collection<UserRecord>()(
  "users",
  {
    ...accountIndex,
    account_admin: { by: ["account_id", "is_admin"] },
    email: { by: ["email_key"] },
  },
  { email: ["account_id", "email_key"] },
);

export const apiKey = defineResource("key", { name }, (sent) => ({
  ...sent,
  last_four: string(),
  created_at: time,
  last_used_at: nullable(time),
}));
export interface ApiKeyRecord extends Infer<typeof apiKey.response>, AccountScoped {
  /** SHA-256 of the key, hexadecimal. */
  readonly hash: string;
}
export const apiKeys = collection<ApiKeyRecord>()("api_keys", accountIndex, { hash: ["hash"] });

/** Any application can claim a private-use scheme, so a client secret must not depend on one (RFC 8252 8.5, 8.6). */
export function* redirectFaults(draft: {
  readonly redirect_uris: readonly string[];
  readonly public: boolean;
}) {
  for (const [at, uri] of draft.redirect_uris.entries())
    if (!draft.public && isPrivateUse(uri))
      yield {
        path: ["redirect_uris", at],
        detail:
          "must be https, or http to a loopback address: a private-use scheme is for public clients only",
      };
}

export const oauthClient = defineResource(
  "cli",
  {
    name,
    redirect_uris: array(redirectUri, { min: 1, max: 20, distinct: true }),
    scopes: array(scope, { min: 1, max: SCOPES.length, distinct: true }),
    public: withDefault(boolean, false),
  },
  (sent) => ({ ...sent, created_at: time }),
  redirectFaults,
);
export interface OAuthClientRecord extends Infer<typeof oauthClient.response>, AccountScoped {
  /** SHA-256 of the client secret, hexadecimal; null for a public client. */
  readonly secret_hash: string | null;
}
export const oauthClients = collection<OAuthClientRecord>()("oauth_clients", accountIndex);

/** The pending second step of a sign-in; the id is the SHA-256 of its one-time state, hexadecimal. */
export const signInStates = collection<Expiring<"sign_in_states"> & { readonly key_id: string }>()(
  "sign_in_states",
  expiryIndex,
);

/** A browser session of a user; the id is the SHA-256 of the cookie's secret, hexadecimal. */
export const sessions = collection<
  Expiring<"sessions"> & {
    readonly user_id: string;
    /** The API key that opened the session, if one did. */
    readonly key_id: string | null;
  }
>()("sessions", expiryIndex);

/** `urlRule` returns the reason why a URL is invalid, if it is. */
export const createWebhookSchemas = (urlRule: (url: string) => string | undefined) =>
  defineResource(
    "wh",
    {
      url: text({ min: 1, max: LENGTHS.url, format: "uri", rule: urlRule }),
      events: array(eventType, { min: 1, max: EVENT_TYPES.length, distinct: true }),
      secret: optional(text({ min: 1, max: 255 })),
      active: withDefault(boolean, true),
    },
    ({ secret: _, ...sent }) => ({
      ...sent,
      ...pickMembers(decide("2.webhook-fields"), {
        disabled_reason: nullable(oneOf(["gone", "failing"])),
        ...TIMES,
      }),
    }),
  );
export type WebhookSchemas = ReturnType<typeof createWebhookSchemas>;
export const webhook = createWebhookSchemas(() => undefined);
export interface WebhookRecord extends Infer<typeof webhook.response>, AccountScoped {
  readonly secret: string;
  /** The previous secret, and the time until which `webhook-signature` carries it too. */
  readonly old_secret: string | null;
  readonly old_secret_until: string | null;
  /** Time of the first failure after the last success; null if there is none. */
  readonly first_failure_at: string | null;
  /** Number of times the webhook was disabled; each time starts a new queue. */
  readonly queue_generation?: number;
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
  /** The envelope, serialised once: the same bytes at every attempt and in GET /events/{event_id}. */
  readonly body: string;
  /**
   * The account whose list contains the event. Null for the sample event of a test delivery. It becomes null for an
   * event beyond the limit that only waits for its last pending delivery.
   */
  readonly list_key: string | null;
  /** The account of a test delivery's sample event, "" once it is beyond the limit; null for all other events. */
  readonly sample_account_id: string | null;
  /** Id of the request that caused the event; no request causes more than one. */
  readonly request_id: string | null;
}
export const events = collection<EventRecord>()("events", {
  account: { by: ["list_key"] },
  account_type: { by: ["list_key", "type"] },
  sample: { by: ["sample_account_id"] },
});

export const ATTEMPT_ERRORS = [
  "dns",
  "refused",
  "reset",
  "tls",
  "timeout",
  "blocked_address",
  "aborted",
  "dropped",
  "status",
] as const;
export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

const attempt = object({
  number: integer({ min: 1 }),
  trigger: oneOf(["schedule", "manual"]),
  at: time,
  duration_ms: count,
  response_status: nullable(unchecked<number>({ type: "integer" })),
  response_body: nullable(string()),
  error: nullable(oneOf(ATTEMPT_ERRORS)),
  /** Human-readable detail, such as which check of the certificate failed. */
  error_detail: nullable(string()),
});
export type Attempt = Infer<typeof attempt>;

export const delivery = object({
  id: id("dlv"),
  webhook_id: id("wh"),
  event_id: id("evt"),
  event_type: eventType,
  status: deliveryStatus,
  attempts: arrayOf(attempt),
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
  /**
   * Position in the webhook's queue, null if nothing is to be sent: "0" for a manual attempt or "1", the due time, and
   * "r" for a retry. The smallest text is sent first.
   */
  readonly queue_position: string | null;
  /** The webhook's queue at the time of queueing (see `currentQueueId`), null if nothing is to be sent. */
  readonly queue_id: string | null;
}
export const deliveries = collection<DeliveryRecord>()("deliveries", {
  webhook: { by: ["webhook_id"] },
  webhook_status: { by: ["webhook_id", "status"] },
  event: { by: ["event_id"] },
  queue: { by: ["queue_id"], order: "queue_position" },
  waiting: { by: ["status"], order: "queue_position" },
});

/** The stored response to a request with an Idempotency-Key; the id is a hash of credential and key. */
interface IdempotencyRecord extends Expiring<"idempotency"> {
  /** Hash of method, path and body. */
  readonly fingerprint: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
export const idempotency = collection<IdempotencyRecord>()("idempotency", expiryIndex);

/** Requests counted in a rate window across all processes; the id is the account's. */
export const rateWindows = collection<Expiring<"rates"> & { readonly taken: number }>()(
  "rates",
  expiryIndex,
);

/** The service's time at a snapshot; nothing else writes here. */
export const clockRecords = collection<Entity & { readonly at: string }>()("clock");

/** Topics that transactions publish to (`Tx.publish`); each subject is an id. */
export const TOPIC = {
  /** A queue (or webhook) whose deliveries changed, so that some may need sending or cancelling. */
  queue: "queue",
  /** A data source that waits for processing. */
  data: "data",
  /** An account with a new event, which may exceed its limit; "" if a deleted app has leftovers. */
  events: "events",
  event: "event",
  delivery: "delivery",
} as const;
