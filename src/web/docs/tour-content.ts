// The tour's content: the specification in our own words, each sentence with the ids of its clauses, which are test
// names. Each part has a request and this server's response ("…" marks text that varies); a test runs one and compares
// the other. Open points are in the decision register. This file imports nothing; /docs/tour shows it.

export interface Part {
  /** Sentences by the ids of their clauses. */
  readonly says: { readonly [clauses: string]: string };
  /** `at` is relative to the server's URL; `$NAME` is a shell variable. `token: null` sends no credential. */
  readonly request: { readonly at: string; readonly body?: object; readonly token?: null };
  /** The relevant lines of the response, as `curl -i` prints them. */
  readonly answer: string;
  readonly tryThis: string;
  /** A sequence diagram of one of the flows, for web/sequence-diagram. */
  readonly picture?: { readonly title: string; readonly lines: readonly string[] };
}

/** The parts by title, in order. */
export const PARTS: { readonly [title: string]: Part } = {
  Purpose: {
    says: {
      "1.apps": "Apps that show data are made, listed and removed by a client.",
      "1.deploy":
        "An app goes live in an environment with a name, and under a host name of its own if wanted.",
      "1.data-sources": "What apps draw on are data sources, which clients make, too.",
      "1.manage-users": "Who belongs to an account, and what each may do there, is managed.",
      "1.webhooks":
        "Whoever registers a webhook is told what happens, and need not ask again and again.",
      "1.json": "JSON goes in and comes out, over HTTPS.",
    },
    request: {
      at: "POST /v1/data-sources",
      body: { name: "Visitors", type: "csv", data: "month,count\n2026-01,9" },
    },
    answer: `HTTP/1.1 201 Created
location: $URL/v1/data-sources/ds_…
{"id":"ds_…","name":"Visitors","type":"csv","app_id":null,"status":"processing","columns":null,…}`,
    tryThis:
      "Ask at `location` what was found. Then misplace a quotation mark in the CSV: see `status`, `error`.",
  },
  Resources: {
    says: {
      "2.app.id": "The service gives an app its id, which begins with app_.",
      "2.app.title 2.app.description 2.app.theme 2.app.public":
        "These four come back as they were sent.",
      "2.app.created_at 2.app.updated_at": "Two times say when: in UTC, after ISO 8601.",
      "2.deployment-request.name 2.deployment-request.environment":
        "A deploy names itself and its environment.",
      "2.deployment-request.custom_domain": "It can name a host under which the app is to be seen.",
      "2.deployment.id 2.deployment.url":
        "A deployment in an event has an id (dep_…) and the address of the app.",
      "2.deployment.status 2.deployment.deployed_at": "It says what it is, and since when.",
      "2.webhook.url 2.webhook.events":
        "A webhook is an https address, and the types of event that go there.",
      "2.webhook.secret 2.webhook.active": "It has a secret to sign them with, and can be off.",
      "2.account": "Some events name the account: its id (acc_…) and its name.",
    },
    request: {
      at: "POST /v1/apps",
      body: { title: "Harbour sales", description: "", theme: "dark", public: true },
    },
    answer: `HTTP/1.1 201 Created
{"id":"app_…","title":"Harbour sales","description":"","theme":"dark","public":true,"created_at":"…Z","updated_at":"…Z"}`,
    tryThis:
      "Misspell a member: this server names it, others drop it. For the next page: `export APP_ID=app_…`",
  },
  States: {
    says: {
      "3.deployment.live": "Of a deployment one status is ever seen: live.",
      "3.app-no-state": "An app itself has no state.",
    },
    request: {
      at: "POST /v1/apps/$APP_ID/deploy",
      body: { name: "Release 1", environment: "production" },
    },
    answer: `HTTP/1.1 201 Created
{"id":"dep_…","app_id":"app_…","name":"Release 1",…,"url":"$URL/sites/dep_…/","status":"live","deployed_at":"…Z"}`,
    tryThis:
      "Deploy again, and read `/apps/$APP_ID/deployments`: what became of the first is our choice alone.",
  },
  Endpoints: {
    says: {
      "4.paths": "Six operations are shown, all below the base URL.",
      "4.create-app": "One takes the four fields of an app and answers all seven.",
      "4.list-apps 4.list-apps.limit 4.list-apps.offset":
        "One lists apps: so many, from so far on.",
      "4.list-apps.public": "It can be asked for the public or the private ones alone.",
      "4.delete-app 4.app-id-segment": "One deletes the app whose id stands in the path.",
      "4.deploy": "One deploys it: name, custom_domain, environment.",
      "4.create-data-source": "One makes a data source; of what, is left open.",
      "4.create-webhook": "One registers where events go: url, events, secret, active.",
    },
    request: { at: "GET /v1/apps?public=true&limit=1" },
    answer: `HTTP/1.1 200 OK
{"data":[{"id":"app_…","title":"Harbour sales",…}],"total":…,"limit":1,"offset":0}`,
    tryThis:
      "Make more and follow `link`. A client for all servers takes bare arrays, too: a short page ends them.",
  },
  Authentication: {
    says: {
      "5.bearer-header": "Each request bears Authorization: Bearer and a key or a token.",
      "5.api-key.full-access": "A key opens all that is the account’s.",
      "5.oauth.authorize":
        "An application gets a code through the user’s browser, with the state that it gave.",
      "5.oauth.exchange 5.oauth.client-credentials": "For the code and its secret it gets tokens.",
      "5.oauth.jwt 5.oauth.bearer": "They are JWTs, and are sent like a key.",
      "5.oauth.refresh": "A refresh token fetches new ones.",
      "5.refresh-failure.expired 5.refresh-failure.credentials":
        "It does not once it has run out, or for strangers.",
      "5.refresh-failure.revoked": "Nor does it when access was taken back.",
      "5.scope.read-apps 5.scope.write-apps 5.scope.delete-apps":
        "Scopes let a token see, change, delete apps.",
      "5.scope.read-data 5.scope.admin": "One lets it see data, and one do everything.",
      "5.401.missing 5.401.format 5.401.invalid 5.401.expired":
        "401: none, misshapen, wrong, out of date.",
      "5.403.scope 5.403.suspended 5.403.limited":
        "403: it does not suffice, or the account is held back.",
    },
    request: { at: "GET /v1/apps", token: null },
    answer: `HTTP/1.1 401 Unauthorized
www-authenticate: Bearer realm="app-hosting", resource_metadata="…"
{"type":"$URL/docs/errors#missing_credential","title":"No credential was sent","status":401,…,"code":"missing_credential"}`,
    tryThis:
      "Send `Authorization: Basic abc`, then a wrong key: `code` tells them apart. All of OAuth: page Start.",
    picture: {
      title: "The authorization code flow",
      lines: [
        "User → Client: wants to use the client",
        "Client → User: 302 to /oauth/authorize – with client_id, redirect_uri, response_type, scope and a fresh state",
        "User → Authorization server: GET /oauth/authorize – who is signed in is asked whether the client may",
        "User → Authorization server: allows",
        "Authorization server → User: 303 to redirect_uri?code=…&state=…",
        "User → Client: brings code and state – the client compares the state first",
        "Client → Authorization server: POST /oauth/token – code, redirect_uri, client_secret; a code lasts a minute, once (our choice)",
        "Authorization server → Client: 200 and the tokens – in the form of RFC 6749 (our choice)",
        "Client → API: GET /v1/apps – Authorization: Bearer and the access token",
        "API → Client: 200 – or 401 once it has run out: the refresh token fetches another",
      ],
    },
  },
  Events: {
    says: {
      "6.types.app-created 6.types.app-updated 6.types.app-deleted":
        "Made, changed, deleted: an app has events.",
      "6.types.app-deployed 6.types.data-processed":
        "So has its deployment, and data that are read.",
      "6.types.user-interaction": "So has its use by somebody.",
      "6.envelope": "An event is an id (evt_…), its type, a time and data.object.",
      "6.envelope.account 6.envelope.account-absent":
        "app.deployed names the account, user.interaction does not.",
      "6.data.app-deployed": "app.deployed holds the app’s id and title, and the deployment.",
      "6.data.user-interaction":
        "user.interaction says who did what at which point of which chart.",
      "6.delivery.post 6.delivery.subscribed":
        "Each active webhook of the type gets a POST in JSON, no other does.",
      "6.success.2xx 6.success.2xx-only": "2xx is a success, and nothing else is.",
      "6.success.30-seconds": "The receiver has half a minute for it.",
      "6.signature":
        "X-Service-Signature: sha256= and the HMAC-SHA256 of the bytes as sent, in small hex digits.",
    },
    request: {
      at: "POST /v1/webhooks",
      body: {
        url: "http://localhost:4700/",
        events: ["app.created"],
        secret: "between-us",
        active: true,
      },
    },
    answer: `HTTP/1.1 201 Created
{"id":"wh_…","url":"http://localhost:4700/","events":["app.created"],"active":true,…,"secret":"between-us"}`,
    tryThis:
      "`npm run receiver -- --port 4700 --secret between-us --answers 500,200`, and `npm run exercise`.",
    picture: {
      title: "From an event to its delivery, and again",
      lines: [
        "Client → Service: POST /v1/apps",
        "Service: app.created is recorded – together with the app, so that neither is there alone",
        "Service → Client: 201 – nothing waits for a receiver",
        "Service → Receiver: POST, signed: attempt 1 – X-Service-Signature is of the body’s bytes",
        "Receiver → Service: 500 – or a redirect, or nothing for 30 seconds: all but 2xx has failed",
        "Service: waits about 5 s – that a delivery can be repeated is said; when and how often is our choice",
        "Service → Receiver: the same bytes: attempt 2 – the receiver knows the event by its id",
        "Receiver → Service: 204 – checked and put aside, answered, and only then worked on",
      ],
    },
  },
  Errors: {
    says: {
      "7.401": "401 is for a credential that is missing, misshapen, wrong or out of date.",
      "7.403":
        "403 is for too narrow a scope, an account that is held back, and too many requests.",
    },
    request: { at: "POST /v1/apps", body: { themes: "dark" } },
    answer: `HTTP/1.1 422 Unprocessable Entity
content-type: application/problem+json
{…"errors":[{"pointer":"#/themes","detail":"is not a known member; did you mean theme?"},{"pointer":"#/title","detail":"is required"}]}`,
    tryThis:
      "Beside 401 and 403 all is our choice. Write a client that needs the class of a status alone.",
  },
  Limits: {
    says: {
      "8.default-limit 8.default-offset": "Who names no number gets 20 apps, from the first on.",
      "8.answer-time": "A receiver has half a minute for its answer.",
      "8.rate-limit-403": "Requests are limited, and one too many is a 403.",
    },
    request: { at: "GET /v1/apps" },
    answer: `HTTP/1.1 200 OK
ratelimit-policy: "default";q=6000;w=60
ratelimit: "default";r=…;t=…
{"data":[…],"total":…,"limit":20,"offset":0}`,
    tryThis:
      "Start with `--rate-limit 3` and ask four times: 403, where others say 429. Then `?limit=101`.",
  },
  Versions: {
    says: { "9.path-segment": "The version is part of the path: the base URL ends in /v1." },
    request: { at: "GET /v2/apps" },
    answer: `HTTP/1.1 404 Not Found
{…"status":404,"detail":"This server speaks /v1 only.",…}`,
    tryThis:
      "Log `deprecation` and `sunset` (RFC 9745, 8594): nothing says how an end is announced.",
  },
};
