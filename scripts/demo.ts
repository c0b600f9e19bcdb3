// A narrated walk through all nine parts of the specification against a live server and a live receiver: each step prints
// request, answer and the part that it shows. Where an answer is not what it must be, the walk ends with exit code 1.

import { type Receiver, type Service, startReceiver, startService } from "../src/index.ts";
import { Guide, print } from "./demo/guide.ts";

const SECRET = "a-secret-that-both-sides-know";

async function resources(guide: Guide): Promise<string> {
  guide.chapter("1 and 2: what the service does, and with what");
  const app = { title: "Sales overview", description: "Revenue by region", theme: "dark", public: true };
  const { body } = await guide.step("4 create an app; 2 its fields come back", "POST /apps", 201, app, app);
  const data = "region,revenue\nNorth,48250\nSouth,39100\n";
  const source = { name: "Revenue", type: "csv", data, app_id: body.id };
  await guide.step("1 create a data source for it", "POST /data-sources", 201, { status: "processing" }, source);
  const ada = { email: "ada@example.com", name: "Ada", permissions: ["read:apps"] };
  await guide.step("1 manage users and their permissions", "POST /users", 201, { permissions: ["read:apps"] }, ada);
  return String(body.id);
}

async function states(guide: Guide, appId: string): Promise<void> {
  guide.chapter("3: states");
  const deploy = (shows: string, name: string) => {
    const release = { name, custom_domain: "sales.example.com", environment: "production" };
    return guide.step(shows, `POST /apps/${appId}/deploy`, 201, { status: "live" }, release);
  };
  const { body } = await deploy("3 a deployment is live", "Release 1");
  await deploy("3 deploying again retires the one before", "Release 2");
  await guide.step("3 …", `GET /apps/${appId}/deployments/${body.id}`, 200, { status: "retired" });
}

async function endpoints(guide: Guide): Promise<void> {
  guide.chapter("4 and 8: lists and their limits");
  await guide.step("8 limit is 20, offset 0", "GET /apps", 200, { limit: 20, offset: 0 });
  const none = { data: [], total: 0, limit: 5 };
  await guide.step("4 only private apps", "GET /apps?public=false&limit=5", 200, none);
  const most = "8 more than the most is refused (a choice of this server)";
  await guide.step(most, "GET /apps?limit=101", 400, { code: "invalid_parameter" });
}

async function authentication(guide: Guide, service: Service): Promise<void> {
  guide.chapter("5 and 7: who may do what, and how the service says no");
  const { access_token: token, refresh_token } = await service.signIn({ scopes: ["read:apps"] });
  const missing = { code: "missing_credential" };
  await guide.step("5 without a credential", "GET /apps", 401, missing, undefined, null);
  await guide.step("5 a JWT with read:apps may read", "GET /apps", 200, {}, undefined, token);
  const [app, scope] = [{ title: "Not mine to make" }, { code: "insufficient_scope" }];
  const refused = await guide.step("5 … and not write: the scope is missing", "POST /apps", 403, scope, app, token);
  const challenge = String(refused.headers["www-authenticate"]);
  guide.seen("7 the answer names what is missing", challenge, challenge.includes('scope="write:apps"'));
  const [renewal, pair] = [
    { grant_type: "refresh_token", refresh_token },
    { token_type: "Bearer", scope: "read:apps" },
  ];
  await guide.step("5 refreshing, as the specification shows it", "POST /oauth/token", 200, pair, renewal, null);
  await service.clock.advance("1h");
  const expired = { code: "expired_credential" };
  await guide.step("5 an hour later the first token has expired", "GET /apps", 401, expired, undefined, token);
}

async function events(guide: Guide, service: Service, receiver: Receiver, appId: string): Promise<void> {
  guide.chapter("6: a webhook that fails twice and then succeeds");
  const webhook = { url: receiver.url, events: ["user.interaction"], secret: SECRET, active: true };
  const created = await guide.step("4 register a webhook", "POST /webhooks", 201, { active: true }, webhook);
  const click = {
    ...{ user_id: "visitor-17", interaction_type: "chart_click", chart_id: "revenue" },
    data_point: { x: 3, y: 48250 },
  };
  const interactions = `POST /apps/${appId}/interactions`;
  await guide.step("6 a user interacts with the app", interactions, 202, { type: "user.interaction" }, click);
  await service.settled();
  const ran = [...(await service.clock.advance("10s")), ...(await service.clock.advance("10m"))];
  for (const { at, what } of ran) print(`    ${at} ${what}`);
  const [event] = receiver.received;
  const signature = event?.attempts.at(-1)?.headers["x-service-signature"];
  guide.seen("6 signed over the raw body", `X-Service-Signature: ${signature}`, event !== undefined);
  guide.seen("6 the envelope", event?.rawBody ?? "nothing", event?.type === "user.interaction");
  const answers = event?.attempts.map(({ answer }) => answer).join(", ");
  guide.seen("6 retried until a 2xx", `the receiver answered ${answers}`, answers === "500, 503, 204");
  const log = `GET /webhooks/${created.body.id}/deliveries?status=succeeded`;
  await guide.step("6 the delivery log", log, 200, { total: 1 });
  const trace = service.trace(service.requests.find(({ path }) => path.endsWith("/interactions"))?.id ?? "");
  const led = trace?.events[0]?.deliveries[0]?.attempts.length;
  guide.seen("6 from the request to its attempts", `${trace?.request.id} led to ${led} attempts`, led === 3);
}

async function end(guide: Guide, service: Service, appId: string): Promise<void> {
  guide.chapter("7, 4 and 9: errors, the end of an app, versions");
  const faulty = { title: "", themes: "dark" };
  const every = "7 every fault of a body in one answer (a choice of this server)";
  await guide.step(every, "POST /apps", 422, { code: "validation_failed" }, faulty);
  await service.setAccountState("limited");
  await guide.step("5 and 7 a limited account", `DELETE /apps/${appId}`, 403, { code: "account_limited" });
  await service.setAccountState("active");
  await guide.step("4 delete an app", `DELETE /apps/${appId}`, 204);
  await guide.step("9 another version is not here", "GET /v2/apps", 404);
  guide.seen("9 the version is in the path", service.baseUrl, service.baseUrl.endsWith("/v1"));
}

async function walk(): Promise<void> {
  const began = performance.now();
  await using service = await startService({ clock: "manual" });
  await using receiver = await startReceiver({ secret: SECRET, answers: [500, 503, 204] });
  const guide = new Guide(service.baseUrl, service.apiKey);
  print(`A server at ${service.baseUrl}, a receiver at ${receiver.url}, and a clock that is moved by hand.`);
  const appId = await resources(guide);
  await states(guide, appId);
  await endpoints(guide);
  await authentication(guide, service);
  await events(guide, service, receiver, appId);
  await end(guide, service, appId);
  guide.close();
  print(`\n${guide.steps} steps, all as they must be, in ${Math.round(performance.now() - began)} ms.`);
}

try {
  await walk();
} catch (error) {
  process.stderr.write(`\nThe walk ends here: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
