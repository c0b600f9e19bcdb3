// Faults in apps, deployments, webhooks and their operations (spec parts 1 to 4, lists of part 8). Each breaks one
// sentence, as an implementation might.
import { objectIn } from "../../test/support/shown.ts";
import type { Answer, Message } from "./proxy.ts";
import * as way from "./ways.ts";
import {
  answersJson,
  apps,
  asksJson,
  asksQuery,
  type Faults,
  gone,
  is,
  refuses,
  where,
} from "./ways.ts";

const [CREATE, DEPLOY, HOOK, DELETE] = [
  "POST /apps",
  "POST /apps/*/deploy",
  "POST /webhooks",
  "DELETE /apps/*",
];

const httpDate = (time: unknown) => new Date(String(time)).toUTCString();
const asLatin1 = (text: unknown) => Buffer.from(String(text)).toString("latin1");
const has = (name: string) => (asked: Message) => name in objectIn(asked.body);
const leadsTo = (scheme: string) => (asked: Message) => asked.body.includes(`"${scheme}:`);
const guarded = (answer: Answer) =>
  way.isJson(answer) ? { ...answer, body: `)]}',\n${answer.body}` } : answer;

/** Replaces one text with another in everything the server sends, and reverses that in everything sent to it. */
const renamed = (from: string, to: string) =>
  way.both(
    way.asks(way.EVENT, (event) => ({ ...event, body: event.body.replaceAll(from, to) })),
    where("", async (asked, send) => {
      const [url = "", body = ""] = [asked.url, asked.body].map((text) =>
        text.replaceAll(to, from),
      );
      const answer = await send({ ...asked, url, body });
      return { ...answer, body: answer.body.replaceAll(from, to) };
    }),
  );
const DEPLOYED = "EVENT app.deployed";
const deployment = (name: string, change: way.Change) =>
  asksJson(DEPLOYED, `data.object.deployment.${name}`, change);
const pathOf = (url: unknown) => new URL(String(url)).pathname;
const firstOf = (events: unknown) => [events].flat().slice(0, 1);
const shortened = (to: Message) => ({ ...to, url: new URL("/", to.url).href });
const ofLists = (change: (query: URLSearchParams) => unknown) => asksQuery("GET /apps", change);
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
  const noted = (answer: Answer) => {
    last = /app_\w+/.exec(answer.body)?.[0] ?? last;
    return answer;
  };
  const turned = way.asks(at, (asked) => ({ ...asked, url: asked.url.replace(/app_\w+/, last) }));
  return way.both(turned, way.answers(CREATE, noted));
}
const ofId = (app: unknown) => ({ id: Object(app).id });

export const resources: Faults = {
  "json-guarded 1.json: JSON comes with a guard before it": way.answers("", guarded),
  "forms-only 1.json: a body of JSON is refused, a form is expected": refuses(CREATE, 415),
  "no-data-sources 4.paths: there is no POST /data-sources": refuses("POST /data-sources", 404),
  "no-deliveries 1.webhooks: webhooks are taken, and nothing is ever sent": refuses(way.EVENT, 200),
  "no-permissions 1.manage-users: a user's permissions stay as they were": asksJson(
    "PATCH /users/*",
    "",
    is({}),
  ),
  "no-custom-domain 1.deploy: a custom domain is refused": refuses(
    DEPLOY,
    422,
    has("custom_domain"),
  ),
  "app-id-prefix 2.app.id: an app's id begins with application-": renamed("app_", "application-"),
  "app-id-repeats 2.app.id: every app has the same id": answersJson(CREATE, "id", is("app_1")),
  "title-latin1 2.app.title: a title is read as Latin-1": asksJson(CREATE, "title", asLatin1),
  "title-lost 2.app.title: an app has no title": apps("title", gone),
  "description-lost 2.app.description: it is taken and not returned": apps("description", gone),
  "theme-fixed 2.app.theme: it is light, whatever was sent": apps("theme", is("light")),
  "public-text 2.app.public: it comes back as a string": apps("public", String),
  "public-sticks 2.app.public: false counts as not sent, and true is the default": asksJson(
    CREATE,
    "public",
    is(true),
  ),
  "created-seconds 2.app.created_at: it is a number of seconds": apps("created_at", way.seconds),
  "updated-http-date 2.app.updated_at: it has the form of an HTTP date": apps(
    "updated_at",
    httpDate,
  ),
  "app-status 3.app-no-state: an app carries a status": apps("status", is("draft")),
  "deploy-domain 2.deployment-request.custom_domain: it has to be a list": refuses(
    DEPLOY,
    422,
    has("custom_domain"),
  ),
  "deploy-environment 2.deployment-request.environment: it is unknown": refuses(
    DEPLOY,
    400,
    has("environment"),
  ),
  "deploy-name 2.deployment-request.name: it is an unknown member": refuses(
    DEPLOY,
    400,
    has("name"),
  ),
  "deployment-id 2.deployment.id: it has no prefix": deployment("id", way.unprefixed),
  "deployment-path 2.deployment.url: it is a path": deployment("url", pathOf),
  "deployment-capital 2.deployment.status: it is LIVE": deployment("status", is("LIVE")),
  "deployment-active 3.deployment.live: it is active": deployment("status", is("active")),
  "deployed-seconds 2.deployment.deployed_at: it is a number": deployment(
    "deployed_at",
    way.seconds,
  ),
  "account-id 2.account: its id has no prefix": asksJson(DEPLOYED, "account.id", way.unprefixed),
  "account-no-name 2.account: it has no name": asksJson(DEPLOYED, "account.name", gone),
  "hook-url-cut 2.webhook.url: path and query are lost": way.asks(way.EVENT, shortened),
  "hook-no-https 4.create-webhook: a url with https is refused": refuses(
    HOOK,
    422,
    leadsTo("https"),
  ),
  "hook-first-event 2.webhook.events: only the first counts": asksJson(HOOK, "events", firstOf),
  "hook-secret 2.webhook.secret: another one is used": asksJson(HOOK, "secret", is("its own")),
  "hook-always-active 2.webhook.active: false is ignored": asksJson(HOOK, "active", is(true)),
  "list-twice 4.list-apps: every app is there twice": answersJson("GET /apps", "data", twice),
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
  "create-id-alone 4.create-app: it answers the id alone": answersJson(CREATE, "", ofId),
  "create-wrapped 4.create-app: the app is wrapped in data": answersJson(CREATE, "", (data) => ({
    data,
  })),
  "delete-by-post 4.delete-app: DELETE is not allowed": refuses(DELETE, 405),
  "delete-nothing 4.delete-app: it answers 204, and the app stays": refuses(DELETE, 204),
  "delete-newest 4.app-id-segment: whichever app is named, the newest is deleted": newest(DELETE),
  "deploy-newest 4.app-id-segment: whichever app is named, the newest is deployed": newest(DEPLOY),
  "deploy-elsewhere 4.deploy: it is POST /apps/{id}/deployments": refuses(DEPLOY, 404),
};
