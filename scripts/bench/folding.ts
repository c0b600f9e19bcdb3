// How long the API takes to answer while FILE is written anew, against while it is not: the whole service on --data with
// many records, and a fixed number of requests a second, each timed from the moment it is due. Large changes of one app
// fill the journal until it is folded.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Line, percentile, ROUNDS, ratio, scaled, whole } from "./figures.ts";
import { create, creates, get, load, patch, run } from "./load.ts";
import { inSide, newFolder, startService } from "./machine.ts";

const RECORDS = scaled(300_000);
/** Creates and reads a second, each. */
const PER_SECOND = 250;
const REQUESTS = 3 * PER_SECOND;
const ENDLESS = Number.POSITIVE_INFINITY;
const LARGE = "x".repeat(5_000);

type Times = Readonly<Record<"create" | "GET", readonly number[]>>;

export async function folding(): Promise<Line[]> {
  using folder = newFolder();
  const file = join(folder.path, "data.json");
  await inSide("make", String(RECORDS), file);
  await using server = await startService("folding", ["--data", file]);
  return await measure(file, server.port);
}

async function measure(file: string, port: number): Promise<Line[]> {
  const isFolding = () => existsSync(`${file}.new`) || existsSync(`${file}.journal.new`);
  const [id] = await create(port, 1);
  const visit = async (requests: number, isOver = () => false): Promise<Times> => {
    const over = { requests, isOver, perSecond: PER_SECOND, connections: 64 };
    const loads = [creates(over), load(() => get(`/v1/apps/${id}`), 200, over)];
    const [made, read] = await Promise.all(loads.map((each) => run(port, each)));
    return { create: made?.latencies ?? [], GET: read?.latencies ?? [] };
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
    const [folding, quiet] = (["folding", "quiet"] as const).map((name) => ({
      name: name === "folding" ? name : "the same while it is not",
      rounds: rounds.map((round) => ({ "ms at the 99th": percentile(round[name][kind], 0.99) })),
    }));
    const what = `API while FILE is written anew, ${whole(RECORDS)} apps: ${kind}`;
    return ratio(what, folding, quiet, "ms at the 99th", "<= 2");
  });
}
