// A webhook with very many pending deliveries is switched off or deleted: how long another request waits at most while
// they are cancelled behind the answer.
import { pool } from "../pool.ts";
import { type Line, percentile, plain, scaled, whole } from "./figures.ts";
import { create, draft, load, post, run } from "./load.ts";
import { startReceiver, startService, withServers } from "./machine.ts";

const PENDING = [scaled(30_000), scaled(100_000)];
const PER_SECOND = 500;
/** Longer than the cancelling takes. */
const LASTS_S = 6;

const WAYS = { "switched off": "PATCH", deleted: "DELETE" };

export const cancel = (): Promise<Line[]> =>
  pool(
    1,
    PENDING.flatMap((pending) => Object.entries(WAYS).map((way) => [pending, ...way] as const)),
    ([pending, how, method]) => held(pending, how, method),
  );

/** The receiver is silent, so that all but one delivery are never attempted. */
const held = (pending: number, how: string, method: string): Promise<Line> =>
  withServers([startReceiver("silent"), startService()], async ([silent, server]) => {
    const { id } = await server.call("POST", "/v1/webhooks", { url: silent.url, events: ["app.created"] });
    await create(server.port, pending);
    const others = load((n) => post("/v1/apps", draft(n)), 201, {
      requests: LASTS_S * PER_SECOND,
      perSecond: PER_SECOND,
    });
    const path = `/v1/webhooks/${id}`;
    const ended = server.call(method, path, method === "PATCH" ? { active: false } : undefined);
    const { latencies } = await run(server.port, others);
    await ended;
    // A deleted webhook's log is gone with it.
    const left = method === "PATCH" ? (await server.call("GET", `${path}/deliveries?status=pending`)).total : 0;
    if (left > 0) throw new Error(`${left} are pending ${LASTS_S} s later`);
    const what = `A webhook with ${whole(pending)} pending is ${how}: longest wait of another request`;
    return plain(what, "ms", percentile(latencies, 1), "<= 50");
  });
