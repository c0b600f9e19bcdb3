// Decision register: the gaps in the specification and the choice this server made for each. Code reads the choice from
// its row. An id begins with its part of the specification, and tests with that id verify the row. `or` is the value
// under the `other` reading. A row that is `named` can be switched at startup. `field` describes common practice. Plain
// bounds, names and page details are constants in the code, not rows. This file imports nothing; /docs shows it.

export interface Decision {
  readonly open: string;
  readonly choice: {
    readonly is: unknown;
    readonly or: unknown;
    readonly other: string;
    readonly named?: string;
  };
  readonly field: string;
  readonly why: string;
}
type Decisions = { readonly [id: string]: Decision };

/** One row for each gap that the specification names itself. */
export const GAPS = {
  "2.themes": {
    open: "the themes that an app may have",
    choice: { is: "^.*", or: "^(light|dark)$", other: "a closed list" },
    field: "products list the names they draw; Grafana: light, dark, system",
    why: "any name is kept, since the values are not shown; light and dark are drawn as named, light where none is",
  },
  "2.environments": {
    open: "the environments that may be deployed to",
    choice: {
      is: "^[a-z0-9][a-z0-9-]{0,62}$",
      or: "^(production|preview|development)$",
      other: "a closed list",
    },
    field:
      "GitHub takes any name and means production where none is given; Vercel starts from three",
    why: "any slug, so that it can stand in a URL; whoever names none means the one that users see, production",
  },
  "2.webhook-fields": {
    open: "what a webhook looks like when it is read, its identifier included",
    choice: {
      is: ["disabled_reason", "created_at", "updated_at"],
      or: ["secret", "created_at"],
      other: "the secret",
    },
    field: "Stripe shows the secret on create only; GitHub shows asterisks in its place",
    why: "id (wh_…), url, events, active and these; a secret that is read again leaks; and it says why it is off",
  },
  "2.data-source-fields": {
    open: "the fields of a data source, and how it is read back",
    choice: {
      is: ["status", "columns", "row_count", "error"],
      or: ["status"],
      other: "no more than a state",
    },
    field:
      "what is read later has a state nearly everywhere (OpenAI's files: in_progress, completed, failed)",
    why: "beside id (ds_…), name, type, app_id: how far it is and what was found; rows are read a page at a time",
  },
  "2.user-fields": {
    open: "the fields of a user",
    choice: {
      is: ["email", "name", "permissions"],
      or: ["email", "permissions"],
      other: "an address alone",
    },
    field: "an address and a name in most; roles are commoner than scopes",
    why: "whom a person recognises, and what the user may do; the id is usr_…, and the times are as everywhere",
  },
  "3.redeploy": {
    open: "the deployment statuses beside live, and the transitions",
    choice: {
      is: { live: "retired" },
      or: { live: "live" },
      other: "those before stay live beside the new one",
    },
    field:
      "GitHub sets the one before to inactive; at Vercel every deployment stays up under its own URL",
    why: "one is live in an environment; the one before it is retired in the same commit and stays readable",
  },
  "2.app-fields": {
    open: "which fields of a new app are required",
    choice: {
      is: ["title"],
      or: ["title", "description", "theme", "public"],
      other: "all four",
      named: "all",
    },
    field: "most services require a name and give defaults to the rest",
    why: "the title is what people know an app by; nothing is shown to strangers by omission: public is false",
  },
  "4.list-shape": {
    open: "the form of a list of apps, and its total",
    choice: {
      is: '{"data":<items>,"total":<total>,"limit":<limit>,"offset":<offset>}',
      or: "<items>",
      other: "bare, the total in X-Total-Count",
      named: "bare",
    },
    field: "Stripe wraps (data, has_more); GitHub answers an array with Link (RFC 8288)",
    why: "a wrapper can grow and carries the total; Link names the next page; creation order, so that no page shifts",
  },
  "4.delete-response": {
    open: "what deleting an app answers",
    choice: { is: 204, or: 200, other: "200 and what was deleted", named: "body" },
    field: "GitHub: 204; Stripe: 200 with the id and deleted: true",
    why: "nothing is left to describe, and a second delete is a 404",
  },
  "4.create-status": {
    open: "what a deploy, or any other create, requires and answers",
    choice: { is: 201, or: 200, other: "200, as for a read", named: "200" },
    field: "GitHub: 201; Stripe: 200",
    why: "RFC 9110 15.3.2: something new can be found at Location; a deploy requires a name and answers the deployment",
  },
  "2.data-source-request": {
    open: "what creating a data source takes and answers",
    choice: { is: ["json", "csv"], or: ["csv"], other: "CSV alone" },
    field: "Datawrapper takes CSV as the body; others take files as multipart",
    why: "a name and data in one of the two forms that every tool can write: an array of flat objects, or CSV as text",
  },
  "4.user-area": {
    open: "how users and their permissions are managed",
    choice: { is: "/users", or: "/members", other: "members of the account" },
    field:
      "Auth0 and Okta: /users; GitHub: /members; permissions are set with the user or at a path of their own",
    why: "the same five operations as for any other resource; permissions are a field, which PATCH changes",
  },
  "4.webhook-endpoints": {
    open: "what registering a webhook answers, and how it is read, changed and removed",
    choice: { is: "secret", or: "signing_secret", other: "the secret under a name of its own" },
    field:
      "Stripe shows secret once, Resend signing_secret; nearly all have the five operations and a test",
    why: "a secret made here has to be told once, and only once; the delivery log is there for programs as well",
  },
  "4.app-endpoints": {
    open: "how one app is read or changed",
    choice: { is: "PATCH", or: "PUT", other: "the whole app is sent again" },
    field: "GitHub: PATCH; Shopify: PUT; Stripe: POST",
    why: "a merge of the fields sent undoes nobody's work; deployments and interactions lie under the app as well",
  },
  "5.token-response": {
    open: "the form of the token answer",
    choice: { is: "Bearer", or: "bearer", other: "token_type in lower case" },
    field: "RFC 6749 5.1 in nearly all; GitHub writes bearer",
    why: "member for member as in the RFC: access_token, token_type, expires_in, refresh_token, scope",
  },
  "5.token-lifetimes": {
    open: "how long tokens last",
    choice: {
      is: { access_h: 1, refresh_d: 30 },
      or: { access_h: 8, refresh_d: 184 },
      other: "a working day, half a year",
    },
    field:
      "Google: an hour; GitHub: 8 hours and 6 months; single use of refresh tokens after RFC 9700",
    why: "revoking is felt at once, so an hour will do; 30 days keep what is used once a month; a code: 60 s, once",
  },
  "5.scope-per-endpoint": {
    open: "the scope that each endpoint takes",
    choice: { is: "admin", or: "write:apps", other: "whoever writes apps manages the rest" },
    field: "GitHub has a scope for hooks, and repo opens them as well",
    why: "each scope does what its line in the table says; what no line names belongs to admin",
  },
  "6.emitted-by": {
    open: "which operation emits which event, and whether data that could not be read are told of",
    choice: { is: ["ready", "failed"], or: ["ready"], other: "success alone is told" },
    field: "Stripe has an event for each outcome (payout.paid, payout.failed)",
    why: "one operation each, in the commit of the change; whoever waits for data.processed must not wait for ever",
  },
  "6.events-without-account": {
    open: "which events name the account, beyond the two examples",
    choice: {
      is: ["user.interaction"],
      or: ["user.interaction", "app.deleted"],
      other: "only what still exists",
    },
    field: "Stripe names it where an event is another account's",
    why: "app.deployed shows it and user.interaction leaves it out; the rest follow app.deployed",
  },
  "6.event-objects": {
    open: "what app.created, app.updated, app.deleted and data.processed contain",
    choice: {
      is: ["id", "title", "description", "theme", "public", "created_at", "updated_at"],
      or: ["id"],
      other: "app.deleted has the id alone",
      named: "id",
    },
    field: "Stripe sends the whole object, deleted or not; Shopify the id of what is gone",
    why: "the resource as it stands in an answer: a receiver needs no further request, and not even for what is gone",
  },
  "6.retry-schedule": {
    open: "when and how often a delivery is tried again",
    choice: {
      is: ["5s", "5m", "30m", "2h", "5h", "10h", "14h", "20h", "24h"],
      or: [],
      other: "never",
    },
    field:
      "Standard Webhooks suggests this one; Stripe tries for three days; GitHub does not try again",
    why: "it outlasts a weekend's outage, and the first retry comes while a developer watches; 20 % of jitter",
  },
  "6.webhook-concurrency": {
    open: "in which order events arrive",
    choice: { is: 1, or: 4, other: "several at once to one webhook", named: "several" },
    field: "Stripe, GitHub and Svix promise no order",
    why: "first attempts go in the order of what was acknowledged, in a fleet as its clocks agree, until one fails",
  },
  "7.error-body": {
    open: "the form of an error's body",
    choice: {
      is: "application/problem+json",
      or: "application/json",
      other: "error: {code, message}",
      named: "flat",
    },
    field: "RFC 9457 spreads; Stripe and GitHub have forms of their own",
    why: "a standard that libraries read; detail is for people, and every fault of a request comes in one answer",
  },
  "7.error-codes": {
    open: "the error codes",
    choice: { is: "code", or: "error", other: "the code stands in error" },
    field: "Stripe: code inside error; GitHub: code in each of its errors",
    why: "one word for each cause beside the RFC's members, so that a program need not read a URL or a sentence",
  },
  "7.validation-status": {
    open: "the statuses beside 401 and 403, for wrong input and for what is not there",
    choice: { is: 422, or: 400, other: "400 for every wrong input", named: "400" },
    field: "GitHub: 422; Stripe: 400; 404 for what is not there or another's in both",
    why: "400 is for what cannot be read, 422 (RFC 9110 15.5.21) for what breaks a rule; of several the first is told",
  },
  "8.rate-limit": {
    open: "how many requests the rate limit allows",
    choice: {
      is: { requests: 6_000, window_s: 60 },
      or: { requests: 5_000, window_s: 3_600 },
      other: "by the hour",
    },
    field:
      "GitHub: 5,000 an hour; Stripe: 100 a second; over it 429 everywhere, where the specification has 403",
    why: "no ordinary client meets it, a runaway loop does; a fixed minute is tested with one jump of the clock",
  },
  "8.rate-headers": {
    open: "the headers that report the rate limit",
    choice: {
      is: {
        "ratelimit-policy": '"default";q=<limit>;w=<window>',
        ratelimit: '"default";r=<remaining>;t=<reset>',
      },
      or: {
        "x-ratelimit-limit": "<limit>",
        "x-ratelimit-remaining": "<remaining>",
        "x-ratelimit-reset": "<reset>",
      },
      other: "three headers",
      named: "x-ratelimit",
    },
    field: "GitHub and many: X-RateLimit-Limit, -Remaining and -Reset, in seconds or as a time",
    why: "draft-ietf-httpapi-ratelimit-headers is what the field agrees on at last, and it names its unit",
  },
  "8.max-limit": {
    open: "the largest limit of a list, and what becomes of one over it",
    choice: {
      is: { most: 100, over: "refused" },
      or: { most: 100, over: "cut" },
      other: "it is cut",
      named: "cut",
    },
    field: "GitHub, Stripe: 100; Shopify: 250; GitHub cuts what is over it, Stripe refuses it",
    why: "a page stays small enough to be built in one go; a limit beyond it is refused, so that nobody misses rows",
  },
  "8.body-size": {
    open: "how large bodies may be",
    choice: { is: { any_mib: 1, data_mib: 10 }, or: { any_mib: 2, data_mib: 50 }, other: "wider" },
    field: "nginx: 1 MiB; Express: 100 KiB",
    why: "a thousand times a usual body and still parsed in a blink; a spreadsheet of a hundred thousand rows fits",
  },
  "8.field-lengths": {
    open: "how long fields may be",
    choice: {
      is: { name: 200, text: 5_000, url: 2_048 },
      or: { name: 255, text: 65_535, url: 8_000 },
      other: "longer",
    },
    field: "what a column of the database held: 255 and 65,535 are MySQL's",
    why: "a line, a page, and an address that everything in between carries; they count code points, as people do",
  },
  "9.deprecation": {
    open: "how and how long before something ends",
    choice: {
      is: ["deprecation", "sunset"],
      or: ["warning", "x-sunset"],
      other: "headers of before the RFCs",
    },
    field: "GitHub sends both; most write a changelog and a mail",
    why: "RFC 9745 says since when, RFC 8594 until when, on every answer of what ends; nothing does yet",
  },
  "9.other-versions": {
    open: "how further versions are announced",
    choice: {
      is: "This server speaks <version> only.",
      or: "There is no such path.",
      other: "a bare 404",
    },
    field: "a bare 404 where the version is in the path; GitHub: 400 where it is in a header",
    why: "a 404 that names the version there is tells a client of tomorrow what happened",
  },
} as const satisfies Decisions;

/** Features beyond the specification that users of such a service expect. */
export const ADDED = {
  "1.dashboard": {
    open: "where the account dashboard is, and whether a program can do what it does",
    choice: { is: "/dashboard", or: "/account", other: "another address" },
    field: "dashboard.stripe.com and the like: a host of its own; keys by API at few",
    why: "one address for all; each page calls the API's own operation, keys, OAuth clients and events included",
  },
  "1.test-controls": {
    open: "how a person or a test controls the server: its start, its time, its failures, what it has seen",
    choice: { is: "/_control", or: "/__admin", other: "WireMock's address" },
    field: "Stripe has test clocks; mock servers have an address of their own",
    why: "beside the API and off unless asked for: what a test may do, no client of the service should find",
  },
  "1.chaos": {
    open: "how a test of a receiver meets what can go wrong with deliveries",
    choice: {
      is: ["duplicate", "reorder", "drop", "delay", "bad_signature", "reformat"],
      or: ["drop"],
      other: "one",
    },
    field: "Toxiproxy disturbs connections; no sender of webhooks offers it",
    why: "at least once and in no certain order is what is promised; these make each of it happen when asked for",
  },
  "2.unknown-members": {
    open: "whether a body or a query may have members that the operation does not know",
    choice: { is: false, or: true, other: "they are ignored", named: "ignored" },
    field: "Stripe refuses them; GitHub ignores them",
    why: "they are refused by name, so that a misspelt member never passes in silence",
  },
  "3.account-states": {
    open: "what a limited account may still do, and what a suspended one",
    choice: { is: ["GET", "HEAD", "OPTIONS"], or: [], other: "limited stops everything, too" },
    field:
      "who is behind with paying mostly reads on; who is suspended at GitHub gets 403 everywhere",
    why: "limited stops growth and not the reading of what is there; suspended stops everything",
  },
  "3.custom-domain": {
    open: "what happens when two apps ask for one custom domain",
    choice: { is: 409, or: 422, other: "a field that is wrong" },
    field: "Vercel: 409; Netlify: 422",
    why: "a host name leads to one place: it is one app's, of all accounts, until no live deployment holds it",
  },
  "3.data-processing": {
    open: "whether the answer to POST /data-sources waits for the data to be read, and how that ends",
    choice: {
      is: ["processing", "ready", "failed"],
      or: ["pending", "complete", "error"],
      other: "other words",
    },
    field: "small uploads are read at once, large ones behind the answer with a state and an event",
    why: "ten MiB take a moment: kept first, then read, also after a restart; what cannot be read is an outcome",
  },
  "3.delivery-cancelled": {
    open: "what becomes of deliveries that wait when their webhook is deleted or switched off",
    choice: { is: "cancelled", or: "failed", other: "they fail" },
    field: "few have a word for it: they fail, or vanish from the log",
    why: "nobody wants them any more, and nothing went wrong; a 410 switches a webhook off",
  },
  "4.idempotency": {
    open: "how a create can be repeated safely",
    choice: {
      is: { keep_h: 24, key_max: 255 },
      or: { keep_h: 720, key_max: 255 },
      other: "for 30 days",
    },
    field:
      "Stripe: 24 hours, 30 days in its second version; draft-ietf-httpapi-idempotency-key-header",
    why: "a day outlasts the retries of any client; refusals are judged anew, and what is shown once is not replayed",
  },
  "4.etag": {
    open: "how a client tells that a resource has changed, and does not undo another's work",
    choice: { is: '"<hash>"', or: 'W/"<hash>"', other: "weak tags, which If-Match cannot use" },
    field: "Express makes weak ones; few services take If-Match",
    why: "RFC 9110 13: equal tags are equal bytes, also after a restart; a change made of an older version is a 412",
  },
  "5.sign-in": {
    open: "how a user signs in to the dashboard and for consent, and for how long",
    choice: { is: 12, or: 168, other: "a week" },
    field: "passwords, mostly",
    why: "there is no password to keep, leak or forget; elsewhere than on loopback an API key comes first",
  },
  "5.pkce": {
    open: "whether PKCE is supported",
    choice: { is: "S256", or: "plain", other: "plain, which RFC 7636 has as well" },
    field: "OAuth 2.1 requires it of all; most services offer it",
    why: "it stops stolen codes; required of public clients, which have nothing else; plain shows the verifier",
  },
  "6.webhook-policy": {
    open: "which URLs a webhook may have while the server is on loopback",
    choice: { is: "local", or: "strict", other: "https to public addresses alone" },
    field: "Stripe takes http in test mode only; GitHub takes it anywhere",
    why: "a receiver on this machine or in its private network has no certificate; a public server reaches neither",
  },
} as const satisfies Decisions;

/** One row for many small points that share a choice. */
export const SUMMED_UP = {
  "1.rfcs": {
    open: "which standards fill in what is not said of HTTP, JSON and OAuth",
    choice: {
      is: ["oauth-authorization-server", "openid-configuration"],
      or: ["openid-configuration"],
      other: "metadata at OpenID Connect's address alone",
    },
    field:
      "RFC 6749 and 6750 are followed by all, the rest by some; metadata mostly after OpenID Connect",
    why: "RFC 8259, 8414, 7009, 7662, 8707, 9068, 9110, 9112, 9207, 9700, 9728: stock libraries work unchanged",
  },
  "2.data-reading": {
    open: "how columns get their types, and what stands in gaps",
    choice: {
      is: ["number", "boolean", "datetime", "string"],
      or: ["string"],
      other: "CSV is text, and stays it",
    },
    field: "pandas and DuckDB guess as well; pandas reads 007 as 7",
    why: "the first type that all values have; what a double would round, and codes such as 007, stay text; gaps are null",
  },
  "8.bounds": {
    open: "how much, how many, how deep and how long in all other places",
    choice: {
      is: { url: 8_192, headers: 16_384, nesting: 64, columns: 100, events: 10_000 },
      or: { url: 2_048, headers: 8_192, nesting: 32, columns: 256, events: 1_000 },
      other: "tighter ones",
    },
    field: "nginx: 8 KiB for URL and headers; a page of limits in every service's manual",
    why: "each is far above what an honest client sends; without them one hostile client holds the server",
  },
} as const satisfies Decisions;

export const DECISIONS = { ...GAPS, ...ADDED, ...SUMMED_UP };
export type DecisionId = keyof typeof DECISIONS;

/** Returns the row's choice with its literal type. Call it when a module loads. */
export const decide = <I extends DecisionId>(id: I): (typeof DECISIONS)[I]["choice"]["is"] =>
  DECISIONS[id].choice.is;
