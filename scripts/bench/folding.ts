// How long the API takes to answer while FILE is written anew, against while it is not: the whole service on --data with
// many records, and a fixed number of requests a second, each timed from the moment it is due. Large changes of one app
// fill the journal until it is folded.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { startService as embed } from "../../src/index.ts";
import { type Line, percentile, ROUNDS, scaled, whole } from "./figures.ts";
import { create, draft, get, type Load, load, patch, post, run } from "./load.ts";
import { KEY, startService, withFolder, withServers } from "./machine.ts";

const RECORDS = scaled(300_000);
/** Creates and reads a second, each. */
const PER_SECOND = 250;
const REQUESTS = 3 * PER_SECOND;
const ENDLESS = Number.POSITIVE_INFINITY;
const LARGE = "x".repeat(5_000);

type Times = Readonly<Record<"create" | "GET", readonly number[]>>;

export const folding = (): Promise<Line[]> =>
  withFolder(async (folder) => {
    const file = join(folder, "data.json");
    await fill(file);
    return withServers([startService("folding", ["--data", file])], ([{ port }]) => measure(file, port));
  });

async function measure(file: string, port: number): Promise<Line[]> {
  const isFolding = () => existsSync(`${file}.new`) || existsSync(`${file}.journal.new`);
  const [id] = await create(port, 1);
  const visit = async (requests: number, isOver = () => false): Promise<Times> => {
    const over: Partial<Load> = { requests, isOver, perSecond: PER_SECOND, connections: 64 };
    const [creates, reads] = await Promise.all([
      run(
        port,
        load((n) => post("/v1/apps", draft(n)), 201, over),
      ),
      run(
        port,
        load(() => get(`/v1/apps/${id}`), 200, over),
      ),
    ]);
    return { create: creates.latencies, GET: reads.latencies };
  };
  const change = (n: number) => patch(`/v1/apps/${id}`, { description: `${n}${LARGE.slice(10)}` });
  const rounds: { folding: Times; quiet: Times }[] = [];
  await visit(REQUESTS);
  for (let n = 0; n < ROUNDS; n += 1) {
    const quiet = await visit(REQUESTS);
    await run(port, load(change, 200, { requests: ENDLESS, isOver: isFolding }));
    rounds.push({ quiet, folding: await visit(ENDLESS, () => !isFolding()) });
  }
  return (["create", "GET"] as const).map((kind) => {
    const p99s = rounds.map(({ folding, quiet }) => [percentile(folding[kind], 0.99), percentile(quiet[kind], 0.99)]);
    const each = p99s.map((pair) => pair.map((ms) => ms.toFixed(2)).join(" against "));
    const least = Math.min(...rounds.map(({ folding }) => folding[kind].length));
    return {
      what: `API while FILE is written anew, ${whole(RECORDS)} apps: ${kind}`,
      against: "the same while it is not",
      figure: "ratio, ms at the 99th",
      values: p99s.map(([folding = Number.NaN, quiet = Number.NaN]) => folding / quiet),
      goal: "<= 2",
      beside: `${each.join(", ")} ms; ${least} requests a folding or more`,
    };
  });
}

/** Leaves a FILE with so many apps of the account whose key this is. */
async function fill(file: string): Promise<void> {
  await using service = await embed({ data: file, apiKey: KEY });
  const { collections, ...rest } = await service.snapshot();
  const [at, account_id] = [service.clock.now(), service.account.id];
  const apps = Array.from({ length: RECORDS }, (_, n) => ({
    ...{ id: `app_${String(n).padStart(23, "0")}`, ...draft(n), created_at: at, updated_at: at, account_id },
  }));
  await service.restore({ ...rest, collections: { ...collections, apps } });
}
