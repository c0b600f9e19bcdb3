// Decisions: one entry for each gap of the specification, then what this project added. The first digit of an id is the
// part of the specification. Test titles contain the ids, and /docs shows the entries. This file is documentation:
// no code looks up a value here.

export interface Decision {
  /** The question that the specification leaves open. */
  readonly open: string;
  readonly choice: string;
  /** Common practice in other services. */
  readonly others: string;
  readonly why: string;
  /** The variant that selects another common behavior: `--variant NAME=VALUE`. */
  readonly variant?: string;
}
type Decisions = { readonly [id: string]: Decision };

/** The 32 gaps that the specification names itself. */
export const GAPS = {
  "2.themes": {
    open: "Which themes can an app have?",
    choice: "Any name of 1 to 64 characters. The default is `light`.",
    others: "Products list the themes they can draw. Grafana has light, dark and system.",
    why: "The specification lists no values, so every name is stored. Deployed apps draw `light` and `dark`; any other name follows the visitor's system.",
  },
  "2.environments": {
    open: "Which environments can an app be deployed to?",
    choice:
      "Any slug of up to 63 lower-case letters, digits and hyphens. The default is `production`.",
    others: "GitHub accepts any name and defaults to production. Vercel starts with three.",
    why: "A slug can be part of a URL. A deployment without an environment is meant for users.",
  },
  "2.webhook-fields": {
    open: "Which fields does a webhook have when it is read?",
    choice:
      "`id`, `url`, `events`, `active`, `disabled_reason`, `created_at` and `updated_at`. The secret is not returned.",
    others: "Stripe shows the secret only on create. GitHub returns asterisks.",
    why: "A secret that can be read again can leak. `disabled_reason` says why the server disabled the webhook.",
  },
  "2.data-source-fields": {
    open: "Which fields does a data source have, and how are its rows read?",
    choice:
      "`id`, `name`, `type`, `app_id`, `status`, `columns`, `row_count`, `error` and two times. Rows have an endpoint with pages.",
    others: "Most services that process uploads later return a status, such as OpenAI's files.",
    why: "Clients need to know when processing has ended and what was found.",
  },
  "2.user-fields": {
    open: "Which fields does a user have?",
    choice: "`id`, `email`, `name`, `permissions`, `created_at` and `updated_at`.",
    others: "Most have an e-mail address and a name. Roles are more common than scopes.",
    why: "These fields identify a person and say what the person may do.",
  },
  "2.app-fields": {
    open: "Which fields of a new app are required?",
    choice: "Only `title`. The others have defaults, and `public` is false by default.",
    others: "Most services require a name and give the rest defaults.",
    why: "People recognize an app by its title. No app becomes public by omission.",
  },
  "2.data-source-request": {
    open: "What does POST /data-sources take and return?",
    choice:
      "It takes `name`, `type` (`json` or `csv`), `data` and optionally `app_id`, and returns the data source with 201.",
    others: "Datawrapper takes CSV as the body. Others take files as multipart.",
    why: "Every tool can write CSV text or an array of flat JSON objects.",
  },
  "3.redeploy": {
    open: "Which deployment statuses exist besides live, and when do they change?",
    choice:
      "`live` and `retired`. A new deployment retires the one that was live in the same environment.",
    others: "GitHub sets the previous one to inactive. Vercel keeps every deployment online.",
    why: "One transaction changes both, so an environment never has two live deployments or none.",
  },
  "4.list-shape": {
    open: "What is the shape of a list, and where is its total?",
    choice: "An object with `data`, `total`, `limit` and `offset`, and a `Link` header.",
    others: "Stripe wraps lists in an object. GitHub returns an array with Link (RFC 8288).",
    why: "An object can get further members. Items are in creation order, so pages do not shift.",
    variant: "list-shape=bare",
  },
  "4.delete-response": {
    open: "What does DELETE return?",
    choice: "204 without a body. A second DELETE returns 404.",
    others: "GitHub returns 204, Stripe 200 with the id and `deleted: true`.",
    why: "Nothing is left to describe.",
    variant: "delete-response=body",
  },
  "4.create-status": {
    open: "What do a deploy and the other creates require and return?",
    choice: "201 with the resource and `Location`. A deploy requires `name`.",
    others: "GitHub returns 201, Stripe 200.",
    why: "RFC 9110 15.3.2 defines 201 for a new resource, and a deployment is one.",
    variant: "create-status=200",
  },
  "4.user-area": {
    open: "Which endpoints manage users and their permissions?",
    choice:
      "The usual five operations at `/users`. `permissions` is a field that PATCH can change.",
    others: "Auth0 and Okta use /users, GitHub /members. Some set permissions at another path.",
    why: "Clients can treat users like any other resource.",
  },
  "4.webhook-endpoints": {
    open: "What does POST /webhooks return, and which other webhook endpoints exist?",
    choice:
      "201 with the webhook and, only there, its secret. Webhooks can be read, listed, updated, deleted and tested; their deliveries can be listed and sent again.",
    others: "Nearly all have the five operations and a test. Stripe shows the secret once.",
    why: "A generated secret has to be shown once. Programs need the delivery log as well as people.",
  },
  "4.app-endpoints": {
    open: "How is a single app read and updated?",
    choice:
      "GET and PATCH at `/apps/{app_id}`. Deployments and interactions have endpoints below it.",
    others: "GitHub updates with PATCH, Shopify with PUT, Stripe with POST.",
    why: "PATCH merges only the fields sent, so it does not undo changes to the others.",
  },
  "5.token-response": {
    open: "What is the shape of the token response?",
    choice: "`access_token`, `token_type`, `expires_in`, `refresh_token` and `scope`.",
    others: "Nearly all follow RFC 6749. GitHub writes the token type in lower case.",
    why: "RFC 6749 5.1 defines these members, and stock libraries read them.",
  },
  "5.token-lifetimes": {
    open: "How long are tokens valid?",
    choice:
      "An access token 1 hour, a refresh token 30 days and one use, an authorization code 60 seconds and one use.",
    others: "Google: 1 hour. GitHub: 8 hours and 6 months. RFC 9700 rotates refresh tokens.",
    why: "A stolen access token soon expires. 30 days suit clients that are used once a month.",
  },
  "5.scope-per-endpoint": {
    open: "Which scope does each endpoint require?",
    choice:
      "The scope whose meaning covers it. Endpoints that no meaning covers require `admin`, which includes the others.",
    others: "GitHub has a scope for hooks, and `repo` includes it.",
    why: "Each scope allows what the specification's table says and no more.",
  },
  "6.emitted-by": {
    open: "Which operation emits which event, and do failed data emit one?",
    choice:
      "One operation emits each event, in the transaction of its change. `data.processed` is emitted for ready and for failed data.",
    others: "Stripe has an event for each outcome, such as payout.paid and payout.failed.",
    why: "A receiver that waits for processing must also learn that it has failed.",
  },
  "6.events-without-account": {
    open: "Which events contain the account?",
    choice: "All except user.interaction.",
    others: "Stripe names the account if the event belongs to another one.",
    why: "The specification shows it in app.deployed and omits it in user.interaction. The others follow app.deployed.",
  },
  "6.event-objects": {
    open: "What do app.created, app.updated, app.deleted and data.processed contain?",
    choice: "The app or data source as the API returns it.",
    others:
      "Stripe sends the whole object, even when deleted. Shopify sends the id of a deleted one.",
    why: "A receiver needs no further request, and a deleted app could not be read any more.",
  },
  "6.retry-schedule": {
    open: "When and how often is a delivery retried?",
    choice:
      "Nine retries after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, each with 20 % jitter.",
    others:
      "Standard Webhooks suggests this schedule. Stripe retries for three days, GitHub never.",
    why: "It outlasts a weekend's outage, and a developer sees the first retry at once.",
  },
  "6.webhook-concurrency": {
    open: "In which order do events arrive?",
    choice:
      "One attempt at a time per webhook, manual ones first, then by due time. First attempts keep the order of the events until one fails.",
    others: "Stripe, GitHub and Svix promise no order.",
    why: "A retry comes after later events, so receivers must not depend on the order.",
  },
  "7.error-body": {
    open: "What is the shape of an error body?",
    choice: "`application/problem+json` (RFC 9457) with `code` and, for invalid input, `errors`.",
    others: "RFC 9457 is spreading. Stripe and GitHub have formats of their own.",
    why: "Libraries read the standard. One response lists every invalid field.",
    variant: "error-body=flat",
  },
  "7.error-codes": {
    open: "Which error codes exist?",
    choice: "The member `code` has one word for each cause.",
    others: "Stripe has a code inside `error`, GitHub one in each of its errors.",
    why: "A program should not have to parse a URL or a sentence.",
  },
  "7.validation-status": {
    open: "Which statuses besides 401 and 403 exist?",
    choice:
      "400 for input that cannot be parsed, 422 for input that breaks a rule, 404 for what does not exist or belongs to another account.",
    others: "GitHub uses 422 for invalid fields, Stripe 400. Both use 404.",
    why: "RFC 9110 15.5.21 defines 422. The order of checks decides between several errors.",
    variant: "validation-status=400",
  },
  "8.rate-limit": {
    open: "How many requests does the rate limit allow?",
    choice: "6,000 requests per account in each fixed window of 60 s.",
    others:
      "GitHub: 5,000 an hour. Stripe: 100 a second. Both return 429; the specification says 403.",
    why: "Ordinary clients never reach it, and a test needs one clock step to pass a window.",
  },
  "8.rate-headers": {
    open: "Which headers report the rate limit?",
    choice: "`RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers.",
    others: "GitHub and many others send three X-RateLimit headers.",
    why: "The draft defines the units, which the X-RateLimit headers leave open.",
    variant: "rate-headers=x-ratelimit",
  },
  "8.max-limit": {
    open: "What is the largest limit of a list?",
    choice: "100. A larger limit is an error.",
    others: "GitHub and Stripe: 100. Shopify: 250. GitHub cuts a larger limit, Stripe rejects it.",
    why: "A client that gets fewer items than it requested could miss the rest.",
    variant: "max-limit=cut",
  },
  "8.body-size": {
    open: "How large can a body be?",
    choice: "1 MiB, or 10 MiB for a data source.",
    others: "nginx: 1 MiB. Express: 100 KiB.",
    why: "A usual body has about 1 KiB, and a table of 100,000 rows fits into 10 MiB.",
  },
  "8.field-lengths": {
    open: "How long can fields be?",
    choice: "Names 200 code points, a description 5,000, a URL 2,048.",
    others: "Many limits come from database columns, such as 255 and 65,535 in MySQL.",
    why: "A name fits on a line, and every proxy accepts such a URL.",
  },
  "9.deprecation": {
    open: "How is the end of an operation announced?",
    choice: "Nothing is deprecated, so there is no policy yet.",
    others: "GitHub sends Deprecation and Sunset headers. Most write a changelog and an e-mail.",
    why: "RFC 9745 and RFC 8594 define headers that can be added when something ends.",
  },
  "9.other-versions": {
    open: "How are further versions announced?",
    choice: "Paths of other versions return a 404 that names the supported version.",
    others: "Most return a plain 404. GitHub returns 400 for an unknown version header.",
    why: "A client of a later version learns why its requests fail.",
  },
} as const satisfies Decisions;

/** Additions that users of such a service expect. */
export const ADDITIONS = {
  "1.dashboard": {
    open: "Where is the account dashboard, and can a program do the same?",
    choice: "At `/dashboard`. Its pages call the operations of the API.",
    others: "Most have a host of their own. Few manage API keys through the API.",
    why: "One port serves everything, and no page can do more than the API.",
  },
  "1.docs": {
    open: "Is there documentation for people and for programs?",
    choice: "`/docs` for people, and an OpenAPI 3.1 document at `/openapi.json` for programs.",
    others: "Most have both, on hosts of their own.",
    why: "Both are built from the route table of the running server, so they cannot be out of date.",
  },
  "1.rfcs": {
    open: "Which standards apply where the specification says nothing?",
    choice: "RFC 7009, 8252, 8259, 8414, 8707, 9068, 9110, 9112, 9207, 9700 and 9728.",
    others: "All follow RFC 6749 and 6750, some follow the others.",
    why: "Stock libraries then work without changes.",
  },
  "1.test-controls": {
    open: "How does a test control the server's start, clock, failures and data?",
    choice:
      "With flags and a seed file, `startService` and, with `--control`, HTTP at `/_control`.",
    others: "Stripe has test clocks. WireMock has an admin API.",
    why: "They are off by default and apart from `/v1`, so clients of the service do not find them.",
  },
  "1.chaos": {
    open: "How does a test cause failures of deliveries?",
    choice: "Six effects: duplicate, reorder, drop, delay, bad signature and reformatted JSON.",
    others: "Toxiproxy disturbs connections. No known sender of webhooks offers this.",
    why: "A receiver must handle each of them, and none happens often by itself.",
  },
  "2.data-reading": {
    open: "How do columns get their types?",
    choice:
      "The first of number, boolean, datetime and string that fits every value. Empty cells are null.",
    others: "pandas and DuckDB infer types too. pandas reads 007 as 7.",
    why: "Codes such as 007 and numbers that a double would round stay text.",
  },
  "2.unknown-members": {
    open: "Can a request have members or parameters that the operation does not know?",
    choice: "No. The error names each one.",
    others: "Stripe rejects them, GitHub ignores them.",
    why: "A misspelled name is noticed at once.",
    variant: "unknown-members=ignored",
  },
  "3.account-states": {
    open: "What can a limited or suspended account do?",
    choice: "A limited account can only read. A suspended account can do nothing.",
    others: "Unpaid accounts can often still read. GitHub returns 403 for a suspended one.",
    why: "The specification names both states and one status, 403.",
  },
  "3.custom-domain": {
    open: "What happens if two apps request the same custom domain?",
    choice: "The second app gets 409 until no live deployment of the first holds the domain.",
    others: "Vercel returns 409, Netlify 422.",
    why: "A host name can lead to only one app, across all accounts.",
  },
  "3.data-processing": {
    open: "Does POST /data-sources wait until the data are processed?",
    choice: "No. The status is `processing` first, and later `ready` or `failed`.",
    others: "Most process small uploads at once and large ones later.",
    why: "10 MiB take a moment. Processing continues after a restart.",
  },
  "3.delivery-cancelled": {
    open: "What happens to pending deliveries when their webhook is deleted or disabled?",
    choice: "Their status becomes `cancelled`. A 410 response also disables the webhook.",
    others: "Most let them fail or delete them from the log.",
    why: "Nobody needs them any more, and nothing has failed.",
  },
  "4.etag": {
    open: "How does a client detect changes and avoid overwriting them?",
    choice: "A single resource has a strong `ETag`. If-Match and If-None-Match are supported.",
    others: "Express sends weak tags. Few services support If-Match.",
    why: "RFC 9110 13 defines both. An update of an older version gets 412.",
  },
  "4.idempotency": {
    open: "How can a client repeat a POST safely?",
    choice: "With `Idempotency-Key`. The first success is replayed for 24 hours.",
    others: "Stripe stores responses for 24 hours, or 30 days in its second version.",
    why: "A day outlasts the retries of a client. Errors are not stored, so a corrected request can succeed.",
  },
  "5.pkce": {
    open: "Is PKCE supported?",
    choice: "Yes, with S256. Public clients must use it.",
    others: "OAuth 2.1 requires it of all clients. Most services support it.",
    why: "It protects codes from theft. `plain` is rejected, because it exposes the verifier.",
  },
  "5.sign-in": {
    open: "How does a user sign in to the dashboard and for consent?",
    choice:
      "On this machine by choosing a user from a list. Elsewhere an API key of the account is required first. A session lasts 12 hours.",
    others: "Most use passwords or links by e-mail.",
    why: "A server that only this machine can reach needs no password, and no e-mail is sent.",
  },
  "6.webhook-policy": {
    open: "Which URLs can a webhook have?",
    choice:
      "`strict`: https to public addresses. `local`, the default on loopback: also http or https to this machine and to private networks.",
    others: "Stripe accepts http only in test mode, GitHub always.",
    why: "A local receiver has no certificate. A public server must not send requests into its own network.",
  },
  "8.bounds": {
    open: "Which other limits apply?",
    choice:
      "URL 8 KiB, headers 16 KiB, JSON nesting 64, 100 columns and 1,000,000 cells per data source, 10,000 events per account. A page of an app shows 200 rows and 30 columns of a table.",
    others: "nginx: 8 KiB for URL and headers. Every service has a page of limits.",
    why: "Ordinary clients stay far below, and one hostile client cannot use up the server.",
  },
} as const satisfies Decisions;

export type DecisionId = keyof typeof GAPS | keyof typeof ADDITIONS;

export const DECISIONS: { readonly [id in DecisionId]: Decision } = { ...GAPS, ...ADDITIONS };
