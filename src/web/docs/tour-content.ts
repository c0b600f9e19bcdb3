// The tour's content: the specification in our own words, one part of it on each page. A test runs each request and
// compares the response, in which "…" stands for text that varies. This file imports nothing.

export interface Part {
  readonly summary: string;
  /** Sentences by the ids of their clauses, which are also the names of their tests. */
  readonly clauses: { readonly [ids: string]: string };
  /** Method and path; `$NAME` is a shell variable. */
  readonly request: string;
  readonly body?: string;
  /** Sends no credential. */
  readonly anonymous?: true;
  /** The relevant lines of the response, as `curl -i` prints them. */
  readonly response: readonly string[];
  readonly exercise: string;
  /** A sequence of messages between three parties: `Client → Service: text – note`. */
  readonly steps?: readonly string[];
}

/** The parts by title, in order. */
export const PARTS: { readonly [title: string]: Part } = {
  Purpose: {
    summary:
      "What the service is for: hosting apps that show data, and telling other programs what happens to them.",
    clauses: {
      "1.apps": "A client can create, list and delete apps, which show data.",
      "1.deploy":
        "It can deploy an app to a named environment, with a custom domain if it wants one.",
      "1.data-sources": "It can create the data sources that apps use.",
      "1.manage-users": "It can manage users and their permissions.",
      "1.webhooks": "It can register webhooks and get events instead of polling.",
      "1.json": "Requests and responses are JSON over HTTPS.",
    },
    request: "POST /v1/data-sources",
    body: '{"name":"Visitors","type":"csv","data":"month,count\\n2026-01,9"}',
    response: [
      "HTTP/1.1 201 Created",
      "location: $URL/v1/data-sources/ds_…",
      '{"id":"ds_…","name":"Visitors","type":"csv","app_id":null,"status":"processing","columns":null,…}',
    ],
    exercise:
      "Read the URL in `location` to see the columns. Then send CSV with an unclosed quotation mark, and look at `status` and `error`.",
  },
  Resources: {
    summary: "What apps, deployments, webhooks and accounts consist of.",
    clauses: {
      "2.app.id": "The service assigns the id of an app, which starts with app_.",
      "2.app.title 2.app.description 2.app.theme 2.app.public":
        "An app has these four fields, which are returned as sent.",
      "2.app.created_at 2.app.updated_at": "It has two ISO 8601 timestamps in UTC.",
      "2.deployment-request.name 2.deployment-request.environment":
        "A deploy request contains a name and an environment.",
      "2.deployment-request.custom_domain": "It can contain the host name that serves the app.",
      "2.deployment.id 2.deployment.url":
        "A deployment in an event has an id (dep_…) and the URL of the app.",
      "2.deployment.status 2.deployment.deployed_at": "It has a status and a timestamp.",
      "2.webhook.url 2.webhook.events": "A webhook has an https URL and a list of event types.",
      "2.webhook.secret 2.webhook.active":
        "It has a secret that signs deliveries, and can be inactive.",
      "2.account": "Some events contain the account: its id (acc_…) and its name.",
    },
    request: "POST /v1/apps",
    body: '{"title":"Harbour sales","description":"","theme":"dark","public":true}',
    response: [
      "HTTP/1.1 201 Created",
      '{"id":"app_…","title":"Harbour sales","description":"","theme":"dark","public":true,"created_at":"…Z","updated_at":"…Z"}',
    ],
    exercise:
      "Misspell a field: this server names it in an error, others ignore it. For the next page, run `export APP_ID=app_…`.",
  },
  States: {
    summary: "Which states a resource can be in.",
    clauses: {
      "3.deployment.live": "The only status of a deployment that occurs is live.",
      "3.app-no-state": "An app has no state.",
    },
    request: "POST /v1/apps/$APP_ID/deploy",
    body: '{"name":"Release 1","environment":"production"}',
    response: [
      "HTTP/1.1 201 Created",
      '{"id":"dep_…","app_id":"app_…","name":"Release 1",…,"url":"$URL/sites/dep_…/","status":"live","deployed_at":"…Z"}',
    ],
    exercise:
      "Deploy again and read `/apps/$APP_ID/deployments`. The new status of the first deployment is this project's decision.",
  },
  Endpoints: {
    summary: "The six operations that the specification shows, and the parameters of its one list.",
    clauses: {
      "4.paths": "The specification shows six operations, all below the base URL.",
      "4.create-app": "One creates an app from four fields and returns all seven.",
      "4.list-apps 4.list-apps.limit 4.list-apps.offset":
        "One lists apps and takes limit and offset.",
      "4.list-apps.public": "The list can be restricted to public or to private apps.",
      "4.delete-app 4.app-id-segment": "One deletes the app whose id is in the path.",
      "4.deploy": "One deploys an app with name, custom_domain and environment.",
      "4.create-data-source": "One creates a data source; its fields are not shown.",
      "4.create-webhook": "One creates a webhook with url, events, secret and active.",
    },
    request: "GET /v1/apps?public=true&limit=1",
    response: [
      "HTTP/1.1 200 OK",
      '{"data":[{"id":"app_…","title":"Harbour sales",…}],"total":…,"limit":1,"offset":0}',
    ],
    exercise:
      "Create more apps and follow `link`. A client for every server also accepts a bare array, where a short page is the last.",
  },
  Authentication: {
    summary:
      "How a request proves who sends it: by an API key, or by an access token that a user allowed.",
    clauses: {
      "5.bearer-header": "Each request has the header Authorization: Bearer with a key or a token.",
      "5.api-key.full-access": "An API key grants full access to the account.",
      "5.oauth.authorize":
        "An application gets a code through the user's browser, together with its state.",
      "5.oauth.exchange 5.oauth.client-credentials":
        "It exchanges the code and its secret for tokens.",
      "5.oauth.jwt 5.oauth.bearer": "Access tokens are JWTs and are sent like an API key.",
      "5.oauth.refresh": "A refresh token gets new tokens.",
      "5.refresh-failure.expired 5.refresh-failure.credentials":
        "Refreshing fails with an expired token or invalid client credentials.",
      "5.refresh-failure.revoked": "It also fails after the user's consent was revoked.",
      "5.scope.read-apps 5.scope.write-apps 5.scope.delete-apps":
        "Three scopes allow reading, changing and deleting apps.",
      "5.scope.read-data 5.scope.admin": "One allows reading data, and one allows everything.",
      "5.401.missing 5.401.format 5.401.invalid 5.401.expired":
        "401: the credential is missing, malformed, invalid or expired.",
      "5.403.scope 5.403.suspended 5.403.limited":
        "403: the scope is insufficient, or the account is suspended or limited.",
    },
    request: "GET /v1/apps",
    anonymous: true,
    response: [
      "HTTP/1.1 401 Unauthorized",
      'www-authenticate: Bearer realm="app-hosting", resource_metadata="…"',
      '{"type":"$URL/docs/errors#missing_credential","title":"No credential was sent","status":401,…,"code":"missing_credential"}',
    ],
    exercise:
      "Send `Authorization: Basic abc`, then an invalid key, and compare `code`. The page [Start](/docs#oauth) has the whole OAuth flow to paste.",
    steps: [
      "User → Client: wants to use the client",
      "Client → User: 302 to /oauth/authorize – with client_id, redirect_uri, response_type, scope and a new state",
      "User → Service: GET /oauth/authorize – the service asks the signed-in user for consent",
      "User → Service: allows",
      "Service → User: 303 to redirect_uri – with a code and the state",
      "User → Client: code and state – the client compares the state first",
      "Client → Service: POST /oauth/token – with code, redirect_uri and client_secret; a code is valid for a minute, once (our decision)",
      "Service → Client: 200 and the tokens – in the form of RFC 6749 (our decision)",
      "Client → Service: GET /v1/apps – with Authorization: Bearer and the access token",
      "Service → Client: 200 – or 401 after the token has expired; the refresh token gets another",
    ],
  },
  Events: {
    summary: "What the service sends when something happens, and what a receiver must do.",
    clauses: {
      "6.types.app-created 6.types.app-updated 6.types.app-deleted":
        "Creating, updating and deleting an app emits an event.",
      "6.types.app-deployed 6.types.data-processed":
        "So do deploying an app and processing its data.",
      "6.types.user-interaction": "So does a user's interaction with an app.",
      "6.envelope": "An event has an id (evt_…), a type, a timestamp and data.object.",
      "6.envelope.account 6.envelope.account-absent":
        "app.deployed contains the account, user.interaction does not.",
      "6.data.app-deployed": "app.deployed contains the app's id and title, and the deployment.",
      "6.data.user-interaction":
        "user.interaction contains the user, the interaction, and the point of the chart.",
      "6.delivery.post 6.delivery.subscribed":
        "Each active webhook that subscribes to the type gets a POST with JSON.",
      "6.success.2xx 6.success.2xx-only": "Only a 2xx status is a success.",
      "6.success.30-seconds": "The receiver has 30 seconds to respond.",
      "6.signature":
        "X-Service-Signature is sha256= and the HMAC-SHA256 of the raw body in lower-case hexadecimal.",
    },
    request: "POST /v1/webhooks",
    body: '{"url":"http://localhost:4700/","events":["app.created"],"secret":"between-us","active":true}',
    response: [
      "HTTP/1.1 201 Created",
      '{"id":"wh_…","url":"http://localhost:4700/","events":["app.created"],"active":true,…,"secret":"between-us"}',
    ],
    exercise:
      "Run `npm run receiver -- --port 4700 --secret between-us --answers 500,200`, create an app, and compare its attempts in the dashboard.",
    steps: [
      "Client → Service: POST /v1/apps",
      "Service → Service: records app.created – in the same transaction as the app",
      "Service → Client: 201 – the response waits for no receiver",
      "Service → Receiver: POST, signed, attempt 1 – X-Service-Signature covers the bytes of the body",
      "Receiver → Service: 500 – a redirect or no response in 30 seconds fails as well",
      "Service → Service: waits about 5 s – retries are possible by the specification; when and how often is our decision",
      "Service → Receiver: the same bytes, attempt 2 – the receiver recognizes the event by its id",
      "Receiver → Service: 204 – it verifies and stores the event, responds, and then does the work",
    ],
  },
  Errors: {
    summary: "Which statuses tell a client that something is wrong.",
    clauses: {
      "7.401": "401: the credential is missing, malformed, invalid or expired.",
      "7.403":
        "403: the scope is insufficient, the account is suspended or limited, or the rate limit is exceeded.",
    },
    request: "POST /v1/apps",
    body: '{"themes":"dark"}',
    response: [
      "HTTP/1.1 422 Unprocessable Entity",
      "content-type: application/problem+json",
      '{…"errors":[{"pointer":"#/themes","detail":"is not a known member; did you mean theme?"},{"pointer":"#/title","detail":"is required"}]}',
    ],
    exercise:
      "Every status besides 401 and 403 is this project's decision. Write a client that only uses the class of a status.",
  },
  Limits: {
    summary:
      "How much a list returns, how long a receiver may take, and how many requests are too many.",
    clauses: {
      "8.default-limit 8.default-offset": "By default a list starts at the first app and has 20.",
      "8.answer-time": "A receiver has 30 seconds to respond.",
      "8.rate-limit-403": "Requests over the rate limit get 403.",
    },
    request: "GET /v1/apps",
    response: [
      "HTTP/1.1 200 OK",
      'ratelimit-policy: "default";q=6000;w=60',
      'ratelimit: "default";r=…;t=…',
      '{"data":[…],"total":…,"limit":20,"offset":0}',
    ],
    exercise:
      "Start the server with `--rate-limit 3` and send four requests: 403, where other services return 429. Then try `?limit=101`.",
  },
  Versions: {
    summary: "Where the version of the interface stands.",
    clauses: {
      "9.path-segment": "The version is a segment of the path: the base URL ends in /v1.",
    },
    request: "GET /v2/apps",
    response: [
      "HTTP/1.1 404 Not Found",
      '{…"status":404,"detail":"This server speaks /v1 only.",…}',
    ],
    exercise:
      "The specification does not say how the end of a version is announced. Which headers or messages would your client notice?",
  },
};
