// /docs: documentation for authors of clients, built from the server's own tables. The pages need no sign-in; without
// the script only the copy buttons are missing.
import { invalidField } from "../../domain/errors.ts";
import { EVENT_TYPES, type EventType, SCOPE_LABELS } from "../../domain/model.ts";
import { CODES, PROBLEMS, problemResponse } from "../../http/problem.ts";
import { code, inlineMarkdown, json, list, paragraph } from "../html.ts";
import type { PageRoute, WebDeps } from "../session.ts";
import { type Doc, renderDoc, type Section, split, terms } from "./page.ts";
import { curl, endpointsDoc, sampleEvent } from "./reference.ts";
import { tourDoc } from "./tour.ts";

export function docsRoutes(deps: WebDeps): readonly PageRoute[] {
  const docs = [startDoc, endpointsDoc, eventsDoc, errorsDoc, tourDoc].map((create) =>
    create(deps),
  );
  return docs
    .flatMap((doc) => [doc, ...(doc.pages ?? [])])
    .map((doc) => ({ method: "GET", path: doc.path, handler: async () => renderDoc(docs, doc) }));
}

const CREDENTIALS = {
  "An API key":
    "For your own programs. It has full access to the account and works until you delete it. Keep it on your server, in an environment variable, and replace it now and then.",
  "An access token":
    "For applications that act for other people. It comes from the OAuth flow below, lasts an hour, and can do what its user has allowed.",
  "If it fails":
    "Without a valid credential the response is 401; without the scope that the endpoint requires it is 403. Its `code` says [which rule it breaks](/docs/errors).",
};

/** Instructions, each with a shell command and what to keep of its output, for which … stands. */
const OAUTH_STEPS = [
  [
    "Register the client, here or in the dashboard under Settings, OAuth apps. Keep its `id` and `client_secret`.",
    'curl "$AUTH_URL/v1/oauth-clients" -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" -d \'{"name":"My client","redirect_uris":["http://localhost:8080/"],"scopes":["read:apps"]}\'',
    "export CLIENT_ID=… CLIENT_SECRET=…",
  ],
  [
    "Send the user to this URL. After signing in and consenting, the user returns to `redirect_uri` with `code` and `state`. Nothing needs to listen there: copy `code` from the address bar. PKCE with S256 is supported, and required for public clients.",
    'echo "$AUTH_URL/oauth/authorize?response_type=code&client_id=$CLIENT_ID&redirect_uri=http://localhost:8080/&scope=read:apps&state=xyz"',
    "export CODE=…",
  ],
  [
    "Exchange the code within a minute. It works once. A JSON body is accepted as well.",
    'curl "$AUTH_URL/oauth/token" -d grant_type=authorization_code -d "client_id=$CLIENT_ID" -d "client_secret=$CLIENT_SECRET" -d "code=$CODE" -d redirect_uri=http://localhost:8080/',
    "export ACCESS_TOKEN=… REFRESH_TOKEN=…",
  ],
  [
    "Use the access token. It is valid for an hour.",
    'curl "$AUTH_URL/v1/apps" -H "Authorization: Bearer $ACCESS_TOKEN"',
  ],
  [
    "Refresh. The refresh token is enough, as in the specification. The response contains a new one; do not use the old one again.",
    'curl "$AUTH_URL/oauth/token" -d grant_type=refresh_token -d "refresh_token=$REFRESH_TOKEN"',
  ],
  [
    "Revoke the refresh token, and with it every token of the same consent.",
    'curl "$AUTH_URL/oauth/revoke" -d "token=$REFRESH_TOKEN" -d "client_id=$CLIENT_ID" -d "client_secret=$CLIENT_SECRET"',
  ],
];

const CONVENTIONS = {
  Bodies: "JSON in UTF-8, in requests and responses. An unknown member is an error that names it.",
  Ids: "Text with a prefix, such as `app_`. Later ids are greater when compared as text.",
  Times: "ISO 8601 in UTC with milliseconds: `2026-03-14T09:26:53.589Z`.",
  Lists:
    'Send `limit` (20, at most 100) and `offset` (0). The response is `{"data": […], "total": …, "limit": …, "offset": …}`, oldest first, with a `Link` to the next and the previous page.',
  Creating: "201 with the resource, and its URL in `Location`.",
  Updating: "PATCH changes the members that you send and no others.",
  Deleting: "204 without a body; afterwards the resource is 404.",
  "Safe updates":
    "A single resource has an `ETag`. Send it back as `If-Match`, and a change that you have not seen gives 412. With `If-None-Match` a read gives 304 if nothing has changed.",
  "Safe retries":
    "Send an `Idempotency-Key` with a POST. Repeated within a day, it returns the first response and changes nothing.",
  "Rate limit":
    "`RateLimit` shows the requests that remain and the seconds until there are more. Beyond it the response is 403 with `Retry-After`.",
  "Request ids": "Every response has one in `X-Request-Id`. The server's log has the same.",
  Versions: "The version is part of the path: `/v1`.",
};

function startDoc({ routeDeps: { urls } }: WebDeps): Doc {
  const steps = OAUTH_STEPS.map(([instruction = "", ...commands]) => [
    paragraph(instruction),
    commands.map((command) => code(command)),
  ]);
  return {
    title: "Start",
    path: "/docs",
    lead: "The Application Hosting Service hosts data apps. Create an app, add data, deploy it, and receive events by webhook. This is the reference server of its specification; the [tour](/docs/tour) shows what the specification says and what this server decided.",
    sections: [
      [
        "Your first request",
        [
          "The server prints an API key when it starts. You can also [generate one](/dashboard/settings/api-keys/new) in the dashboard under Settings, API keys. Put it in place of … and create an app:",
          code(`export AUTH_URL=${urls.authUrl} API_KEY=…`),
          code(
            'curl "$AUTH_URL/v1/apps" -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" -d \'{"title":"My first app"}\'',
          ),
          "The response is 201 with the new app. [Deploy it](/docs/endpoints/apps#deploy-an-app-to-an-environment), [add data](/docs/endpoints/data-sources#create-data-source), and look at it in the [dashboard](/dashboard).",
        ],
      ],
      [
        "Authentication",
        [
          "Every request has the header `Authorization`: the word `Bearer`, a space, and one of these.",
          terms(CREDENTIALS),
        ],
      ],
      [
        "OAuth",
        [
          list(steps, "ol"),
          "Libraries find the metadata of the [authorization server](/.well-known/oauth-authorization-server), also at the [address of OpenID Connect](/.well-known/openid-configuration), and of the [protected resource](/.well-known/oauth-protected-resource/v1). There are no ID tokens: `GET /account` with the access token returns the signed-in user.",
        ],
      ],
      ["Scopes", terms(SCOPE_LABELS)],
      ["Conventions", terms(CONVENTIONS)],
      [
        "Read on",
        "The [reference](/docs/endpoints) has every endpoint with its fields, an example and its errors, and [openapi.json](/openapi.json) has the same for generators and importers. [Receiving events](/docs/events) says how to verify and handle them, and [Errors](/docs/errors) what to do about each code. The [tour](/docs/tour) goes through the specification part by part. The [dashboard](/dashboard) shows the same account in the browser.",
      ],
    ],
  };
}

const MEMBERS = {
  "`type`": "The URL of the error's entry on this page.",
  "`title`": "The error in a few words, the same for each `code`.",
  "`status`": "The status of the response.",
  "`detail`": "What is wrong and what to do, for people. The text may change.",
  "`instance`": "The request id.",
  "`code`": "The error for programs.",
  "`errors`":
    "For invalid input: what is wrong where. `pointer` leads to a member of the body, `parameter` and `header` name one of the request. At most 20 are listed.",
};

const HANDLING = [
  "Decide by the status, or by `code` where one status has several.",
  "Repeat a request after 408, 409 `idempotency_in_progress`, 500 or 503, and a POST only with its `Idempotency-Key`. After 403 `rate_limit_exceeded` first wait for `Retry-After` seconds.",
  "Do not repeat any other request unchanged: it fails again.",
  "Endpoints under `/oauth` have errors in the form of OAuth instead: `error` and `error_description` (RFC 6749).",
];

/** The `type` of a problem is the URL of its entry here. */
function errorsDoc({ routeDeps: { urls } }: WebDeps): Doc {
  const example = problemResponse(invalidField("#/title", "is required"), "req_…", urls);
  const codes = CODES.map((code): Section => {
    const [status, title, advice] = PROBLEMS[code];
    return [code, `${status}: ${title}. ${advice}`, code];
  });
  return {
    title: "Errors",
    path: "/docs/errors",
    lead: "Every error has the same form, `application/problem+json` (RFC 9457). The specification defines the statuses 401 and 403 ([part 7](/docs/tour/7)); the others, the form and the codes are decisions of this project.",
    sections: [
      ["Form", split(terms(MEMBERS), json(JSON.parse(example.body)))],
      ["Handling errors", list(HANDLING.map(inlineMarkdown))],
      [
        "All codes",
        "Any endpoint can return 400 `invalid_parameter`, `invalid_header` and `invalid_request`, 401, 403, 405, 408, 414, 431, 500 and 503. The [reference](/docs/endpoints) lists the other codes for each endpoint.",
      ],
      ...codes,
    ],
  };
}

function eventsDoc({ routeDeps: { urls } }: WebDeps): Doc {
  return {
    title: "Receiving events",
    path: "/docs/events",
    lead: "The service records an event in the same transaction as its change, and sends it by POST to every active webhook that subscribes to its type.",
    sections: [
      [
        "Register a webhook",
        [
          "Name the URL of your receiver and the event types it wants. Or use the dashboard under Settings, Webhooks, which can also send a sample event.",
          code(
            curl(
              `POST ${urls.baseUrl}/webhooks`,
              '{"url":"http://localhost:4700/","events":["app.created"],"secret":"between-us"}',
            ),
          ),
        ],
      ],
      [
        "Receiving deliveries",
        [
          list(RULES.map(inlineMarkdown), "ol"),
          "This receiver does all of it. Start it with `WEBHOOK_SECRET=between-us`.",
          code(RECEIVER),
        ],
      ],
      [
        "Headers of a delivery",
        [
          "Besides the signature a delivery has the event type in `X-Service-Event`, an id that is the same at every attempt in `X-Service-Delivery`, and the number of the attempt, from 1, in `X-Service-Attempt`.",
          "Libraries for Standard Webhooks verify `webhook-id`, `webhook-timestamp` (the real time of sending, except with `--random-seed`) and `webhook-signature`. Generated secrets have their form, `whsec_` and base64, and work there unchanged: `new Webhook(secret)`. Any other secret is used there as raw bytes. `X-Service-Signature` always uses the whole text of the secret.",
          "`webhook-signature` is `v1,` and the HMAC-SHA256 in base64 of `webhook-id`, `webhook-timestamp` and the raw body, joined by dots.",
          "To check `X-Service-Signature` by hand, save the exact bytes of the body as `body.json`, without a final line break (`printf %s`). The output ends with the digits that follow `sha256=`.",
          code('openssl dgst -sha256 -hmac "$WEBHOOK_SECRET" body.json'),
        ],
      ],
      [
        "Failures and retries",
        [
          "Any response but 2xx is retried after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, or as `--retry-schedule` says, each 20 % more or less. `Retry-After` with 429 or 503 makes a wait longer. 410 switches the webhook off. Redirects are not followed. The dashboard shows every attempt under Settings, Webhooks, and can send a delivery again.",
          "The receiver's certificate must be signed by one of Node's root certificates. To trust another CA, set `NODE_EXTRA_CA_CERTS` to its PEM file and restart the server. `error_detail` of an attempt says which check failed.",
        ],
      ],
      [
        "Event types",
        "Every event has `id`, `type`, `created` and `data.object`; all but user.interaction have `account`. A request that changes nothing emits no event.",
      ],
      ...EVENT_TYPES.map(
        (type): Section => [type, split(MEANINGS[type], json(sampleEvent(type))), type],
      ),
    ],
  };
}

const MEANINGS: Readonly<Record<EventType, string>> = {
  "app.created": "An app was created. `data.object` is the app as the API returns it.",
  "app.updated": "A field of an app was changed. `data.object` is the app after the change.",
  "app.deployed":
    "An app was deployed. `data.object` has the id and title of the app, and the new deployment.",
  "app.deleted": "An app was deleted, with its deployments. `data.object` is the app as it was.",
  "data.processed":
    "The processing of a data source has ended, well or not: its `status` is `ready` or `failed`.",
  "user.interaction":
    "A user chose something in a deployed app, or a client reported it. This event has no `account`.",
};

const RULES = [
  "Be reachable over HTTPS. Under the webhook policy `local` the server also sends http to the same machine and to private networks.",
  "Verify the signature first. `X-Service-Signature` is `sha256=` and the HMAC-SHA256 of the raw body in lower-case hexadecimal, keyed with the webhook's secret. Compare in constant time, and respond with 401 if it differs.",
  "Respond with 2xx within 30 seconds. Store the event and process it afterwards.",
  "Expect an event more than once. Remember the `id` of each event, and respond with 2xx to a repeated one.",
  "Do not rely on the order. Sort events by `created` and `id`.",
];

const RECEIVER = [
  'const { createHmac, timingSafeEqual } = require("node:crypto");',
  "const seen = new Set();",
  "",
  'require("node:http").createServer(async (request, response) => {',
  "  const body = Buffer.concat(await request.toArray());",
  '  const mac = createHmac("sha256", process.env.WEBHOOK_SECRET).update(body).digest("hex");',
  '  const expected = Buffer.from("sha256=" + mac);',
  '  const signature = Buffer.from(request.headers["x-service-signature"] ?? "");',
  "  if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) {",
  "    return response.writeHead(401).end();",
  "  }",
  "  const event = JSON.parse(body);",
  "  if (!seen.has(event.id)) console.log(event.type, event.data.object);",
  "  seen.add(event.id);",
  "  response.writeHead(204).end();",
  "}).listen(4700);",
].join("\n");
