// This server against another version of itself in one run: what a change has cost or gained. BENCH_BEFORE names a folder
// in which the other version was built (npm run build); without it there is nothing to compare with.
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { compare, type Side } from "./compare.ts";
import { createApps, draft, get, type Load, patch, post } from "./load.ts";
import { ours, type Server, startService } from "./machine.ts";
import { cpuLine, type Line } from "./table.ts";

const APPS = 100;
const GOAL = "<= 1.10";

type Request = (n: number, ids: readonly string[]) => string;

const cases: readonly (readonly [what: string, request: Request, status: number])[] = [
  ["GET one app", (n, ids) => get(`/v1/apps/${ids[n % APPS]}`), 200],
  ["List of 20 apps", () => get("/v1/apps"), 200],
  ["Create an app with its event", (n) => post("/v1/apps", draft(n)), 201],
  ["Patch an app", (n, ids) => patch(`/v1/apps/${ids[n % APPS]}`, { title: `Sales overview ${n}` }), 200],
];

export async function before(): Promise<Line[]> {
  const other = process.env.BENCH_BEFORE;
  if (other === undefined) throw new Error("BENCH_BEFORE must name the folder of the version to compare with");
  const dist = join(other, "dist");
  const folder = mkdtempSync(join(process.cwd(), "bench-data-"));
  const flags = (name: string) => ["--data", join(folder, `${name}.json`)];
  const memory = [await startService([], "before", ours("bin", dist)), await startService([], "now")];
  const data = [await startService(flags("b"), "before", ours("bin", dist)), await startService(flags("n"), "now")];
  try {
    const lines: Line[] = [];
    for (const [what, request, status] of cases) lines.push(await against(what, memory, request, status, 16));
    lines.push(await against("Create with --data", data, (n) => post("/v1/apps", draft(n)), 201, 64));
    return lines;
  } finally {
    await Promise.all([...memory, ...data].map((server) => server.stop()));
    rmSync(folder, { recursive: true });
  }
}

async function against(
  what: string,
  servers: readonly Server[],
  request: Request,
  status: number,
  connections: number,
) {
  const sides: Side[] = [];
  for (const server of servers) {
    const ids = await createApps(server.port, APPS);
    const load: Omit<Load, "port"> = { requests: 6_000, connections, request: (n) => request(n, ids), status };
    sides.push({ name: server.name, server, load });
  }
  const [base, now] = await compare(sides, 5);
  if (base === undefined || now === undefined) throw new Error("nothing was measured");
  return cpuLine(`${what}, ${connections} connections`, now, base, GOAL);
}
