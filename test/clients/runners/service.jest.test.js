// Most of the service inside Jest, whose module system and globals are not Node's own.
const { mkdtempSync, rmSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const { OptionError, startReceiver, startService } = require("app-hosting-service");
const { runAlone, useEverything } = require("./scenario.cjs");

let service;
beforeAll(async () => {
  service = await startService({ clock: "manual" });
});
afterAll(() => service.close());

const send = async (method, path, body, own = service) => {
  const headers = { Authorization: `Bearer ${own.apiKey}`, "Content-Type": "application/json" };
  const response = await fetch(own.baseUrl + path, {
    method,
    headers,
    body: body && JSON.stringify(body),
  });
  return { status: response.status, ...(await response.json()) };
};

test("errors of Node keep their names", async () => {
  const { url, close } = await startReceiver({ secret: "s" });
  await close();
  await send("POST", "/webhooks", { url, events: ["app.created"] });
  await send("POST", "/apps", { title: "Sales" });
  await service.settled();
  expect(service.deliveries[0].attempts[0].error).toBe("refused");
});

const realDate = Date;
afterEach(() => jest.useRealTimers());

test.each([true, false])(
  "timers faked before the start: %s",
  async (before) => {
    const fake = () => jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask"] });
    await useEverything({ startService, startReceiver, fake, before, realDate });
    jest.useRealTimers();
    await runAlone({ startService, startReceiver, realDate });
  },
  40_000,
);

test("pages load", async () => {
  for (const path of ["/dashboard/sign-in", "/docs", "/openapi.json"])
    expect((await fetch(service.authUrl + path)).status).toBe(200);
});

test("a file keeps data from one service to the next, and not for two at once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "apphost-jest-"));
  const data = join(folder, "data.json");
  const first = await startService({ data });
  await send("POST", "/apps", { title: "Kept" }, first);
  await expect(startService({ data })).rejects.toThrow(/data\.json/);
  await first.close();
  const second = await startService({ data });
  expect((await send("GET", "/apps", undefined, second)).total).toBe(1);
  await second.close();
  rmSync(folder, { recursive: true });
});

test("wrong options throw an OptionError", async () => {
  await expect(startService({ prot: 1 })).rejects.toThrow(OptionError);
  // The cause is an error of Node, of another realm: its message alone is repeated.
  await expect(startService({ seed: "/nowhere.json" })).rejects.toThrow(/\(ENOENT/);
});

test("the service is disposed of by its symbol", async () => {
  const own = await startService();
  await own[Symbol.asyncDispose]();
  await expect(fetch(own.authUrl)).rejects.toThrow();
});
