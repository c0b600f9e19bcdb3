// Faults in apps, deployments, webhooks and the operations on them (spec parts 1 to 4, lists of part 8): each breaks one
// sentence, as an implementation might.
import { members } from "../../test/support/client.ts";
import type { Answer, Message } from "./proxy.ts";
import * as memory from "./remembering.ts";
import * as way from "./ways.ts";
import {
  answersJson,
  apps,
  asksJson,
  asksQuery,
  type Faults,
  field,
  page,
  refuses,
  type Wrong,
  without,
} from "./ways.ts";

const [CREATE, DEPLOY, HOOK] = ["POST /apps", "POST /apps/*/deploy", "POST /webhooks"];

const local = (time: unknown) => String(time).replace("Z", "");
const seconds = (time: unknown) => Math.floor(Date.parse(String(time)) / 1_000);
const ahead = (time: unknown) => new Date(seconds(time) * 1_000 + 7_200_000).toISOString().replace("Z", "+02:00");
const asLatin1 = (text: unknown) => Buffer.from(String(text)).toString("latin1");
const escaped = (text: unknown) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const has = (name: string) => (asked: Message) => name in Object(way.jsonOf(asked));
const cut = (url: string) => new URL("/", url).href;

const guarded = (answer: Answer) => (way.jsonOf(answer) ? { ...answer, body: `)]}',\n${answer.body}` } : answer);
const asPage = { headers: { "content-type": "text/html" }, body: "<h1>Error</h1>" };
const failing = (answer: Answer) => (answer.status < 400 ? answer : { ...answer, ...asPage });
const PURPOSE: Faults = {
  "json-guarded 1.json: JSON comes with a guard before it": way.answers("", guarded),
  "errors-in-html 1.json: what fails is answered with a page of HTML": way.answers("", failing),
  "forms-only 1.json: a body of JSON is refused, a form is expected": refuses(CREATE, 415),
  "no-data-sources 4.paths: there is no POST /data-sources": refuses("POST /data-sources", 404),
  "no-deliveries 1.webhooks: webhooks are taken, and nothing is ever sent": way.drops(() => true),
  "no-permissions 1.manage-users: a user's permissions stay as they were": asksJson("PATCH /users/*", () => ({})),
  "no-custom-domain 1.deploy: a custom domain is refused": refuses(DEPLOY, 422, has("custom_domain")),
};

const bare = (text: string) => text.replaceAll('"app_', '"');
const BARE_IDS: Wrong = {
  async api(asked, send) {
    const answer = await send({ ...asked, url: asked.url.replace(/(?<=\/apps\/)(?=\w)/, "app_") });
    return { ...answer, body: bare(answer.body) };
  },
  hook: (delivery, send) => send(way.signed(delivery, bare(delivery.body))),
};
const inApps = (name: string, change: (value: unknown) => unknown) => apps(field(name, change));
const APPS: Faults = {
  "app-id-bare 2.app.id: an app's id has no prefix": BARE_IDS,
  "app-id-prefix 2.app.id: an app's id begins with application-": way.renamed("app_", "application-"),
  "app-id-number 2.app.id: an app's id is a number": { api: memory.numbered },
  "app-id-repeats 2.app.id: every app has the id of the first": memory.firstAnswered(CREATE, "id"),
  "app-id-given 2.app.id: an id that the client sends becomes the app's": { api: memory.givenId },
  "title-latin1 2.app.title: a title is read as Latin-1": asksJson(CREATE, field("title", asLatin1)),
  "title-lost 2.app.title: an app has no title": apps(without("title")),
  "title-capital 2.app.title: a title begins with a capital": inApps("title", (text) =>
    String(text).replace(/^./, (letter) => letter.toUpperCase()),
  ),
  "description-escaped 2.app.description: it comes back escaped for HTML": inApps("description", escaped),
  "description-null 2.app.description: an empty one comes back as null": inApps("description", (text) => text || null),
  "description-lost 2.app.description: it is taken and not returned": apps(without("description")),
  "theme-fixed 2.app.theme: it is light, whatever was sent": inApps("theme", () => "light"),
  "theme-object 2.app.theme: it comes back as an object": inApps("theme", (name) => ({ name })),
  "public-text 2.app.public: it comes back as a string": inApps("public", String),
  "public-number 2.app.public: it comes back as 1 or 0": inApps("public", Number),
  "public-sticks 2.app.public: false counts as not sent, and true is the default": asksJson(
    CREATE,
    field("public", () => true),
  ),
  "created-seconds 2.app.created_at: it is a number of seconds": inApps("created_at", seconds),
  "created-1970 2.app.created_at: seconds are taken for milliseconds": inApps("created_at", (time) =>
    new Date(seconds(time)).toISOString(),
  ),
  "created-local 2.app.created_at: it has no zone": inApps("created_at", local),
  "created-lost 2.app.created_at: it is not returned": apps(without("created_at")),
  "updated-elsewhere 2.app.updated_at: it is told in another zone": inApps("updated_at", ahead),
  "updated-http-date 2.app.updated_at: it has the form of an HTTP date": inApps("updated_at", (time) =>
    new Date(String(time)).toUTCString(),
  ),
  "updated-null 2.app.updated_at: it is null until an app is changed": inApps("updated_at", () => null),
  "app-status 3.app-no-state: an app carries a status": apps((app) => ({ ...app, status: "draft" })),
  "app-state 3.app-no-state: in lists an app carries a state": page((data) =>
    data.map((app) => ({ ...app, state: "on" })),
  ),
};

const { tellsDeployment } = way;
const tellsAccount = (change: way.Change) =>
  way.tells("app.deployed", (event) => ({ ...event, account: change(members(event.account)) }));
const deployment = (name: string, change: (value: unknown) => unknown) => tellsDeployment(field(name, change));
const DEPLOYMENTS: Faults = {
  "deploy-domain 2.deployment-request.custom_domain: it has to be a list": refuses(DEPLOY, 422, has("custom_domain")),
  "deploy-environment 2.deployment-request.environment: it is an unknown member": refuses(
    DEPLOY,
    400,
    has("environment"),
  ),
  "deploy-name 2.deployment-request.name: it is an unknown member": refuses(DEPLOY, 400, has("name")),
  "deployment-id 2.deployment.id: it begins with deployment-": way.renamed('"dep_', '"deployment-'),
  "deployment-id-lost 2.deployment.id: there is none": tellsDeployment(without("id")),
  "deployment-path 2.deployment.url: it is a path": deployment("url", (url) => new URL(String(url)).pathname),
  "deployment-no-url 2.deployment.url: it is null": deployment("url", () => null),
  "deployment-capital 2.deployment.status: it is LIVE": deployment("status", () => "LIVE"),
  "deployment-active 3.deployment.live: it is active": deployment("status", () => "active"),
  "deployed-seconds 2.deployment.deployed_at: it is a number of seconds": deployment("deployed_at", seconds),
  "deployed-local 2.deployment.deployed_at: it has no zone": deployment("deployed_at", local),
  "account-id 2.account: its id has no prefix": tellsAccount(field("id", (id) => String(id).slice(4))),
  "account-no-name 2.account: it has no name": tellsAccount(without("name")),
};

const hookField = (name: string, change: (value: unknown) => unknown) => asksJson(HOOK, field(name, change));
const HOOKS: Faults = {
  "hook-url-cut 2.webhook.url: its path and query are lost": way.delivers((each) => ({ ...each, url: cut(each.url) })),
  "hook-no-https 4.create-webhook: a url with https is refused": refuses(HOOK, 422, ({ body }) =>
    body.includes('"https:'),
  ),
  "hook-first-event 2.webhook.events: only the first counts": hookField("events", (events) =>
    [events].flat().slice(0, 1),
  ),
  "hook-secret-shared 2.webhook.secret: the first webhook's signs for all": memory.firstAsked(HOOK, "secret"),
  "hook-always-active 2.webhook.active: false is ignored": hookField("active", () => true),
  "hook-secret-refused 4.create-webhook: a secret is made, and refused where it is sent": refuses(
    HOOK,
    422,
    has("secret"),
  ),
};

const ofLists = (change: (query: URLSearchParams) => unknown) => asksQuery("GET /apps", change);
const unless = (name: string, value: string) => ofLists((query) => query.has(name) || query.set(name, value));
const turned = (name: string, turn: (value: number, query: URLSearchParams) => number) =>
  ofLists((query) => query.has(name) && query.set(name, String(turn(Number(query.get(name)), query))));
const LISTS: Faults = {
  "list-twice 4.list-apps: every app is there twice": page((data) => data.flatMap((app) => [app, app])),
  "list-stale 4.list-apps: each query is answered as it was the first time": { api: memory.stale },
  "list-late 4.list-apps: the app that was made last is not there yet": { api: memory.late },
  "list-of-ids 4.list-apps: apps are listed by their ids alone": page((data) => data.map(({ id }) => ({ id }))),
  "limit-ignored 4.list-apps.limit: it is ignored": ofLists((query) => query.delete("limit")),
  "limit-less-one 4.list-apps.limit: one app less is listed": turned("limit", (limit) => Math.max(limit - 1, 1)),
  "offset-ignored 4.list-apps.offset: it is ignored": ofLists((query) => query.delete("offset")),
  "offset-pages 4.list-apps.offset: it counts pages": turned(
    "offset",
    (n, query) => n * Number(query.get("limit") ?? 20),
  ),
  "offset-from-one 4.list-apps.offset: it counts from 1": turned("offset", (offset) => Math.max(offset - 1, 0)),
  "public-ignored 4.list-apps.public: it is ignored": ofLists((query) => query.delete("public")),
  "public-falsy 4.list-apps.public: false counts as not given": ofLists(
    (query) => query.get("public") === "false" && query.delete("public"),
  ),
  "public-inverted 4.list-apps.public: true lists the private apps": ofLists(
    (query) => query.has("public") && query.set("public", String(query.get("public") === "false")),
  ),
  "public-by-default 4.list-apps.public: without it only public apps are listed": unless("public", "true"),
  "limit-of-10 8.default-limit: it is 10": unless("limit", "10"),
  "limit-of-100 8.default-limit: it is 100": unless("limit", "100"),
  "offset-of-1 8.default-offset: it is 1": unless("offset", "1"),
};

const OPERATIONS: Faults = {
  "create-id-alone 4.create-app: it answers the id alone": answersJson(CREATE, ({ id }) => ({ id })),
  "create-wrapped 4.create-app: the app is wrapped in data": answersJson(CREATE, (data) => ({ data })),
  "create-strict 4.create-app: theme is an unknown member": refuses(CREATE, 422, has("theme")),
  "delete-by-post 4.delete-app: DELETE is not allowed": refuses("DELETE /apps/*", 405),
  "delete-later 4.delete-app: an app that was deleted stays in the list": { api: memory.undeleted },
  "delete-newest 4.app-id-segment: whichever app is named, the newest is deleted": memory.newest("DELETE /apps/*"),
  "deploy-newest 4.app-id-segment: whichever app is named, the newest is deployed": memory.newest(DEPLOY),
  "deploy-elsewhere 4.deploy: it is POST /apps/{id}/deployments": refuses(DEPLOY, 404),
};

export const resources = { ...PURPOSE, ...APPS, ...DEPLOYMENTS, ...HOOKS, ...LISTS, ...OPERATIONS };
