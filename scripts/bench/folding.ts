// How long the API takes to answer while FILE is written anew, against while it is not: the whole service on --data, with
// a fixed number of requests a second, each timed from the moment it is due. The service starts on a FILE of many records
// and a journal that is nearly as large, so that a few large creates bring the folding about.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { startService as embed } from "../../src/index.ts";
import { type Line, percentile, ROUNDS, scaled, whole } from "./figures.ts";
import { create, draft, get, type Load, load, post, run } from "./load.ts";
import { KEY, startService, withFolder, withServers } from "./machine.ts";

const RECORDS = scaled(300_000);
/** Creates and reads a second, each. */
const PER_SECOND = 250;
const WARM = 3 * PER_SECOND;
const QUIET = 3 * PER_SECOND;
/** What is left to write until the journal is folded, which it is at the size of FILE and never below the first of these. */
const FOLDED_BYTES_MIN = 8 * 1024 * 1024;
const NEARLY_BYTES = 5_000_000;

const KINDS = ["create", "GET"] as const;
type Times = readonly (readonly number[])[];
interface Round {
  readonly folding: Times;
  readonly quiet: Times;
}

export const folding = (): Promise<Line[]> =>
  withFolder(async (folder) => {
    const made = join(folder, "data.json");
    await fill(made);
    const rounds: Round[] = [];
    for (let n = 0; n < ROUNDS; n += 1) rounds.push(await round(made, join(folder, `${n}.json`)));
    return KINDS.map((kind, at) => lineOf(kind, at, rounds));
  });

function lineOf(kind: string, at: number, rounds: readonly Round[]): Line {
  const p99 = (times: Times) => percentile(times[at] ?? [], 0.99);
  const each = rounds.map(({ folding, quiet }) => `${p99(folding).toFixed(2)} against ${p99(quiet).toFixed(2)}`);
  const least = Math.min(...rounds.map(({ folding }) => folding[at]?.length ?? 0));
  return {
    what: `API while FILE is written anew, ${whole(RECORDS)} apps: ${kind}`,
    against: "the same while it is not",
    figure: "ratio, ms at the 99th",
    values: rounds.map(({ folding, quiet }) => p99(folding) / p99(quiet)),
    goal: "<= 2",
    beside: `${each.join(", ")} ms; ${least} requests a folding or more`,
  };
}

const large = () => post("/v1/apps", { ...draft(0), description: "x".repeat(5_000) });

/** Leaves FILE and its journal as a crash does just before the folding. */
async function fill(file: string): Promise<void> {
  const service = await embed({ data: file, apiKey: KEY });
  const { collections, ...rest } = await service.snapshot();
  const { id: account_id } = service.account;
  const at = service.clock.now();
  const apps = Array.from({ length: RECORDS }, (_, n) => ({
    ...{ id: `app_${String(n).padStart(23, "0")}`, ...draft(n), created_at: at, updated_at: at, account_id },
  }));
  await service.restore({ ...rest, collections: { ...collections, apps } });
  await service.close();
  const enough = Math.max(statSync(file).size, FOLDED_BYTES_MIN) - NEARLY_BYTES;
  const isOver = () => statSync(`${file}.journal`).size >= enough;
  await withServers([startService("filled", ["--data", file])], ([server]) =>
    run(server?.port ?? 0, load(large, 201, { requests: Number.POSITIVE_INFINITY, isOver })),
  );
}

async function round(made: string, file: string): Promise<Round> {
  for (const end of ["", ".journal"]) cpSync(`${made}${end}`, `${file}${end}`);
  // Else the disk is still busy with the copy while the service is measured.
  execFileSync("sync");
  const isFolding = () => existsSync(`${file}.new`) || existsSync(`${file}.journal.new`);
  const measured = await withServers([startService("folding", ["--data", file])], async ([server]) => {
    const port = server?.port ?? 0;
    const [id] = await create(port, 1);
    const visit = async (requests: number, isOver = () => false): Promise<Times> => {
      const over: Partial<Load> = { requests, isOver, perSecond: PER_SECOND, connections: 64 };
      const both = [load((n) => post("/v1/apps", draft(n)), 201, over), load(() => get(`/v1/apps/${id}`), 200, over)];
      return (await Promise.all(both.map((one) => run(port, one)))).map(({ latencies }) => latencies);
    };
    await visit(WARM);
    const before = await visit(QUIET);
    await run(port, load(large, 201, { requests: Number.POSITIVE_INFINITY, connections: 1, isOver: isFolding }));
    const folding = await visit(Number.POSITIVE_INFINITY, () => !isFolding());
    const after = await visit(QUIET);
    return { folding, quiet: before.map((times, at) => [...times, ...(after[at] ?? [])]) };
  });
  for (const end of ["", ".journal"]) rmSync(`${file}${end}`);
  return measured;
}
