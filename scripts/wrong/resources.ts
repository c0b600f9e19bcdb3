// Faults in apps, deployments, webhooks and their operations (spec parts 1 to 4, lists of part 8). Each breaks one
// sentence, as an implementation might.
import { objectIn } from "../../test/support/shown.ts";
import {
  type Change,
  compose,
  EVENT,
  type FaultTable,
  isJson,
  type ProxyRequest,
  type ProxyResponse,
  patchApps,
  patchQuery,
  patchRequest,
  patchRequestBody,
  patchResponse,
  patchResponseBody,
  respondWith,
  toSeconds,
  withoutPrefix,
} from "./patches.ts";

const [CREATE, DEPLOY, HOOK, DELETE] = [
  "POST /apps",
  "POST /apps/*/deploy",
  "POST /webhooks",
  "DELETE /apps/*",
];

const httpDate = (time: unknown) => new Date(String(time)).toUTCString();
const asLatin1 = (text: unknown) => Buffer.from(String(text)).toString("latin1");
const has = (name: string) => (request: ProxyRequest) => name in objectIn(request.body);
const leadsTo = (scheme: string) => (request: ProxyRequest) => request.body.includes(`"${scheme}:`);
const guarded = (response: ProxyResponse) =>
  isJson(response) ? { ...response, body: `)]}',\n${response.body}` } : response;

const DEPLOYED = "EVENT app.deployed";
const deployment = (name: string, change: Change) =>
  patchRequestBody(DEPLOYED, `data.object.deployment.${name}`, change);
const pathOf = (url: unknown) => new URL(String(url)).pathname;
const firstOf = (events: unknown) => [events].flat().slice(0, 1);
const shortened = (to: ProxyRequest) => ({ ...to, url: new URL("/", to.url).href });
const ofLists = (change: (query: URLSearchParams) => unknown) => patchQuery("GET /apps", change);
const unless = (name: string, value: string) =>
  ofLists((query) => query.has(name) || query.set(name, value));
const turned = (name: string, turn: (value: number, limit: number) => number) =>
  ofLists((query) => {
    const [value, limit] = [query.get(name), Number(query.get("limit") ?? 20)];
    if (value !== null) query.set(name, String(turn(Number(value), limit)));
  });
const twice = (list: unknown) => [list, list].flat();
/** Redirects every request for an app to the newest app. */
function newest(at: string) {
  let last = "$&";
  const noted = (response: ProxyResponse) => {
    last = /app_\w+/.exec(response.body)?.[0] ?? last;
    return response;
  };
  const turned = patchRequest(at, (request) => ({
    ...request,
    url: request.url.replace(/app_\w+/, last),
  }));
  return compose(turned, patchResponse(CREATE, noted));
}
const ofId = (app: unknown) => ({ id: Object(app).id });

export const resources: FaultTable = {
  "json-guarded 1.json: JSON comes with a guard before it": patchResponse("", guarded),
  "forms-only 1.json: a body of JSON is refused, a form is expected": respondWith(CREATE, 415),
  "no-data-sources 4.paths: there is no POST /data-sources": respondWith("POST /data-sources", 404),
  "no-deliveries 1.webhooks: webhooks are taken, and nothing is ever sent": respondWith(EVENT, 200),
  "no-permissions 1.manage-users: a user's permissions stay as they were": patchRequestBody(
    "PATCH /users/*",
    "",
    {},
  ),
  "no-custom-domain 1.deploy: a custom domain is refused": respondWith(
    DEPLOY,
    422,
    has("custom_domain"),
  ),
  "app-id-prefix 2.app.id: an app's id begins with application-": patchApps(
    "id",
    (id) => `application-${id}`,
  ),
  "app-id-repeats 2.app.id: every app has the same id": patchResponseBody(CREATE, "id", "app_1"),
  "title-latin1 2.app.title: a title is read as Latin-1": patchRequestBody(
    CREATE,
    "title",
    asLatin1,
  ),
  "title-lost 2.app.title: an app has no title": patchApps("title", undefined),
  "description-lost 2.app.description: it is taken and not returned": patchApps(
    "description",
    undefined,
  ),
  "theme-fixed 2.app.theme: it is light, whatever was sent": patchApps("theme", "light"),
  "public-text 2.app.public: it comes back as a string": patchApps("public", String),
  "public-sticks 2.app.public: false counts as not sent, and true is the default": patchRequestBody(
    CREATE,
    "public",
    true,
  ),
  "created-seconds 2.app.created_at: it is a number of seconds": patchApps("created_at", toSeconds),
  "updated-http-date 2.app.updated_at: it has the form of an HTTP date": patchApps(
    "updated_at",
    httpDate,
  ),
  "app-status 3.app-no-state: an app carries a status": patchApps("status", "draft"),
  "deploy-domain 2.deployment-request.custom_domain: it has to be a list": respondWith(
    DEPLOY,
    422,
    has("custom_domain"),
  ),
  "deploy-environment 2.deployment-request.environment: it is unknown": respondWith(
    DEPLOY,
    400,
    has("environment"),
  ),
  "deploy-name 2.deployment-request.name: it is an unknown member": respondWith(
    DEPLOY,
    400,
    has("name"),
  ),
  "deployment-id 2.deployment.id: it has no prefix": deployment("id", withoutPrefix),
  "deployment-path 2.deployment.url: it is a path": deployment("url", pathOf),
  "deployment-capital 2.deployment.status: it is LIVE": deployment("status", "LIVE"),
  "deployment-active 3.deployment.live: it is active": deployment("status", "active"),
  "deployed-seconds 2.deployment.deployed_at: it is a number": deployment("deployed_at", toSeconds),
  "account-id 2.account: its id has no prefix": patchRequestBody(
    DEPLOYED,
    "account.id",
    withoutPrefix,
  ),
  "account-no-name 2.account: it has no name": patchRequestBody(
    DEPLOYED,
    "account.name",
    undefined,
  ),
  "hook-url-cut 2.webhook.url: path and query are lost": patchRequest(EVENT, shortened),
  "hook-no-https 4.create-webhook: a url with https is refused": respondWith(
    HOOK,
    422,
    leadsTo("https"),
  ),
  "hook-first-event 2.webhook.events: only the first counts": patchRequestBody(
    HOOK,
    "events",
    firstOf,
  ),
  "hook-secret 2.webhook.secret: another one is used": patchRequestBody(HOOK, "secret", "its own"),
  "hook-always-active 2.webhook.active: false is ignored": patchRequestBody(HOOK, "active", true),
  "list-twice 4.list-apps: every app is there twice": patchResponseBody("GET /apps", "data", twice),
  "limit-ignored 4.list-apps.limit: it is ignored": ofLists((query) => query.delete("limit")),
  "limit-less-one 4.list-apps.limit: one app less is listed": turned("limit", (limit) =>
    Math.max(limit - 1, 1),
  ),
  "offset-ignored 4.list-apps.offset: it is ignored": ofLists((query) => query.delete("offset")),
  "offset-pages 4.list-apps.offset: it counts pages": turned(
    "offset",
    (offset, limit) => offset * limit,
  ),
  "public-ignored 4.list-apps.public: it is ignored": ofLists((query) => query.delete("public")),
  "public-falsy 4.list-apps.public: false is not looked at": ofLists((query) =>
    query.delete("public", "false"),
  ),
  "public-by-default 4.list-apps.public: without it only public apps are listed": unless(
    "public",
    "true",
  ),
  "limit-of-10 8.default-limit: it is 10": unless("limit", "10"),
  "offset-of-1 8.default-offset: it is 1": unless("offset", "1"),
  "create-id-alone 4.create-app: it answers the id alone": patchResponseBody(CREATE, "", ofId),
  "create-wrapped 4.create-app: the app is wrapped in data": patchResponseBody(
    CREATE,
    "",
    (data) => ({
      data,
    }),
  ),
  "delete-by-post 4.delete-app: DELETE is not allowed": respondWith(DELETE, 405),
  "delete-nothing 4.delete-app: it answers 204, and the app stays": respondWith(DELETE, 204),
  "delete-newest 4.app-id-segment: whichever app is named, the newest is deleted": newest(DELETE),
  "deploy-newest 4.app-id-segment: whichever app is named, the newest is deployed": newest(DEPLOY),
  "deploy-elsewhere 4.deploy: it is POST /apps/{id}/deployments": respondWith(DEPLOY, 404),
};
