// One receiver is silent, one drips, one sends 1 GB: the healthy one must hear of 200 events a second, 99 % of them within
// 100 ms of the API's answer, and no attempt may outlive 30.5 s. Takes 35 s of real time.
import { type Figure, pause, percentile, readText, SECRET, serve, type World, withServer } from "./world.ts";

const RATE = 200;
const LASTS_MS = 33_000;

const KINDS = {
  silent: () => serve(() => {}),
  dripping: () =>
    serve((request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write("."), 100);
      request.socket.on("close", () => clearInterval(drip));
    }),
  huge: () =>
    serve((_, response) => {
      response.writeHead(200, { "Content-Length": 2 ** 30 });
      const pump = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on("drain", pump);
      pump();
    }),
};

export const hostile = (): Promise<Figure[]> =>
  withServer({}, async (world) => {
    const arrived = new Map<string, number>();
    const healthy = await serve(async (request, response) => {
      const at = performance.now();
      const [appId = ""] = /app_\w+/.exec(await readText(request)) ?? [];
      arrived.set(appId, at);
      response.end();
    });
    const bad = await Promise.all(Object.values(KINDS).map((make) => make()));
    const hooks: string[] = [];
    for (const { url } of [healthy, ...bad])
      hooks.push((await world.post("/webhooks", { url, events: ["app.created"], secret: SECRET })).id);
    const answered = await load(world.post);
    await pause(1_000);
    const waits = answered.map(({ id, at }) => (arrived.get(id) ?? Number.POSITIVE_INFINITY) - at);
    const longest_s = await longestAttempt(world, hooks);
    for (const { close } of [healthy, ...bad]) close();
    const p99 = percentile(waits, 0.99);
    return [
      {
        name: "events heard by the healthy receiver",
        value: `${arrived.size}`,
        goal: `${answered.length}`,
        reached: arrived.size === answered.length,
      },
      { name: "API answer to arrival, p99", value: `${p99.toFixed(1)} ms`, goal: "< 100 ms", reached: p99 < 100 },
      { name: "longest attempt", value: `${longest_s.toFixed(2)} s`, goal: "<= 30.5 s", reached: longest_s <= 30.5 },
    ];
  });

/** Creates apps at the rate; answers when each was answered. */
async function load(post: World["post"]) {
  const answered: Promise<{ id: string; at: number }>[] = [];
  const began = performance.now();
  for (let now = 0; now < LASTS_MS; now = performance.now() - began) {
    while (answered.length < (now / 1_000) * RATE)
      answered.push(
        post("/apps", { title: `App ${answered.length}` }).then(({ id }) => ({ id, at: performance.now() })),
      );
    await pause(2);
  }
  return Promise.all(answered);
}

async function longestAttempt({ get }: World, hooks: readonly string[]): Promise<number> {
  let longest = 0;
  for (const id of hooks) {
    const page = await get(`/webhooks/${id}/deliveries?limit=100`);
    for (const [, ms] of JSON.stringify(page).matchAll(/"duration_ms":(\d+)/g)) longest = Math.max(longest, Number(ms));
  }
  return longest / 1_000;
}
