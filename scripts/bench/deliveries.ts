// How many deliveries go out a second, signed and recorded, against a bare node:http agent with keep-alive that posts the
// same bytes; and whether the API answers as fast when a subscribed receiver is silent.
import { pool } from "../pool.ts";
import { compare, type Line, ratio, scaled } from "./figures.ts";
import { creates, loadOn } from "./load.ts";
import { side, startReceiver, startService } from "./machine.ts";

/** How many webhooks, each with one attempt at a time, and how much of the bare agent's rate they must reach. */
const RATES = { 16: ">= 0.5", 1: ">= 0.4" };
const WEBHOOKS = 10;
const EVENTS = ["app.created"];

export async function throughput(): Promise<Line[]> {
  await using receiver = await startReceiver("quick");
  return await pool(1, Object.entries(RATES), async ([atOnce, goal]) => {
    const sides = ["send", "post"].map((mode) => side("a bare keep-alive agent", mode, `${receiver.url}/`, atOnce));
    const [own, bare] = await compare(sides, 0);
    return ratio(`Deliveries to ${atOnce} webhooks`, own, bare, "a second", goal);
  });
}

/** At a rate that leaves time between two creates, so that none is timed behind the deliveries of the one before. */
export async function silence(): Promise<Line[]> {
  await using silent = await startReceiver("silent");
  await using quick = await startReceiver("quick");
  await using own = await startService("with webhooks");
  await using base = await startService("none");
  for (let n = 0; n < WEBHOOKS; n += 1)
    await own.api.create("/webhooks", { url: (n === 0 ? silent : quick).url, events: EVENTS });
  const slowly = () => creates({ requests: scaled(400), connections: 1, perSecond: 200 });
  const [ten, none] = await compare([own, base].map((server) => loadOn(server, slowly)));
  const what = `Create with ${WEBHOOKS} webhooks, one of them silent`;
  return [ratio(what, ten, none, "ms at the median", "<= 1.10")];
}
