// The resources as clients send and see them, the records that the service keeps of them, and the lists they are read by
// (spec part 2; contract part 2). Each field stands here once: what makes a resource, what changes it and what is shown of
// it follow from that; a record is what is shown and, beside that, what only the server needs.
import { decide } from "../decisions.ts";
import type { Infer, JsonSchema, Members, Schema } from "../kit/schema.ts";
import {
  changesOf,
  flag,
  list,
  nullable,
  object,
  oneOf,
  optional,
  required,
  text,
  trusted,
  whole,
  withDefault,
} from "../kit/schema.ts";
import { email, environment, hostName, isPrivateUse, name, redirectUri } from "./fields.ts";
import { collection, type Stored } from "./store.ts";

export const SCOPES = ["read:apps", "write:apps", "delete:apps", "read:data", "admin"] as const;
export type Scope = (typeof SCOPES)[number];
export const scope = oneOf(SCOPES);
/** What each scope allows, in words for users and for the OpenAPI document. */
export const SCOPES_IN_WORDS: { readonly [S in Scope]: string } = {
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
export const asItIs = <T>(json: JsonSchema): Schema<T> => ({ json, check: trusted });
const string = (rules: JsonSchema = {}) => asItIs<string>({ type: "string", ...rules });
const id = (prefix: string) => string({ pattern: `^${prefix}_[0-9A-Za-z]+$` });
const url = string({ format: "uri" });
const time = string({ format: "date-time", pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$" });
const count = whole({ min: 0 });
const listOf = <T>({ json }: Schema<T>) => asItIs<readonly T[]>({ type: "array", items: json });
const TIMES = { created_at: time, updated_at: time };
const LENGTHS = decide("8.field-lengths");

/** Those of the members that the register names. */
const only = <M extends Members>(names: readonly string[], members: M): M =>
  trusted(Object.fromEntries(names.map((name) => [name, members[name] ?? asItIs({})])));

/** What clients send of a resource, to make one (`draft`) or to change it, and what of that and beside it they are shown. */
function resource<D extends Members, S extends Members>(
  prefix: string,
  sent: D,
  shows: (sent: D) => S,
  rules?: Parameters<typeof object<D>>[1],
) {
  const shown = object({ id: id(prefix), ...shows(required(sent)) });
  return { prefix, draft: object(sent, rules), changes: changesOf(sent), shown };
}

/** What an account owns. */
export interface OfAccount extends Stored {
  readonly account_id: string;
}
const ofAccount = { account: { by: ["account_id"] } } as const;

/** What goes by time; `all` is the collection's name in each of its records, so that they are one list to sweep. */
export interface Passing<N extends string> extends Stored {
  readonly expires_at: string;
  readonly all: N;
}
export const byExpiry = { expiry: { by: ["all"], order: "expires_at" } } as const;

export const account = object({ id: id("acc"), name: string(), state: accountState });
/** As a caller sees it: `user` is null for an API key, which belongs to no user. */
export const shownAccount = object({
  ...account.members,
  user: nullable(object({ id: id("usr"), email: string({ format: "idn-email" }), name: string() })),
});
export type AccountRecord = Infer<typeof account>;
/** `all` is the same for every account, so that `page` can list them. */
export const accounts = collection<AccountRecord & { readonly all: "accounts" }>()("accounts", {
  all: { by: ["all"] },
});

export const app = resource(
  "app",
  {
    title: name,
    description: withDefault(text({ max: LENGTHS.text }), ""),
    theme: withDefault(text({ min: 1, max: 64, pattern: new RegExp(decide("2.themes")) }), "light"),
    // Nothing is shown to strangers by omission.
    public: withDefault(flag, false),
  },
  (sent) => ({ ...sent, ...TIMES }),
);
/** In the reading in which a new app has to bring them all. */
export const wholeAppDraft = object(required(app.draft.members));
export type AppRecord = Infer<typeof app.shown> & OfAccount;
export const apps = collection<AppRecord>()("apps", {
  ...ofAccount,
  account_public: { by: ["account_id", "public"] },
});

export const deployment = resource(
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
export interface DeploymentRecord extends Omit<Infer<typeof deployment.shown>, "url">, OfAccount {
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
export const goneDeployments = collection<Stored & Partial<OfAccount>>()("gone_deployments", ofAccount);

/** A deleted app that has left more behind than goes at once. */
export type GoneApp = OfAccount & { readonly deleted_at: string; readonly all: "gone_apps" };
export const goneApps = collection<GoneApp>()("gone_apps", { all: { by: ["all"] } });

/** Which app holds a custom domain, as long as there is such an app; the id is the host name. */
export const domains = collection<Stored & { readonly app_id: string }>()("domains");

const column = object({ name: string(), type: oneOf(["string", "number", "boolean", "datetime"]) });
export type Column = Infer<typeof column>;
export type Cell = string | number | boolean | null;
export const dataRow = asItIs<{ readonly [column: string]: Cell }>({
  type: "object",
  maxProperties: decide("8.bounds").columns,
  additionalProperties: { type: ["string", "number", "boolean", "null"] },
});
export type Row = Infer<typeof dataRow>;

export const dataSource = resource(
  "ds",
  {
    name: text({ min: 1, max: LENGTHS.name }),
    type: oneOf(decide("2.data-source-request")),
    // Several apps may show the same data, so a data source can stand alone.
    app_id: withDefault(nullable(text({ min: 1, max: 64 })), null),
    /** As they came, not copied: a copy could lose a member called __proto__. */
    data: asItIs<string | readonly Row[]>({}),
  },
  ({ data: _, ...sent }) => ({
    ...sent,
    ...only(decide("2.data-source-fields"), {
      status: oneOf(decide("3.data-processing")),
      columns: nullable(listOf(column)),
      row_count: nullable(count),
      error: nullable(string()),
    }),
    ...TIMES,
  }),
);
export type DataSourceDraft = Infer<typeof dataSource.draft>;
export type DataSourceRecord = Infer<typeof dataSource.shown> & OfAccount;
export const dataSources = collection<DataSourceRecord>()("data_sources", {
  ...ofAccount,
  ...ofApp,
  status: { by: ["status"] },
});

/** What was sent (`raw`, until processed) and what became of it (`rows`); the id is the data source's. */
interface DataRecord extends Stored {
  readonly raw: string | readonly Row[] | null;
  readonly rows: readonly (readonly Cell[])[];
  /** The request that sent it, for the trace of the event that follows. */
  readonly request_id: string | null;
}
export const dataContents = collection<DataRecord>()("data_contents");

export const user = resource(
  "usr",
  {
    email,
    name: withDefault(text({ max: LENGTHS.name }), ""),
    permissions: withDefault(list(scope, { max: SCOPES.length, distinct: true }), []),
  },
  (sent) => ({ ...only(decide("2.user-fields"), sent), ...TIMES }),
);
export interface UserRecord extends Infer<typeof user.shown>, OfAccount {
  readonly email_key: string;
  readonly is_admin: boolean;
}
export const users = collection<UserRecord>()(
  "users",
  { ...ofAccount, account_admin: { by: ["account_id", "is_admin"] }, email: { by: ["email_key"] } },
  { email: ["account_id", "email_key"] },
);

export const apiKey = resource("key", { name }, (sent) => ({
  ...sent,
  last_four: string(),
  created_at: time,
  last_used_at: nullable(time),
}));
export interface ApiKeyRecord extends Infer<typeof apiKey.shown>, OfAccount {
  /** SHA-256 of the key, hexadecimal. */
  readonly hash: string;
}
export const apiKeys = collection<ApiKeyRecord>()("api_keys", ofAccount, { hash: ["hash"] });

/** Any application can claim a private-use scheme, so a client secret must not depend on one (RFC 8252 8.5, 8.6). */
export function* redirectFaults(draft: { readonly redirect_uris: readonly string[]; readonly public: boolean }) {
  for (const [at, uri] of draft.redirect_uris.entries())
    if (!draft.public && isPrivateUse(uri))
      yield {
        path: ["redirect_uris", at],
        detail: "must be https, or http to a loopback address: a private-use scheme is for public clients only",
      };
}

export const oauthClient = resource(
  "cli",
  {
    name,
    redirect_uris: list(redirectUri, { min: 1, max: 20, distinct: true }),
    scopes: list(scope, { min: 1, max: SCOPES.length, distinct: true }),
    public: withDefault(flag, false),
  },
  (sent) => ({ ...sent, created_at: time }),
  redirectFaults,
);
export interface OAuthClientRecord extends Infer<typeof oauthClient.shown>, OfAccount {
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
export const sessions = collection<Passing<"sessions"> & { readonly user_id: string }>()("sessions", byExpiry);

/** `urlRule` says why it refuses a URL. */
export const webhookUnder = (urlRule: (url: string) => string | undefined) =>
  resource(
    "wh",
    {
      url: text({ min: 1, max: LENGTHS.url, format: "uri", rule: urlRule }),
      events: list(eventType, { min: 1, max: EVENT_TYPES.length, distinct: true }),
      secret: optional(text({ min: 1, max: 255 })),
      active: withDefault(flag, true),
    },
    ({ secret: _, ...sent }) => ({
      ...sent,
      ...only(decide("2.webhook-fields"), { disabled_reason: nullable(oneOf(["gone", "failing"])), ...TIMES }),
    }),
  );
export type WebhookBodies = ReturnType<typeof webhookUnder>;
export const webhook = webhookUnder(() => undefined);
export interface WebhookRecord extends Infer<typeof webhook.shown>, OfAccount {
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

const owner = object({ id: id("acc"), name: string() });
export const envelope = object({
  id: id("evt"),
  type: eventType,
  created: time,
  data: object({ object: asItIs<{ readonly [member: string]: unknown }>({ type: "object" }) }),
  account: optional(owner),
});
/** What a receiver gets. */
export type EventEnvelope = Omit<Infer<typeof envelope>, "account"> & { readonly account?: Infer<typeof owner> };

export interface EventRecord extends Pick<EventEnvelope, "id" | "type" | "created">, OfAccount {
  /** The envelope as it goes out, serialised once: the same bytes at every attempt and in GET /events/{event_id}. */
  readonly body: string;
  /**
   * The account whose list shows it. Null for the sample event of a test delivery, and for an event past the number
   * kept that only waits for its last pending delivery.
   */
  readonly listed_in: string | null;
  /** The account, for the sample event of a test delivery, "" for one past the number kept; null for all others. */
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

const attempt = object({
  number: whole({ min: 1 }),
  trigger: oneOf(["schedule", "manual"]),
  at: time,
  duration_ms: count,
  response_status: nullable(asItIs<number>({ type: "integer" })),
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
  attempts: listOf(attempt),
  /** When the next attempt of the schedule is due; null when none is. */
  next_attempt_at: nullable(time),
  created_at: time,
});
export interface DeliveryRecord extends Infer<typeof delivery>, OfAccount {
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

/** How much of a rate window all processes have taken; the id is the account's. */
export const rates = collection<Passing<"rates"> & { readonly taken: number }>()("rates", byExpiry);

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
