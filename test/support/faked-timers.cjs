// Uses every part of an embedded service once. Tests run it while a test runner fakes all timers and clocks; it is
// CommonJS without imports, so that Jest, Vitest and Node load the same file.

/** Throws unless `actual` equals `expected`. */
function is(actual, expected, what) {
  if (actual !== expected)
    throw new Error(`${what}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
}

/** `fake` enables the faked timers, before or after the start; `realDate` is the original Date. */
exports.useEverything = async function useEverything({
  startService,
  startReceiver,
  fake,
  before,
  realDate,
}) {
  if (before) fake();
  const service = await startService({
    clock: "manual",
    startAt: "2026-01-01T00:00:00Z",
    retrySchedule: "5s",
  });
  if (!before) fake();
  const { api, eventually, hooked } = clientOf(service);

  const receiver = await startReceiver({ secret: "shared", answers: [500, 200] });
  await hooked(receiver, "app.created");
  const app = await api("POST", "/apps", { title: "Sales" });
  is((await receiver.next("app.created")).event.data.object.id, app.id, "the delivery");
  is((await service.settled({ timeoutMs: 5_000 })).settled, true, "settled");
  const late = await receiver
    .next("app.deleted", { timeoutMs: 20 })
    .catch((error) => error.message);
  is(late, "No app.deleted within 20 ms; received: app.created", "a delivery that does not come");
  is((await service.clock.advance("10s")).length, 1, "the retry");
  is(receiver.received[0].attempts.length, 2, "attempts");

  const source = { name: "Numbers", type: "json", data: [{ n: 1 }] };
  const { id } = await api("POST", "/data-sources", source);
  await eventually(async () => (await api("GET", `/data-sources/${id}`)).status === "ready");

  service.faults.add({ method: "GET", path: "/v1/apps", delayMs: 5_000 });
  const delayed = api("GET", "/apps");
  await eventually(
    async () => (await api("GET", "/account")) && service.requests.some(({ fault }) => fault),
  );
  await service.clock.advance("5s");
  is((await delayed).total, 1, "a delayed request");

  const { access_token } = await service.signIn({ scopes: ["read:apps"] });
  is((await api("GET", "/apps", undefined, access_token)).total, 1, "signed in");
  service.clock.resume();
  service.clock.freeze();

  const snapshot = await service.snapshot();
  await service.reset();
  is((await api("GET", "/apps")).total, 0, "after the reset");
  await service.restore(snapshot);
  is((await api("GET", "/apps")).total, 1, "after the restore");
  await service.close();
  await receiver.close();

  await runAlone({ startService, startReceiver, realDate });
};

/** A running clock: timers and time are real. */
async function runAlone({ startService, startReceiver, realDate }) {
  const service = await startService({ retrySchedule: "10ms", webhookTimeout: "500ms" });
  const receiver = await startReceiver({ secret: "shared", answers: ["hang", 200] });
  try {
    const { api, eventually, hooked } = clientOf(service);
    await hooked(receiver, "app.created");
    const created = await api("POST", "/apps", { title: "Now" });
    const off_ms = realDate.parse(created.created_at) - realDate.now();
    is(Math.abs(off_ms) < 1_000, true, `created_at, which is off by ${off_ms} ms`);
    await eventually(async () => {
      await api("GET", "/account");
      return service.deliveries[0]?.status === "succeeded";
    });
    is(
      service.deliveries[0].attempts.map(({ error }) => error).join(),
      "timeout,",
      "attempts in real time",
    );
    service.faults.add({ method: "GET", path: "/v1/apps", delayMs: 10 });
    is((await api("GET", "/apps")).total, 1, "a request delayed in real time");
  } finally {
    await service.close();
    await receiver.close();
  }
}

exports.runAlone = runAlone;

function clientOf({ baseUrl, apiKey }) {
  async function api(method, path, body, key = apiKey) {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const response = await fetch(baseUrl + path, {
      method,
      headers,
      body: body && JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text && JSON.parse(text);
  }
  /** Polls, each time over a socket, because timers are faked. */
  async function eventually(holds) {
    for (let times = 0; times < 5_000; times += 1) if (await holds()) return;
    throw new Error(`It never came to hold: ${holds}`);
  }
  const hooked = ({ url }, type) =>
    api("POST", "/webhooks", { url, events: [type], secret: "shared" });
  return { api, eventually, hooked };
}
