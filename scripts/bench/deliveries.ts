// How many deliveries go out a second, signed and recorded, against a bare node:http agent with keep-alive that posts the
// same bytes; whether the API answers as fast when a subscribed receiver is silent; and whether deliveries that wait for
// their next attempt cost anything while none is due.
import { pool } from "../pool.ts";
import { compare, type Line, plain, ratio, scaled, whole } from "./figures.ts";
import { creates, loadOn } from "./load.ts";
import { side, startReceiver, startService, withServers } from "./machine.ts";

/** How many webhooks, each with one attempt at a time, and how much of the bare agent's rate they must reach. */
const RATES = { 16: ">= 0.5", 1: ">= 0.4" };
const WEBHOOKS = 10;
const EVENTS = ["app.created"];
const FEW = 1_000;
const MANY = scaled(1_000_000);

export const throughput = (): Promise<Line[]> =>
  withServers([startReceiver("quick")], ([{ url }]) =>
    pool(1, Object.entries(RATES), async ([atOnce, goal]) => {
      const sides = ["send", "post"].map((mode) => side("a bare keep-alive agent", mode, `${url}/`, atOnce));
      const [own, bare] = await compare(sides, 0);
      return ratio(`Deliveries to ${atOnce} webhooks`, own, bare, "a second", goal);
    }),
  );

/** At a rate that leaves time between two creates, so that none is timed behind the deliveries of the one before. */
export const silence = (): Promise<Line[]> =>
  withServers([startReceiver("silent"), startReceiver("quick")], ([silent, quick]) =>
    withServers([startService("with webhooks"), startService("none")], async (servers) => {
      for (let n = 0; n < WEBHOOKS; n += 1)
        await servers[0].call("POST", "/v1/webhooks", { url: (n === 0 ? silent : quick).url, events: EVENTS });
      const slowly = () => creates({ requests: scaled(400), connections: 1, perSecond: 200 });
      const [ten, none] = await compare(servers.map((server) => loadOn(server, slowly)));
      const what = `Create with ${WEBHOOKS} webhooks, one of them silent`;
      return [ratio(what, ten, none, "ms at the median", "<= 1.10")];
    }),
  );

export async function pending(): Promise<Line[]> {
  const sides = [MANY, FEW].map((count) => side(`${whole(count)} that wait`, "wait", String(count)));
  const [many, few] = await compare(sides, 0, 1);
  const idle = many?.rounds[0]?.["% of CPU"] ?? Number.NaN;
  return [
    plain(`While ${many?.name}`, "% of CPU", idle, "<= 0.5"),
    ratio(`A delivery beside ${many?.name}`, many, few, "µs", "<= 1.25"),
  ];
}
