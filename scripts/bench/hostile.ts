// One receiver is silent, one drips, one sends 1 GB: the healthy one must hear of 200 events a second, 99 % of them within
// 100 ms of the API's answer, and no attempt may outlive 30.5 s. Takes 35 s of real time.
import { setTimeout as pause } from "node:timers/promises";
import { type Line, percentile, plain } from "./figures.ts";
import { creates, idIn, run } from "./load.ts";
import { startReceiver, startService, withServers } from "./machine.ts";

const PER_SECOND = 200;
const LASTS_S = 33;

const KINDS = ["healthy", "silent", "dripping", "huge"];

export const hostile = (): Promise<Line[]> =>
  withServers([startService(), ...KINDS.map((kind) => startReceiver(kind))], async ([server, ...receivers]) => {
    const webhooks: string[] = [];
    for (const { url } of receivers)
      webhooks.push((await server.call("POST", "/v1/webhooks", { url, events: ["app.created"] })).id);
    const answered = new Map<string, number>();
    const onBody = (body: string) => answered.set(idIn(body), Number(process.hrtime.bigint()) / 1e6);
    await run(server.port, creates({ requests: LASTS_S * PER_SECOND, perSecond: PER_SECOND, onBody }));
    await pause(1_000);
    const arrived = new Map<string, number>(await receivers[0]?.ask("report"));
    const waits = [...answered].map(([id, at]) => (arrived.get(id) ?? Number.POSITIVE_INFINITY) - at);
    const durations: number[] = [];
    for (const id of webhooks) {
      const page = JSON.stringify(await server.call("GET", `/v1/webhooks/${id}/deliveries?limit=100`));
      for (const [, ms] of page.matchAll(/"duration_ms":(\d+)/g)) durations.push(Number(ms));
    }
    return [
      plain("Beside hostile receivers: events heard by the healthy", "events", arrived.size, `= ${answered.size}`),
      plain("Beside hostile receivers: API answer to arrival", "ms at the 99th", percentile(waits, 0.99), "<= 100"),
      plain("Beside hostile receivers: longest attempt", "ms", percentile(durations, 1), "<= 30500"),
    ];
  });
