// The resources as clients send and see them, the records that the service keeps of them, and the lists they are read by
// (spec part 2; contract part 2). Each field stands here once: what makes a resource, what changes it and what is shown of
// it follow from that; a record is what is shown and, beside that, what only the server needs.
import { decide } from "../decisions.ts";
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
/** What each scope allows, in words for users and for the OpenAPI document. */
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

/** What is taken as it comes, such as what goes into an answer: there the type alone holds what is shown to what is kept. */
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

/** Those of the members that the register names. */
const pickMembers = <M extends Members>(names: readonly string[], members: M): M =>
  unsafeCast(Object.fromEntries(names.map((name) => [name, members[name] ?? unchecked({})])));

/** What clients send of a resource, to make one (`draft`) or to change it, and what of that and beside it they are shown. */
function defineResource<D extends Members, S extends Members>(
  prefix: string,
  sent: D,
  shows: (sent: D) => S,
  rules?: Parameters<typeof object<D>>[1],
) {
  const response = object({ id: id(prefix), ...shows(required(sent)) });
  return { prefix, createBody: object(sent, rules), updateBody: partial(sent), response: response };
}

/** What an account owns. */
export interface AccountScoped extends Entity {
  readonly account_id: string;
}
const accountIndex = { account: { by: ["account_id"] } } as const;

/** What goes by time; `all` is the collection's name in each of its records, so that they are one list to sweep. */
export interface Expiring<N extends string> extends Entity {
  readonly expires_at: string;
  readonly partition: N;
}
export const expiryIndex = { expiry: { by: ["partition"], order: "expires_at" } } as const;

export const account = object({ id: id("acc"), name: string(), state: accountState });
/** As a caller sees it: `user` is null for an API key, which belongs to no user. */
export const shownAccount = object({
  ...account.members,
  user: nullable(object({ id: id("usr"), email: string({ format: "idn-email" }), name: string() })),
});
export type AccountRecord = Infer<typeof account>;
/** `all` is the same for every account, so that `page` can list them. */
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
    // Nothing is shown to strangers by omission.
    public: withDefault(boolean, false),
  },
  (sent) => ({ ...sent, ...TIMES }),
);
/** In the reading in which a new app has to bring them all. */
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
/** Its address is not kept: another public URL is another address. */
export interface DeploymentRecord
  extends Omit<Infer<typeof deployment.response>, "url">,
    AccountScoped {
  /** Environment and custom domain while live, null afterwards: an app has one live deployment an environment. */
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
 * A deployment that went with its app: nothing is left but that its address once led somewhere. Records made before they
 * were counted name no account; they stand in no list and stay.
 */
export const deploymentTombstones = collection<Entity & Partial<AccountScoped>>()(
  "gone_deployments",
  accountIndex,
);

/** A deleted app that has left more behind than goes at once. */
export type AppTombstone = AccountScoped & {
  readonly deleted_at: string;
  readonly partition: "gone_apps";
};
export const appTombstones = collection<AppTombstone>()("gone_apps", {
  all: { by: ["partition"] },
});

/** Which app holds a custom domain, as long as there is such an app; the id is the host name. */
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
    // Several apps may show the same data, so a data source can stand alone.
    app_id: withDefault(nullable(text({ min: 1, max: 64 })), null),
    /** As they came, not copied: a copy could lose a member called __proto__. */
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

/** What was sent (`raw`, until processed) and what became of it (`rows`); the id is the data source's. */
interface DataRecord extends Entity {
  readonly raw: string | readonly Row[] | null;
  readonly rows: readonly (readonly Cell[])[];
  /** The request that sent it, for the trace of the event that follows. */
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

/** A one-time link that signs a user in; the id is the SHA-256 of its token, hexadecimal. */
export const signInTokens = collection<Expiring<"sign_ins"> & { readonly user_id: string }>()(
  "sign_ins",
  {
    ...expiryIndex,
    user: { by: ["user_id"] },
  },
);

/** A browser in which a user is signed in; the id is the SHA-256 of the cookie's secret, hexadecimal. */
export const sessions = collection<Expiring<"sessions"> & { readonly user_id: string }>()(
  "sessions",
  expiryIndex,
);

/** `urlRule` says why it refuses a URL. */
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
  /** The secret before the last change, and until when `webhook-signature` carries it too. */
  readonly old_secret: string | null;
  readonly old_secret_until: string | null;
  /** Since when no attempt has succeeded: the first failure after the last success; null while all is well. */
  readonly first_failure_at: string | null;
  /** How often it was switched off, where it was: each time its deliveries begin a new queue. */
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
/** What a receiver gets. */
export type EventEnvelope = Omit<Infer<typeof envelopeSchema>, "account"> & {
  readonly account?: Infer<typeof owner>;
};

export interface EventRecord extends Pick<EventEnvelope, "id" | "type" | "created">, AccountScoped {
  /** The envelope as it goes out, serialised once: the same bytes at every attempt and in GET /events/{event_id}. */
  readonly body: string;
  /**
   * The account whose list shows it. Null for the sample event of a test delivery, and for an event past the number
   * kept that only waits for its last pending delivery.
   */
  readonly list_key: string | null;
  /** The account, for the sample event of a test delivery, "" for one past the number kept; null for all others. */
  readonly sample_account_id: string | null;
  /** The request that caused it; none causes more than one. */
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
  /** A sentence for people, such as which check of the certificate failed. */
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
  /** When the next attempt of the schedule is due; null when none is. */
  next_attempt_at: nullable(time),
  created_at: time,
});
export interface DeliveryRecord extends Infer<typeof delivery>, AccountScoped {
  /** The `webhook-timestamp` of each attempt: real time, where `at` is the service's. */
  readonly timestamps_s: readonly number[];
  /** Asked to be sent again and not attempted since. */
  readonly manual: boolean;
  /** A test delivery: sent whatever the webhook subscribes to, once. */
  readonly test: boolean;
  /**
   * Its place in its webhook's queue, null when nothing is to be sent: "0" for a manual attempt or "1", the time it is
   * due, and "r" for a retry. Compared as text, the first is the next to go.
   */
  readonly queue_position: string | null;
  /** Its webhook's queue when it was queued (see `queueOf`) while something is to be sent, null afterwards. */
  readonly queue_id: string | null;
}
export const deliveries = collection<DeliveryRecord>()("deliveries", {
  webhook: { by: ["webhook_id"] },
  webhook_status: { by: ["webhook_id", "status"] },
  event: { by: ["event_id"] },
  queue: { by: ["queue_id"], order: "queue_position" },
  waiting: { by: ["status"], order: "queue_position" },
});

/** The kept answer to a request with an Idempotency-Key; the id is a hash of credential and key. */
interface IdempotencyRecord extends Expiring<"idempotency"> {
  /** Hash of method, path and body. */
  readonly fingerprint: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
export const idempotency = collection<IdempotencyRecord>()("idempotency", expiryIndex);

/** How much of a rate window all processes have taken; the id is the account's. */
export const rateWindows = collection<Expiring<"rates"> & { readonly taken: number }>()(
  "rates",
  expiryIndex,
);

/** The service's time when a snapshot was taken; nothing else writes here. */
export const clockRecords = collection<Entity & { readonly at: string }>()("clock");

/** What commits tell (`Tx.tell`), each with the id that is its subject. */
export const TOPIC = {
  /** The queue (or webhook) whose deliveries have changed: there may be something to send or to cancel. */
  queue: "queue",
  /** The data source that waits to be processed. */
  data: "data",
  /** The account that has a new event, and may have more than are kept; "" where a deleted app has left something. */
  events: "events",
  event: "event",
  delivery: "delivery",
} as const;
