// `npm run demo`: walks through the nine parts of the specification on a live server and a live receiver. Each step
// names its clause or decision (`npm test -- --name ID` runs its test), prints the request and the relevant part of the
// response, and checks it. With --step it waits for Enter after each step. The first mismatch ends it with exit code 1.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { styleText } from "node:util";
import { DECISIONS } from "../src/decisions.ts";
import { startReceiver } from "../src/receiver.ts";
import { PARTS } from "../src/web/docs/tour-content.ts";
import { type Members, str } from "../test/support/client.ts";
import { embedded } from "../test/support/embedded.ts";
import { claimsOf } from "../test/support/oauth.ts";
import { flagOption, parseOptions } from "./arguments.ts";

const SECRET = "a-secret-that-both-sides-know";
const TEXT_MAX = 60;

const [{ step: isPaused = false }] = parseOptions("demo [-- --step]", { step: flagOption() });
const lines = isPaused ? createInterface(process.stdin)[Symbol.asyncIterator]() : undefined;
const startedAt = performance.now();
await using server = await embedded();
const { service, api } = server;
await using receiver = await startReceiver({ secret: SECRET, answers: [500, 503, 204] });
let steps = 0;

const shorten = (text: string): string =>
  text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;

/** Prints an observation and checks it. */
async function observe(id: string, title: string, details: readonly string[], isRight: boolean) {
  steps += 1;
  const origin = id in DECISIONS ? "decided here: " : "";
  console.log([`  ${styleText("cyan", id)} ${origin}${title}`, ...details].join("\n    "));
  assert.ok(isRight, `${id}: ${details.join(" ")}`);
  await lines?.next();
}

/**
 * Sends the request; prints and checks the status and these members of the response: values, or patterns for their text.
 */
async function call(
  id: string,
  title: string,
  request: string,
  expected: Members & { readonly status: number },
  body?: object,
  key: string | null = api.key,
) {
  const [method = "", path = ""] = request.split(" ");
  const { status, ...members } = expected;
  const response = await api.root.as(key).call(method, path, body);
  const value: Members = response.text === "" ? {} : response.json;
  const names = Object.keys(members);
  const parts = names.map((name) => `${name}: ${shorten(JSON.stringify(value[name]))}`);
  const details = [
    `${styleText("bold", request)} ${shorten(JSON.stringify(body) ?? "")}`,
    `${styleText(response.status < 300 ? "green" : "yellow", String(response.status))} ${parts.join(", ")}`,
  ];
  const isRight = names.every((name) => {
    const member = members[name];
    return member instanceof RegExp ? member.test(str(value[name])) : member === value[name];
  });
  await observe(id, title, details, response.status === status && isRight);
  return response;
}

const chapter = (part: number) =>
  console.log(`\n${styleText("bold", `${part} ${Object.keys(PARTS)[part - 1]}`)}`);

console.log(
  `Server ${service.baseUrl}, receiver ${receiver.url}, and a clock that is moved by hand.`,
);
console.log("Each step names a clause or a decision: npm test -- --name ID runs its test.");

chapter(1);
const source = { name: "Revenue", type: "csv", data: "region,revenue\nNorth,48250\n" };
const processing = { status: 201, columns: null };
await call("1.data-sources", "create a data source", "POST /v1/data-sources", processing, source);
const ada = { email: "ada@example.com", permissions: ["read:apps"] };
const user = { status: 201, email: ada.email };
await call("1.manage-users", "create a user with permissions", "POST /v1/users", user, ada);

chapter(2);
const draft = { title: "Sales overview", description: "By region", theme: "dark", public: true };
const whole = { status: 201, id: /^app_/, ...draft, created_at: /Z$/ };
const { id } = await call("2.app.title", "the fields come back", "POST /v1/apps", whole, draft);
const defaults = { status: 201, description: "", theme: "light", public: false };
const title = { title: "Drafts" };
const drafts = await call("2.app-fields", "a title is enough", "POST /v1/apps", defaults, title);

chapter(3);
const deploy = `POST /v1/apps/${id}/deploy`;
/** Its own status beside that of HTTP. */
const live = { status: 201, id: /^dep_/, url: /\/sites\/dep_/ };
const first = await call("3.deployment.live", "deploy", deploy, live, { name: "Release 1" });
await call("3.redeploy", "deploy again", deploy, live, { name: "Release 2" });
const former = await api.get(`/apps/${id}/deployments/${first.id}`);
const isRetired = former.json.status === "retired";
await observe("3.redeploy", "the former deployment", [shorten(former.text)], isRetired);

chapter(4);
const filter = "GET /v1/apps?public=false";
await call("4.list-apps.public", "filter by visibility", filter, { status: 200, total: 1 });
const page = { status: 200, total: 2, limit: 1, offset: 1 };
await call("4.list-shape", "a list is a wrapper", "GET /v1/apps?limit=1&offset=1", page);
await call("4.delete-app", "delete an app", `DELETE /v1/apps/${drafts.id}`, { status: 204 });

chapter(5);
const list = "GET /v1/apps";
const one = { status: 200, total: 1 };
const missing = { status: 401, code: "missing_credential" };
await call("5.401.missing", "no credential", list, missing, undefined, null);
const { access_token: token, refresh_token } = await service.signIn({ scopes: ["read:apps"] });
const { iss, scope, exp } = claimsOf(token);
const claims = [`iss: ${iss}, scope: ${scope}, exp: ${exp}`];
await observe("5.oauth.jwt", "the claims of an access token", claims, scope === "read:apps");
await call("5.oauth.bearer", "a token instead of a key", list, one, undefined, token);
const narrow = { status: 403, code: "insufficient_scope" };
await call("5.403.scope", "it may read, not write", "POST /v1/apps", narrow, draft, token);
await service.clock.advance("1h");
const expired = { status: 401, code: "expired_credential" };
await call("5.401.expired", "an hour later", list, expired, undefined, token);
const refresh = { grant_type: "refresh_token", refresh_token };
const bearer = { status: 200, token_type: "Bearer", expires_in: 3600, scope: "read:apps" };
await call("5.oauth.refresh", "refresh the token", "POST /oauth/token", bearer, refresh, null);

chapter(6);
const webhook = { url: receiver.url, events: ["user.interaction"], secret: SECRET };
const subscribed = { status: 201, url: receiver.url, active: true };
const hook = await call(
  "4.create-webhook",
  "subscribe to an event",
  "POST /v1/webhooks",
  subscribed,
  webhook,
);
const interaction = { user_id: "visitor-17", interaction_type: "chart_click" };
const accepted = { status: 202, type: "user.interaction" };
const clicks = `POST /v1/apps/${id}/interactions`;
await call("6.types.user-interaction", "a user clicks", clicks, accepted, interaction);
await service.settled();
const retries = [...(await service.clock.advance("10s")), ...(await service.clock.advance("10m"))];
const [{ rawBody, attempts } = { rawBody: "", attempts: [] }] = receiver.received;
await observe("6.envelope", "the event that arrived", [rawBody], rawBody.startsWith('{"id":"evt_'));
const signature = str(attempts[0]?.headers["x-service-signature"]);
const command = `printf %s '${rawBody}' | openssl dgst -sha256 -hmac '${SECRET}'`;
const { status, stdout } = spawnSync("sh", ["-c", command], { encoding: "utf8" });
const hasOpenssl = status !== 127;
const digest = hasOpenssl ? stdout.trim() : "(openssl is not installed)";
const isSame = !hasOpenssl || digest.endsWith(signature.slice("sha256=".length));
await observe("6.signature", "openssl computes the same", [signature, command, digest], isSame);
const answers = attempts.map(({ answer }) => answer).join(", ");
const isRetried = answers === "500, 503, 204";
await observe("6.success.2xx-only", "the receiver responded", [answers], isRetried);
const times = retries.map(({ at }) => `retried at ${at}`);
await observe("6.retry-schedule", "the times of the retries", times, times.length === 2);
const log = `GET /v1/webhooks/${hook.id}/deliveries?status=succeeded`;
await call("4.webhook-endpoints", "the delivery log", log, one);

chapter(7);
const invalid = { status: 401, code: "invalid_credential" };
await call("7.401", "an unknown key", list, invalid, undefined, "no-such-key");
await service.setAccountState("limited");
const limited = { status: 403, code: "account_limited" };
await call("7.403", "a limited account", `DELETE /v1/apps/${id}`, limited);
await service.setAccountState("active");
const faulty = { title: "", themes: "dark" };
const failed = { status: 422, code: "validation_failed" };
await call("7.validation-status", "all field errors at once", "POST /v1/apps", failed, faulty);

chapter(8);
await call("8.default-limit", "20 at a time", list, { status: 200, limit: 20, offset: 0 });
const tooMany = { status: 400, code: "invalid_parameter" };
await call("8.max-limit", "at most 100", "GET /v1/apps?limit=101", tooMany);

chapter(9);
const isVersioned = service.baseUrl.endsWith("/v1");
await observe("9.path-segment", "the version is in the path", [service.baseUrl], isVersioned);
const other = { status: 404, detail: /\/v1 only/ };
await call("9.other-versions", "another version is not found", "GET /v2/apps", other);

const ms = Math.round(performance.now() - startedAt);
console.log(`\n${steps} steps, all as expected, in ${ms} ms.`);
await lines?.return?.();
