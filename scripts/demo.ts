// `npm run demo`: a walk through the nine parts of the specification against a live server and a live receiver, a chapter
// each. Each step names the clause or the choice that it shows (`npm run clause ID` runs its test), sends a request, prints
// of the answer what is under discussion and holds it against what it must be; with --step it waits for Enter after each.
// Where something is not as it must be, it ends with exit code 1.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { styleText } from "node:util";
import { startReceiver } from "../src/receiver.ts";
import { PARTS } from "../src/web/docs/specification.ts";
import { Browser } from "../test/support/browser.ts";
import { type Members, str } from "../test/support/client.ts";
import { embedded } from "../test/support/embedded.ts";
import { authorizeUrl, claimsOf, REDIRECT, returned } from "../test/support/oauth.ts";
import { flag, given } from "./arguments.ts";

const SECRET = "a-secret-that-both-sides-know";
const APP = { title: "Sales overview", description: "Revenue by region", theme: "dark", public: true };
const LONGEST = 60;

const [{ step: stops = false }] = given("demo [-- --step]", { step: flag() });
const enter = stops ? createInterface(process.stdin)[Symbol.asyncIterator]() : undefined;
const began = performance.now();
await using server = await embedded();
const { service, api } = server;
await using receiver = await startReceiver({ secret: SECRET, answers: [500, 503, 204] });
let steps = 0;

const shortened = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);

/** Something that is seen elsewhere than in an answer. */
async function seen(id: string, says: string, what: readonly string[], holds: boolean): Promise<void> {
  steps += 1;
  console.log([`  ${styleText("cyan", id)} ${says}`, ...what].join("\n    "));
  assert.ok(holds, `${id}: ${what.join(" ")}`);
  await enter?.next();
}

/** Shown of the answer are these members, and they must be so; `key` is the credential, where it is another. */
async function step(
  id: string,
  says: string,
  at: string,
  status: number,
  shows: Members = {},
  body?: object,
  key = api.key,
) {
  const [method = "", path = ""] = at.split(" ");
  const answer = await api.root.as(key).call(method, path, body);
  const found: Members = status === 204 ? {} : answer.json;
  const shown = Object.keys(shows).map((name) => `${name}: ${shortened(JSON.stringify(found[name]))}`);
  const sent = JSON.stringify(body, (_, value) => (typeof value === "string" ? shortened(value) : value));
  const said = styleText(answer.status < 300 ? "green" : "yellow", String(answer.status));
  const lines = [`${styleText("bold", at)} ${sent ?? ""}`, `${said} ${shown.join(", ")}`];
  await seen(id, says, lines, answer.status === status);
  for (const [name, value] of Object.entries(shows))
    if (value instanceof RegExp) assert.match(String(found[name]), value, `${id}: ${name}`);
    else assert.deepEqual(found[name], value, `${id}: ${name}`);
  return answer;
}

/** Something is refused, with this code. */
const refused = (id: string, says: string, at: string, status: number, code: string, body?: object, key = api.key) =>
  step(id, says, at, status, { code }, body, key);

async function purpose(): Promise<void> {
  const source = { name: "Revenue", type: "csv", data: "region,revenue\nNorth,48250\n" };
  await step("1.data-sources", "data to show", "POST /v1/data-sources", 201, { status: "processing" }, source);
  const ada = { email: "ada@example.com", permissions: ["read:apps"] };
  await step("1.manage-users", "who may do what", "POST /v1/users", 201, ada, ada);
}

async function resources(): Promise<void> {
  const all = { id: /^app_/, ...APP, created_at: /Z$/ };
  await step("2.app.title", "what is sent comes back", "POST /v1/apps", 201, all, APP);
  const defaults = { description: "", theme: "light", public: false };
  await step("2.app-fields", "our choice: a title will do", "POST /v1/apps", 201, defaults, { title: "Drafts" });
}

/** The id of the app that is public. */
const publicApp = (): string => str(service.events.find(({ type }) => type === "app.created")?.data.object.id);

async function states(): Promise<void> {
  const path = `/v1/apps/${publicApp()}/deploy`;
  const live = { id: /^dep_/, status: "live" };
  const deploy = (id: string, says: string, name: string) =>
    step(id, says, `POST ${path}`, 201, live, { name, environment: "production" });
  const first = await deploy("3.deployment.live", "the one status that is shown", "Release 1");
  await deploy("3.redeploy", "our choice: one is live in an environment …", "Release 2");
  const one = `GET ${path}ments/${first.id}`;
  await step("3.redeploy", "… and the one before it is retired", one, 200, { status: "retired" });
}

async function endpoints(): Promise<void> {
  const own = await step("4.list-apps.public", "private ones alone", "GET /v1/apps?public=false", 200, { total: 1 });
  const page = { total: 2, limit: 1, offset: 1 };
  await step("4.list-shape", "our choice: a wrapper", "GET /v1/apps?limit=1&offset=1", 200, page);
  await step("4.delete-app", "and one is gone", `DELETE /v1/apps/${own.items[0]?.id}`, 204);
}

/** The authorization code flow, as a client, a user and the user's browser go it. */
async function consented() {
  const draft = { name: "Reports", redirect_uris: [REDIRECT], scopes: ["read:apps"] };
  const registered = "our choice: a client is registered so";
  const made = await step("1.dashboard", registered, "POST /v1/oauth-clients", 201, { id: /^cli_/ }, draft);
  const app = { client_id: made.id, client_secret: str(made.json.client_secret) };
  const browser = new Browser(api);
  const { location } = (await browser.signIn(service.signInUrl)).headers;
  const signedIn = [`GET ${service.signInUrl.split("=")[0]}=…, and its button pressed`, `303 to ${location}`];
  await seen("5.sign-in-link", "our choice: a user signs in by a link", signedIn, location === "/dashboard");
  const asks = await browser.open(authorizeUrl(app));
  const [, heading = ""] = /<h1>(.*?)<\/h1>/.exec(asks.text) ?? [];
  const page = [`GET ${authorizeUrl(app)}`, `200 "${heading.replace(/<.*?>/g, "")}"`];
  await seen("5.oauth.authorize", "the client sends the user there", page, heading.includes("Reports"));
  const { code, state } = returned(await browser.submit(asks, "/oauth/consent", { decision: "allow" }));
  const back = ["POST /oauth/consent decision=allow", `303 to ${REDIRECT}?code=…&state=${state}`];
  await seen("5.oauth.authorize", "the user allows, and is sent back", back, state === "xyz");
  const exchange = { grant_type: "authorization_code", code, redirect_uri: REDIRECT, ...app };
  const shows = { token_type: "Bearer", expires_in: 3600, scope: "read:apps", refresh_token: /./ };
  const at = "POST /oauth/token";
  return (await step("5.oauth.exchange", "the client exchanges the code", at, 200, shows, exchange, null)).json;
}

async function authentication(): Promise<void> {
  await refused("5.401.missing", "no credential", "GET /v1/apps", 401, "missing_credential", undefined, null);
  const { access_token, refresh_token } = await consented();
  const token = str(access_token);
  const { iss, scope, exp } = claimsOf(token);
  const claims = [`iss: ${iss}, scope: ${scope}, exp: ${exp}`];
  await seen("5.oauth.jwt", "what the token says", claims, scope === "read:apps");
  await step("5.oauth.bearer", "sent like a key", "GET /v1/apps", 200, { total: 1 }, undefined, token);
  const draft = { title: "Mine" };
  await refused("5.403.scope", "it may read, not write", "POST /v1/apps", 403, "insufficient_scope", draft, token);
  await service.clock.advance("1h");
  await refused("5.401.expired", "an hour later", "GET /v1/apps", 401, "expired_credential", undefined, token);
  const renewal = { grant_type: "refresh_token", refresh_token };
  await step("5.oauth.refresh", "a new one", "POST /oauth/token", 200, { token_type: "Bearer" }, renewal, null);
}

async function events(): Promise<void> {
  const webhook = { url: receiver.url, events: ["user.interaction"], active: true };
  const draft = { ...webhook, secret: SECRET };
  const hook = await step("4.create-webhook", "who is to be told", "POST /v1/webhooks", 201, webhook, draft);
  const click = { user_id: "visitor-17", interaction_type: "chart_click", data_point: { x: 3, y: 48250 } };
  const path = `POST /v1/apps/${publicApp()}/interactions`;
  await step("6.types.user-interaction", "a click", path, 202, { type: "user.interaction" }, click);
  await service.settled();
  const ran = [...(await service.clock.advance("10s")), ...(await service.clock.advance("10m"))];
  const [{ rawBody, attempts } = { rawBody: "", attempts: [] }] = receiver.received;
  await seen("6.envelope", "what arrived", [rawBody], rawBody.startsWith('{"id":"evt_'));
  const signature = str(attempts[0]?.headers["x-service-signature"]);
  const line = `printf %s '${rawBody}' | openssl dgst -sha256 -hmac '${SECRET}'`;
  const { status, stdout } = spawnSync("sh", ["-c", line], { encoding: "utf8" });
  const made = status === 127 ? "(there is no openssl here to run it)" : stdout.trim();
  const same = status === 127 || made.endsWith(signature.slice("sha256=".length));
  await seen("6.signature", "anybody can make it again", [`X-Service-Signature: ${signature}`, line, made], same);
  const said = `the receiver answered ${attempts.map(({ answer }) => answer).join(", ")}`;
  await seen("6.success.2xx-only", "only 2xx is a success", [said], said.endsWith(" 500, 503, 204"));
  const again = ran.map(({ at }) => `tried again at ${at}`);
  const chosen = "our choice, not the specification's: when, and how often";
  await seen("6.retry-schedule", chosen, again, again.length === 2);
  const log = `GET /v1/webhooks/${hook.id}/deliveries?status=succeeded`;
  await step("4.webhook-endpoints", "our choice: the log for programs", log, 200, { total: 1 });
}

async function errors(): Promise<void> {
  await refused("7.401", "a key that nobody has", "GET /v1/apps", 401, "invalid_credential", undefined, "no-such-key");
  await service.setAccountState("limited");
  await refused("7.403", "a limited account", `DELETE /v1/apps/${publicApp()}`, 403, "account_limited");
  await service.setAccountState("active");
  const every = { status: 422, code: "validation_failed", detail: /1 more/ };
  const faulty = { title: "", themes: "dark" };
  await step("7.validation-status", "our choice: 422, and all at once", "POST /v1/apps", 422, every, faulty);
}

async function limits(): Promise<void> {
  await step("8.default-limit", "20 at a time", "GET /v1/apps", 200, { limit: 20, offset: 0 });
  const most = { code: "invalid_parameter", detail: /100/ };
  await step("8.max-limit", "our choice: 100 at most", "GET /v1/apps?limit=101", 400, most);
}

async function versions(): Promise<void> {
  await seen("9.path-segment", "the version is in the path", [service.baseUrl], service.baseUrl.endsWith("/v1"));
  const there = "our choice: the 404 says which there is";
  await step("9.other-versions", there, "GET /v2/apps", 404, { detail: /\/v1 only/ });
}

const CHAPTERS = [purpose, resources, states, endpoints, authentication, events, errors, limits, versions];

try {
  console.log(`A server at ${service.baseUrl}, a receiver at ${receiver.url}, and a clock that is moved by hand.`);
  console.log("Each step names a clause, or a choice of ours where there is none: npm run clause ID runs its test.");
  for (const [at, chapter] of CHAPTERS.entries()) {
    console.log(`\n${styleText("bold", `${at + 1} ${Object.keys(PARTS)[at]}`)}`);
    await chapter();
  }
  console.log(`\n${steps} steps, all as they must be, in ${Math.round(performance.now() - began)} ms.`);
} catch (error) {
  process.stderr.write(`\nThe walk ends here: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
await enter?.return?.();
