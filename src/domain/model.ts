// The records that the service keeps (spec part 2; contract part 2) and the lists they are read by. A record holds the
// resource's own fields and, behind them, what only the server needs; `views` in http/ names what goes out.
import { oneOf } from "../kit/schema.ts";
import { collection, type Stored } from "./store.ts";

export const SCOPES = ["read:apps", "write:apps", "delete:apps", "read:data", "admin"] as const;
export type Scope = (typeof SCOPES)[number];
export const scope = oneOf(SCOPES);

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

export const DELIVERY_STATUSES = ["pending", "succeeded", "failed", "cancelled"] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

export const ACCOUNT_STATES = ["active", "limited", "suspended"] as const;
export type AccountState = (typeof ACCOUNT_STATES)[number];

export interface AccountRecord extends Stored {
  readonly name: string;
  readonly state: AccountState;
}
/** `all` is the same for every account, so that `page` can list them. */
export const accounts = collection<AccountRecord & { readonly all: "accounts" }>()("accounts", {
  all: { by: ["all"] },
});

/** What an account made, and what it can change afterwards. */
interface Made extends Stored {
  readonly created_at: string;
  readonly account_id: string;
}
interface Changeable extends Made {
  readonly updated_at: string;
}
const ofAccount = { account: { by: ["account_id"] } } as const;

/** What goes by time; `all` is the collection's name in each of its records, so that they are one list to sweep. */
export interface Passing<N extends string> extends Stored {
  readonly expires_at: string;
  readonly all: N;
}
export const byExpiry = { expiry: { by: ["all"], order: "expires_at" } } as const;

export interface AppRecord extends Changeable {
  readonly title: string;
  readonly description: string;
  readonly theme: string;
  readonly public: boolean;
}
export const apps = collection<AppRecord>()("apps", {
  ...ofAccount,
  account_public: { by: ["account_id", "public"] },
});

export interface DeploymentRecord extends Stored {
  readonly app_id: string;
  readonly name: string;
  readonly environment: string;
  readonly custom_domain: string | null;
  readonly status: "live" | "retired";
  readonly deployed_at: string;
  readonly account_id: string;
  /** Environment and custom domain while live, null afterwards: an app has one live deployment an environment. */
  readonly live_in: string | null;
  readonly live_domain: string | null;
}
const ofApp = { app: { by: ["app_id"] } } as const;
export const deployments = collection<DeploymentRecord>()(
  "deployments",
  { ...ofApp, live_domain: { by: ["app_id", "live_domain"] } },
  { live: ["app_id", "live_in"] },
);

/**
 * A deployment that went with its app: nothing is left but that its address once led somewhere. Records made before they
 * were counted name no account; they stand in no list and stay.
 */
export const goneDeployments = collection<Stored & { readonly account_id?: string }>()("gone_deployments", ofAccount);

/** A deleted app that has left more behind than goes at once. */
export type GoneApp = Pick<Made, "id" | "account_id"> & { readonly deleted_at: string; readonly all: "gone_apps" };
export const goneApps = collection<GoneApp>()("gone_apps", { all: { by: ["all"] } });

/** Which app holds a custom domain, as long as there is such an app; the id is the host name. */
export const domains = collection<Stored & { readonly app_id: string }>()("domains");

export const COLUMN_TYPES = ["string", "number", "boolean", "datetime"] as const;
export interface Column {
  readonly name: string;
  readonly type: (typeof COLUMN_TYPES)[number];
}
export type Cell = string | number | boolean | null;

export interface DataSourceRecord extends Changeable {
  readonly name: string;
  readonly type: "json" | "csv";
  readonly app_id: string | null;
  readonly status: "processing" | "ready" | "failed";
  readonly columns: readonly Column[] | null;
  readonly row_count: number | null;
  readonly error: string | null;
}
export const dataSources = collection<DataSourceRecord>()("data_sources", {
  ...ofAccount,
  ...ofApp,
  status: { by: ["status"] },
});

/** What was sent (`raw`, until processed) and what became of it (`rows`); the id is the data source's. */
interface DataRecord extends Stored {
  readonly raw: string | readonly { readonly [column: string]: Cell }[] | null;
  readonly rows: readonly (readonly Cell[])[];
  /** The request that sent it, for the trace of the event that follows. */
  readonly request_id: string | null;
}
export const dataContents = collection<DataRecord>()("data_contents");

export interface UserRecord extends Changeable {
  readonly email: string;
  readonly name: string;
  readonly permissions: readonly Scope[];
  readonly email_key: string;
  readonly is_admin: boolean;
}
export const users = collection<UserRecord>()(
  "users",
  { ...ofAccount, account_admin: { by: ["account_id", "is_admin"] }, email: { by: ["email_key"] } },
  { email: ["account_id", "email_key"] },
);

export interface ApiKeyRecord extends Made {
  readonly name: string;
  readonly last_four: string;
  readonly last_used_at: string | null;
  /** SHA-256 of the key, hexadecimal. */
  readonly hash: string;
}
export const apiKeys = collection<ApiKeyRecord>()("api_keys", ofAccount, { hash: ["hash"] });

export interface OAuthClientRecord extends Made {
  readonly name: string;
  readonly redirect_uris: readonly string[];
  readonly scopes: readonly Scope[];
  readonly public: boolean;
  /** SHA-256 of the client secret, hexadecimal; null for a public client. */
  readonly secret_hash: string | null;
}
export const oauthClients = collection<OAuthClientRecord>()("oauth_clients", ofAccount);

/** A one-time link that signs a user in; the id is the SHA-256 of its token, hexadecimal. */
export const signIns = collection<Passing<"sign_ins"> & { readonly user_id: string }>()("sign_ins", {
  ...byExpiry,
  user: { by: ["user_id"] },
});

/** A browser in which a user is signed in; the id is the SHA-256 of the cookie's secret, hexadecimal. */
interface SessionRecord extends Passing<"sessions"> {
  readonly user_id: string;
  readonly created_at: string;
}
export const sessions = collection<SessionRecord>()("sessions", byExpiry);

export interface WebhookRecord extends Changeable {
  readonly url: string;
  readonly events: readonly EventType[];
  readonly active: boolean;
  readonly disabled_reason: "gone" | "failing" | null;
  readonly secret: string;
  /** The secret before the last change, and until when `webhook-signature` carries it too. */
  readonly old_secret: string | null;
  readonly old_secret_until: string | null;
  /** Since when no attempt has succeeded: the first failure after the last success; null while all is well. */
  readonly failing_since: string | null;
  /** How often it was switched off, where it was: each time its deliveries begin a new queue. */
  readonly times_off?: number;
}
export const webhooks = collection<WebhookRecord>()("webhooks", ofAccount);

/** What a receiver gets. */
export interface EventEnvelope {
  readonly id: string;
  readonly type: EventType;
  readonly created: string;
  readonly data: { readonly object: { readonly [member: string]: unknown } };
  readonly account?: { readonly id: string; readonly name: string };
}

export interface EventRecord extends Stored {
  readonly type: EventType;
  readonly created: string;
  /** The envelope as it goes out, serialised once: the same bytes at every attempt and in GET /events/{event_id}. */
  readonly body: string;
  readonly account_id: string;
  /**
   * The account whose list shows it. Null for the sample event of a test delivery, and for an event past the number
   * kept that only waits for its last pending delivery.
   */
  readonly listed_in: string | null;
  /** The account, for the sample event of a test delivery; null for all others. */
  readonly sample_of: string | null;
  /** The request that caused it; none causes more than one. */
  readonly request_id: string | null;
}
export const events = collection<EventRecord>()("events", {
  account: { by: ["listed_in"] },
  account_type: { by: ["listed_in", "type"] },
  sample: { by: ["sample_of"] },
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

export interface Attempt {
  readonly number: number;
  readonly trigger: "schedule" | "manual";
  readonly at: string;
  readonly duration_ms: number;
  readonly response_status: number | null;
  readonly response_body: string | null;
  readonly error: AttemptError | null;
}

export interface DeliveryRecord extends Made {
  readonly webhook_id: string;
  readonly event_id: string;
  readonly event_type: EventType;
  readonly status: DeliveryStatus;
  readonly attempts: readonly Attempt[];
  /** When the next attempt of the schedule is due; null when none is. */
  readonly next_attempt_at: string | null;
  /** Asked to be sent again and not attempted since. */
  readonly manual: boolean;
  /** A test delivery: sent whatever the webhook subscribes to, once. */
  readonly test: boolean;
  /**
   * Its place in its webhook's queue, null when nothing is to be sent: "0" asked for by hand, "1" never attempted,
   * "2" to be tried again, each followed by the time it is due. Compared as text, the first is the next to go.
   */
  readonly queue: string | null;
  /** Its webhook's queue when it was queued (see `queueOf`) while something is to be sent, null afterwards. */
  readonly queue_of: string | null;
}
export const deliveries = collection<DeliveryRecord>()("deliveries", {
  webhook: { by: ["webhook_id"] },
  webhook_status: { by: ["webhook_id", "status"] },
  event: { by: ["event_id"] },
  queue: { by: ["queue_of"], order: "queue" },
  waiting: { by: ["status"], order: "queue" },
});

/** The kept answer to a request with an Idempotency-Key; the id is a hash of credential and key. */
interface IdempotencyRecord extends Passing<"idempotency"> {
  /** Hash of method, path and body. */
  readonly fingerprint: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}
export const idempotency = collection<IdempotencyRecord>()("idempotency", byExpiry);

/** The service's time when a snapshot was taken; nothing else writes here. */
export const clockRecords = collection<Stored & { readonly at: string }>()("clock");

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
