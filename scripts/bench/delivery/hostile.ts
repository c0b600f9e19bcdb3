// One receiver is silent, one drips, one sends 1 GB: the healthy one must hear of 200 events a second, 99 % of them within
// 100 ms of the API's answer, and no attempt may outlive 30.5 s. Takes 35 s of real time.
import { type Figure, pause, percentile, receiverProcess, SECRET, type World, withServer } from "./world.ts";

const RATE = 200;
const LASTS_MS = 33_000;

export const hostile = (): Promise<Figure[]> =>
  withServer({}, async (world) => {
    const kinds = ["healthy", "silent", "dripping", "huge"];
    const receivers = await Promise.all(kinds.map(receiverProcess));
    const hooks: string[] = [];
    for (const { url } of receivers)
      hooks.push((await world.post("/webhooks", { url, events: ["app.created"], secret: SECRET })).id);
    const answered = await load(world.post);
    await pause(1_000);
    const arrived = new Map(await receivers[0]?.report());
    const waits = answered.map(({ id, at }) => (arrived.get(id) ?? Number.POSITIVE_INFINITY) - at);
    const longest_s = await longestAttempt(world, hooks);
    for (const { close } of receivers) close();
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
        post("/apps", { title: `App ${answered.length}` }).then(({ id }) => ({
          id,
          at: Number(process.hrtime.bigint()) / 1e6,
        })),
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
