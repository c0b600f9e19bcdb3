// A narrated walk through all nine parts of the specification against a live server and a live receiver: each step prints
// request, answer and the part that it shows. Where an answer is not what it must be, the walk ends with exit code 1.
import { type Receiver, type Service, startReceiver, startService } from "../src/index.ts";
import { Guide, print } from "./demo/guide.ts";

const SECRET = "a-secret-that-both-sides-know";

async function resources(guide: Guide): Promise<string> {
  guide.chapter("1 and 2: what the service does, and with what");
  const app = { title: "Sales overview", description: "Revenue by region", theme: "dark", public: true };
  const created = await guide.step({
    shows: "4 create an app; 2 its fields come back",
    request: "POST /apps",
    body: app,
    status: 201,
    answer: app,
  });
  await guide.step({
    shows: "1 create a data source for it",
    request: "POST /data-sources",
    body: { name: "Revenue", type: "csv", data: "region,revenue\nNorth,48250\nSouth,39100\n", app_id: created.body.id },
    status: 201,
    answer: { status: "processing" },
  });
  await guide.step({
    shows: "1 manage users and their permissions",
    request: "POST /users",
    body: { email: "ada@example.com", name: "Ada", permissions: ["read:apps"] },
    status: 201,
    answer: { permissions: ["read:apps"] },
  });
  return String(created.body.id);
}

async function states(guide: Guide, appId: string): Promise<void> {
  guide.chapter("3: states");
  const request = `POST /apps/${appId}/deploy`;
  const first = await guide.step({
    shows: "3 a deployment is live",
    request,
    body: { name: "Release 1", custom_domain: "sales.example.com", environment: "production" },
    status: 201,
    answer: { status: "live" },
  });
  await guide.step({
    shows: "3 deploying again retires the one before",
    request,
    body: { name: "Release 2", custom_domain: "sales.example.com", environment: "production" },
    status: 201,
    answer: { status: "live" },
  });
  await guide.step({
    shows: "3 …",
    request: `GET /apps/${appId}/deployments/${String(first.body.id)}`,
    status: 200,
    answer: { status: "retired" },
  });
}

async function endpoints(guide: Guide): Promise<void> {
  guide.chapter("4 and 8: lists and their limits");
  await guide.step({
    shows: "8 limit is 20, offset 0",
    request: "GET /apps",
    status: 200,
    answer: { limit: 20, offset: 0 },
  });
  await guide.step({
    shows: "4 only private apps",
    request: "GET /apps?public=false&limit=5",
    status: 200,
    answer: { data: [], total: 0, limit: 5 },
  });
  await guide.step({
    shows: "8 more than the most is refused (a choice of this server)",
    request: "GET /apps?limit=101",
    status: 400,
    answer: { code: "invalid_parameter" },
  });
}

async function authentication(guide: Guide, service: Service): Promise<void> {
  guide.chapter("5 and 7: who may do what, and how the service says no");
  const { access_token: token, refresh_token } = await service.signIn({ scopes: ["read:apps"] });
  await guide.step({
    shows: "5 without a credential",
    request: "GET /apps",
    key: null,
    status: 401,
    answer: { code: "missing_credential" },
  });
  await guide.step({ shows: "5 a JWT with read:apps may read", request: "GET /apps", key: token, status: 200 });
  const refused = await guide.step({
    shows: "5 … and not write: the scope is missing",
    request: "POST /apps",
    body: { title: "Not mine to make" },
    key: token,
    status: 403,
    answer: { code: "insufficient_scope" },
  });
  const challenge = refused.headers.get("www-authenticate") ?? "";
  guide.seen("7 the answer names what is missing", challenge, challenge.includes('scope="write:apps"'));
  await guide.step({
    shows: "5 refreshing, as the specification shows it",
    request: "POST /oauth/token",
    body: { grant_type: "refresh_token", refresh_token },
    key: null,
    status: 200,
    answer: { token_type: "Bearer", scope: "read:apps" },
  });
  await service.clock.advance("1h");
  await guide.step({
    shows: "5 an hour later the first token has expired",
    request: "GET /apps",
    key: token,
    status: 401,
    answer: { code: "expired_credential" },
  });
}

async function events(guide: Guide, service: Service, receiver: Receiver, appId: string): Promise<void> {
  guide.chapter("6: a webhook that fails twice and then succeeds");
  const created = await guide.step({
    shows: "4 register a webhook",
    request: "POST /webhooks",
    body: { url: receiver.url, events: ["user.interaction"], secret: SECRET, active: true },
    status: 201,
    answer: { active: true },
  });
  await guide.step({
    shows: "6 a user interacts with the app",
    request: `POST /apps/${appId}/interactions`,
    body: {
      user_id: "visitor-17",
      interaction_type: "chart_click",
      chart_id: "revenue",
      data_point: { x: 3, y: 48250 },
    },
    status: 202,
    answer: { type: "user.interaction" },
  });
  await service.settled();
  const ran = [...(await service.clock.advance("10s")), ...(await service.clock.advance("10m"))];
  for (const { at, what } of ran) print(`    ${at} ${what}`);
  const [event] = receiver.received;
  const headers = event?.attempts.at(-1)?.headers ?? {};
  guide.seen(
    "6 signed over the raw body",
    `X-Service-Signature: ${headers["x-service-signature"]}`,
    event !== undefined,
  );
  guide.seen("6 the envelope", event?.rawBody ?? "nothing", event?.type === "user.interaction");
  const answers = event?.attempts.map(({ answer }) => answer).join(", ");
  guide.seen("6 retried until a 2xx", `the receiver answered ${answers}`, answers === "500, 503, 204");
  const log = await guide.step({
    shows: "6 the delivery log",
    request: `GET /webhooks/${String(created.body.id)}/deliveries?status=succeeded`,
    status: 200,
    answer: { total: 1 },
  });
  const trace = service.trace(service.requests.find(({ path }) => path.endsWith("/interactions"))?.id ?? "");
  const led = trace?.events[0]?.deliveries[0]?.attempts.length;
  guide.seen(
    "6 from the request to its attempts",
    `${trace?.request.id} led to ${led} attempts`,
    led === 3 && log.status === 200,
  );
}

async function end(guide: Guide, service: Service, appId: string): Promise<void> {
  guide.chapter("7, 4 and 9: errors, the end of an app, versions");
  await guide.step({
    shows: "7 every fault of a body in one answer (a choice of this server)",
    request: "POST /apps",
    body: { title: "", themes: "dark" },
    status: 422,
    answer: { code: "validation_failed" },
  });
  await service.setAccountState("limited");
  await guide.step({
    shows: "5 and 7 a limited account",
    request: `DELETE /apps/${appId}`,
    status: 403,
    answer: { code: "account_limited" },
  });
  await service.setAccountState("active");
  await guide.step({ shows: "4 delete an app", request: `DELETE /apps/${appId}`, status: 204 });
  await guide.step({ shows: "9 another version is not here", request: "GET /v2/apps", status: 404 });
  const base = service.baseUrl;
  guide.seen("9 the version is in the path", base, base.endsWith("/v1"));
}

async function walk(): Promise<void> {
  const began = performance.now();
  await using service = await startService({ clock: "manual" });
  await using receiver = await startReceiver({ secret: SECRET, answers: [500, 503, 204] });
  const guide = new Guide(service.baseUrl, service.authUrl, service.apiKey ?? "");
  print(`A server at ${service.baseUrl}, a receiver at ${receiver.url}, and a clock that is moved by hand.`);
  const appId = await resources(guide);
  await states(guide, appId);
  await endpoints(guide);
  await authentication(guide, service);
  await events(guide, service, receiver, appId);
  await end(guide, service, appId);
  print(`\n${guide.steps} steps, all as they must be, in ${Math.round(performance.now() - began)} ms.`);
}

try {
  await walk();
} catch (error) {
  process.stderr.write(`\nThe walk ends here: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
