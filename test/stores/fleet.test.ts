// Several real processes on one database: started together, killed, and with wrong clocks. test/embedding/fleet.test.ts
// has the tests without a database; `npm run torture -- fleet` is the long form of the last test here.
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { startReceiver } from "../../src/receiver.ts";
import { actsAsOne, startBalancer } from "../support/balancer.ts";
import { type Members, str } from "../support/client.ts";
import type { Database } from "../support/database.ts";
import { onDatabase } from "../support/postgres.ts";
import { type ServerProcess, serve } from "../support/process.ts";
import { processed } from "../support/wait.ts";

const TAKEN_OVER_MS = 10_000;
/** Simulates a machine whose clock is a minute ahead. */
const AHEAD = `--import=data:text/javascript,${encodeURIComponent("const now = Date.now; Date.now = () => now() + 60_000;")}`;

/** Starts processes with the same database and client address; they are killed after the test. */
async function fleetOn(database: Database, ...flags: readonly string[]) {
  const balancer = await startBalancer();
  const common = [
    "--port",
    "0",
    "--log",
    "json",
    "--public-url",
    balancer.url,
    "--data",
    database.address(),
    ...flags,
  ];
  const servers: ServerProcess[] = [];
  const start = async (env?: NodeJS.ProcessEnv) => {
    const server = serve(common, env);
    servers.push(server);
    await server.prints("\n");
    const ready: Members = JSON.parse(server.said.stdout.split("\n")[0] ?? "");
    balancer.ports.push(Number(ready.port));
    const kill = () => {
      balancer.ports.splice(balancer.ports.indexOf(Number(ready.port)), 1);
      return server.kill();
    };
    return { ready, kill };
  };
  const end = async () => {
    balancer[Symbol.dispose]();
    await Promise.all(servers.map(({ kill }) => kill()));
  };
  return { start, client: balancer.client, [Symbol.asyncDispose]: end };
}

onDatabase(
  "processes that start together create one account and one key, and act as one service",
  async (database) => {
    await using fleet = await fleetOn(database, "--rate-limit", "1000");
    const { start, client } = fleet;
    const started = await Promise.all([start(), start(), start()]);
    const [key, ...more] = started.flatMap(({ ready }) => ready.api_key ?? []);
    assert.deepEqual(more, []);
    const api = client(str(key));
    for (const list of ["/users", "/api-keys"])
      assert.equal((await api.get(list)).json.total, 1, list);
    await actsAsOne(api, started.length);
  },
);

onDatabase("a rate limit of 30 is 30, whichever of three processes is asked", async (database) => {
  await using fleet = await fleetOn(database, "--rate-limit", "30", "--api-key", "one-key-for-all");
  const { start, client } = fleet;
  await Promise.all([start(), start(), start()]);
  const api = client("one-key-for-all");
  const answers = await Promise.all(Array.from({ length: 90 }, () => api.get("/account")));
  assert.equal(answers.filter(({ status }) => status === 200).length, 30);
});

const ONE_KEY = ["--api-key", "one-key-for-all", "--retry-schedule", "3s,3s"];

onDatabase(
  "the work of a killed process is resumed within 10 s, and not before it is due",
  async (database) => {
    await using fleet = await fleetOn(database, ...ONE_KEY);
    const { start, client } = fleet;
    const first = await start();
    const api = client("one-key-for-all");
    const arrivals = new EventEmitter();
    const onRequest = () => arrivals.emit("request");
    const hooked = async (answers: readonly (number | "hang")[]) => {
      const receiver = await startReceiver({ secret: "s", answers, onRequest });
      await api.create("/webhooks", {
        url: receiver.url,
        secret: "s",
        events: ["app.created", "data.processed"],
      });
      return receiver;
    };
    const [hangs, fails] = [await hooked(["hang", 200]), await hooked([500, 200])];
    await api.create("/apps", { title: "Under way, and to be tried again" });
    await Promise.all([hangs.next("app.created"), fails.next("app.created")]);
    const failed = performance.now();
    const second = await start({ NODE_OPTIONS: AHEAD });
    const late = await hooked([200]);
    const source = await api.create("/data-sources", {
      name: "S",
      type: "csv",
      data: "a\n".repeat(20_000),
    });
    const killed = performance.now();
    await first.kill();
    const taken = async (receiver: typeof hangs, attempts: number) => {
      while (receiver.received[0]?.attempts.length !== attempts) await once(arrivals, "request");
      return performance.now();
    };
    const again = await taken(fails, 2);
    assert.ok(again - failed > 0.8 * 3_000 - 200, `tried again after ${again - failed} ms`);
    await taken(hangs, 2);
    assert.equal((await processed(api, str(source.id))).status, "ready");
    await late.next("data.processed", { timeoutMs: TAKEN_OVER_MS });
    assert.ok(performance.now() - killed < TAKEN_OVER_MS, `${performance.now() - killed} ms`);
    await second.kill();
    for (const receiver of [hangs, fails, late]) await receiver.close();
  },
);
