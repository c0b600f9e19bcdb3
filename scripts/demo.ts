// `npm run demo`: demonstrates the nine parts of the specification on a live server and a live receiver, one chapter
// each. Each step names its clause or choice (`npm run clause ID` runs the test), sends a request, prints the relevant
// part of the response and checks it. With --step it waits for Enter after each step. The first mismatch ends the demo
// with exit code 1.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { styleText } from "node:util";
import { DECISIONS } from "../src/former-decisions.ts";
import { startReceiver } from "../src/receiver.ts";
import { PARTS } from "../src/web/docs/tour-content.ts";
import { Browser } from "../test/support/browser.ts";
import { type Members, str } from "../test/support/client.ts";
import { embedded } from "../test/support/embedded.ts";
import { authorizeUrl, claimsOf, REDIRECT, returned } from "../test/support/oauth.ts";
import { flagOption, parseOptions } from "./arguments.ts";

const SECRET = "a-secret-that-both-sides-know";
const APP = {
  title: "Sales overview",
  description: "Revenue by region",
  theme: "dark",
  public: true,
};
const LONGEST = 60;

const [{ step: stops = false }] = parseOptions("demo [-- --step]", { step: flagOption() });
const enter = stops ? createInterface(process.stdin)[Symbol.asyncIterator]() : undefined;
const began = performance.now();
await using server = await embedded();
const { service, api } = server;
await using receiver = await startReceiver({ secret: SECRET, answers: [500, 503, 204] });
let steps = 0;

const shortened = (text: string): string =>
  text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;

/** Shows and checks an observation outside a response. */
async function seen(id: string, says: string, what: readonly string[], holds: boolean) {
  steps += 1;
  const whose = id in DECISIONS ? "our choice: " : "";
  console.log([`  ${styleText("cyan", id)} ${whose}${says}`, ...what].join("\n    "));
  assert.ok(holds, `${id}: ${what.join(" ")}`);
  await enter?.next();
}

/** Prints and checks these members of the response; `key` overrides the default credential. */
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
  const shown = Object.keys(shows).map(
    (name) => `${name}: ${shortened(JSON.stringify(found[name]))}`,
  );
  const sent = JSON.stringify(body, (_, value) =>
    typeof value === "string" ? shortened(value) : value,
  );
  const said = styleText(answer.status < 300 ? "green" : "yellow", String(answer.status));
  const lines = [`${styleText("bold", at)} ${sent ?? ""}`, `${said} ${shown.join(", ")}`];
  await seen(id, says, lines, answer.status === status);
  for (const [name, value] of Object.entries(shows))
    if (value instanceof RegExp) assert.match(String(found[name]), value, `${id}: ${name}`);
    else assert.deepEqual(found[name], value, `${id}: ${name}`);
  return answer;
}

/** Expects an error with this code. */
const refused = (
  id: string,
  says: string,
  at: string,
  status: number,
  code: string,
  body?: object,
  key = api.key,
) => step(id, says, at, status, { code }, body, key);

/** Prints the heading of a part. */
const chapter = (part: number) =>
  console.log(`\n${styleText("bold", `${part} ${Object.keys(PARTS)[part - 1]}`)}`);

console.log(
  `A server at ${service.baseUrl}, a receiver at ${receiver.url}, and a clock that is moved by hand.`,
);
console.log(
  "Each step names a clause, or a choice of ours where there is none: npm run clause ID runs its test.",
);

chapter(1);
const source = { name: "Revenue", type: "csv", data: "region,revenue\nNorth,48250\n" };
await step(
  "1.data-sources",
  "data to show",
  "POST /v1/data-sources",
  201,
  { status: "processing" },
  source,
);
const ada = { email: "ada@example.com", permissions: ["read:apps"] };
await step("1.manage-users", "who may do what", "POST /v1/users", 201, ada, ada);

chapter(2);
const all = { id: /^app_/, ...APP, created_at: /Z$/ };
const { id } = await step("2.app.title", "what is sent comes back", "POST /v1/apps", 201, all, APP);
const defaults = { description: "", theme: "light", public: false };
const drafts = await step("2.app-fields", "a title will do", "POST /v1/apps", 201, defaults, {
  title: "Drafts",
});

chapter(3);
const live = { id: /^dep_/, status: "live" };
const deploy = (clause: string, says: string, name: string) =>
  step(clause, says, `POST /v1/apps/${id}/deploy`, 201, live, { name, environment: "production" });
const first = await deploy("3.deployment.live", "the one status that is shown", "Release 1");
await deploy("3.redeploy", "one is live in an environment …", "Release 2");
const before = `GET /v1/apps/${id}/deployments/${first.id}`;
await step("3.redeploy", "… and the one before it is retired", before, 200, { status: "retired" });

chapter(4);
await step("4.list-apps.public", "private ones alone", "GET /v1/apps?public=false", 200, {
  total: 1,
});
const second = { total: 2, limit: 1, offset: 1 };
await step("4.list-shape", "a wrapper", "GET /v1/apps?limit=1&offset=1", 200, second);
await step("4.delete-app", "and one is gone", `DELETE /v1/apps/${drafts.id}`, 204);

chapter(5);
await refused(
  "5.401.missing",
  "no credential",
  "GET /v1/apps",
  401,
  "missing_credential",
  undefined,
  null,
);
const reports = { name: "Reports", redirect_uris: [REDIRECT], scopes: ["read:apps"] };
const made = await step(
  "1.dashboard",
  "a client is made",
  "POST /v1/oauth-clients",
  201,
  { id: /^cli_/ },
  reports,
);
const client = { client_id: made.id, client_secret: str(made.json.client_secret) };
const browser = new Browser(api);
const { location } = (await browser.signIn(service.signInUrl)).headers;
const signedIn = [
  `GET ${service.signInUrl.split("=")[0]}=…, and its button pressed`,
  `303 to ${location}`,
];
await seen("5.sign-in-link", "a user signs in by a link", signedIn, location === "/dashboard");
const asks = await browser.open(authorizeUrl(client));
const [, heading = ""] = /<h1>(.*?)<\/h1>/.exec(asks.text) ?? [];
const page = [`GET ${authorizeUrl(client)}`, `200 "${heading.replace(/<.*?>/g, "")}"`];
await seen(
  "5.oauth.authorize",
  "the client sends the user there",
  page,
  heading.includes("Reports"),
);
const { code, state } = returned(
  await browser.submit(asks, "/oauth/consent", { decision: "allow" }),
);
const back = ["POST /oauth/consent decision=allow", `303 to ${REDIRECT}?code=…&state=${state}`];
await seen("5.oauth.authorize", "the user allows, and is sent back", back, state === "xyz");
const exchange = { grant_type: "authorization_code", code, redirect_uri: REDIRECT, ...client };
const tokens = { token_type: "Bearer", expires_in: 3600, scope: "read:apps", refresh_token: /./ };
const exchanged = "the client exchanges the code";
const { json } = await step(
  "5.oauth.exchange",
  exchanged,
  "POST /oauth/token",
  200,
  tokens,
  exchange,
  null,
);
const token = str(json.access_token);
const { iss, scope, exp } = claimsOf(token);
const claims = `iss: ${iss}, scope: ${scope}, exp: ${exp}`;
await seen("5.oauth.jwt", "what the token says", [claims], scope === "read:apps");
await step(
  "5.oauth.bearer",
  "sent like a key",
  "GET /v1/apps",
  200,
  { total: 1 },
  undefined,
  token,
);
const mine = { title: "Mine" };
await refused(
  "5.403.scope",
  "it may read, not write",
  "POST /v1/apps",
  403,
  "insufficient_scope",
  mine,
  token,
);
await service.clock.advance("1h");
await refused(
  "5.401.expired",
  "an hour later",
  "GET /v1/apps",
  401,
  "expired_credential",
  undefined,
  token,
);
const renewal = { grant_type: "refresh_token", refresh_token: json.refresh_token };
await step(
  "5.oauth.refresh",
  "a new one",
  "POST /oauth/token",
  200,
  { token_type: "Bearer" },
  renewal,
  null,
);

chapter(6);
const webhook = { url: receiver.url, events: ["user.interaction"], active: true };
const draft = { ...webhook, secret: SECRET };
const hook = await step(
  "4.create-webhook",
  "a receiver is registered",
  "POST /v1/webhooks",
  201,
  webhook,
  draft,
);
const click = {
  user_id: "visitor-17",
  interaction_type: "chart_click",
  data_point: { x: 3, y: 48250 },
};
const there = `POST /v1/apps/${id}/interactions`;
await step("6.types.user-interaction", "a click", there, 202, { type: "user.interaction" }, click);
await service.settled();
const ran = [...(await service.clock.advance("10s")), ...(await service.clock.advance("10m"))];
const [{ rawBody, attempts } = { rawBody: "", attempts: [] }] = receiver.received;
await seen("6.envelope", "what arrived", [rawBody], rawBody.startsWith('{"id":"evt_'));
const signature = str(attempts[0]?.headers["x-service-signature"]);
const line = `printf %s '${rawBody}' | openssl dgst -sha256 -hmac '${SECRET}'`;
const { status, stdout } = spawnSync("sh", ["-c", line], { encoding: "utf8" });
const again = status === 127 ? "(there is no openssl here to run it)" : stdout.trim();
const same = status === 127 || again.endsWith(signature.slice("sha256=".length));
await seen(
  "6.signature",
  "anybody can make it again",
  [`X-Service-Signature: ${signature}`, line, again],
  same,
);
const said = `the receiver answered ${attempts.map(({ answer }) => answer).join(", ")}`;
await seen("6.success.2xx-only", "only 2xx is a success", [said], said.endsWith(" 500, 503, 204"));
const retries = ran.map(({ at }) => `tried again at ${at}`);
await seen("6.retry-schedule", "when, and how often", retries, retries.length === 2);
const log = `GET /v1/webhooks/${hook.id}/deliveries?status=succeeded`;
await step("4.webhook-endpoints", "the log for programs", log, 200, { total: 1 });

chapter(7);
await refused(
  "7.401",
  "a key that nobody has",
  "GET /v1/apps",
  401,
  "invalid_credential",
  undefined,
  "no-such-key",
);
await service.setAccountState("limited");
await refused("7.403", "a limited account", `DELETE /v1/apps/${id}`, 403, "account_limited");
await service.setAccountState("active");
const every = { status: 422, code: "validation_failed", detail: /1 more/ };
const faulty = { title: "", themes: "dark" };
await step("7.validation-status", "422, and all at once", "POST /v1/apps", 422, every, faulty);

chapter(8);
await step("8.default-limit", "20 at a time", "GET /v1/apps", 200, { limit: 20, offset: 0 });
const most = { code: "invalid_parameter", detail: /100/ };
await step("8.max-limit", "100 at most", "GET /v1/apps?limit=101", 400, most);

chapter(9);
await seen(
  "9.path-segment",
  "the version is in the path",
  [service.baseUrl],
  service.baseUrl.endsWith("/v1"),
);
await step("9.other-versions", "the 404 says which there is", "GET /v2/apps", 404, {
  detail: /\/v1 only/,
});

console.log(
  `\n${steps} steps, all as they must be, in ${Math.round(performance.now() - began)} ms.`,
);
await enter?.return?.();
